"""Lists of many hosts: sorted by host and shuffled, with slow, silent and limited ones among them."""

import json
import random
import subprocess
import sys

from harness import inputs
from harness.filesystem import Tmpfs
from harness.measure import Side, alternate
from harness.paths import BENCHMARKS
from harness.peers import find
from harness.result import Goal, Result
from harness.server import Server
from .bench import Folders
from .lists import Lists
from .prefetch import AT_ONCE, entries, images

TIMEOUT = 2  # seconds, of a silent host
EACH = 1200  # images of a host
IMAGES = 2000  # that differ
SECONDS = 90  # after them, no more rounds of a row


def hosts(bench):
    """Each row with kf's default options, and with as many transfers at once for the others."""
    with Origin(bench) as origin, Tmpfs(bench.scratch) as system:
        quick = [name(1, number) for number in range(1, 11)]
        ordered = origin.urls(quick, EACH)
        yield row(bench, origin, system, "sorted", f"10 hosts of 30 ms x {EACH:,}, sorted by host", ordered)
        yield row(bench, origin, system, "shuffled", "the same, shuffled", shuffled(ordered))
        slow = origin.urls([name(2, 1)], 64)
        yield row(
            bench, origin, system, "slow", "64 images of a host of 500 ms, then 9 hosts of 30 ms", slow + ordered[EACH:]
        )
        silent = origin.urls([name(3, number) for number in range(1, 9)], 20)
        yield row(
            bench, origin, system, "silent", f"8 silent hosts x 20, then 9 of 30 ms, time-out {TIMEOUT} s",
            silent + ordered[EACH:], lacking=len(silent),
        )
        limited = origin.urls([name(4, number) for number in range(1, 3)], 250)
        yield row(
            bench, origin, system, "limited", "2 hosts of 50 requests a second x 250, then 8 of 30 ms",
            limited + ordered[2 * EACH :], retries=True,
        )
        for version in ("1.1", "2"):
            urls = shuffled(origin.urls([name(1, number) for number in range(1, 21)], 100, secure=True))
            yield row(
                bench, origin, system, f"http{version[0]}", f"20 hosts of 30 ms x 100, HTTP/{version} over TLS", urls,
                version=version,
            )


def name(kind, number):
    return f"127.0.{kind}.{number}"


def shuffled(urls):
    return random.Random(1).sample(urls, len(urls))


class Origin:
    """The hosts, and an nginx behind them for HTTPS."""

    def __init__(self, bench):
        self.scratch = bench.scratch
        self.folder = bench.empty("hosts")
        inputs.small_images(self.folder, IMAGES)
        names = [name(1, number) for number in range(1, 21)]
        self.server = Server(self.folder, bench.scratch / "nginx-hosts", secure=True, names=names)

    def __enter__(self):
        self.server.__enter__()
        self.process = subprocess.Popen(
            [
                *(sys.executable, BENCHMARKS / "harness/hosts_origin.py", self.folder),
                self.server.secure_address.rsplit(":", 1)[1],
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.plain, self.secure = self.process.stdout.readline().split()
        return self

    def __exit__(self, *reason):
        self.process.stdin.close()
        self.process.wait()
        self.server.__exit__(*reason)

    def urls(self, hosts, count, secure=False):
        """So many images of each host, each with a name of its own."""
        scheme, port = ("https", self.secure) if secure else ("http", self.plain)
        return [
            f"{scheme}://{host}:{port}/" + (f"{index * count + number}.png" if secure else f"{host}-{number}.png")
            for index, host in enumerate(hosts)
            for number in range(count)
        ]

    def requests(self):
        """The number of requests since the last call, without those over TLS."""
        print(file=self.process.stdin, flush=True)
        return sum(json.loads(self.process.stdout.readline()).values())


def row(bench, origin, system, work, title, urls, lacking=0, retries=False, version=None):
    folders = Folders(system)
    lists = Lists(bench.scratch, f"hosts-{work}", urls, origin.server.authority if version else None)
    wanted = len(urls) - lacking
    counted = {}
    everything = sides(bench, folders, lists, lacking > 0, retries, version)

    def after(side):
        folder = folders.last[side.name]
        found = entries(folder / "v1/index.sqlite") if side.kind == "kf" else len(images(folder))
        counted.setdefault(side.name, []).append((origin.requests(), found))
        folders.discard()

    origin.requests()
    alternate(everything, bench.rounds, bench.environment, after=after, seconds=SECONDS)
    whole = [
        side.name
        for side in everything
        if side.kind == "peer" and all(found >= wanted for _, found in counted[side.name])
    ]
    facts = {
        f"requests and images, {side}": ", ".join(
            f"{'' if version else f'{requests:,} requests, '}{found:,} of {wanted:,}" for requests, found in runs
        )
        for side, runs in counted.items()
    }
    return Result(
        f"hosts-{work}",
        f"prefetch of {title}",
        system.name,
        everything,
        [
            Goal("≤ 1.0 × the best peer that has every image, by wall", lambda result: best(result, whole), 1.0),
            Goal("all images", lambda _: min(found for _, found in counted["kf"]), wanted, least=True),
        ],
        facts,
    )


def best(result, names):
    peers = [result.side(name) for name in names]
    return result.ratio(min(peers, key=lambda side: side.median())) if peers else None


def sides(bench, folders, lists, times_out, retries, version):
    def side(name, kind, note, words):
        # Silent hosts fail, and the time is that of all others.
        return Side(name, lambda: ("sh", "-c", '"$@"; exit 0', "sh", *map(str, words())), kind, note)

    def trusting(*option):
        return (*option, lists.authority) if version else ()

    found = [
        side(
            "kf", "kf", "default options",
            lambda: (
                *(bench.kf, "prefetch", "-q", "--cache-dir", folders.new("kf")),
                *(("--timeout", f"{TIMEOUT}s", "--retry", 0) if times_out else ()),
                *(("--http1.1",) if version == "1.1" else ()),
                *trusting("--cacert"),
                lists.lines,
            ),
        ),
        side(
            "curl -Z", "peer", f"--parallel-max {AT_ONCE}" + (", --retry 10 --retry-delay 1" if retries else ""),
            lambda: (
                *(find("curl"), "-s", "--no-progress-meter", "-Z", "--parallel-max", AT_ONCE),
                *(("--max-time", TIMEOUT) if times_out else ()),
                *(("--retry", 10, "--retry-delay", 1) if retries else ()),
                *((f"--http{version}",) if version else ()),
                *trusting("--cacert"),
                *("--fail", "--remote-name-all", "--output-dir", folders.made("curl -Z"), "-K", lists.curl),
            ),
        ),
    ]
    if version != "2" and find("aria2c"):
        found.append(
            side(
                "aria2c", "peer", f"-j {AT_ONCE} -x 1 --file-allocation=none",
                lambda: (
                    *(find("aria2c"), "-q", "-i", lists.lines, "-d", folders.made("aria2c"), "-j", AT_ONCE, "-x", 1),
                    *("--file-allocation=none", "--auto-save-interval=0", "--async-dns=false", "--summary-interval=0"),
                    *(("--timeout", TIMEOUT, "--connect-timeout", TIMEOUT, "--max-tries", 1) if times_out else ()),
                    *(("--max-tries", 10, "--retry-wait", 1) if retries else ()),
                    *((f"--ca-certificate={lists.authority}",) if version else ()),
                ),
            )
        )
    if find("wget2"):
        found.append(
            side(
                "wget2", "peer", f"--max-threads={AT_ONCE}",
                lambda: (
                    *(find("wget2"), "-q", "-i", lists.lines, "-P", folders.made("wget2"), f"--max-threads={AT_ONCE}"),
                    *((f"--timeout={TIMEOUT}", "--tries=1") if times_out else ()),
                    *(("--no-http2",) if version == "1.1" else ()),
                    *((f"--ca-certificate={lists.authority}",) if version else ()),
                ),
            )
        )
    return found
