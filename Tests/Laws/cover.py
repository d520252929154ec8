"""Covering arrays: cases of few values, so that each pair of values that can be together is in one of them.

A value hides what others show: without a reachable remote nothing is uploaded, and a personal image is not shared. So each
pair comes among many others first, and once more nearly alone. What decides together where an image comes from and whether
it is kept (`dimensions.CORE`) is taken three at a time.
"""
import itertools
import random

from dimensions import CORE, DEFAULTS, DIMENSIONS, QUIET, problem

WIDTH = 8  # Values of a case that are not defaults. More of them hide each other.
WIDTH_SPOILT = 5
WIDTH_NARROW = 4
WIDTH_CORE = 6
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


def parts_of(case, size=2):
    """The pairs, or larger groups, that a case covers. A value that spoils images hides all but its own."""
    spoiling = spoilers(case)
    if len(spoiling) > size:
        return set()
    return {part for part in itertools.combinations(sorted(case.items()), size) if all(item in part for item in spoiling)}


class Cover:
    """Makes the cases one after the other; `left` are the pairs, or larger groups, that none has yet."""

    def __init__(self, table, seed, size=2, width=WIDTH, names=DIMENSIONS):
        self.table, self.generator, self.size, self.width = table, random.Random(f"cover {seed} {size} {width}"), size, width
        self.items = [(name, label) for name in DIMENSIONS if name in names for label in DIMENSIONS[name]
                      if size == 2 or label != DEFAULTS.get(name) and not spoils((name, label))]
        parts = [tuple(sorted(part)) for part in itertools.combinations(self.items, size)
                 if len({name for name, _ in part}) == size]
        self.generator.shuffle(parts)
        parts.sort(key=lambda part: (sum(name in QUIET for name, _ in part),
                                     width == WIDTH_NARROW and not any(name in CORE for name, _ in part)))
        self.left = dict.fromkeys(parts)
        self.impossible = 0
        self.covered = self.gain = 0

    def __iter__(self):
        while self.left:
            if case := self.next_case():
                yield case

    def next_case(self):
        part = next(iter(self.left))
        case = None
        for _ in range(6):
            case = completed(dict(part), self.table, self.generator)
            if case:
                break
        if case is None or part not in parts_of(case, self.size):
            del self.left[part]
            self.impossible += 1
            return None
        for _ in range(TRIES):
            spoilt = bool(spoilers(case))
            if len(case) >= (min(self.width, WIDTH_SPOILT) if spoilt else self.width):
                break
            case = self.widened(case, spoilt) or case
        new = [part for part in parts_of(case, self.size) if part in self.left]
        for part in new:
            del self.left[part]
        self.covered += len(new)
        self.gain = len(new)
        return dict(sorted(case.items()))

    def widened(self, case, spoilt):
        """The case with the one of some random values that covers most; None if none does."""
        best, most = None, 0
        before = sum(part in self.left for part in parts_of(case, self.size))
        for item in self.generator.sample(self.items, 12):
            if item[0] in case or spoils(item) or item[1] == DEFAULTS.get(item[0]):
                continue
            wider = completed({**case, item[0]: item[1]}, self.table, self.generator)
            if wider is None or len(wider) > self.width + 2 * (self.width == WIDTH) or spoilers(wider) and not spoilt:
                continue
            gain = sum(part in self.left for part in parts_of(wider, self.size)) - before
            if gain > most:
                best, most = wider, gain
        return best


def cases(table, seed):
    """All cases of a pass, each with the number of pairs that it is the first to cover: the three arrays in turn."""
    loud = [name for name in DIMENSIONS if name not in QUIET]
    wide, narrow = Cover(table, seed), Cover(table, seed, width=WIDTH_NARROW, names=loud)
    core = Cover(table, seed, size=3, width=WIDTH_CORE, names=CORE)
    streams = [(cover, iter(cover)) for cover in (wide, narrow, wide, core)]
    streams[2] = streams[0]
    while streams:
        for stream in list(streams):
            case = next(stream[1], None)
            if case is None:
                streams = [other for other in streams if other is not stream]
            else:
                yield case, wide.gain if stream[0] is wide else 0
