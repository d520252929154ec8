"""Generation and shrinking by hypothesis: random cases, and the fewest values with which a case still fails."""
import warnings

from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies
from hypothesis.errors import HypothesisWarning, NoSuchExample

from cover import WIDTH, completed, spoilers, spoils
from dimensions import DEFAULTS, DIMENSIONS, problem

TRIES = 60
AGAIN = 3  # Times that a case is tried once more, before its finding counts as a matter of luck.
PHASES = [Phase.generate, Phase.shrink]  # Within a test of hypothesis, its own phases would be the default.
QUIET = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}
warnings.simplefilter("ignore", HypothesisWarning)


def shrunk(case, table, fails):
    """The case without the values that its failure does not need; None if it does not fail again."""
    known = {}

    def holds(part):
        key = tuple(sorted(part.items()))
        if key not in known:
            known[key] = not problem(part, table) and fails(part)
        return known[key]

    if not any(fails(case) for _ in range(AGAIN)):
        return None
    known[tuple(sorted(case.items()))] = True
    # One value after the other, and those that others needed in a second turn: hypothesis then has few to choose from.
    for name in [*case, *case]:
        smaller = {other: label for other, label in case.items() if other != name}
        if name in case and holds(smaller):
            case = smaller
    items = sorted(case.items())

    def part_of(choices):
        """0 leaves a value out, 1 takes the first one of its dimension, others the case's own."""
        return {name: next(iter(DIMENSIONS[name])) if choice == 1 else label
                for (name, label), choice in zip(items, choices) if choice}

    strategy = strategies.tuples(*(strategies.integers(0, 12) for _ in items))
    try:
        return part_of(find(strategy, lambda choices: holds(part_of(choices)),
                            settings=settings(max_examples=TRIES, phases=PHASES, **QUIET)))
    except NoSuchExample:
        return case


def cases(table):
    items = [(name, label) for name, values in DIMENSIONS.items() for label in values if DEFAULTS.get(name) != label]
    lists = strategies.lists(strategies.sampled_from(items), min_size=2, max_size=WIDTH, unique_by=lambda item: item[0])
    randoms = strategies.randoms(use_true_random=False)

    def case(parts):
        chosen, generator = parts
        made = {}
        for item in chosen:  # What does not fit to the others is left out.
            if spoils(item) and spoilers(made):
                continue
            made = completed({**made, item[0]: item[1]}, table, generator) or made
        return made

    return strategies.tuples(lists, randoms).map(case).filter(bool)


def random_cases(table, number, is_over, judge):
    """Judges random cases until the time is over."""
    turn = 0
    while not is_over():
        turn += 1

        @seed(f"{number} {turn}")
        @settings(max_examples=100, phases=[Phase.generate], **QUIET)
        @given(cases(table))
        def some(case):
            if not is_over():
                judge(case)

        some()
