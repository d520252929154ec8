"""Counts system calls, which hardly depend on the machine's load."""

import collections
import os
import subprocess
import sys

from .measure import LIMIT
from .peers import find


PERF_EVENTS = {"raw_syscalls:sys_enter": "all", "syscalls:sys_enter_futex": "futex"}
# What shows that a program works here.
PROBES = {
    "perf": ("stat", "-o", "/dev/null", "-e", ",".join(PERF_EVENTS)),
    "strace": ("-c", "-o", "/dev/null"),
    "valgrind": ("-q", "--tool=none"),
    "objdump": ("--version",),
}


def system_calls(command, environment, scratch):
    """The number of calls that all threads of a command make, by system call."""
    report = scratch / "strace.out"
    run(("strace", "-f", "-c", "-U", "calls,name", "-o", report, *command), environment)
    calls = collections.Counter()
    for line in report.read_text().splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[0].isdigit() and fields[1] != "total":
            calls[fields[1]] += int(fields[0])
    return calls


def all_calls(command, environment, scratch):
    """The number of all system calls and of futexes among them: by perf where that is allowed, which slows nothing down."""
    report = scratch / "perf.out"
    if missing("perf"):
        calls = system_calls(command, environment, scratch)
        return collections.Counter(all=calls.total(), futex=calls["futex"])
    run(("perf", "stat", "-x,", "-o", report, "-e", ",".join(PERF_EVENTS), *command), environment)
    counts = {}
    for line in report.read_text().splitlines():
        number, _, event, *_ = [*line.split(","), "", ""]
        if event in PERF_EVENTS:
            counts[PERF_EVENTS[event]] = int(number)
    return collections.Counter(counts)


def missing(program):
    """The reason why the program cannot be used on this machine, or None."""
    path = find(program)
    if not path:
        return f"{program} is not installed"
    works = subprocess.run((path, *PROBES[program], "true"), capture_output=True).returncode == 0
    return None if works else f"{program} does not work here"


def run(command, environment, standard_input=None):
    words = [str(word) for word in command]
    with open(standard_input or os.devnull, "rb") as source:
        done = subprocess.run(words, env=environment, stdin=source, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(words)[:200]} ended with {done.returncode}: {done.stderr[-500:]}")
