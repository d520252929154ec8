#!/usr/bin/python3
"""Counts what an image's way through the sources is made of, to compare before and after a change of their shape.

usage: shape.py [--kf BINARY]    with a release binary, also what one cache miss allocates and retains
"""

import argparse
import re
import tempfile
from pathlib import Path

from harness import callgrind
from harness.paths import ROOT
from harness.server import Server

SOURCES = ROOT / "Sources"
END_OF_A_STAGE = ("take", "finish", "land", "settle")  # words that say nothing of which stage ends
MANY = 300
FIXTURE = ROOT / "Fixtures/jpeg/grey-progressive.jpg"
# What the runtime of Swift is asked for, by the symbol. The linker keeps one of equal functions.
ASKED = {
    "objects of Swift": ("swift_allocObject",),
    "allocations of Swift": ("swift_slowAlloc",),
    "allocations in all": ("malloc", "calloc", "realloc", "posix_memalign"),
    "retains": ("swift_retain", "swift_retain_n"),
    "retains of text and arrays": ("swift_bridgeObjectRetain", "swift_errorRetain"),
}


def text(files):
    return "\n".join(file.read_text() for file in files)


def sources(module, *kinds):
    return [file for kind in kinds for file in sorted((SOURCES / module).rglob(f"*.{kind}"))]


def functions(files, extended):
    """The functions in extensions of a type, and the number of files that have one."""
    count, holders = 0, set()
    for file in files:
        inside = False
        for line in file.read_text().splitlines():
            if not line.startswith((" ", "}", "#")) and line:
                inside = bool(re.match(rf"(?:\w+ )*extension {extended}\b", line))
            if inside and re.match(r"    (?:@\S+ )?(?:\w+ )*func ", line):
                count += 1
                holders.add(file)
    return count, len(holders)


def shape():
    for module in sorted(path.name for path in SOURCES.iterdir() if path.is_dir()):
        lines = text(sources(module, "swift", "c", "h")).count("\n")
        if lines:
            print(f"{lines:7,} lines of {module}")
    print(f"{text(sources('.', 'swift', 'c', 'h')).count(chr(10)):7,} lines of Sources")
    pipeline = sources("KFPipeline", "swift")
    for extended in ("KingfisherManager", "ImageJob", "ImageCache"):
        count, holders = functions(pipeline, extended)
        print(f"{count:7,} functions in extensions of {extended} in KFPipeline, in {holders} files")
    ends = re.findall(rf"func ({'|'.join(END_OF_A_STAGE)})\(", text(pipeline))
    print(f"{len(ends):7,} functions in KFPipeline that are called exactly {', '.join(END_OF_A_STAGE)}")


def asked(kf, cache, list_, scratch):
    """The calls of each function in a prefetch, and its instructions."""
    trace = callgrind.trace((kf, "prefetch", "-q", "--cache-dir", cache, list_), {"PATH": "/usr/bin:/bin"}, scratch)
    # Callgrind has no instructions of the processor for SHA-256.
    return trace.calls, sum(
        count for place, count in trace.executed.items() if not trace.symbols[place].startswith("sha256_block")
    )


def miss(kf):
    """What a prefetch of many images asks for, less one of a single image."""
    with tempfile.TemporaryDirectory(prefix="kf-shape-") as folder:
        scratch = Path(folder)
        images = scratch / "images"
        images.mkdir()
        bytes_ = FIXTURE.read_bytes()
        # Each has bytes of its own, behind the end of the picture.
        for number in range(MANY):
            (images / f"{number}.jpg").write_bytes(bytes_[:-2] + b"\xff\xfe\x00\x06%04d" % number + b"\xff\xd9")
        with Server(images, scratch / "server") as address:
            found = []
            for count in (MANY, 1):
                list_ = scratch / f"{count}.txt"
                list_.write_text("".join(f"{address}/{number}.jpg\n" for number in range(count)))
                found.append(asked(kf, scratch / f"cache-{count}", list_, scratch))
    (many, all_), (one, first) = found
    print(f"a cache miss ({MANY} less one, {len(bytes_):,} bytes each):")
    for what, symbols in ASKED.items():
        print(f"{sum(many[s] - one[s] for s in symbols) / (MANY - 1):9,.1f} {what}")
    print(f"{(all_ - first) / (MANY - 1):9,.0f} instructions without SHA-256")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--kf", type=Path)
    arguments = parser.parse_args()
    shape()
    if arguments.kf:
        miss(arguments.kf.resolve())
