"""A covering array: cases of few values, so that each pair of values that can be together is in one of them."""
import itertools
import random

from dimensions import DEFAULTS, DIMENSIONS, QUIET, problem

WIDTH = 8  # Values of a case that are not defaults. More of them hide each other.
WIDTH_SPOILT = 5
TRIES = 60


def spoils(item):
    return DIMENSIONS[item[0]][item[1]].spoils


def spoilers(case):
    """The values of a case that spoil it, but for those that others of it need."""
    needed = {name for item in case.items() for name in DIMENSIONS[item[0]][item[1]].needs}
    return [item for item in case.items() if spoils(item) and item[0] not in needed]


def completed(case, table, generator):
    """The case with what its values need, or None if that cannot be."""
    case = dict(case)
    for _ in range(8):
        added = False
        for name, label in list(case.items()):
            if DEFAULTS.get(name) == label:
                continue
            for needed, labels in DIMENSIONS[name][label].needs.items():
                if case.get(needed, DEFAULTS.get(needed)) not in labels:
                    if needed in case:
                        return None
                    case[needed] = generator.choice(labels)
                    added = True
        if "command" not in case and problem(case, table):
            for command in generator.sample(["fetch", "pull"], 2):
                if not problem({**case, "command": command}, table):
                    case["command"] = command
                    added = True
                    break
        if not added:
            break
    case = {name: label for name, label in case.items() if DEFAULTS.get(name) != label}
    return None if problem(case, table) else case


def pairs_of(case):
    """The pairs that a case covers. A value that spoils images hides all pairs but its own."""
    spoiling = spoilers(case)
    if len(spoiling) > 2:
        return set()
    return {pair for pair in itertools.combinations(sorted(case.items()), 2) if all(item in pair for item in spoiling)}


class Cover:
    """Makes the cases one after the other; `left` are the pairs that none has yet."""

    def __init__(self, table, seed):
        self.table, self.generator = table, random.Random(f"cover {seed}")
        self.items = [(name, label) for name, values in DIMENSIONS.items() for label in values]
        pairs = [tuple(sorted(pair)) for pair in itertools.combinations(self.items, 2) if pair[0][0] != pair[1][0]]
        self.generator.shuffle(pairs)
        pairs.sort(key=lambda pair: sum(name in QUIET for name, _ in pair))
        self.left = dict.fromkeys(pairs)
        self.impossible = 0
        self.covered = self.gain = 0

    def __iter__(self):
        while self.left:
            if case := self.next_case():
                yield case

    def next_case(self):
        pair = next(iter(self.left))
        case = None
        for _ in range(6):
            case = completed(dict(pair), self.table, self.generator)
            if case:
                break
        if case is None or pair not in pairs_of(case):
            del self.left[pair]
            self.impossible += 1
            return None
        for _ in range(TRIES):
            spoilt = bool(spoilers(case))
            if len(case) >= (WIDTH_SPOILT if spoilt else WIDTH):
                break
            case = self.widened(case, spoilt) or case
        new = [pair for pair in pairs_of(case) if pair in self.left]
        for pair in new:
            del self.left[pair]
        self.covered += len(new)
        self.gain = len(new)
        return dict(sorted(case.items()))

    def widened(self, case, spoilt):
        """The case with the one of some random values that covers most; None if none does."""
        best, most = None, 0
        for item in self.generator.sample(self.items, 12):
            if item[0] in case or spoils(item) or item[1] == DEFAULTS.get(item[0]):
                continue
            wider = completed({**case, item[0]: item[1]}, self.table, self.generator)
            if wider is None or len(wider) > WIDTH + 2 or (spoilers(wider) and not spoilt):
                continue
            gain = sum(pair in self.left for pair in pairs_of(wider)) - sum(pair in self.left for pair in pairs_of(case))
            if gain > most:
                best, most = wider, gain
        return best
