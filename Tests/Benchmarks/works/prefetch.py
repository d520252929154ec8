"""Filling an empty cache from a list."""
import itertools
import shutil

from harness import inputs
from harness.filesystem import FileSystem
from harness.floors import floor
from harness.measure import Side, take
from harness.peers import find, img2dataset
from harness.result import Goal, Result
from harness.server import Server
from .bench import count_and_size, files

IMAGES = 5000
AT_ONCE = 64
# The others take as long in either state.
DELETING = ("kf", "curl -Z", "all of it in C", "only the files")
LENGTHS = (1000, 10_000, 100_000)


class Folders:
    """A new directory for every run, all on one file system, so that none of them has a past of its own."""

    def __init__(self):
        self.system = None
        self.numbers = itertools.count()
        self.last = {}

    def new(self, name):
        self.last[name] = self.system.path / f"{name}-{next(self.numbers)}"
        return self.last[name]

    def made(self, name):
        path = self.new(name)
        path.mkdir()
        return path


def prefetch(bench):
    """5,000 small images from nginx on the same machine, on two kinds of file system."""
    images = bench.empty("small")
    inputs.small_images(images, IMAGES)
    with Server(images, bench.scratch / "nginx") as address:
        write_lists(bench, [f"{address}/{index}.png" for index in range(IMAGES)])
        fresh, used, description = in_both_states(bench)
    title = f"prefetch of {IMAGES:,} images of 12 kB into an empty cache"
    goals = [Goal("≤ 0.45 × curl -Z", lambda result: result.ratio("curl -Z"), 0.45)]
    return [Result("prefetch", title, f"fresh: {description}", fresh, goals),
            Result("prefetch", title, "after deletions: the same output was deleted just before", used, goals)]


def write_lists(bench, urls):
    (bench.scratch / "list.txt").write_text("".join(url + "\n" for url in urls))
    (bench.scratch / "curl.conf").write_text("".join(f'url = "{url}"\n' for url in urls))


def in_both_states(bench):
    folders = Folders()
    fresh = sides(bench, folders)
    used = [side for side in sides(bench, folders) if side.name in DELETING]
    for left in reversed(range(bench.rounds)):
        with FileSystem(bench.scratch) as system:
            folders.system = system
            for side in fresh:
                system.settle()
                take(side, bench.environment, last=left == 0)
            # Nothing was deleted on this file system until here.
            for side in used:
                for path in system.path.glob(f"{folder_of(side)}-*"):
                    shutil.rmtree(path)
                system.settle()
                take(side, bench.environment, last=left == 0)
            description = system.description
    return fresh, used, description


def folder_of(side):
    return side.name.replace(" ", "-").replace(",", "")


def sides(bench, folders):
    listed, configuration = bench.scratch / "list.txt", bench.scratch / "curl.conf"

    def check(name):
        def look():
            folder = folders.last[name]
            found = [path for path in files(folder) if path.suffix in (".png", ".jpg", "") and path.stat().st_size > 1000]
            if len(found) != IMAGES:
                raise SystemExit(f"bench: {name} stored {len(found)} of {IMAGES} images")
            return count_and_size(folder)
        return look

    everything = [
        Side("kf", lambda: (bench.kf, "prefetch", "-q", "--cache-dir", folders.new("kf"), "-j", AT_ONCE, "--max-per-host",
                            AT_ONCE, listed), "kf",
             f"-j {AT_ONCE} --max-per-host {AT_ONCE}; checks every image, names it by its SHA-256, indexes it", check("kf")),
        Side("curl -Z", lambda: (find("curl"), "-s", "--no-progress-meter", "-Z", "--parallel-max", AT_ONCE,
                                 "--remote-name-all", "--output-dir", folders.made("curl--Z"), "-K", configuration),
             note=f"--parallel-max {AT_ONCE} --remote-name-all, into one directory; checks nothing", check=check("curl--Z")),
        Side("aria2c", lambda: (find("aria2c"), "-q", "-i", listed, "-d", folders.made("aria2c"), "-j", AT_ONCE, "-x", 1,
                                "--file-allocation=none", "--auto-save-interval=0", "--allow-overwrite=true",
                                "--async-dns=false", "--download-result=hide", "--summary-interval=0"),
             note=f"-j {AT_ONCE} -x 1 --file-allocation=none --auto-save-interval=0", check=check("aria2c")),
    ]
    if img2dataset():
        everything.append(Side("img2dataset", lambda: (
            img2dataset(), "--url_list", listed, "--output_folder", folders.new("img2dataset"), "--output_format", "files",
            "--resize_mode", "no", "--skip_reencode", "True", "--thread_count", AT_ONCE, "--processes_count", 2,
            "--number_sample_per_shard", IMAGES // 2, "--compute_hash", "None", "--disable_all_reencoding", "True"),
            note=f"--resize_mode no --disable_all_reencoding True --thread_count {AT_ONCE} --processes_count 2",
            check=check("img2dataset")))
    everything += [
        Side("all of it in C", lambda: (floor("prefetch"), listed, AT_ONCE, folders.new("all-of-it-in-C")), "floor",
             "one thread: libcurl, SHA-256, a file, a row for each image; checks nothing", check("all-of-it-in-C")),
        Side("only the transfers", lambda: (floor("transfer"), listed, AT_ONCE), "note", "libcurl multi, nothing stored"),
        Side("only the files", lambda: (floor("files"), folders.new("only-the-files"), IMAGES), "note",
             "hash, create, write, rename on one thread", check("only-the-files")),
        Side("only the rows", lambda: (floor("rows"), folders.made("only-the-rows") / "index.sqlite", IMAGES), "note",
             "SQLite, 64 rows a transaction"),
    ]
    return everything


# A GIF whose comment nginx fills in, so that each address has bytes of its own and none lies on the disk.
GIF = (b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff" + b"\x21\xfe\x10XXXXXXXXXXXXXXXX\0"
       + (b"\x21\xfe" + (b"\xff" + b"." * 255) * 40 + b"\0") + b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;")
FILLED = """
    location / { try_files /image.gif =404; sub_filter_types *; sub_filter XXXXXXXXXXXXXXXX $arg_n; }
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

    def list(self, length):
        path = self.scratch / f"list-{length}.txt"
        if not path.exists():
            with path.open("w") as file:
                file.writelines(f"{self.server.address}/?n={number:016}\n" for number in range(length))
        return path


def memory(bench):
    """Peak memory of a prefetch against the length of its list."""
    sides = []
    with Endless(bench) as endless:
        for length in LENGTHS:
            with FileSystem(bench.scratch, 8, 4096) as system:
                side = Side("kf" if length == LENGTHS[-1] else f"{length:,} images", lambda: (
                    bench.kf, "prefetch", "-q", "--cache-dir", system.path / "cache", "--max-size", 0, endless.list(length)),
                    "kf" if length == LENGTHS[-1] else "note", f"{length:,} images, all fetched",
                    lambda: count_and_size(system.path / "cache/v1/objects"))
                take(side, bench.environment, last=True)
                if f"{length} files" not in side.output:
                    raise SystemExit(f"bench: {length} images fetched, but {side.output} are there")
                sides.append(side)
    longest, shortest = sides[-1].runs[0].memory, sides[0].runs[0].memory
    return [Result("memory", f"memory of a prefetch of {LENGTHS[-1]:,} images, beside shorter lists", "", sides[::-1], [
        Goal(f"≤ 1.25 × that for {LENGTHS[0]:,} images", lambda _: longest / shortest, 1.25)])]
