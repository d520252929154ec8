#!/usr/bin/env python3
"""Measures kf on a cache of a million entries.

usage: million.py --kf BINARY [--entries N] [--directory DIR]

DIR (a new directory in the temporary files' by default) takes the cache: 5 GB and a million inodes for a million
entries. Give one on a fresh file system: ext4 is many times slower for minutes after many files were deleted.
The floor of cleaning is a loop that unlinks as many files of the same cache.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from million_cache import generate, gif, key


class Bench:
    def __init__(self, kf, cache, scratch):
        self.kf = kf
        self.scratch = scratch
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(scratch), "KF_CACHE_DIR": str(cache)}

    def run(self, *arguments, check=True):
        """Wall time in ms, peak memory in MiB, output."""
        read, write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        start = time.perf_counter()
        pid = os.posix_spawn(self.kf, [self.kf, *map(str, arguments)], self.environment, file_actions=[
            (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)])
        os.close(write)
        os.close(null)
        with os.fdopen(read, "rb") as stream:
            output = stream.read()
        _, status, usage = os.wait4(pid, 0)
        wall = (time.perf_counter() - start) * 1e3
        if check and status != 0:
            sys.exit(f"kf {arguments} ended with {os.waitstatus_to_exitcode(status)}")
        return wall, usage.ru_maxrss / 1024, output

    def show(self, name, goal, *arguments, runs=15):
        figures = [self.run(*(a(turn) if callable(a) else a for a in arguments)) for turn in range(runs)]
        print(f"  {name:28} median {statistics.median(f[0] for f in figures):8.1f} ms   best {min(f[0] for f in figures):8.1f}"
              f"   {max(f[1] for f in figures):5.1f} MiB   goal {goal}", flush=True)

    def store_beside(self, end, waits):
        """One store after the other, each a process of its own, until `end` is set."""
        number = 0
        while not end.is_set():
            path = self.scratch / f"{number}.gif"
            path.write_bytes(gif(5_000_000 + number))
            waits.append(self.run("fetch", path, "--max-size", 0)[0])
            number += 1


def has(kf, *words):
    return subprocess.run([kf, "help", *words], capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kf", required=True)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--directory")
    options = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="kf-million-"))
    cache = pathlib.Path(options.directory) if options.directory else scratch / "cache"
    try:
        if not (cache / "v1").exists():
            cache.mkdir(parents=True, exist_ok=True)
            start = time.monotonic()
            generate(options.kf, cache, options.entries)
            print(f"  made {options.entries} entries in {time.monotonic() - start:.0f} s")
        measure(Bench(options.kf, cache, scratch), cache, options)
    finally:
        shutil.rmtree(scratch)


def measure(bench, cache, options):
    kf, count = options.kf, options.entries
    bench.show("cache stat", "10 ms", "cache", "stat", "--json")
    if has(kf, "cache", "ls"):
        bench.show("cache ls --sort size", "50 ms", "cache", "ls", "--sort", "size", "--limit", 20)
    bench.show("hit (--only-from-cache)", "4 ms", "fetch", lambda turn: fresh(bench, turn, count), "--only-from-cache")
    bench.show("rm of one URL", "5 ms", "cache", "rm", lambda turn: key(turn * 37 % count), "-q")

    end, waits = threading.Event(), []
    # What a store takes when nobody is in the way.
    alone = threading.Thread(target=bench.store_beside, args=(end, waits))
    alone.start()
    time.sleep(2)
    end.set()
    alone.join()
    print(f"  stores alone: median {statistics.median(waits):.1f} ms, longest {max(waits):.1f} ms")

    end, waits = threading.Event(), []
    beside = threading.Thread(target=bench.store_beside, args=(end, waits))
    before = len(files(cache))
    bytes_before = stored(cache)
    beside.start()
    wall, memory, _ = bench.run("cache", "clean", "--max-size", bytes_before // 2, "-q")
    end.set()
    beside.join()
    left = files(cache)
    removed = before + len(waits) - len(left)
    print(f"  clean of {removed} of {before}: {wall:.0f} ms, {wall * 1e3 / removed:.1f} us each, {memory:.1f} MiB"
          f"   log {os.path.getsize(cache / 'v1/index.sqlite-wal') >> 20} MiB")
    print(f"  {len(waits)} stores beside it: median {statistics.median(waits):.1f} ms, longest {max(waits):.1f} ms"
          "   goal 50 ms more than alone")
    loop = left[:removed]
    start = time.perf_counter()
    for path in loop:
        os.unlink(path)
    floor = (time.perf_counter() - start) * 1e3
    print(f"  unlink loop over {len(loop)}: {floor:.0f} ms, {floor * 1e3 / len(loop):.1f} us each")
    print(f"  clean / loop: {wall / removed / (floor / len(loop)):.2f}   goal 1.30")


def fresh(bench, turn, count):
    """A URL that has not expired: nine of ten have not."""
    for number in range(turn * 101, count):
        if bench.run("fetch", key(number % count), "--only-from-cache", "-q", check=False)[2]:
            return key(number % count)
    sys.exit("everything has expired")


def stored(cache):
    import sqlite3
    index = sqlite3.connect(f"file:{cache}/v1/index.sqlite?mode=ro", uri=True)
    size = index.execute("SELECT stored FROM totals").fetchone()[0]
    index.close()
    return size


def files(cache):
    objects = cache / "v1/objects"
    return [entry.path for folder in sorted(os.scandir(objects), key=lambda f: f.name) for entry in os.scandir(folder)]


main()
