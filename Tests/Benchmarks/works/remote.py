"""A remote that a fleet shares: what filling it adds to a run, and how long a run takes that finds all there."""

import contextlib
import itertools
import shutil
import subprocess
import sys

from harness.filesystem import Tmpfs
from harness.measure import alternate
from harness.paths import BENCHMARKS
from harness.result import Goal, Result
from harness.server import Server
from .bench import Folders, files
from .lists import IMAGES, Lists, small
from .prefetch import kf

LIMIT = 1.3  # of the run without a remote
LATENCY = 10  # milliseconds

CONFIGURATION = """
    access_log off;
    dav_methods PUT DELETE MKCOL;
    create_full_put_path on;
    client_max_body_size 0;
    """


class Remote:
    """An nginx with WebDAV in memory; each prefix in it is a remote of its own."""

    def __init__(self, system):
        self.tree = system.path / "remote"
        self.tree.mkdir()
        # The temporary bodies lie on the same file system, so that a PUT ends with a rename.
        self.server = Server(self.tree, system.path / "nginx-remote", CONFIGURATION)
        self.numbers = itertools.count()

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *reason):
        self.server.__exit__(*reason)

    def url(self, prefix):
        return f"{self.server.address}/{prefix}"

    def new(self):
        """An empty remote; the one before is deleted."""
        number = next(self.numbers)
        shutil.rmtree(self.tree / f"written-{number - 1}", ignore_errors=True)
        return self.url(f"written-{number}")

    def expect(self, prefix, count):
        """Checks that so many images are stored: an entry and an object each."""
        found = len(files(self.tree / prefix))
        if found != 2 * count:
            raise SystemExit(f"bench: the remote holds {found} files for {count} images")


def remote(bench):
    """5,000 small images: from the origin, the same into an empty remote, and all from that remote."""
    if "--remote " not in subprocess.run([bench.kf, "help", "prefetch"], capture_output=True, text=True).stdout:
        return bench.skip("remote: this kf has no --remote")
    with small(bench) as origin, Tmpfs(bench.scratch) as system, Remote(system) as store:
        yield from beside(bench, system, store, origin.lists(), origin.server.accepted, "nginx", "")
        with slow(bench) as lists:
            yield from beside(bench, system, store, lists, None, f"an origin of {LATENCY} ms", "-slow")


def beside(bench, system, store, lists, accepted, origin, suffix):
    folders = Folders(system)
    full = f"full{suffix}"

    filled = ("--remote", store.url(full))
    without = kf(bench, folders, lists, "from the origin")
    without.kind = "note"
    writing = kf(bench, folders, lists, "and into a remote", lambda: ("--remote", store.new(), "--remote-write"))
    reading = kf(bench, folders, lists, "from the remote", lambda: filled)
    filling = kf(bench, folders, lists, "filling", lambda: (*filled, "--remote-write"))
    alternate([filling], 1, bench.environment, after=folders.discard)
    store.expect(full, lists.count)

    asked = {}

    def before(side):
        system.settle()
        if accepted:
            asked[side.name] = -accepted()

    def after(side):
        if accepted:
            asked[side.name] += accepted()
            if side is reading and asked[side.name]:
                raise SystemExit(f"bench: a run from the remote made {asked[side.name]} connections to the origin")
        folders.discard()

    alternate([without, writing, reading], bench.rounds, bench.environment, before, after)
    facts = {}
    if asked:
        counts = ", ".join(f"{name} {count}" for name, count in asked.items())
        facts["connections to the origin in the last round"] = counts
    for side, work, words in (
        (writing, f"remote-write{suffix}", "and stored in an empty remote"),
        (reading, f"remote-read{suffix}", "found in a remote"),
    ):
        yield Result(
            work,
            f"prefetch of {lists.count:,} images of 12 kB from {origin}, {words}",
            system.name if system.fresh else "",
            [side, without],
            [Goal(f"≤ {LIMIT} × without a remote", lambda result: result.ratio("from the origin"), LIMIT)],
            facts,
        )


@contextlib.contextmanager
def slow(bench):
    """The list on an origin that answers each request after a while, as one on another continent does."""
    process = subprocess.Popen(
        [sys.executable, BENCHMARKS / "harness/slow_origin.py", bench.scratch / "small", str(LATENCY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = process.stdout.readline().strip()
        yield Lists(bench.scratch, "list-slow", [f"{address}/{index}.png" for index in range(IMAGES)])
    finally:
        process.stdin.close()
        process.wait()
