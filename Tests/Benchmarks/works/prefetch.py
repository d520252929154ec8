"""Filling an empty cache from a list, beside curl and C floors: the cost of a cache miss."""

import sqlite3

from harness import counters
from harness.filesystem import FileSystem, Tmpfs
from harness.floors import floor
from harness.measure import Side, alternate
from harness.peers import find
from harness.result import Counted, Counts, Goal, Result
from .bench import Folders, files
from .lists import small

AT_ONCE = 64
WALL, CPU = 0.8, 1.5  # of curl -Z
COUNTED_CALLS = 1000
MOST_CALLED = 5
SECONDS = 30  # after them, no more rounds on that file system


def http1(bench):
    """5,000 small images over HTTP/1.1."""
    yield from on_each_system(bench, "prefetch-http1", "HTTP/1.1")


def http2(bench):
    """The same over HTTP/2 and TLS."""
    yield from on_each_system(bench, "prefetch-http2", "HTTP/2 over TLS", secure=True)


def on_each_system(bench, work, protocol, secure=False):
    with small(bench) as origin:
        lists = origin.lists(secure=secure)
        for make in (Tmpfs, FileSystem):
            with make(bench.scratch) as system:
                if system.fresh:
                    yield timed(bench, origin, lists, system, work, protocol)
                else:
                    bench.skip(f"{work} on {system.name}: {system.missing}")


def timed(bench, origin, lists, system, work, protocol):
    folders = Folders(system)
    everything = sides(bench, folders, lists)
    connections = {}

    def before(side):
        system.settle()
        connections[side.name] = -origin.server.accepted()

    def after(side):
        connections[side.name] += origin.server.accepted()
        folders.discard()

    alternate(everything, bench.rounds, bench.environment, before, after, SECONDS)
    return Result(
        work,
        f"prefetch of {lists.count:,} images of 12 kB into an empty cache, {protocol}",
        system.name,
        everything,
        [
            Goal(f"≤ {WALL} × curl -Z by wall", lambda result: result.ratio("curl -Z"), WALL),
            Goal(f"≤ {CPU} × curl -Z by cpu", lambda result: result.ratio("curl -Z", "cpu"), CPU),
        ],
        {"connections in the last round": ", ".join(f"{name} {count}" for name, count in connections.items())},
    )


def sides(bench, folders, lists):
    """kf, curl and the floors, each with as many transfers at once."""
    return [
        kf(bench, folders, lists),
        curl(folders, lists),
        in_c(folders, lists, 1, "libcurl, SHA-256, a file, a row for each image; checks nothing"),
        in_c(folders, lists, 2, "the network on one, hash, files and rows on the other"),
    ]


def kf(bench, folders, lists, name="kf", options=lambda: ()):
    return Side(
        name,
        lambda: (
            *(bench.kf, "prefetch", "-q", "--cache-dir", folders.new(name)),
            *("-j", AT_ONCE, "--max-per-host", AT_ONCE),
            *trusting(lists, "--cacert"),
            *options(),
            lists.lines,
        ),
        "kf",
        f"-j {AT_ONCE} --max-per-host {AT_ONCE}; checks every image, names it by its SHA-256, indexes it",
        stored(folders, name, lists.count, "v1/index.sqlite"),
    )


def curl(folders, lists):
    return Side(
        "curl -Z",
        lambda: curl_command(folders.made("curl -Z"), lists),
        note=f"--parallel-max {AT_ONCE} --remote-name-all, into one directory; checks nothing",
        check=stored(folders, "curl -Z", lists.count),
    )


def curl_command(folder, lists):
    return (
        *(find("curl"), "-s", "--no-progress-meter", "-Z", "--parallel-max", AT_ONCE),
        *(("--http2", *trusting(lists, "--cacert")) if lists.authority else ()),
        *("--remote-name-all", "--output-dir", folder, "-K", lists.curl),
    )


def in_c(folders, lists, threads, note):
    name = "one C thread" if threads == 1 else "two C threads"
    return Side(
        name,
        lambda: (
            *(floor("prefetch"), lists.lines, AT_ONCE, folders.new(name), threads),
            *trusting(lists),
        ),
        "floor",
        note,
        stored(folders, name, lists.count, "index.sqlite"),
    )


def trusting(lists, *option):
    return (*option, lists.authority) if lists.authority else ()


def stored(folders, name, count, index=None):
    """Checks that every image is stored and, with an index, that each has a row."""

    def look():
        folder = folders.last[name]
        found = images(folder)
        if len(found) != count:
            raise SystemExit(f"bench: {name} stored {len(found)} of {count} images")
        said = f"{len(found)} files, {sum(file.stat().st_size for file in found) / 1e6:.1f} MB"
        if index is None:
            return said
        rows = entries(folder / index)
        if rows != count:
            raise SystemExit(f"bench: {name} indexed {rows} of {count} images")
        return f"{said}, {rows} rows"

    return look


def images(folder):
    """The stored images, without the cache's own files."""
    return [
        path
        for path in files(folder)
        if path.suffix in (".png", ".jpg", ".gif", "")
        and path.name not in ("reserve", "flights")
        and path.stat().st_size > 1000
    ]


def entries(index):
    database = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    rows = database.execute("SELECT count(*) FROM entries").fetchone()[0]
    database.close()
    return rows


def calls(bench):
    """System calls per image."""

    def columns(many, one, each):
        more = many - one
        most = [name for name, _ in more.most_common(MOST_CALLED)]
        return {
            "per image": more.total() * each,
            "futex": more["futex"] * each,
            "in all": many.total(),
            "note": "most, per image: " + ", ".join(f"{name} {more[name] * each:.2f}" for name in most),
        }

    counts = counted(bench, "strace", counters.system_calls, columns, COUNTED_CALLS)
    if counts:
        yield Counts(
            "prefetch-calls",
            f"system calls of a prefetch of {COUNTED_CALLS:,} images, less those of one",
            "strace",
            counts,
            facts={"note": "strace slows down every call: batches are smaller, and threads wait more often, than in other runs"},
        )


def counted(bench, program, counter, columns, count):
    """Counts a run of `count` images and subtracts a run of one, which stands for the program's start."""
    reason = counters.missing(program)
    if reason:
        bench.skip(f"counting by {program}: {reason}")
        return []
    with small(bench) as origin, Tmpfs(bench.scratch) as system:
        folders = Folders(system)
        found = []
        for many, one in zip(sides(bench, folders, origin.lists(count)), sides(bench, folders, origin.lists(1))):
            totals = []
            for side in (many, one):
                totals.append(counter(side.command(), bench.environment, bench.scratch))
                side.check()
                folders.discard()
            counts = columns(*totals, 1 / (count - 1))
            found.append(Counted(many.name, many.kind, counts, counts.pop("note", "")))
    return found
