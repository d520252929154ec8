#!/usr/bin/python3
"""Measures time and memory against the length of a list, the size of a cache, the size of an image, the number of
connections and of cores, and draws them.

usage: scaling.py [--kf BINARY] [--json FILE] [--svg FILE] [--runs N] [lists | caches | images | connections | cores]...
"""

import argparse
import datetime
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import plot
from harness import inputs, peers
from harness.filesystem import FileSystem
from harness.measure import Side, alternate
from harness.paths import BENCHMARKS, ROOT
from harness.peers import find
from harness.server import Server
from million_cache import generate, key
from works.bench import Bench
from works.lists import Endless

LISTS = (1_000, 10_000, 100_000)
CACHES = (1_000, 10_000, 100_000, 1_000_000)
MEGAPIXELS = (0.3, 1, 3, 10, 24, 50, 99)
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SIDE = 320
IMAGES = 5000


def point(at, side):
    return {
        "at": at,
        "wall_ms": round(side.median(), 2),
        "cpu_ms": round(side.median("cpu"), 2),
        "memory_mib": round(max(run.memory for run in side.runs), 2),
        "walls_ms": [round(r.wall, 2) for r in side.runs],
    }


def curve(bench, points):
    """Each of (line, at, command): all of them in turn."""
    sides = [(name, at, Side(name, command)) for name, at, command in points]
    alternate([side for _, _, side in sides], bench.rounds, bench.environment)
    lines = {}
    for name, at, side in sides:
        lines.setdefault(name, []).append(point(at, side))
        print(
            f"  {name:24} {at:>10}  {side.median():10.1f} ms  cpu {side.median('cpu'):10.1f} ms"
            f"  {max(run.memory for run in side.runs):7.1f} MiB",
            flush=True,
        )
    return lines


def lists(bench):
    lines = {"kf, all fetched": []}
    with Endless(bench) as endless:
        for length in LISTS:
            with FileSystem(bench.scratch, 8, 4096) as system:
                cache = system.path / "cache"
                side = Side(
                    "kf, all fetched",
                    lambda: (bench.kf, "prefetch", "-q", "--cache-dir", cache, "--max-size", 0, endless.list(length)),
                )
                # Once: a second time in the same place would be all hits, and a new place costs more than it tells.
                alternate([side], 1, bench.environment)
                lines[side.name].append(point(length, side))
                print(
                    f"  {side.name:24} {length:>10}  {side.median():10.1f} ms  {side.runs[0].memory:7.1f} MiB",
                    flush=True,
                )
    return {"title": "length of a list", "x": "images in the list", "lines": lines}


def caches(bench):
    lines = {}
    with FileSystem(bench.scratch, 12, 4096) as system:
        for entries in CACHES:
            cache = system.path / f"cache-{entries}"
            cache.mkdir(mode=0o700)
            generate(bench.kf, cache, entries, expired=False)
            system.settle()
            listed = bench.scratch / f"hits-{entries}.txt"
            with listed.open("w") as file:
                file.writelines(f"{key(number)}\n" for number in range(entries))
            thousand = bench.scratch / f"thousand-{entries}.txt"
            with thousand.open("w") as file:
                file.writelines(f"{key(number * (entries // 1000))}\n" for number in range(1000))
            options = ("--cache-dir", cache, "--max-size", 0)
            bulk = (bench.kf, "prefetch", "-q", listed, *options)
            # The first run moves every access time to now.
            alternate([Side("", lambda: bulk)], 1, bench.environment)
            measured = curve(
                bench,
                [
                    (
                        "fetch of one hit",
                        entries,
                        lambda: (bench.kf, "fetch", key(entries // 2), "--only-from-cache", *options),
                    ),
                    ("cache stat", entries, lambda: (bench.kf, "cache", "stat", "--json", "--cache-dir", cache)),
                    ("1,000 hits", entries, lambda: (bench.kf, "prefetch", "-q", thousand, *options)),
                    ("everything, all hits", entries, lambda: bulk),
                ],
            )
            for name, points in measured.items():
                lines.setdefault(name, []).extend(points)
    return {"title": "size of the cache", "x": "entries in the cache", "lines": lines}


def images(bench):
    photos = {
        size: inputs.picture(round((size * 1.5e6) ** 0.5), round((size / 1.5 * 1e6) ** 0.5), f"scaling-{size}mp")
        for size in MEGAPIXELS
    }

    # Making a cache waits for the disk, and would hide what the picture costs.
    bench.empty("cache").chmod(0o700)

    def kf(photo):
        def command():
            return (
                bench.kf,
                "fetch",
                "-q",
                "--force-refresh",
                *bench.without_cache,
                "-p",
                f"resize:{SIDE}x{SIDE},fit",
                "-o",
                bench.scratch / "kf.jpg",
                photo,
            )

        return command

    points = []
    for size, photo in photos.items():
        points += [
            ("kf", size, kf(photo)),
            (
                "vipsthumbnail",
                size,
                lambda photo=photo: (find("vipsthumbnail"), "-s", SIDE, "-o", f"{bench.scratch}/vips.jpg[Q=85]", photo),
            ),
            (
                "Pillow, draft",
                size,
                lambda photo=photo: (
                    "/usr/bin/python3",
                    BENCHMARKS / "peers/one.py",
                    "thumbnail",
                    SIDE,
                    85,
                    photo,
                    bench.scratch / "pillow.jpg",
                ),
            ),
        ]
    return {"title": f"size of a JPEG, made {SIDE} px", "x": "megapixels", "lines": curve(bench, points)}


def loaded(bench, body):
    """Runs the body with the small images served and a new file system to write to."""
    folder = bench.empty("small")
    inputs.small_images(folder, IMAGES)
    with Server(folder, bench.scratch / "nginx") as address, FileSystem(bench.scratch) as system:
        urls = [f"{address}/{index}.png" for index in range(IMAGES)]
        (bench.scratch / "list.txt").write_text("".join(url + "\n" for url in urls))
        (bench.scratch / "curl.conf").write_text("".join(f'url = "{url}"\n' for url in urls))
        numbers = iter(range(1 << 20))

        def new(name):
            return system.path / f"{name}-{next(numbers)}"

        return body(new)


def connections(bench):
    def body(new):
        def curl(number):
            folder = new("curl")
            folder.mkdir()
            return (
                find("curl"),
                "-s",
                "--no-progress-meter",
                "-Z",
                "--parallel-max",
                number,
                "--remote-name-all",
                "--output-dir",
                folder,
                "-K",
                bench.scratch / "curl.conf",
            )

        points = []
        for number in CONNECTIONS:
            points += [
                (
                    "kf prefetch",
                    number,
                    lambda number=number: (
                        bench.kf,
                        "prefetch",
                        "-q",
                        "--cache-dir",
                        new("kf"),
                        "-j",
                        number,
                        "--max-per-host",
                        number,
                        bench.scratch / "list.txt",
                    ),
                ),
                ("curl -Z", number, lambda number=number: curl(number)),
            ]
        return curve(bench, points)

    return {"title": f"connections, {IMAGES:,} images of 12 kB", "x": "connections", "lines": loaded(bench, body)}


def cores(bench):
    """The server has the same cores: this is one machine."""
    photos = inputs.photographs()

    def body(new):
        points = []
        for number in range(1, (os.cpu_count() or 1) + 1):
            on = ("taskset", "-c", f"0-{number - 1}")
            points += [
                (
                    "prefetch of 5,000",
                    number,
                    lambda on=on: (
                        *on,
                        bench.kf,
                        "prefetch",
                        "-q",
                        "--cache-dir",
                        new("kf"),
                        "-j",
                        64,
                        "--max-per-host",
                        64,
                        bench.scratch / "list.txt",
                    ),
                ),
                (
                    "200 thumbnails",
                    number,
                    lambda on=on: (
                        *on,
                        bench.kf,
                        "fetch",
                        "-q",
                        "--cache-dir",
                        new("thumbnails"),
                        *bench.without_cache,
                        "-p",
                        f"resize:{SIDE}x{SIDE},fit",
                        "--output-dir",
                        bench.empty("out"),
                        *photos,
                    ),
                ),
            ]
        return curve(bench, points)

    return {"title": "cores (taskset)", "x": "cores", "lines": loaded(bench, body)}


TOPICS = {"lists": lists, "caches": caches, "images": images, "connections": connections, "cores": cores}


def main():
    parser = argparse.ArgumentParser(description="Measures how kf's cost grows.")
    parser.add_argument("--kf", type=Path, default=ROOT / ".build/release/kf")
    parser.add_argument("--json", type=Path, default=ROOT / ".build/bench/scaling.json")
    parser.add_argument("--svg", type=Path, default=ROOT / ".build/bench/scaling.svg")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.topics if name not in TOPICS]
    if unknown:
        parser.error(f"no topic {unknown[0]}; there are {', '.join(TOPICS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    peers.install()
    # What other topics gave before stays, each with its own date.
    figures = json.loads(arguments.json.read_text()) if arguments.json.exists() else {"schema": 1, "topics": {}}
    for name in arguments.topics or TOPICS:
        print(name)
        with tempfile.TemporaryDirectory(prefix="kf-scaling-") as scratch:
            before = os.getloadavg()[0]
            topic = TOPICS[name](Bench(arguments.kf.resolve(), Path(scratch), arguments.runs))
        topic.update(
            date=datetime.date.today().isoformat(),
            load=[round(before, 1), round(os.getloadavg()[0], 1)],
            runs=arguments.runs,
            versions=peers.versions(arguments.kf),
        )
        figures["topics"][name] = topic
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    plot.draw(figures, arguments.svg)
    print(f"{arguments.json}\n{arguments.svg}")


if __name__ == "__main__":
    main()
