#!/usr/bin/python3
"""Measures kf beside the programs that people use today, and prints the ratios.

usage: bench.py --kf BINARY [all | hit | prefetch | hits | thumbnails]...

The two sides take turns (A B A B …), so that a change of the machine's mood hits both. Times are medians, and a ratio
is the median over the pairs of neighbours.
Photographs come from $KF_CORPORA/photos when that is set, else from Fixtures/.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 600  # seconds for one benchmark, whatever happens
IMAGES = 5000
PHOTOGRAPHS = 60


class Run:
    """One program run to its end: wall and processor time in milliseconds, peak memory in MiB."""

    def __init__(self, command, environment):
        null = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)]
        start = time.perf_counter()
        pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
        try:
            _, status, usage = os.wait4(pid, 0)
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        finally:
            os.close(null)
        self.wall = (time.perf_counter() - start) * 1000
        self.processor = (usage.ru_utime + usage.ru_stime) * 1000
        self.memory = usage.ru_maxrss / 1024
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            sys.exit(f"bench: {' '.join(command)} ended with {code}")


class Server:
    def __init__(self, root, state):
        script = ROOT / "Tests/Support/serve.sh"
        self.process = subprocess.Popen(
            [script, root, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit("bench: nginx did not start")

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Bench:
    def __init__(self, kf, scratch):
        self.kf = kf
        self.scratch = scratch
        self.cache = scratch / "cache"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(scratch), "LANG": "C.UTF-8", "KF_CACHE_DIR": str(self.cache)}

    def run(self, *command):
        return Run([str(word) for word in command], self.environment)

    def alternate(self, rounds, *sides):
        """Each side is a function that prepares, and then gives the command to measure."""
        results = [[] for _ in sides]
        for _ in range(rounds):
            for index, side in enumerate(sides):
                results[index].append(self.run(*side()))
        return results

    def fresh(self, name):
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        return path

    # -- The benchmarks

    def hit(self):
        with Server(ROOT / "Fixtures", self.scratch / "nginx") as address:
            url = f"{address}/jpeg/grey.jpg"
            self.run(self.kf, "fetch", url)
            kf, curl = self.alternate(
                101, lambda: (self.kf, "fetch", url), lambda: ("curl", "--version"))
        row("hit: kf fetch of a cached image", kf, "3.5 ms, ratio 0.50", "curl --version", curl)

    def small_images(self):
        """5,000 images of about 12 kB, each different, and their addresses."""
        folder = self.scratch / "small"
        if not folder.exists():
            folder.mkdir()
            generator = random.Random(1)
            for index in range(IMAGES):
                (folder / f"{index}.png").write_bytes(noise_png(64, generator))
        return folder

    def prefetch(self):
        folder = self.small_images()
        with Server(folder, self.scratch / "nginx") as address:
            self.write_lists(address)

            def kf():
                self.fresh("cache")
                return (self.kf, "prefetch", "-q", self.scratch / "list.txt")

            def curl():
                folder = self.fresh("copies")
                folder.mkdir()
                return ("curl", "-s", "--no-progress-meter", "-Z", "--parallel-max", "64", "--remote-name-all", "--output-dir", folder,
                        "-K", self.scratch / "curl.conf")

            ours, theirs = self.alternate(5, kf, curl)
            copies = len(list((self.scratch / "copies").iterdir()))
            if copies != IMAGES:
                sys.exit(f"bench: curl fetched {copies} of {IMAGES}")
        row(f"prefetch: {IMAGES} images, empty cache", ours, "ratio 0.45", "curl -Z, 64 at once", theirs)

    def hits(self):
        folder = self.small_images()
        with Server(folder, self.scratch / "nginx") as address:
            self.write_lists(address)
            self.fresh("cache")
            command = (self.kf, "prefetch", "-q", self.scratch / "list.txt")
            self.run(*command)
            (kf,) = self.alternate(11, lambda: command)
        row(f"hits: the same {IMAGES} again", kf, "60 ms")

    def write_lists(self, address):
        urls = [f"{address}/{index}.png" for index in range(IMAGES)]
        (self.scratch / "list.txt").write_text("".join(url + "\n" for url in urls))
        (self.scratch / "curl.conf").write_text("".join(f'url = "{url}"\n' for url in urls))

    def thumbnails(self):
        files = self.photographs()

        def kf():
            self.fresh("cache")
            return (self.kf, "fetch", "-q", "-p", "resize:320x320,fit", "-f", "jpeg", "--output-dir",
                    self.fresh("thumbnails"), *files)

        def vips():
            folder = self.fresh("vips")
            folder.mkdir()
            return ("vipsthumbnail", "-s", "320", "-o", f"{folder}/%s.jpg", *files)

        name = f"thumbnails: {len(files)} photos to 320 px"
        if shutil.which("vipsthumbnail"):
            ours, theirs = self.alternate(5, kf, vips)
            row(name, ours, "ratio 0.29", "vipsthumbnail", theirs)
        else:
            (ours,) = self.alternate(5, kf)
            row(name, ours, "ratio 0.29 to vipsthumbnail, which is not installed")

    def photographs(self):
        """Cuts of a few photographs, from 0.1 to 2 MP."""
        corpora = os.environ.get("KF_CORPORA")
        originals = sorted(Path(corpora, "photos").glob("*/*.jp*g")) if corpora else []
        originals = [file for file in originals if file.stat().st_size > 100_000]
        originals = originals or [ROOT / "Fixtures/jpeg/landscape-420.jpg", ROOT / "Fixtures/jpeg/progressive.jpg"]
        folder = self.scratch / "photographs"
        folder.mkdir(exist_ok=True)
        files = []
        for index in range(PHOTOGRAPHS):
            file = folder / f"{index}.jpg"
            cut = f"{400 + index * 37 % 520}x{300 + index * 53 % 330}+{index % 8 * 8}+{index % 5 * 8}"
            subprocess.run(["jpegtran", "-crop", cut, "-outfile", file, originals[index % len(originals)]], check=True)
            files.append(file)
        return files


def noise_png(side, generator):
    """A square RGB PNG that does not compress, about as large as a small photograph."""
    data = generator.randbytes(side * side * 3)
    raw = b"".join(b"\0" + data[y * side * 3 : (y + 1) * side * 3] for y in range(side))

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b"")


def median(runs, field):
    return statistics.median(getattr(run, field) for run in runs)


def row(name, ours, goal, peer=None, theirs=None):
    line(name, ours, f"goal {goal}")
    if theirs:
        ratio = statistics.median(a.wall / b.wall for a, b in zip(ours, theirs))
        line(f"  {peer}", theirs, f"ratio {ratio:.2f}")


def line(name, runs, note):
    walls = [run.wall for run in runs]
    print(
        f"{name:<40}{statistics.median(walls):9.1f} ms ({min(walls):.1f}–{max(walls):.1f})"
        f"  cpu {median(runs, 'processor'):.1f} ms  {median(runs, 'memory'):.1f} MiB  {note}", flush=True)


def main():
    names = ["hit", "prefetch", "hits", "thumbnails"]
    parser = argparse.ArgumentParser(description="Measures kf beside curl and vipsthumbnail.")
    parser.add_argument("--kf", required=True, type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all, " + ", ".join(names))
    arguments = parser.parse_args()
    chosen = names if not arguments.names or "all" in arguments.names else arguments.names
    unknown = [name for name in chosen if name not in names]
    if unknown:
        parser.error(f"no benchmark {unknown[0]}; there are {', '.join(names)}")

    def give_up(*_):
        sys.exit(f"bench: gave up after {LIMIT} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="kf-bench-") as scratch:
        bench = Bench(arguments.kf.resolve(), Path(scratch))
        for name in chosen:
            signal.alarm(LIMIT)
            getattr(bench, name)()


if __name__ == "__main__":
    main()
