#!/usr/bin/python3
"""Measures kf beside the programs that people use for the same work, and beside the least that the work can cost.

usage: bench.py --kf BINARY [--json FILE] [--runs N] [WORK]...    all works unless some are named; `prefetch` stands for
                                    all parts of the cost of a miss: prefetch-http1, prefetch-http2 and so on
       bench.py --article FILE      writes the figures of that file into the table of the article Benchmarks.md
       bench.py --compare A B       shows how far the ratios of two runs are apart; fails past 15 %

The sides take turns (A B A B …). Times are medians, memory is the most that was seen, a ratio is the median over pairs
of runs of the same round. Photographs are cut from $KF_CORPORA/photos (../shared/corpora/photos) when that is there, else
made from the fixtures.
"""

import argparse
import datetime
import json
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path

from harness import peers, table
from harness.paths import ROOT
from works import GROUPS, WORKS, named, work_of
from works.bench import Bench

START, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    return {
        "cores": os.cpu_count(),
        "processor": names[0] if names else platform.machine(),
        "memory_gib": round(memory),
        "system": f"{release.get('PRETTY_NAME', 'Linux')}, kernel {platform.release().split('-')[0]}",
        "load_before": load(),
        "load_after": load(),
    }


def load():
    return round(os.getloadavg()[0], 1)


def run(arguments):
    peers.install(arguments.works)
    figures = {
        "schema": 1,
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": peers.versions(arguments.kf),
        "seconds": {},  # that each work took
        "results": kept(arguments),
    }
    with tempfile.TemporaryDirectory(prefix="kf-bench-") as scratch:
        bench = Bench(arguments.kf.resolve(), Path(scratch), arguments.runs)
        measured_now = []
        for name in arguments.works:
            start = time.monotonic()
            for result in WORKS[name](bench):
                measured = {**result.as_json(), "load": load()}
                figures["results"].append(measured)
                measured_now.append(measured)
                table.show(measured)
                figures["machine"]["load_after"] = load()
                if arguments.json:
                    # After each, so that a run that is cut short leaves what it had.
                    keep(figures, arguments.json)
            figures["seconds"][name] = round(time.monotonic() - start)
        figures["skipped"] = bench.skipped
        if arguments.json:
            keep(figures, arguments.json)
    table.summary(measured_now, bench.skipped)
    print("took " + ", ".join(f"{name} {seconds} s" for name, seconds in figures["seconds"].items()))
    print(
        f"\nload {figures['machine']['load_before']} before, {figures['machine']['load_after']} after;"
        f" {', '.join(' '.join(pair) for pair in figures['versions'].items())}"
    )


def keep(figures, path):
    figures["results"].sort(key=lambda result: list(WORKS).index(work_of(result)))
    path.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def kept(arguments):
    """What the file has of other works: `BENCH=prefetch BENCH_JSON=FILE` replaces only that one."""
    if not arguments.json or not arguments.json.exists():
        return []
    results = json.loads(arguments.json.read_text())["results"]
    return [result for result in results if work_of(result) not in arguments.works]


def write_article(path):
    article = ROOT / "Sources/KFCore/KFCore.docc/Benchmarks.md"
    text = article.read_text()
    if START not in text or END not in text:
        sys.exit(f"bench: {article.name} has no lines {START.strip()} and {END.strip()}")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    article.write_text(before + START + table.markdown(json.loads(path.read_text())) + END + after)


def main():
    parser = argparse.ArgumentParser(description="Measures kf beside its peers.")
    parser.add_argument("--kf", type=Path, default=ROOT / ".build/release/kf")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument("--runs", type=int, default=5, help="rounds of each work; cheap ones take more")
    parser.add_argument("--article", type=Path, metavar="FILE", help="write these figures into Benchmarks.md")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE", help="compare the ratios of two runs")
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join([*GROUPS, *WORKS]))
    arguments = parser.parse_args()
    if arguments.compare:
        first, second = (json.loads(path.read_text()) for path in arguments.compare)
        sys.exit(0 if table.compare(first, second) else 1)
    if arguments.article:
        return write_article(arguments.article)
    try:
        arguments.works = named(arguments.works or ["all"])
    except KeyError as unknown:
        parser.error(f"no work {unknown.args[0]}; there are {', '.join([*GROUPS, *WORKS])}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run(arguments)


if __name__ == "__main__":
    main()
