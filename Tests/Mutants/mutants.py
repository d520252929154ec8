#!/usr/bin/env python3
"""Puts small faults into a copy of the sources, one at a time, and counts how many of them the tests notice.

usage: mutants.py [--count 200] [--seed 1] [--modules KFPipeline,KFStorage,...] [--no-end-to-end] [--quick] [--jobs 1]
           [--json FILE] [--list]

--count           faults in all; a fifth of them in each of KFPipeline, KFStorage and KFNetwork, as long as these are
                  among the modules
--no-end-to-end   do not try the survivors of the unit tests on the built binary
--quick           leave out tests that take more than two seconds
--jobs            mutants that are tried at once
--list            print the chosen faults and end

A copy of the tree is built once under .build/mutants, with all faults in it; the variable MUTANT of the environment
chooses one. A fault that the compiler refuses is replaced by another. A fault is noticed when a test fails, twice in a
row, when the run crashes, or when it takes far longer than without the fault. Its module's own tests run first, then
those of the modules above, then the end-to-end tests. Results are kept in .build/mutants/results.json until a source
changes, so that an interrupted run goes on where it was; survivors are tried again when the tests change.
"""
import argparse
import hashlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import runs
from faults import faults

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / ".build/mutants"
TREE = WORK / "tree"
MAIN = ["KFPipeline", "KFStorage", "KFNetwork"]
MODULES = MAIN + ["KFCore", "KFTerms", "KFLists", "KFRemote", "KFSystem", "Command", "KFImaging"]
# The unit tests of a module, and of the modules that use it.
TARGETS = {
    "KFSystem": ["KFStorageTests", "KFCoreTests"],
    "KFImaging": ["KFImagingTests", "KFCoreTests", "KFFoundationTests"],
    "KFStorage": ["KFStorageTests", "KFCoreTests", "KFFoundationTests"],
    "KFNetwork": ["KFNetworkTests", "KFCoreTests", "KFFoundationTests"],
    "Command": [],
}
ABOVE = ["KFCoreTests", "KFFoundationTests"]
# The command reads variables whose names begin with KF_, so that this one has another name.
SWITCH = """import Glibc

/// The number of the fault that this process has; 0 for none.
let kfMutant: Int = getenv("MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
"""


def say(text):
    print(text, flush=True)


# Choosing faults.

def tracked():
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, check=True,
        stdout=subprocess.PIPE).stdout
    return sorted(name for name in os.fsdecode(names).split("\0") if name and (ROOT / name).is_file())


def sources(names, module):
    return [name for name in names if name.startswith(f"Sources/{module}/") and name.endswith(".swift")]


class Choice:
    """The faults of each module, in the order in which they are taken: the kinds take turns."""

    def __init__(self, names, modules, seed, refused):
        self.queues, self.lines, self.taken, self.refused = {}, {}, set(), refused
        for module in modules:
            kinds = {}
            self.lines[module] = 0
            for name in sources(names, module):
                text = (ROOT / name).read_text()
                self.lines[module] += text.count("\n")
                for fault in faults(name, text):
                    kinds.setdefault(fault.kind, []).append(fault)
            for kind in kinds.values():
                kind.sort(key=lambda fault: fault.rank(seed))
            self.queues[module] = [
                fault for _, fault in sorted(
                    ((place, fault.rank(seed)), fault) for kind in kinds.values() for place, fault in enumerate(kind))
            ]

    def shares(self, count):
        """How many faults each module has: in proportion to its lines, with a least number for the main ones."""
        least = {module: count // 5 for module in self.queues if module in MAIN}
        if len(least) == len(self.queues):
            least = {}
        rest = count - sum(least.values())
        # The main modules have their share already, so that the rest goes to the others.
        lines = {module: lines for module, lines in self.lines.items() if module not in least}
        whole, shares = sum(lines.values()), dict(least)
        for module, share in sorted(lines.items()):
            shares[module] = round(rest * share / whole)
            rest, whole = rest - shares[module], whole - share
        return shares

    def take(self, module, count):
        """The next faults of a module, no two of them on one line.

        A refused one takes its turn, so that the others are the same in the next run, and nothing is built again.
        """
        found, queue = [], self.queues[module]
        while queue and len(found) < count:
            fault = queue.pop(0)
            if (fault.path, fault.number) not in self.taken:
                self.taken.add((fault.path, fault.number))
                if fault.key not in self.refused:
                    found.append(fault)
        return found


# The tree of mutants.

def put(path, content, mode=0o644):
    """Writes a file when its content is another: what has not changed is not compiled again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def write_tree(names, modules, chosen):
    by_path = {}
    for fault in chosen:
        by_path.setdefault(fault.path, []).append(fault)
    wanted = set()
    for name in names:
        content = (ROOT / name).read_bytes()
        if name == "Package.swift":
            # What a fault makes superfluous is warned of.
            content = re.sub(rb"\.treatAllWarnings\(as: \.error\),? ?", b"", content)
        if name in by_path:
            lines = content.decode().split("\n")
            for fault in by_path[name]:
                lines[fault.number - 1] = fault.written()
            content = "\n".join(lines).encode()
        put(TREE / name, content, (ROOT / name).stat().st_mode & 0o777)
        wanted.add(name)
    for module in modules:
        put(TREE / f"Sources/{module}/KFMutant.swift", SWITCH.encode())
        wanted.add(f"Sources/{module}/KFMutant.swift")
    for folder, folders, files in os.walk(TREE):
        folders[:] = [name for name in folders if name != ".build"]
        for file in files:
            path = Path(folder, file)
            if str(path.relative_to(TREE)) not in wanted:
                path.unlink()


def blamed(output, chosen):
    """The faults at the lines of the compiler's errors, or just before them."""
    guilty = set()
    for path, line in set(re.findall(rf"^{re.escape(str(TREE))}/(\S+?):(\d+):\d+: error: ", output, re.M)):
        near = sorted(
            ((fault.number > int(line), abs(fault.number - int(line)), fault.key) for fault in chosen
                if fault.path == path))
        if near:
            guilty.add(near[0][2])
    return guilty


def build(swift, modules, chosen):
    """Builds the tree, or returns the faults that the compiler refuses. Syntax is checked first: that takes seconds."""
    for module in modules:
        files = [str(TREE / name) for name in sorted({fault.path for fault in chosen if fault.module == module})]
        if files:
            parsed = subprocess.run(
                [swift + "c", "-frontend", "-parse", *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if parsed.returncode and (guilty := blamed(parsed.stdout.decode(errors="replace"), chosen)):
                return guilty
    built = subprocess.run(
        [swift, "build", "--build-tests"], cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode == 0:
        return set()
    output = built.stdout.decode(errors="replace")
    guilty = blamed(output, chosen)
    if not guilty:
        sys.exit(f"mutants: the tree does not build:\n{output[-4000:]}")
    return guilty


def prepare(options, names, state):
    """Chooses the faults and builds them. Returns them."""
    refused = set(state["refused"])
    choice = Choice(names, options.modules, options.seed, refused)
    chosen = [fault for module, share in choice.shares(options.count).items() for fault in choice.take(module, share)]
    if options.list:
        for fault in sorted(chosen, key=lambda fault: (fault.path, fault.number)):
            say(described(fault))
        sys.exit()
    for attempt in range(40):
        write_tree(names, options.modules, chosen)
        start = time.monotonic()
        guilty = build(options.swift, options.modules, chosen)
        say(f"build {attempt + 1}: {len(chosen)} faults, {len(guilty)} refused, {time.monotonic() - start:.0f} s")
        if not guilty:
            return chosen
        state["refused"] = sorted(refused := refused | guilty)
        save(state)
        for fault in [fault for fault in chosen if fault.key in guilty]:
            chosen.remove(fault)
            chosen += choice.take(fault.module, 1)
    sys.exit("mutants: too many faults do not compile")


# Results.

def digest(names, prefixes):
    result = hashlib.sha256()
    for name in names:
        if name.startswith(tuple(prefixes)) and not name.endswith(".md"):
            result.update(name.encode() + b"\0" + hashlib.sha256((ROOT / name).read_bytes()).digest())
    return result.hexdigest()[:16]


def load(names):
    sources = digest(names, ["Sources/", "Package.swift"])
    try:
        state = json.loads((WORK / "results.json").read_text())
    except FileNotFoundError:
        state = {}
    # What the compiler refuses it still refuses, as long as the line is the same.
    if state.get("sources") != sources:
        state = {"sources": sources, "refused": state.get("refused", []), "results": {}, "checks": {}}
    return state


def save(state):
    WORK.mkdir(parents=True, exist_ok=True)
    fresh = WORK / "results.json.new"
    fresh.write_text(json.dumps(state, indent=1))
    fresh.rename(WORK / "results.json")


def steps(module, with_end_to_end):
    return TARGETS.get(module, ABOVE) + (["EndToEnd"] if with_end_to_end else [])


def check(pool, targets, chosen, digests, state):
    """Runs each target without a fault, for its time and for tests that fail without one. Those are left out."""
    build = hashlib.sha256("".join(sorted(fault.key for fault in chosen)).encode()).hexdigest()[:16]
    for target in targets:
        mark = f"{build} {digests[target]}"
        if state["checks"].get(target, {}).get("mark") == mark:
            continue
        outcome = pool.apply(runs.run, (TREE, 0, [rf"^{target}\."], [], 1800, True))
        if outcome.how in ("crash", "time") or None in outcome.failed or not outcome.spans:
            sys.exit(f"mutants: {target} ends without a fault: {outcome.how or 'no tests ran'}")
        slow = [test for test, seconds in outcome.spans.items() if ".swift:" in test and seconds > 2]
        state["checks"][target] = {
            "mark": mark, "seconds": outcome.seconds, "failed": sorted(outcome.failed), "slow": sorted(slow)}
        save(state)
        say(f"{target}: {outcome.seconds:.0f} s without a fault")
        for test in outcome.failed:
            say(f"  fails without a fault, and is left out: {test}")


def attempt(work):
    key, number, target, skipped, limit = work
    return key, target, runs.judge(TREE, number, target, skipped, limit)


def begin_worker():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    runs.adopt_orphans()


def try_all(pool, options, chosen, digests, state):
    """Each step for all survivors of those before it, so that an interrupted run has the cheap steps of all. In a step
    the main modules come first, and of these the one with the quickest tests.
    """
    results, done = state["results"], 0
    by_key = {fault.key: fault for fault in chosen}
    for step in range(4):
        works = []
        for fault in chosen:
            unit = steps(fault.module, False)
            target = unit[step] if step < len(unit) else "EndToEnd" if step == 3 and options.end_to_end else None
            result = results.setdefault(fault.key, {"by": None, "tried": {}})
            if target is None or result["by"] or result["tried"].get(target) == digests[target]:
                continue
            known = state["checks"][target]
            skipped = known["failed"] + (known["slow"] if options.quick else [])
            works.append((fault.key, fault.id, target, skipped, 30 + 3 * known["seconds"]))
        works.sort(key=lambda work: (by_key[work[0]].module not in MAIN, state["checks"][work[2]]["seconds"]))
        for key, target, by in pool.imap_unordered(attempt, works):
            done += 1
            results[key]["tried"][target] = digests[target]
            results[key]["by"] = by
            save(state)
            say(f"{done} {described(by_key[key])}\n    {target}: {f'noticed: {by}' if by else 'not noticed'}")


# The report.

def described(fault):
    if fault.form == "call":
        change = f"without {fault.original}"
    else:
        change = f"{fault.original} → {fault.mutated}"
    return f"{fault.path}:{fault.number}  {fault.kind}: {change}"


def report(options, chosen, digests, state):
    rows, survivors = {}, []
    for fault in sorted(chosen, key=lambda fault: (fault.path, fault.number)):
        result = state["results"].get(fault.key, {"by": None, "tried": {}})
        targets = steps(fault.module, options.end_to_end)
        tried = [target for target in targets if result["tried"].get(target) == digests[target]]
        row = rows.setdefault(fault.module, Counter())
        row["faults"] += 1
        row["noticed" if result["by"] else "survived" if tried else "untried"] += 1
        if tried and not result["by"]:
            left = [target for target in targets if target not in tried]
            survivors.append(described(fault) + (f" ({', '.join(left)} not run)" if left else ""))
    rows["all"] = sum(rows.values(), Counter())
    say(f"\n{'module':<12} {'faults':>6} {'noticed':>8} {'survived':>9} {'untried':>8} {'share':>6}")
    for module in [module for module in MODULES + ["all"] if module in rows]:
        row = rows[module]
        tried = row["noticed"] + row["survived"]
        share = f"{row['noticed'] / tried:.0%}" if tried else "-"
        say(f"{module:<12} {row['faults']:>6} {row['noticed']:>8} {row['survived']:>9} {row['untried']:>8} {share:>6}")
    if survivors:
        say("\nnot noticed:")
        for survivor in survivors:
            say("  " + survivor)
    if options.json:
        text = json.dumps({
            "seed": options.seed, "modules": {module: dict(row) for module, row in rows.items()},
            "faults": [{
                "path": fault.path, "line": fault.number, "kind": fault.kind, "original": fault.original,
                "mutated": fault.mutated, "number": fault.id, **state["results"].get(fault.key, {}),
            } for fault in chosen]}, indent=1)
        Path(options.json).write_text(text + "\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modules", type=lambda text: text.split(","), default=MODULES)
    parser.add_argument("--no-end-to-end", dest="end_to_end", action="store_false")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.modules) - set(MODULES):
        parser.error(f"no such module: {', '.join(sorted(unknown))}")
    options.swift = os.environ.get("SWIFT") or "swift"
    # As Ctrl-C: what was started is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    names = tracked()
    state = load(names)
    chosen = prepare(options, names, state)
    targets = list(dict.fromkeys(
        target for module in options.modules for target in steps(module, options.end_to_end)))
    digests = {
        target: digest(names, [f"Tests/{target}/", "Tests/Support/", "Fixtures/"]) for target in targets}
    interrupted = False
    try:
        with multiprocessing.Pool(options.jobs, begin_worker) as pool:
            check(pool, targets, chosen, digests, state)
            try_all(pool, options, chosen, digests, state)
    except KeyboardInterrupt:
        interrupted = True
    report(options, chosen, digests, state)
    if interrupted:
        sys.exit("mutants: interrupted; run it again to go on")


if __name__ == "__main__":
    main()
