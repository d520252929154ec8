"""The n-th system call on the cache fails, is interrupted or cut short, or is the last of the process.

strace does it (`-e inject`); short reads and writes come from a small library that is loaded before the C library's.
"""
import collections
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from harness.paths import ROOT

from common.healing import Healing, check_output
from common.origin import Origin
from common.place import Place
from common.trial import sha256

IMAGES = 60
BUILD = ROOT / ".build/stress"
SOURCE = Path(__file__).with_name("short.c")
# What each call can fail with: on a full disk, a broken one, one over the network, or for want of descriptors.
FULL, BROKEN, INTERRUPTED = ["ENOSPC", "EDQUOT"], ["EIO"], ["EINTR"]
ERRORS = {
    "openat": FULL + BROKEN + INTERRUPTED + ["EMFILE", "ENFILE"],
    "openat2": FULL + BROKEN + INTERRUPTED + ["EMFILE", "ENOSYS", "EAGAIN"],
    "read": BROKEN + INTERRUPTED,
    "pread64": BROKEN + INTERRUPTED,
    "write": FULL + BROKEN + INTERRUPTED,
    "pwrite64": FULL + BROKEN + INTERRUPTED,
    "fsync": FULL + BROKEN + INTERRUPTED,
    "fdatasync": FULL + BROKEN + INTERRUPTED,
    "ftruncate": FULL + BROKEN + INTERRUPTED,
    "fallocate": FULL + BROKEN + INTERRUPTED + ["EOPNOTSUPP"],
    "renameat": FULL + BROKEN,
    "renameat2": FULL + BROKEN,
    "rename": FULL + BROKEN,
    "linkat": FULL + BROKEN + ["EMLINK"],
    "unlink": BROKEN,
    "unlinkat": BROKEN,
    "mkdir": FULL + BROKEN,
    "mkdirat": FULL + BROKEN,
    "fstat": BROKEN,
    "newfstatat": BROKEN,
    "statx": BROKEN,
    "fchmod": BROKEN,
    "fcntl": INTERRUPTED + ["ENOLCK"],
    "getdents64": BROKEN,
    "mmap": ["ENOMEM"],
    "close": BROKEN,
    "fstatfs": BROKEN,
    "copy_file_range": FULL + BROKEN,
}


class Command:
    """One command to disturb. Of one that writes an image out, `index` says which."""

    def __init__(self, name, arguments, index=None, stdin=None, damaged=False, fresh=False):
        self.name = name
        self.arguments = arguments
        self.index = index
        self.stdin = stdin
        self.damaged = damaged
        self.fresh = fresh

    def run(self, trial, origin, place, under=(), environment=None, tolerates=None):
        """Runs it and looks at the image that it has written, if it is one that does."""
        output = place.root / "output.png"
        arguments = [str(output) if word == "OUTPUT" else word for word in self.arguments]
        result = place.kf(
            *arguments, stdin=self.stdin, under=under, environment=environment, kills=True, tolerates=tolerates)
        if self.index is None:
            return result
        if "OUTPUT" not in self.arguments:
            check_output(trial, origin, self.index, result, result.output)
        elif output.exists():
            # A file is replaced whole or not at all, however the command ended.
            if sha256(output.read_bytes()) not in origin.ever[self.index]:
                trial.fault(f"the output is torn ({output.stat().st_size} bytes): {result}")
        elif result.status == 0:
            trial.fault(f"success without the output: {result}")
        left = [path.name for path in place.root.glob("*output*") if path != output]
        if left and not result.killed:
            trial.fault(f"left beside the output: {left}: {result}")
        return result


def commands(origin):
    half = IMAGES // 2
    urls = [origin.url(index) for index in origin.indexes]
    return [
        Command("miss", ["fetch", urls[half], "-o", "-"], half),
        Command("miss to a file", ["fetch", urls[half], "-o", "OUTPUT"], half),
        Command("miss, --fsync", ["fetch", urls[half], "--fsync", "-o", "-"], half),
        Command("hit", ["fetch", urls[0], "-o", "-"], 0),
        Command("hit to a file", ["fetch", urls[0], "-o", "OUTPUT"], 0),
        Command("processed", ["fetch", urls[0], "-p", "resize:24x24", "-q"]),
        Command("prefetch", ["prefetch", "-", "-q"], stdin="".join(f"{url}\n" for url in urls).encode()),
        Command("prefetch, evicting", ["prefetch", "-", "-q", "--max-size", str(sum(origin.sizes) // 2)],
                stdin="".join(f"{url}\n" for url in urls).encode()),
        Command("clean", ["cache", "clean", "-q", "--max-size", str(sum(origin.sizes) // 4)]),
        Command("clean --all", ["cache", "clean", "-q", "--all", "--yes"]),
        Command("rm", ["cache", "rm", "-q", *urls[:5]]),
        Command("verify", ["cache", "verify", "-q"], damaged=True),
        Command("verify --repair", ["cache", "verify", "-q", "--repair"], damaged=True),
        Command("stat", ["cache", "stat", "--json"]),
        Command("new cache", ["fetch", urls[half], "-o", "-"], half, fresh=True),
    ]


class Calls:
    """The calls that a command makes on the cache or its output: how many of each kind, in each of its threads."""

    LINE = re.compile(r"^(\d+) +([a-z0-9_]+)\(")

    def __init__(self, trial, origin, place, command):
        log = place.root.parent / "strace.log"
        command.run(trial, origin, place, under=["strace", "-f", "-y", "-s", "200", "-o", log])
        counts = collections.Counter()
        self.made = []
        # Of the first thread, ahead of its first call on the cache: the dynamic loader's are among them.
        self.early = collections.Counter()
        first = None
        for line in log.read_text(errors="replace").splitlines():
            match = self.LINE.match(line)
            if not match or match[2] not in ERRORS:
                continue
            first = first or match[1]
            counts[match[1], match[2]] += 1
            if str(place.root) in line:
                self.made.append((match[2], counts[match[1], match[2]]))
            elif match[1] == first and not self.made:
                self.early[match[2]] += 1

    def choose(self, generator):
        """Every kind of call has the same chance, however often it is made."""
        name = generator.choice(sorted({name for name, _ in self.made}))
        return generator.choice([call for call in self.made if call[0] == name])


def damage(place):
    """What a repair has to do: a missing object, a torn one, an orphan, and a leftover."""
    objects = sorted(path for path in (place.cache / "v1/objects").rglob("*") if path.is_file())
    objects[0].unlink()
    objects[1].chmod(0o644)
    objects[1].write_bytes(b"torn")
    orphan = objects[2].parent / ("0" * 62 + ".png")
    orphan.write_bytes(b"an orphan")
    leftover = place.cache / "v1/tmp/left"
    leftover.write_bytes(b"left")
    os.utime(leftover, (1, 1))


def build_short():
    """The library of short reads and writes, or None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    library = BUILD / "short.so"
    BUILD.mkdir(parents=True, exist_ok=True)
    if not compiler:
        return None
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Injection:
    def __init__(self, trial, origin):
        self.trial = trial
        self.origin = origin
        self.short = build_short()
        self.commands = commands(origin)
        self.seen = {}
        self.log = trial.scratch / "injected.log"
        template = Place(trial, origin, trial.folder("template"))
        urls = "".join(f"{origin.url(index)}\n" for index in range(IMAGES // 2)).encode()
        template.kf("prefetch", "-", "-q", stdin=urls)
        self.template = template.cache

    def place(self, command):
        template = None if command.fresh else self.template
        place = Place(self.trial, self.origin, self.trial.folder("case"), template)
        if command.damaged:
            damage(place)
        return place

    def calls(self, command):
        """Seen once for every command; the numbers of another run differ by little."""
        if command.name not in self.seen:
            self.seen[command.name] = Calls(self.trial, self.origin, self.place(command), command)
        return self.seen[command.name]

    def fault(self, command, generator):
        """How to run the command, its environment, and the words for the fault."""
        if self.short and generator.random() < 0.1:
            environment = {"LD_PRELOAD": str(self.short), "SHORT_SEED": str(generator.randrange(1 << 31))}
            return [], environment, "short reads and writes"
        if generator.random() < 0.05:
            size = generator.choice([0, 1000, 5000, 40_000])
            return ["prlimit", f"--fsize={size}"], {}, f"files of at most {size} bytes"
        self.log.unlink(missing_ok=True)
        name, number = self.calls(command).choose(generator)
        when = generator.choice([str(number)] * 3 + [f"{number}+", f"{number}+2"])
        if generator.random() < 0.25:
            how, when = "signal=SIGKILL", str(number)
        else:
            error = generator.choice(ERRORS[name])
            if error in ("EINTR", "EAGAIN"):
                # For ever would be a hang that no program could help.
                when = generator.choice([str(number), f"{number}..{number + 3}"])
            how = f"error={error}"
        fault = f"{name}:{how}:when={when}"
        return ["strace", "-f", "-o", self.log, "-e", f"trace={name}", "-e", f"inject={fault}"], {}, fault

    def is_system(self, command, status):
        """What no program can help: libdispatch traps where a thread of its own cannot open /proc/TID/stat, and the
        dynamic loader dies where it gets no memory."""
        if not self.log.exists():
            return False
        lines = self.log.read_text(errors="replace").splitlines()
        failed = [line for line in lines if "(INJECTED)" in line]
        if not failed:
            return False
        if status == -signal.SIGILL:
            return '"/proc/' in failed[-1]
        return status == -signal.SIGSEGV and " mmap(" in failed[-1] and (
            lines.index(failed[-1]) < self.calls(command).early["mmap"])

    def run(self, generator):
        command = generator.choice(self.commands)
        under, environment, fault = self.fault(command, generator)
        place = self.place(command)
        before = self.trial.faults
        result = command.run(self.trial, self.origin, place, under, environment, tolerates=lambda status: self.is_system(command, status))
        # What is said may be what could not be written.
        if result.status == 3 and not result.errors.strip() and not fault.startswith("write:"):
            self.trial.fault(f"exit 3 without a word: {result}")
        Healing(place, self.origin, generator, generator.sample(self.origin.indexes, 15)).run()
        if self.trial.faults > before or self.trial.only is not None:
            print(f"stress: inject: case {self.trial.case}: {command.name}, {fault}: {result}", flush=True)


def run(trial):
    if not shutil.which("strace"):
        sys.exit("strace is missing; 'make setup' installs it")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Origin(trial.scratch, trial.random("origin"), IMAGES, largest=100) as origin:
        injection = Injection(trial, origin)
        for _, generator in trial.cases():
            injection.run(generator)
