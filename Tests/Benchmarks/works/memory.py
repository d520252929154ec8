"""How much memory a prefetch takes."""

from harness.filesystem import Tmpfs
from harness.measure import Side, alternate
from harness.result import Goal, Result
from .bench import Folders
from .lists import Endless
from .prefetch import stored

SHORT, LONG = 1000, 100_000
BLOCKS = 4  # images of 1.1 kB: the bodies are no part of what grows


def memory(bench):
    """Peak memory against the length of a list, all of it fetched."""
    with Endless(bench, BLOCKS) as endless, Tmpfs(bench.scratch) as system:
        folders = Folders(system)
        measured = [side(bench, folders, endless, LONG), side(bench, folders, endless, SHORT)]
        for one, rounds in zip(measured, (1, bench.rounds)):
            alternate([one], rounds, bench.environment, after=folders.discard)
    long, short = (one.median("memory") for one in measured)
    return [
        Result(
            "prefetch-memory",
            f"memory of a prefetch of {LONG:,} different images, beside {SHORT:,}",
            system.name if system.fresh else "",
            measured,
            [Goal(f"≤ 1.25 × that for {SHORT:,} images", lambda _: long / short, 1.25)],
        )
    ]


def side(bench, folders, endless, length):
    name = "kf" if length == LONG else f"{length:,} images"
    return Side(
        name,
        lambda: (
            *(bench.kf, "prefetch", "-q", "--cache-dir", folders.new(name), "--max-size", 0),
            endless.list(length),
        ),
        "kf" if length == LONG else "note",
        f"{length:,} images, all fetched",
        stored(folders, name, length, "v1/index.sqlite"),
    )
