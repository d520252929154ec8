"""Filling an empty cache from a list."""

import itertools

from harness import inputs
from harness.filesystem import FileSystem
from harness.floors import floor
from harness.measure import BUDGET, Side, take
from harness.peers import find, img2dataset
from harness.result import Goal, Result
from harness.server import Server
from .bench import count_and_size, files

IMAGES = 5000
AT_ONCE = 64
# The other peers take so long that the file system is little of it.
IN_BOTH_STATES = ("kf", "curl -Z", "all of it in C")
DELETED = 10_000
LENGTHS = (1000, 10_000, 100_000)


class Folders:
    """A new directory for every run, all on one file system, until one is kept to be used again."""

    def __init__(self):
        self.system = None
        self.numbers = itertools.count()
        self.last = {}
        self.kept = set()

    def new(self, name):
        if name not in self.kept:
            self.last[name] = self.system.path / f"{name}-{next(self.numbers)}"
        return self.last[name]

    def made(self, name):
        path = self.new(name)
        path.mkdir(exist_ok=True)
        return path

    def empty(self, name):
        """Deletes what the last run made; its directories stay, and the next run has them."""
        self.kept.add(name)
        for file in files(self.last[name]):
            file.unlink()


class Lists:
    """The same addresses for those who read lines, and for curl."""

    def __init__(self, scratch, name, urls):
        self.lines = scratch / f"{name}.txt"
        self.curl = scratch / f"{name}.conf"
        self.count = len(urls)
        self.lines.write_text("".join(url + "\n" for url in urls))
        self.curl.write_text("".join(f'url = "{url}"\n' for url in urls))


def prefetch(bench):
    """5,000 small images from nginx on the same machine, on a file system without a past and on one with."""
    images = bench.empty("small")
    inputs.small_images(images, IMAGES)
    title = f"prefetch of {IMAGES:,} images of 12 kB into an empty cache"
    goals = [Goal("≤ 0.45 × curl -Z", lambda result: result.ratio("curl -Z"), 0.45)]
    with Server(images, bench.scratch / "nginx") as address, Endless(bench) as endless:
        lists = Lists(bench.scratch, "list", [f"{address}/{index}.png" for index in range(IMAGES)])
        earlier = Lists(bench.scratch, "earlier", [endless.url(index) for index in range(DELETED)])
        fresh, state = without_past(bench, lists)
        results = [Result("prefetch", title, f"fresh: {state}", fresh, goals)]
        used = with_past(bench, lists, earlier)
        if used:
            results.append(
                Result(
                    "prefetch",
                    title,
                    f"after deletions: {DELETED:,} images were deleted in the same"
                    " directories just before, ext4 without a journal",
                    used,
                    goals,
                )
            )
        return results


def without_past(bench, lists):
    folders = Folders()
    everything = sides(bench, folders, lists)
    for _ in range(bench.rounds):
        with FileSystem(bench.scratch) as folders.system:
            for side in everything:
                folders.system.settle()
                take(side, bench.environment)
            fresh = folders.system.fresh
    return everything, "a new ext4 for each round" if fresh else "new directories among the temporary files"


def with_past(bench, lists, earlier):
    """Each program had more images in its directory, and they were deleted. Nothing where no ext4 can be made."""
    measured = []
    for _ in range(bench.rounds):
        with FileSystem(bench.scratch, journal=False) as system:
            if not system.fresh:
                return []
            folders = Folders()
            folders.system = system
            before, after = sides(bench, folders, earlier), sides(bench, folders, lists)
            for number, (first, second) in enumerate((a, b) for a, b in zip(before, after) if a.name in IN_BOTH_STATES):
                if number < len(measured):
                    second.runs, second.output = measured[number].runs, measured[number].output
                    measured[number] = second
                else:
                    measured.append(second)
                if second.spent > BUDGET:
                    continue
                first.check = None
                take(first, bench.environment)
                folders.empty(folder_of(first.name))
                system.settle()
                take(second, bench.environment)
    return measured


def folder_of(name):
    return name.replace(" ", "-")


def sides(bench, folders, lists):
    listed = lists.lines

    def check(name):
        def look():
            folder = folders.last[name]
            found = [
                path
                for path in files(folder)
                if path.suffix in (".png", ".jpg", "")
                and path.name not in ("reserve", "flights")
                and path.stat().st_size > 1000
            ]
            if len(found) != IMAGES:
                raise SystemExit(f"bench: {name} stored {len(found)} of {IMAGES} images")
            return count_and_size(folder)

        return look

    everything = [
        Side(
            "kf",
            lambda: (
                bench.kf,
                "prefetch",
                "-q",
                "--cache-dir",
                folders.new("kf"),
                "-j",
                AT_ONCE,
                "--max-per-host",
                AT_ONCE,
                listed,
            ),
            "kf",
            f"-j {AT_ONCE} --max-per-host {AT_ONCE}; checks every image, names it by its SHA-256, indexes it",
            check("kf"),
        ),
        Side(
            "curl -Z",
            lambda: (
                find("curl"),
                "-s",
                "--no-progress-meter",
                "-Z",
                "--parallel-max",
                AT_ONCE,
                "--remote-name-all",
                "--output-dir",
                folders.made("curl--Z"),
                "-K",
                lists.curl,
            ),
            note=f"--parallel-max {AT_ONCE} --remote-name-all, into one directory; checks nothing",
            check=check("curl--Z"),
        ),
        Side(
            "aria2c",
            lambda: (
                find("aria2c"),
                "-q",
                "-i",
                listed,
                "-d",
                folders.made("aria2c"),
                "-j",
                AT_ONCE,
                "-x",
                1,
                "--file-allocation=none",
                "--auto-save-interval=0",
                "--allow-overwrite=true",
                "--async-dns=false",
                "--download-result=hide",
                "--summary-interval=0",
            ),
            note=f"-j {AT_ONCE} -x 1 --file-allocation=none --auto-save-interval=0",
            check=check("aria2c"),
        ),
    ]
    if img2dataset():
        everything.append(
            Side(
                "img2dataset",
                lambda: (
                    img2dataset(),
                    "--url_list",
                    listed,
                    "--output_folder",
                    folders.new("img2dataset"),
                    "--output_format",
                    "files",
                    "--resize_mode",
                    "no",
                    "--skip_reencode",
                    "True",
                    "--thread_count",
                    AT_ONCE,
                    "--processes_count",
                    2,
                    "--number_sample_per_shard",
                    lists.count // 2,
                    "--compute_hash",
                    "None",
                    "--disable_all_reencoding",
                    "True",
                ),
                note=f"--resize_mode no --disable_all_reencoding True --thread_count {AT_ONCE} --processes_count 2",
                check=check("img2dataset"),
            )
        )
    everything += [
        Side(
            "all of it in C",
            lambda: (floor("prefetch"), listed, AT_ONCE, folders.new("all-of-it-in-C")),
            "floor",
            "one thread: libcurl, SHA-256, a file, a row for each image; checks nothing",
            check("all-of-it-in-C"),
        ),
        Side(
            "only the transfers", lambda: (floor("transfer"), listed, AT_ONCE), "note", "libcurl multi, nothing stored"
        ),
        Side(
            "only the files",
            lambda: (floor("files"), folders.new("only-the-files"), lists.count),
            "note",
            "hash, create, write, rename on one thread",
            check("only-the-files"),
        ),
        Side(
            "only the rows",
            lambda: (floor("rows"), folders.made("only-the-rows") / "index.sqlite", lists.count),
            "note",
            "SQLite, 64 rows a transaction",
        ),
    ]
    return everything


# A GIF whose comment nginx fills in, so that each address has bytes of its own and none lies on the disk.
GIF = (
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff"
    + b"\x21\xfe\x15"
    + b"X" * 21
    + b"\0"
    + (b"\x21\xfe" + (b"\xff" + b"." * 255) * 40 + b"\0")
    + b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
)
FILLED = """
    location / { try_files /image.gif =404; sub_filter_types *; sub_filter XXXXXXXXXXXXXXXXXXXXX $request_uri; }
"""


class Endless:
    """A server that has as many different images as one asks for, 10 kB each."""

    def __init__(self, bench):
        folder = bench.empty("endless")
        (folder / "image.gif").write_bytes(GIF)
        self.server = Server(folder, bench.scratch / "nginx-endless", FILLED)
        self.scratch = bench.scratch

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *reason):
        self.server.__exit__(*reason)

    def url(self, number):
        return f"{self.server.address}/{number:016}.gif"

    def list(self, length):
        path = self.scratch / f"list-{length}.txt"
        if not path.exists():
            with path.open("w") as file:
                file.writelines(f"{self.url(number)}\n" for number in range(length))
        return path


def memory(bench):
    """Peak memory of a prefetch against the length of its list."""
    sides = []
    with Endless(bench) as endless:
        for length in LENGTHS:
            with FileSystem(bench.scratch, 8, 4096) as system:
                side = Side(
                    "kf" if length == LENGTHS[-1] else f"{length:,} images",
                    lambda: (
                        bench.kf,
                        "prefetch",
                        "-q",
                        "--cache-dir",
                        system.path / "cache",
                        "--max-size",
                        0,
                        endless.list(length),
                    ),
                    "kf" if length == LENGTHS[-1] else "note",
                    f"{length:,} images, all fetched",
                    lambda: count_and_size(system.path / "cache/v1/objects"),
                )
                take(side, bench.environment)
                if f"{length} files" not in side.output:
                    raise SystemExit(f"bench: {length} images fetched, but {side.output} are there")
                sides.append(side)
    longest, shortest = sides[-1].runs[0].memory, sides[0].runs[0].memory
    return [
        Result(
            "memory",
            f"memory of a prefetch of {LENGTHS[-1]:,} images, beside shorter lists",
            "",
            sides[::-1],
            [Goal(f"≤ 1.25 × that for {LENGTHS[0]:,} images", lambda _: longest / shortest, 1.25)],
        )
    ]
