#!/usr/bin/python3
"""Goes through every pair of kf's options, origins, caches and remotes, and judges each run by six laws.

usage: laws.py --kf BINARY [--seconds 60] [--seed N] [--case JSON] [--jobs N] [--scripts DIR] [--library PROGRAM] [--only LAW]

PROGRAM is the readme's example, as `make example` builds it; without it, and without root, some values are not tried.

secrecy      a secret is seen only by the origin that it was given for
truth        what is delivered is made of what the named origin served, and under a pin of its bytes alone
foretelling  a run does what its dry run and explain announced, and these ask no server
rest         the same run again asks, makes and writes nothing that freshness does not demand
accounts     rows, summary, reports, exit status and what the servers saw agree
bounds       a run ends, leaves no temporaries, and a whole cache

A failing case is shrunk to the fewest values, and printed with a script that shows it by itself. `LAWS_CASE` repeats a case.
"""
import argparse
import json
import multiprocessing
import os
import queue
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import accounts
import articles
import bounds
import disk
import foretelling
import rest
import secrecy
import truth
from cover import cases
from dimensions import DIMENSIONS, drop_missing, problem, unknown_options
from known import is_known
from run import Worker
from script import script_of
from shrink import random_cases, shrunk
from table import Table

LAWS = {"secrecy": secrecy, "truth": truth, "foretelling": foretelling, "rest": rest, "accounts": accounts, "bounds": bounds}
SHRINKS = 6  # Of findings of one kind: what is found after that is likely the same fault beside other values.


class Judge:
    """Runs cases and judges them; what it finds goes to `tell`, each distinct fault once."""

    def __init__(self, worker, options, tell):
        self.worker, self.options, self.tell = worker, options, tell
        self.known = {}  # By law and kind, the smallest cases.
        self.cases = 0
        self.seen = None  # What the last case showed.

    def findings(self, case):
        """By law and kind, the detail of each finding of a case."""
        self.cases += 1
        try:
            seen = self.worker.observe(case)
        except Exception:
            return {("harness", traceback.format_exc().strip().splitlines()[-1]): traceback.format_exc()}
        self.seen = seen
        found = {}
        for name, law in LAWS.items():
            if self.options.only and name not in self.options.only:
                continue
            try:
                for kind, detail in law.judge(seen):
                    found.setdefault((name, kind), detail)
            except Exception:
                found["harness", f"{name}: {traceback.format_exc().strip().splitlines()[-1]}"] = traceback.format_exc()
        return found

    def judge(self, case):
        for key, detail in self.findings(case).items():
            if is_known(*key, case):
                self.tell("known", key, case, detail)
                continue
            smaller = self.known.setdefault(key, [])
            if any(known.items() <= case.items() for known in smaller):
                continue
            if len(smaller) < SHRINKS:
                small = shrunk(case, self.worker.table, lambda other: key in self.findings(other))
                if small is None:
                    self.tell("unsteady", key, case, detail)
                    smaller.append(case)
                    continue
                if small in smaller:
                    continue
                smaller.append(small)
                detail = self.findings(small).get(key, detail)
                self.tell("fault", key, small, detail, self.seen)
            else:
                self.tell("more", key, case, detail)


def scratch():
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def work(number, options, table, results, end):
    """One process: its part of the covering array, then random cases until the time is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    disk.separate()
    worker = Worker(options.kf, Path(tempfile.mkdtemp(prefix="kf-laws-", dir=scratch())), options.library)
    worker.table = table
    start, pairs = time.monotonic(), 0

    def tell(how, key, case, detail, seen=None):
        script = script_of(worker, key, seen, detail) if how == "fault" else ""
        results.put((how, key, case, detail, worker.runs, time.monotonic() - start, script))

    try:
        judge = Judge(worker, options, tell)
        for index, (case, gain) in enumerate(cases(table, options.seed)):
            if time.monotonic() > end:
                break
            if index % options.jobs == number:
                judge.judge(case)
                pairs += gain
        if time.monotonic() < end:
            random_cases(table, f"{options.seed} {number}", lambda: time.monotonic() > end, judge.judge)
    finally:
        results.put(("end", worker.runs, pairs, judge.cases))
        worker.close()


class Printer:
    """Prints what the processes find, each fault once."""

    def __init__(self, options):
        self.options, self.faults, self.steady, self.start = options, [], 0, time.monotonic()
        self.more, self.known = {}, {}
        if options.scripts:
            shutil.rmtree(options.scripts, ignore_errors=True)
            Path(options.scripts).mkdir(parents=True)

    def take(self, how, key, case, detail, runs, seconds, script):
        law, kind = key
        if how == "known":
            self.known[key] = self.known.get(key, 0) + 1
            return
        if how == "more" or any(known == key and small.items() <= case.items() for known, small in self.faults):
            self.more[key] = self.more.get(key, 0) + 1
            return
        self.faults.append((key, case))
        self.steady += how == "fault" or law == "harness"  # What did not happen again is told, and fails no run.
        mark = "harness" if law == "harness" else f"{law}: {kind}"
        print(f"\nlaws: {len(self.faults)}. {mark}" + (" (not again)" if how == "unsteady" else ""))
        print(f"    after {seconds:.0f} s and {runs} runs: {detail.strip()[:1500]}")
        print(f"    repeat: make laws LAWS_CASE='{json.dumps(case)}'", flush=True)
        if script and self.options.scripts:
            path = Path(self.options.scripts) / f"{len(self.faults):02}.sh"
            path.write_text(script)
            path.chmod(0o755)
            print(f"    script: {path}", flush=True)


def run_all(options, table):
    end = time.monotonic() + options.seconds
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(number, options, table, results, end)) for number in range(options.jobs)]
    for worker in workers:
        worker.start()
    printer, runs, pairs, cases, ended = Printer(options), 0, 0, 0, 0
    while ended < len(workers):
        try:
            result = results.get(timeout=5)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers):
                print("laws: a process of the harness died")
                return 1
            continue
        if result[0] == "end":
            ended, runs, pairs, cases = ended + 1, runs + result[1], pairs + result[2], cases + result[3]
        else:
            printer.take(*result)
    for worker in workers:
        worker.join()
    seconds = time.monotonic() - printer.start
    kinds = {key for key, _ in printer.faults}
    for (law, kind), number in printer.known.items():
        print(f"laws: known: {law}: {kind}, in {number} cases")
    print(f"\nlaws: seed {options.seed}, {cases} cases in {seconds:.0f} s, {len(printer.faults)} faults of {len(kinds)} kinds")
    print(f"{runs} runs, {pairs} pairs")
    return 1 if printer.steady else 0


def run_case(options, table):
    case = json.loads(options.case)
    if why := [name for name in case if name not in DIMENSIONS] or problem(case, table):
        sys.exit(f"laws: this case cannot be: {why}")
    disk.separate()
    worker = Worker(options.kf, Path(tempfile.mkdtemp(prefix="kf-laws-", dir=scratch())), options.library)
    worker.table = table
    try:
        judge = Judge(worker, options, None)
        found = judge.findings(case)
        for (law, kind), detail in found.items():
            print(f"laws: {law}: {kind}\n    {detail}")
        if found and judge.seen:
            print(script_of(worker, *next(iter({key: (key, judge.seen, detail) for key, detail in found.items()}.values()))))
        print(f"{worker.runs} runs, 0 pairs")
    finally:
        worker.close()
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--kf", default=os.environ.get("KF_BINARY"))
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("LAWS_SECONDS") or 60))
    parser.add_argument("--seed", default=os.environ.get("LAWS_SEED") or str(random.randrange(1 << 30)))
    parser.add_argument("--case", default=os.environ.get("LAWS_CASE"))
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("LAWS_JOBS") or os.cpu_count()))
    parser.add_argument("--scripts", default=os.environ.get("LAWS_SCRIPTS"))
    parser.add_argument("--library", default=os.environ.get("LAWS_LIBRARY"))
    parser.add_argument("--only", action="append", choices=LAWS)
    options = parser.parse_args()
    options.kf = os.path.realpath(options.kf or ".build/release/kf")
    options.library = options.library and os.path.realpath(options.library)
    if not options.library:
        del DIMENSIONS["then"]["library"]
    if os.geteuid() != 0:
        del DIMENSIONS["disk"]
    if wrong := list(articles.unfounded([*LAWS, "others"])):
        sys.exit("\n".join(f"laws: {text}" for text in wrong))
    table = Table(options.kf)
    if missing := unknown_options(table):
        sys.exit("laws: options without values in Tests/Laws/dimensions.py: " + ", ".join(missing))
    drop_missing(table)
    sys.exit(run_case(options, table) if options.case else run_all(options, table))


if __name__ == "__main__":
    main()
