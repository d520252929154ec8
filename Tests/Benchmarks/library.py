#!/usr/bin/env python3
"""Measures calls of the library, in one process, beside a dictionary with a lock and a bare open and read.

usage: library.py [--runs N] [--scratch DIRECTORY]     the cache goes into the directory (default: memory)
"""
import argparse
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "Tests/LibraryExample"


def build(product):
    """The release build of a program of the package beside this file."""
    command = ["swift", "build", "-c", "release", "--package-path", PACKAGE, "--scratch-path", ROOT / ".build/library",
               "--product", product]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    place = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return pathlib.Path(place.stdout.strip()) / product


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--scratch", default="/dev/shm")
    options = parser.parse_args()
    program = build("LibraryBench")
    with tempfile.TemporaryDirectory(prefix="kf-library-", dir=options.scratch) as scratch:
        subprocess.run(
            [program, ROOT / "Fixtures/jpeg/landscape-420.jpg", f"{scratch}/cache", str(options.runs)], check=True)


if __name__ == "__main__":
    main()
