"""A prefetch that also makes thumbnails."""

import os

from harness import inputs
from harness.filesystem import Tmpfs
from harness.measure import Side, alternate
from harness.peers import find
from harness.result import Result
from harness.server import Server
from .bench import Folders, files
from .large_body import in_turn
from .lists import Lists
from .photos import QUALITY, SIDE, spread
from .prefetch import AT_ONCE, curl_command, entries

PHOTOS, PHOTOS_IN_VARIANTS = 500, 100
SMALLEST, LARGEST = 200_000, 500_000  # bytes
VARIANTS = {"small": 160, "large": 640}
SECONDS = 20  # after them, no more rounds


def processing(bench):
    """Photographs fetched and made small, and fetched and made into two sizes."""
    served = bench.empty("photos")
    inputs.numbered(inputs.photographs(), served, PHOTOS, SMALLEST, LARGEST)
    with Server(served, bench.scratch / "nginx-photos") as address, Tmpfs(bench.scratch) as system:
        urls = [f"{address}/{index}.jpg" for index in range(PHOTOS)]
        lists = Lists(bench.scratch, "photos", urls)
        yield measured(bench, system, lists, f"{SIDE} px", ("-p", resized(SIDE)), [SIDE])
        variants = [f"--variant={name}={resized(size)}" for name, size in VARIANTS.items()]
        title = "two variants, " + " and ".join(f"{size} px" for size in VARIANTS.values())
        lists = Lists(bench.scratch, "photos-in-variants", urls[:PHOTOS_IN_VARIANTS])
        yield measured(bench, system, lists, title, variants, list(VARIANTS.values()))


def resized(size):
    return f"resize:{size}x{size},fit"


def measured(bench, system, lists, title, options, sizes):
    folders = Folders(system)

    def kf():
        return (
            *(bench.kf, "prefetch", "-q", "--cache-dir", folders.new("kf")),
            *("-j", AT_ONCE, "--max-per-host", AT_ONCE, *options, lists.lines),
        )

    def others():
        folder = folders.made("others")
        return in_turn(curl_command(folder, lists), *(thumbnails(folder, lists.count, size) for size in sizes))

    def check(name, index=None):
        def look():
            folder = folders.last[name]
            made = entries(folder / index) if index else len(files(folder))
            expected = lists.count * (1 + len(sizes))
            if made != expected:
                raise SystemExit(f"bench: {name} made {made} of {expected} files")
            return f"{made} {'rows' if index else 'files'}"

        return look

    sides = [
        Side("kf", kf, "kf", " ".join(options), check("kf", "v1/index.sqlite")),
        Side(
            f"curl -Z, then {thumbnailer()}",
            others,
            note=f"xargs -P {os.cpu_count()}, a thread each",
            check=check("others"),
        ),
    ]
    alternate(sides, bench.rounds, bench.environment, after=folders.discard, seconds=SECONDS)
    return Result(
        "prefetch-photos",
        f"prefetch of {lists.count} photographs of {SMALLEST // 1000} to {LARGEST // 1000} kB, then thumbnails",
        title,
        sides,
    )


def thumbnailer():
    return "vipsthumbnail" if find("vipsthumbnail") else "ImageMagick"


def thumbnails(folder, count, size):
    """A command that makes a thumbnail of every photograph there."""
    target = folder / str(size)
    target.mkdir()
    if thumbnailer() == "vipsthumbnail":
        words = (find("vipsthumbnail"), "-s", size, "--vips-concurrency=1", "-o", f"{target}/%s.jpg[Q={QUALITY}]")
    else:
        words = (
            *(find("mogrify"), "-limit", "thread", "1", "-define", f"jpeg:size={2 * size}x{2 * size}"),
            *("-path", target, "-thumbnail", f"{size}x{size}", "-quality", QUALITY),
        )
    return spread(folder, count, *words)
