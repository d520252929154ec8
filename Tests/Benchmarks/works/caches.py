"""What a cache miss walks through: misses of the processor's first-level caches by a simulation, the code that runs for
nearly every image, and the atomic operations and allocations. Time follows these more than it follows instructions."""

import collections
import re
from pathlib import Path

from harness import callgrind, counters
from harness.attribution import archive, source_files
from harness.filesystem import Tmpfs
from harness.result import Breakdown, Counted, Counts, Goal
from .bench import Folders
from .instructions import observed, pairs
from .lists import small

IMAGES, HOT = 500, 400  # code is hot that ran for so many of the images
LINE = 64  # bytes of a cache line
MISSES, CODE = 3_500, 280  # goals: misses of the instruction cache, KB of hot code
MODULE = re.compile(r"\d(KF[A-Z][a-z]+|Command)")
ALLOCATING = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")


def caches(bench):
    """A run of many images, less a run of one, which stands for the program's start."""
    for program in ("valgrind", "objdump"):
        reason = counters.missing(program)
        if reason:
            return bench.skip(f"simulating caches: {reason}")
    with small(bench) as origin, Tmpfs(bench.scratch) as system:
        folders, found, modules = Folders(system), [], {}
        for many, one in pairs(bench, folders, origin, IMAGES):
            program, traces = observed(bench, folders, (many, one), callgrind.trace)
            lines = hot_lines(traces[0], program)
            modules[many.name] = collections.Counter({name: len(of) * LINE / 1024 for name, of in lines.items()})
            found.append(Counted(many.name, many.kind, columns(*traces, modules[many.name].total()), many.note))
        yield Counts(
            "prefetch-caches",
            f"caches of a prefetch of {IMAGES:,} images, less those of one; by callgrind, of 32 KB for instructions "
            "and 48 KB for data",
            "misses",
            found,
            [
                Goal(f"≤ {MISSES:,} misses of the instruction cache an image", lambda result: result.first(result.kf), MISSES),
                Goal(f"≤ {CODE} KB of hot code", lambda result: result.kf.counts["hot code (KB)"], CODE),
            ],
            {"hot code": f"distinct lines of {LINE} bytes of code that ran at least {HOT} times in a run of {IMAGES} images"},
            [Breakdown("KB of hot code, by module", modules, [])],
        )


def columns(many, one, code):
    def each(count):
        return (count(many) - count(one)) / (IMAGES - 1)

    return {
        "I1 misses": each(lambda trace: trace.events["I1mr"]),
        "D1 misses": each(lambda trace: trace.events["D1mr"] + trace.events["D1mw"]),
        "hot code (KB)": code,
        "atomics": each(atomics),
        "allocations": each(lambda trace: sum(trace.calls[name] for name in ALLOCATING)),
        "instructions": each(lambda trace: trace.events["Ir"]),
    }


def atomics(trace):
    """The locked instructions that ran."""
    return sum(trace.executed[place] for place in trace.executed if place.address in callgrind.locked(place.file))


def hot_lines(trace, program):
    """The lines of hot code, by module."""
    sources, lines = source_files(program), collections.defaultdict(set)
    for place, times in trace.executed.items():
        if times >= HOT:
            lines[module(place, trace.symbols[place], program, sources)].add(place.address // LINE)
    return lines


def module(place, symbol, program, sources):
    file = Path(place.file).name
    if file.removesuffix(callgrind.PLAIN) != program.name:
        return file.split(".so")[0]
    for name in ("sqlite3", "crypto"):
        if symbol in archive(name):
            return f"lib{name}"
    path = sources.get(symbol)
    if path:
        return path.split("/")[0]
    # A function that the compiler made names its module; a specialised one of the standard library the type that needs it.
    named = MODULE.search(symbol) if symbol.startswith("$s") else None
    if named:
        return named.group(1)
    return "the standard library" if symbol.startswith("$s") else "the runtime of Swift" if "swift" in symbol else program.name
