"""Instructions in user space, which hardly depend on the machine's load: of a cache miss, a hit of a list, and a process
of one hit."""

import statistics
from pathlib import Path

from harness import callgrind, counters
from harness.attribution import HASHING, KINDS, PARTS, attributed
from harness.filesystem import Tmpfs
from harness.floors import floor
from harness.measure import Reading
from harness.result import Breakdown, Counted, Counts, Goal
from .bench import Folders
from .lists import small
from .prefetch import sides

MISSES, HITS, CALLS = 500, 5000, 5000
MISS, HIT, PROCESS = 245_000, 25_000, 3.3  # goals
STARTS = 5  # runs of a single hit: addresses and seeds of hashes differ from one to the next


def instructions(bench):
    reason = counters.missing("valgrind")
    if reason:
        return bench.skip(f"counting by valgrind: {reason}")
    with small(bench) as origin, Tmpfs(bench.scratch) as system:
        yield misses(bench, origin, system)
        yield hits(bench, origin, system)
        yield single_hit(bench, origin, system)


def misses(bench, origin, system):
    """A run of many images, less a run of one, which stands for the program's start."""
    folders = Folders(system)
    found, parts, kinds, calls = [], {}, {}, []
    for many, one in pairs(bench, folders, origin, MISSES):
        program, profiles = observed(bench, folders, (many, one), callgrind.profile)
        by_part, by_kind = attributed(program, *profiles, 1 / (MISSES - 1))
        parts[many.name], kinds[many.name] = by_part, by_kind
        found.append(Counted(many.name, many.kind, columns(by_part, *profiles), many.note))
    for many, one in pairs(bench, folders, origin, CALLS):
        counts = []
        for side in (many, one):
            counts.append(counters.all_calls(side.command(), bench.environment, bench.scratch))
            folders.discard()
        more, each = counts[0] - counts[1], 1 / (CALLS - 1)
        calls.append(f"{many.name} {more['all'] * each:.2f}, {more['futex'] * each:.2f}")
    ours, *others = found
    ratios = (f"× {without_hash(ours) / without_hash(side):.2f} of {side.name}" for side in others)
    return Counts(
        "prefetch-instructions",
        f"instructions of a prefetch of {MISSES:,} images, less those of one",
        "misses",
        found,
        [Goal(f"≤ {MISS:,} an image without SHA-256", lambda result: without_hash(result.kf), MISS)],
        {
            "without SHA-256 kf takes": ", ".join(ratios),
            f"system calls and futexes an image, of {CALLS:,}": "; ".join(calls),
            "note": "callgrind has no SHA-256 instructions: hashing is overstated",
        },
        [Breakdown("an image, by part", parts, PARTS), Breakdown("an image, by kind", kinds, KINDS)],
    )


def observed(bench, folders, both, observe):
    """The program of two sides, and what `observe` makes of a run of each."""
    seen = []
    for side in both:
        command = side.command()
        seen.append(observe(command, bench.environment, bench.scratch))
        side.check()
        folders.discard()
    return Path(command[0]), seen


def pairs(bench, folders, origin, count):
    return zip(sides(bench, folders, origin.lists(count)), sides(bench, folders, origin.lists(1)))


def columns(by_part, many, one):
    return {
        "without SHA-256": by_part.total() - by_part[HASHING],
        "per image": by_part.total(),
        "in all (millions)": many.total / 1e6,
        "for one image (millions)": one.total / 1e6,
    }


def without_hash(side):
    return side.counts["without SHA-256"]


def hits(bench, origin, system):
    """A list whose images are all cached, less a list of one."""
    many, one = origin.lists(HITS).lines, origin.lists(1).lines
    cache = filled(bench, system, many)
    parts, kinds, found = {}, {}, []
    for name, kind, command in (
        ("kf", "kf", lambda lines: (bench.kf, "prefetch", "-q", "--cache-dir", cache, lines)),
        ("C and SQLite", "floor", lambda lines: Reading((floor("lookup"), cache), lines)),
    ):
        profiles = [profile(bench, command(lines)) for lines in (many, one)]
        program = bench.kf if kind == "kf" else floor("lookup")
        parts[name], kinds[name] = attributed(program, *profiles, 1 / (HITS - 1))
        found.append(Counted(name, kind, {"per image": parts[name].total()}))
    return Counts(
        "prefetch-instructions",
        f"instructions of a prefetch of {HITS:,} cached images, less those of one",
        "hits",
        found,
        [Goal(f"≤ {HIT:,} an image", lambda result: result.first(result.kf), HIT)],
        breakdowns=[Breakdown("an image, by part", parts, PARTS), Breakdown("an image, by kind", kinds, KINDS)],
    )


def profile(bench, command):
    if isinstance(command, Reading):
        return callgrind.profile(command.command, bench.environment, bench.scratch, command.file)
    return callgrind.profile(command, bench.environment, bench.scratch)


def filled(bench, system, lines):
    """A cache that has the images of a list."""
    cache = Folders(system).new("hits")
    counters.run((bench.kf, "prefetch", "-q", "--cache-dir", cache, lines), bench.environment)
    return cache


def single_hit(bench, origin, system):
    """One cached image, and a process of its own."""
    lines = origin.lists(1).lines
    cache, url = filled(bench, system, lines), lines.read_text().strip()
    found = []
    for name, kind, command in (
        ("kf", "kf", (bench.kf, "fetch", "--cache-dir", cache, url)),
        ("C and SQLite", "floor", (floor("lookup"), cache, url)),
    ):
        totals = [callgrind.total(command, bench.environment, bench.scratch) / 1e6 for _ in range(STARTS)]
        found.append(Counted(name, kind, {"millions": statistics.median(totals)}))
    return Counts(
        "prefetch-instructions",
        f"instructions of a process that fetches one cached image, the median of {STARTS}",
        "one hit",
        found,
        [Goal(f"≤ {PROCESS} million", lambda result: result.first(result.kf), PROCESS)],
    )
