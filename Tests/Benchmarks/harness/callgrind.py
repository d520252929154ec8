"""Runs a command under callgrind, and reads what each function cost by itself and through others, or what each
instruction did."""

import collections
import functools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .counters import run
from .paths import BENCHMARKS, KEPT

CALLERS = 4  # A function's cost is kept apart for each chain of so many callers.
PLAIN = "-plain"
NAME = re.compile(r"\((\d+)\)(?: (.*))?$")
# The first level of an ordinary processor: bytes, ways, bytes a line. The last level is one core's second.
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64")
LOCKED = re.compile(r"^\s*([0-9a-f]+):\s+(?:lock\b|xchg\b.*\()")  # xchg with memory is atomic without a prefix


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


class Place(NamedTuple):
    """An instruction."""

    file: str  # the path of the program or library
    address: int  # as the linker gave it


@dataclass
class Trace:
    """What ran, instruction by instruction."""

    events: collections.Counter = field(default_factory=collections.Counter)  # callgrind's, by name: Ir, I1mr, …
    executed: collections.Counter = field(default_factory=collections.Counter)  # by place
    symbols: dict = field(default_factory=dict)  # by place
    calls: collections.Counter = field(default_factory=collections.Counter)  # by the symbol of the callee


def trace(command, environment, scratch):
    """Runs a command as `profile` does, with simulated caches."""
    report = scratch / "callgrind.out"
    places = ("--dump-instr=yes", "--dump-line=no", "--compress-pos=no")
    run(
        ("valgrind", "-q", "--tool=callgrind", *CACHES, *places, f"--callgrind-out-file={report}", *plain(command, scratch)),
        {**environment, "LD_PRELOAD": str(preloaded())},
    )
    return read_places(report)


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


def read_places(report):
    result = Trace()
    objects, functions, events = {}, {}, []
    current = callee = file = None
    is_call = False
    with open(report, errors="replace") as lines:
        for line in lines:
            if line.startswith("0x"):
                address, count, *_ = line.split()
                if not is_call:
                    place = Place(file, int(address, 16))
                    result.executed[place] += int(count)
                    result.symbols[place] = current
                is_call = False
                continue
            key, _, value = line.rstrip("\n").partition("=")
            if key == "ob":
                file = known(objects, value, str)
            elif key == "cob":
                known(objects, value, str)
            elif key == "fn":
                current = known(functions, value, str)
            elif key == "cfn":
                callee = known(functions, value, str)
            elif key == "calls":
                result.calls[callee] += int(value.split()[0])
                is_call = True
            elif line.startswith("events:"):
                events = line.split()[1:]
            elif line.startswith("totals:"):
                result.events.update(dict(zip(events, map(int, line.split()[1:]))))
    return result


@functools.cache
def locked(file):
    """The addresses of the instructions of a program or library that lock the bus."""
    listed = subprocess.run(
        ("objdump", "-d", "--no-show-raw-insn", file), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout
    return frozenset(int(found.group(1), 16) for line in listed.splitlines() if (found := LOCKED.match(line)))


def known(names, word, shown=lambda name: Path(name).name):
    number, name = NAME.match(word).groups()
    if name is not None:
        names[number] = shown(name)
    return names[number]


def chain(chains, word, file):
    number, name = NAME.match(word).groups()
    if name is not None:
        # Callgrind gives the file of the first function alone.
        first, *callers = name.split("'")
        chains[number] = (Function(first, file), *(Function(caller, "") for caller in callers))
    return chains[number]
