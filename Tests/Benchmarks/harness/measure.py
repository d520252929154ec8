"""Runs commands in turn and keeps what each cost."""

import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

from .floors import floor

LIMIT = 900  # seconds for one run of one command, whatever happens
BUDGET = 60  # seconds: a side that has taken them is run no more, so that a slow peer or a busy machine ends in time


@dataclass
class Run:
    wall: float  # milliseconds
    cpu: float  # milliseconds, of all threads and of children that were waited for
    memory: float  # MiB, of the largest process


@dataclass
class Reading:
    """A command that reads a file as its standard input."""

    command: tuple
    file: object


@dataclass
class Side:
    """One program that does the work, and how it is asked to."""

    name: str
    command: object  # a function that prepares, and gives the command
    kind: str = "peer"  # kf, peer, floor, or note: shown, but no peer to be compared with
    note: str = ""  # the flags, or what else a reader should know
    check: object = None  # a function that looks at what the first run made, and says what it found
    runs: list = field(default_factory=list)
    output: str = ""

    @property
    def cores(self):
        """How many cores were busy."""
        return self.median("cpu") / self.median()

    @property
    def spent(self):
        return sum(run.wall for run in self.runs) / 1000

    def median(self, figure="wall"):
        return statistics.median(getattr(run, figure) for run in self.runs)


def measure(command, environment, standard_input=None):
    """Runs a command to its end."""
    read, write = os.pipe()
    words = [str(word) for word in command]
    with open(standard_input or os.devnull, "rb") as source:
        process = subprocess.Popen(
            [floor("measure"), str(write), *words],
            env=environment,
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(write,),
        )
    os.close(write)
    try:
        _, said = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"bench: gave up on {' '.join(words)[:200]} after {LIMIT} s")
    with os.fdopen(read) as stream:
        report = stream.read().split()
    if len(report) != 4 or report[3] != "0":
        sys.exit(
            f"bench: {' '.join(words)[:200]} ended with {report[3] if len(report) == 4 else '?'}:"
            f" {said.decode(errors='replace')[-500:]}"
        )
    return Run(int(report[0]) / 1e3, int(report[1]) / 1e3, int(report[2]) / 1024)


def alternate(sides, rounds, environment, before=None, after=None, seconds=math.inf):
    """Every side once, and again (A B A B …), so that a change of the machine's load hits all of them.

    `before` and `after` are called with each side around its run. No round begins once `seconds` have passed.
    """
    end = time.monotonic() + seconds
    for number in range(rounds):
        if number > 0 and time.monotonic() > end:
            break
        for side in turn(sides, number):
            if before:
                before(side)
            take(side, environment)
            if after:
                after(side)
    return sides


def turn(sides, number):
    """The sides in the order of that round: each round begins with another side, so that none is always the first."""
    start = number % len(sides)
    return sides[start:] + sides[:start]


def take(side, environment):
    """Runs one side once, unless it has had its time. What its first run made is looked at."""
    if side.spent > BUDGET:
        return
    command = side.command()
    source = None
    if isinstance(command, Reading):
        command, source = command.command, command.file
    side.runs.append(measure(command, environment, source))
    if len(side.runs) == 1 and side.check:
        side.output = side.check()
