"""Programs that download lists, on a fresh ext4 and after many deletions."""

from harness.filesystem import FileSystem
from harness.floors import floor
from harness.measure import BUDGET, Side, alternate, take
from harness.peers import environment, find
from harness.result import Result
from .bench import Folders, files
from .lists import Endless, small
from .prefetch import AT_ONCE, curl, in_c, kf, sides, stored

DELETED = 10_000


class UsedFolders(Folders):
    """Keeps to the directory of the first run once its files have been deleted."""

    def __init__(self, system):
        super().__init__(system)
        self.kept = set()

    def new(self, name):
        return self.last[name] if name in self.kept else super().new(name)

    def made(self, name):
        path = self.new(name)
        path.mkdir(exist_ok=True)
        return path

    def empty(self, name):
        """Deletes the files of the last run. Its directories stay for the next one, as does kf's mark of a cache."""
        self.kept.add(name)
        for file in files(self.last[name]):
            if file.name != "CACHEDIR.TAG":
                file.unlink()


def downloaders(bench):
    """5,000 small images with every program that downloads lists, and the parts of the work on their own."""
    with small(bench) as origin, FileSystem(bench.scratch) as system:
        lists, folders = origin.lists(), Folders(system)
        everything = [*sides(bench, folders, lists), *others(folders, lists), *parts(folders, lists)]
        alternate(everything, bench.rounds, bench.environment, lambda _: system.settle(), folders.discard)
        yield Result(
            "downloaders",
            f"prefetch of {lists.count:,} images of 12 kB into an empty cache, all peers",
            system.name if system.fresh else "new directories among the temporary files",
            everything,
        )


def others(folders, lists):
    found = [
        Side(
            "aria2c",
            lambda: (
                *(find("aria2c"), "-q", "-i", lists.lines, "-d", folders.made("aria2c"), "-j", AT_ONCE, "-x", 1),
                *("--file-allocation=none", "--auto-save-interval=0", "--allow-overwrite=true", "--async-dns=false"),
                *("--download-result=hide", "--summary-interval=0"),
            ),
            note=f"-j {AT_ONCE} -x 1 --file-allocation=none --auto-save-interval=0",
            check=stored(folders, "aria2c", lists.count),
        ),
    ]
    if environment("img2dataset"):
        found.append(
            Side(
                "img2dataset",
                lambda: (
                    *(environment("img2dataset") / "img2dataset", "--url_list", lists.lines, "--output_folder", folders.new("img2dataset")),
                    *("--output_format", "files", "--resize_mode", "no", "--skip_reencode", "True"),
                    *("--thread_count", AT_ONCE, "--processes_count", 2),
                    *("--number_sample_per_shard", lists.count // 2, "--compute_hash", "None"),
                    *("--disable_all_reencoding", "True"),
                ),
                note=f"--resize_mode no --disable_all_reencoding True --thread_count {AT_ONCE} --processes_count 2",
                check=stored(folders, "img2dataset", lists.count),
            )
        )
    return found


def parts(folders, lists):
    return [
        Side(
            "only the transfers",
            lambda: (floor("transfer"), lists.lines, AT_ONCE),
            "note",
            "libcurl multi, nothing stored",
        ),
        Side(
            "only the files",
            lambda: (floor("files"), folders.new("only the files"), lists.count),
            "note",
            "hash, create, write, rename on one thread",
            stored(folders, "only the files", lists.count),
        ),
        Side(
            "only the rows",
            lambda: (floor("rows"), folders.made("only the rows") / "index.sqlite", lists.count),
            "note",
            "SQLite, 64 rows a transaction",
        ),
    ]


def deletions(bench):
    """Each program had more images in its directory, and they were deleted just before."""
    measured = {}
    with small(bench) as origin, Endless(bench) as endless:
        earlier = endless.lists("earlier", DELETED)
        lists = origin.lists()
        for _ in range(bench.rounds):
            with FileSystem(bench.scratch, journal=False) as system:
                if not system.fresh:
                    bench.skip(f"deletions: {system.missing}")
                    return
                folders = UsedFolders(system)
                for first, second in zip(some(bench, folders, earlier), some(bench, folders, lists)):
                    side = measured.setdefault(second.name, second)
                    if side.spent > BUDGET:
                        continue
                    side.command, side.check = second.command, second.check
                    first.check = None
                    take(first, bench.environment)
                    folders.empty(first.name)
                    system.settle()
                    take(side, bench.environment)
    yield Result(
        "deletions",
        f"prefetch of {lists.count:,} images of 12 kB into an empty cache",
        f"after deletions: {DELETED:,} images were deleted in the same directories just before, ext4 without a journal",
        list(measured.values()),
    )


def some(bench, folders, lists):
    note = "libcurl, SHA-256, a file, a row for each image; checks nothing"
    return [kf(bench, folders, lists), curl(folders, lists), in_c(folders, lists, 1, note)]
