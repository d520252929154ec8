"""What is in the cache already."""

from harness.floors import floor
from harness.measure import Reading, Side, alternate
from harness.paths import ROOT
from harness.peers import find
from harness.result import Goal, Result
from harness.server import Server
from harness import inputs

IMAGES = 5000


def hit(bench):
    """One image, a process of its own: mostly what starting and opening the index cost."""
    bench.empty("cache")
    with Server(ROOT / "Fixtures", bench.scratch / "nginx") as address:
        url = f"{address}/jpeg/grey.jpg"
        sides = [
            Side("kf", lambda: (bench.kf, "fetch", url), "kf"),
            Side(
                "curl",
                lambda: (find("curl"), "-s", "-o", "/dev/null", url),
                note="gets it again from nginx on the same machine, as there is no cache",
            ),
            Side("curl --version", lambda: (find("curl"), "--version"), "note", "only starts"),
            Side(
                "C and SQLite",
                lambda: (floor("lookup"), bench.cache, url),
                "floor",
                "opens kf's own index, selects the row, looks at the file",
            ),
        ]
        # The first one fills the cache, and is not counted.
        alternate(sides, 1, bench.environment)
        for side in sides:
            side.runs.clear()
        alternate(sides, bench.cheap(101), bench.environment)
    return [
        Result(
            "hit",
            "fetch of a cached image, a process each",
            "",
            sides,
            [Goal("≤ 3.5 ms", lambda result: result.kf.median(), 3.5)],
        )
    ]


def hits(bench):
    """A list whose images are all there."""
    images = bench.empty("small")
    bench.empty("cache")
    inputs.small_images(images, IMAGES)
    listed = bench.scratch / "list.txt"
    with Server(images, bench.scratch / "nginx") as address:
        listed.write_text("".join(f"{address}/{index}.png\n" for index in range(IMAGES)))
        sides = [
            Side("kf", lambda: (bench.kf, "prefetch", "-q", listed), "kf"),
            Side(
                "C and SQLite",
                lambda: Reading((floor("lookup"), bench.cache), listed),
                "floor",
                "hashes the keys, selects the rows of kf's own index in one transaction",
            ),
        ]
        bench_fill(bench, sides[0])
        alternate(sides, bench.cheap(11), bench.environment)
    return [
        Result(
            "hits",
            f"prefetch of {IMAGES:,} images that are all cached",
            "",
            sides,
            [Goal("≤ 60 ms", lambda result: result.kf.median(), 60)],
        )
    ]


def bench_fill(bench, side):
    alternate([side], 1, bench.environment)
    side.runs.clear()
