"""Removing what is in a cache."""

import subprocess
import sys
from pathlib import Path

from harness.filesystem import FileSystem, Tmpfs
from harness.floors import floor
from harness.measure import Side, alternate
from harness.result import Goal, Result
from .bench import Folders, files

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from million_cache import generate  # noqa: E402

ENTRIES = 100_000
SECONDS = 15  # after them, no more rounds on that file system: each makes a copy of the cache for each side


def clean(bench):
    """Eviction of every entry, beside a loop that unlinks as many files."""
    with Tmpfs(bench.scratch) as memory:
        original = memory.path / "original"
        original.mkdir(mode=0o700)
        generate(bench.kf, original, ENTRIES, expired=False)
        if memory.fresh:
            yield evicted(bench, memory, original)
        else:
            bench.skip(f"prefetch-clean on {memory.name}: {memory.missing}")
        with FileSystem(bench.scratch) as system:
            if system.fresh:
                yield evicted(bench, system, original)
            else:
                bench.skip(f"prefetch-clean on {system.name}: {system.missing}")


def evicted(bench, system, original):
    folders = Folders(system)

    def copy(name):
        subprocess.run(("cp", "-a", original, folders.new(name)), check=True)
        system.settle()
        return folders.last[name]

    def check(name):
        def look():
            left = len(files(folders.last[name] / "v1/objects"))
            if left:
                raise SystemExit(f"bench: {name} has left {left} of {ENTRIES} files")
            return f"{ENTRIES:,} files removed"

        return look

    sides = [
        Side(
            "kf",
            lambda: (bench.kf, "cache", "clean", "-q", "--max-size", 1, "--cache-dir", copy("kf")),
            "kf",
            "--max-size 1: the least recently used first, each with its row",
            check("kf"),
        ),
        Side("unlink loop in C", lambda: (floor("unlink"), copy("loop") / "v1/objects"), "floor", check=check("loop")),
    ]
    alternate(sides, bench.rounds, bench.environment, after=folders.discard, seconds=SECONDS)
    return Result(
        "prefetch-clean",
        f"eviction of {ENTRIES:,} entries",
        system.name,
        sides,
        [Goal("≤ 1.3 × an unlink loop", lambda result: result.ratio("unlink loop in C"), 1.3)],
    )
