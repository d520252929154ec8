#!/usr/bin/env python3
"""Measures storing and looking up beside a bare C loop that hashes, creates, writes and renames the same files.

usage: storage.py [--runs N] [--count N]     the sides take turns, each run in a directory of its own
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from harness.floors import floor

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / ".build" / "storage-bench"


def build():
    OUT.mkdir(parents=True, exist_ok=True)
    clang = pathlib.Path(os.path.realpath(shutil.which("swiftc"))).parent / "clang"
    include = ROOT / "Sources/CSystem/include"
    (OUT / "CSystem").mkdir(exist_ok=True)
    (OUT / "CSystem/module.modulemap").write_text(f'module CSystem {{ umbrella "{include}" export * }}\n')
    subprocess.run([clang, "-c", "-O2", f"-I{include}", "-o", OUT / "system.o", ROOT / "Sources/CSystem/system.c"],
                   check=True)
    folders = (ROOT / "Sources/KFStorage", ROOT / "Tests/Benchmarks/storage")
    sources = [source for folder in folders for source in folder.rglob("*.swift")]
    modules = [part for name in ("CSQLite", "CCrypto") for part in ("-I", ROOT / "Sources" / name)]
    links = [part for name in ("sqlite3", "crypto") for part in ("-Xlinker", f"-l:lib{name}.a")]
    subprocess.run(
        ["swiftc", "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-O", "-wmo", "-g",
         "-static-stdlib", "-parse-as-library", "-module-name", "KFStorage", "-package-name", "kf",
         "-I", OUT / "CSystem", *modules, "-o", OUT / "bench", *map(str, sources), OUT / "system.o", *links,
         "-lm"], check=True, cwd=OUT)


def run(*command):
    return float(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--count", type=int, default=5000)
    options = parser.parse_args()
    build()
    figures = {name: [] for name in ("floor", "store", "lookup", "bulk")}
    ratios = []
    # Not under /tmp if that is in memory: the file system is most of what is measured.
    with tempfile.TemporaryDirectory(dir=OUT) as scratch:
        for turn in range(options.runs):
            least = run(floor("files"), f"{scratch}/floor{turn}", options.count)
            cache = f"{scratch}/cache{turn}"
            store = run(OUT / "bench", "store", cache, options.count)
            figures["floor"].append(least)
            figures["store"].append(store)
            ratios.append(store / least)
            for name in ("lookup", "bulk"):
                figures[name].append(run(OUT / "bench", name, cache, options.count))
    for name, times in figures.items():
        print(f"  {name:8} {statistics.median(times):8.1f} ms   best {min(times):8.1f} ms")
    print(f"  store / floor: median {statistics.median(ratios):.2f}, best {min(ratios):.2f}   (goal 1.20)")
    print(f"  {options.count} lookups: goal 50 ms")


main()
