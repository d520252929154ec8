#!/usr/bin/env python3
"""Measures storing and looking up beside two bare C loops: one hashes, creates, writes and renames the same files, the
other puts as many rows into a database.

usage: storage.py [--runs N] [--count N] [--scratch DIRECTORY]     the sides take turns, each run in a directory of its own
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from harness.floors import floor
from harness.measure import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / ".build" / "storage-bench"


def build():
    OUT.mkdir(parents=True, exist_ok=True)
    clang = pathlib.Path(os.path.realpath(shutil.which("swiftc"))).parent / "clang"
    include = ROOT / "Sources/CSystem/include"
    (OUT / "CSystem").mkdir(exist_ok=True)
    (OUT / "CSystem/module.modulemap").write_text(f'module CSystem {{ umbrella "{include}" export * }}\n')
    objects = []
    for source in (ROOT / "Sources/CSystem").glob("*.c"):
        objects.append(OUT / f"{source.stem}.o")
        subprocess.run([clang, "-c", "-O2", f"-I{include}", "-o", objects[-1], source], check=True)
    folders = (ROOT / "Sources/KFStorage", ROOT / "Tests/Benchmarks/storage")
    sources = [source for folder in folders for source in folder.rglob("*.swift")]
    modules = [part for name in ("CSQLite", "CCrypto") for part in ("-I", ROOT / "Sources" / name)]
    links = [part for name in ("sqlite3", "crypto") for part in ("-Xlinker", f"-l:lib{name}.a")]
    subprocess.run(
        ["swiftc", "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-O", "-wmo", "-g",
         "-static-stdlib", "-parse-as-library", "-module-name", "KFStorage", "-package-name", "kf",
         "-I", OUT / "CSystem", *modules, "-o", OUT / "bench", *map(str, sources), *objects, *links,
         "-lm"], check=True, cwd=OUT)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--scratch", default=OUT, help="where the files go (not below /tmp if that is in memory: the file "
                        "system is most of what is measured)")
    options = parser.parse_args()
    build()
    runs = {name: [] for name in ("files", "rows", "store", "submit", "lookup", "bulk")}
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        for turn in range(options.runs):
            place = lambda name: f"{scratch}/{name}{turn}"
            commands = {
                "files": (floor("files"), place("files"), options.count),
                "rows": (floor("rows"), place("rows"), options.count),
                "store": (OUT / "bench", "store", place("store"), options.count),
                "submit": (OUT / "bench", "submit", place("submit"), options.count),
                "lookup": (OUT / "bench", "lookup", place("store"), options.count),
                "bulk": (OUT / "bench", "bulk", place("store"), options.count),
            }
            for name, command in commands.items():
                runs[name].append(measure(command, os.environ))
            for name in ("files", "store", "submit"):
                shutil.rmtree(place(name))
    for name, found in runs.items():
        print(f"  {name:8}" + "".join(
            f" {kind} {statistics.median(getattr(run, kind) for run in found):7.1f} ms   best"
            f" {min(getattr(run, kind) for run in found):7.1f} ms " for kind in ("wall", "cpu")))
    for name in ("store", "submit"):
        for kind in ("wall", "cpu"):
            ratios = [
                getattr(run, kind) / (getattr(files, kind) + getattr(rows, kind))
                for run, files, rows in zip(runs[name], runs["files"], runs["rows"])
            ]
            print(f"  {name} / (files + rows), {kind}: median {statistics.median(ratios):.2f}, best {min(ratios):.2f}")
    print(f"  (goal: submit 1.30 by cpu; {options.count} lookups in 50 ms)")


main()
