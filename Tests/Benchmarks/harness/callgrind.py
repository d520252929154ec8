"""Runs a command under callgrind, and reads what each function cost by itself and through others."""

import collections
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .counters import run
from .paths import BENCHMARKS, KEPT

CALLERS = 4  # A function's cost is kept apart for each chain of so many callers.
PLAIN = "-plain"
NAME = re.compile(r"\((\d+)\)(?: (.*))?$")


@dataclass(frozen=True)
class Function:
    symbol: str  # as the linker knows it; in a file without symbols its address
    file: str  # the name of the program or library


@dataclass
class Profile:
    """Instructions in user space. A chain is a tuple of functions: one that ran, its caller, the caller's caller."""

    own: collections.Counter = field(default_factory=collections.Counter)  # by chain
    calls: collections.Counter = field(default_factory=collections.Counter)  # by pair of chains: caller, callee

    @property
    def total(self):
        return self.own.total()


def profile(command, environment, scratch, standard_input=None):
    """Runs a command with its bounds of wall time stretched, so that it does what it does without callgrind."""
    report = scratch / "callgrind.out"
    chains = f"--separate-callers={CALLERS}"
    run(
        ("valgrind", "-q", "--tool=callgrind", chains, f"--callgrind-out-file={report}", *plain(command, scratch)),
        {**environment, "LD_PRELOAD": str(preloaded())},
        standard_input,
    )
    return read(report)


def total(command, environment, scratch, standard_input=None):
    """The instructions of a short process, to which nothing is preloaded: binding the library would be counted."""
    report = scratch / "callgrind.out"
    run(
        ("valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={report}", *plain(command, scratch)),
        environment,
        standard_input,
    )
    return read(report).total


def plain(command, scratch):
    """The command with its program's debug information removed: Valgrind 3.19 takes that of Swift for damaged."""
    program, *rest = command
    copy = scratch / f"{Path(program).name}{PLAIN}"
    if not copy.exists():
        subprocess.run(("objcopy", "--strip-debug", program, copy), check=True)
    return copy, *rest


def preloaded():
    """The library that keeps a program's bounds of wall time in proportion to callgrind's slowness."""
    source, library = BENCHMARKS / "harness/under_callgrind.c", KEPT / "under_callgrind.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        library.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ("cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source), check=True
        )
    return library


def read(report):
    """Parses callgrind's output. A name is written out at its first use only, and stands for a chain joined by «'»."""
    result = Profile()
    chains, objects = {}, {}
    current = callee = current_object = callee_object = None
    is_call = False
    with open(report, errors="replace") as lines:
        for line in lines:
            if line[0] in "0123456789+-*":
                cost = int(line.split()[1])
                if is_call:
                    result.calls[current, callee] += cost
                    is_call = False
                else:
                    result.own[current] += cost
                continue
            key, _, value = line.rstrip("\n").partition("=")
            if key == "ob":
                current_object = known(objects, value)
            elif key == "cob":
                callee_object = known(objects, value)
            elif key == "fn":
                current = chain(chains, value, current_object)
            elif key == "cfn":
                callee = chain(chains, value, callee_object or current_object)
            elif key == "calls":
                is_call, callee_object = True, None
    return result


def known(names, word):
    number, name = NAME.match(word).groups()
    if name is not None:
        names[number] = Path(name).name
    return names[number]


def chain(chains, word, file):
    number, name = NAME.match(word).groups()
    if name is not None:
        # Callgrind gives the file of the first function alone.
        first, *callers = name.split("'")
        chains[number] = (Function(first, file), *(Function(caller, "") for caller in callers))
    return chains[number]
