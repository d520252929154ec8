"""Counts instructions and system calls, which hardly depend on the machine's load."""

import collections
import subprocess
import sys
from pathlib import Path

from .measure import LIMIT
from .peers import find


def instructions(command, environment, scratch):
    """The instructions that all threads of a command execute in user space, and those of SHA-256 among them.

    Valgrind emulates a processor without SHA-256 instructions, so hashing is overstated. Valgrind 3.19 does not support
    openat2 either: kf opens each folder of a path instead.
    """
    report = scratch / "callgrind.out"
    program, *rest = command
    run(
        ("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={report}", readable(program, scratch), *rest),
        environment,
    )
    said = subprocess.run(
        ("callgrind_annotate", "--threshold=100", report), capture_output=True, text=True, check=True
    ).stdout
    counts = collections.Counter()
    for line in said.splitlines():
        figure = line.split()[0].replace(",", "") if line.split() else ""
        if figure.isdigit() and "PROGRAM TOTALS" in line:
            counts["all"] = int(figure)
        elif figure.isdigit() and ":sha256_block" in line:
            counts["hashing"] += int(figure)
    return counts


def readable(program, scratch):
    """The program without its debug information, which Valgrind 3.19 takes for damaged in a release binary of Swift."""
    plain = scratch / f"{Path(program).name}-plain"
    if not plain.exists():
        subprocess.run(("objcopy", "--strip-debug", program, plain), check=True)
    return plain


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


def missing(program):
    """The reason why the program cannot be used on this machine, or None."""
    path = find(program)
    if not path:
        return f"{program} is not installed"
    options = ("-c", "-o", "/dev/null") if program == "strace" else ("-q", "--tool=none")
    works = subprocess.run((path, *options, "true"), capture_output=True).returncode == 0
    return None if works else f"{program} does not work here"


def run(command, environment):
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT
    )
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(words)[:200]} ended with {done.returncode}: {done.stderr[-500:]}")
