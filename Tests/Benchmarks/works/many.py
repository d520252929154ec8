"""A cache of a million entries."""

import sys
from pathlib import Path

from harness.filesystem import FileSystem
from harness.floors import floor
from harness.measure import Reading, Side, alternate
from harness.result import Goal, Result

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from million_cache import generate, key  # noqa: E402

ENTRIES = 1_000_000


def million(bench, entries=ENTRIES):
    """`cache stat`, and a list as long as the cache."""
    with FileSystem(bench.scratch, 12, 4096) as system, bench.within(system.path):
        cache = bench.empty("cache")
        cache.chmod(0o700)
        generate(bench.kf, cache, entries, expired=False)
        system.settle()
        listed = bench.scratch / "million.txt"
        with listed.open("w") as file:
            file.writelines(f"{key(number)}\n" for number in range(entries))
        stat = [
            Side("kf", lambda: (bench.kf, "cache", "stat", "--json"), "kf"),
            Side("C and SQLite", lambda: (floor("count"), cache), "note", "counts the rows and adds up their sizes"),
        ]
        alternate(stat, bench.cheap(11), bench.environment)
        # Access times are days old before the first run, and of this hour in every other.
        bulk = lambda: (bench.kf, "prefetch", "-q", listed, "--max-size", 0)  # noqa: E731
        first = [Side("kf", bulk, "kf")]
        alternate(first, 1, bench.environment)
        again = [
            Side("kf", bulk, "kf"),
            Side(
                "C and SQLite",
                lambda: Reading((floor("lookup"), cache), listed),
                "floor",
                "hashes the keys, selects the rows 4,096 at a time in their order",
            ),
        ]
        alternate(again, bench.rounds, bench.environment)
    lines = f"{entries:,}"
    return [
        Result(
            "stat",
            f"cache stat with {lines} entries",
            "",
            stat,
            [Goal("≤ 10 ms", lambda result: result.kf.median(), 10)],
        ),
        Result(
            "stat-hits-touching",
            f"prefetch of {lines} cached images, last used days ago (one run)",
            "",
            first,
            [Goal("≤ 20 s", lambda result: result.kf.median() / 1000, 20)],
        ),
        Result(
            "stat-hits",
            f"prefetch of {lines} cached images, used within the hour",
            "",
            again,
            [
                Goal("≤ 6 s", lambda result: result.kf.median() / 1000, 6),
                Goal("≤ 64 MiB", lambda result: max(run.memory for run in result.kf.runs), 64),
            ],
        ),
    ]
