"""No threads, few descriptors, little memory: a command does its work, or says which limit to raise, and soon.

Threads are limited by a control group where one can be made, else by the memory for their stacks.
"""
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from common.healing import Healing
from common.origin import Origin
from common.place import Place

IMAGES = 60
SOON = 4  # seconds: one for the tries, the rest for a loaded machine
GROUPS = Path("/sys/fs/cgroup")


class Group:
    """A control group that limits the number of threads; `path` is None where none can be made."""

    def __init__(self):
        self.path = None
        for parent in (GROUPS / "pids", GROUPS):
            path = parent / f"kf-stress-{os.getpid()}"
            try:
                path.mkdir()
            except OSError:
                continue
            if (path / "pids.max").exists():
                self.path = path
                return
            path.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.path:
            self.path.rmdir()

    def under(self, number):
        (self.path / "pids.max").write_text(str(number))
        return ["/bin/sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]


class Limits:
    def __init__(self, trial, origin, group):
        self.trial = trial
        self.origin = origin
        self.group = group

    def command(self, generator, place):
        """The words of a command, and its standard input."""
        urls = generator.sample([self.origin.url(index) for index in self.origin.indexes], generator.randint(1, IMAGES))
        out = place.root / "output"
        shutil.rmtree(out, ignore_errors=True)
        words = generator.choice([
            ["fetch", *urls[:5]], ["fetch", *urls, "--output-dir", out], ["prefetch", "-", "-q"],
            ["prefetch", "-", "-q", "--output-dir", out, "-p", "resize:9x9", "-p", "rotate:90"],
            ["prefetch", "-", "-q", "--shards", out, "--shard-size", "9"],
            ["prefetch", "-", "-q", "--remote", (place.root / "output-remote").as_uri(), "--remote-write"],
            ["prefetch", "-", "--dry-run"], ["cache", "stat"], ["cache", "verify"], ["cache", "ls"],
            ["cache", "clean", "--max-size", "50K"], ["cache", "rm", "-q", *urls],
        ])
        return words, "".join(url + "\n" for url in urls).encode() if "-" in words else None

    def limit(self, generator):
        """The kind of limit, and the words that set it."""
        kind = generator.choice(["threads", "stacks", "descriptors", "descriptors", "addresses"])
        match kind:
            case "threads" if self.group.path:
                return kind, self.group.under(generator.randint(1, 14))
            case "threads" | "stacks":
                return kind, ["prlimit", f"--data={generator.randint(6, 90) << 20}"]
            case "descriptors":
                number = generator.randint(20, 100)
                return kind, ["prlimit", f"--nofile={number}:{number}"]
            case _:
                return kind, ["prlimit", f"--as={generator.randint(60, 600) << 20}"]

    def run(self, generator):
        place = Place(self.trial, self.origin, self.trial.folder("place"))
        if generator.random() < 0.5:
            place.kf("prefetch", "-", "-q", stdin=b"".join(
                self.origin.url(index).encode() + b"\n" for index in generator.sample(self.origin.indexes, 20)))
        words, stdin = self.command(generator, place)
        kind, under = self.limit(generator)
        if kind in ("threads", "stacks") and generator.random() < 0.3:
            self.interrupt(generator, place, words, stdin, under)
        else:
            result = place.kf(*words, stdin=stdin, under=under, tolerates=lambda status: status == 2)
            self.trial.count(f"{kind}: status {result.status}")
            self.judge(kind, result, " ".join(under[:2]))
        Healing(place, self.origin, generator, generator.sample(self.origin.indexes, 10)).run()

    def judge(self, kind, result, limit):
        if "Too many open files" in result.errors or "SQLite 14" in result.errors:
            self.trial.fault(f"{limit}: descriptors were used up: {result}")
        if result.status in (2, 3) and "ulimit" not in result.errors:
            self.trial.fault(f"{limit}: the message names no limit: {result}")
        if kind == "descriptors" and result.status not in (0, 1, 2):
            self.trial.fault(f"{limit}: {result}")
        if result.status == 3 and result.seconds > SOON:
            self.trial.fault(f"{limit}: ended after {result.seconds:.1f} s: {result}")

    def interrupt(self, generator, place, words, stdin, under):
        """A signal ends the command, whatever it waits for."""
        program = place.program
        process = subprocess.Popen(
            [*map(str, under), program.trial.kf, *map(str, words)], env=program.environment, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.stdin.write(stdin or b"")
            process.stdin.close()
        except BrokenPipeError:
            pass  # It has ended already.
        time.sleep(generator.uniform(0, 0.6))
        process.send_signal(generator.choice([signal.SIGTERM, signal.SIGINT]))
        start = time.monotonic()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.trial.count("signals")
        if time.monotonic() - start > SOON:
            self.trial.fault(f"{words[0]} ended {time.monotonic() - start:.1f} s after a signal")


def run(trial):
    with Origin(trial.scratch, trial.random("origin"), IMAGES, largest=60) as origin, Group() as group:
        limits = Limits(trial, origin, group)
        for _, generator in trial.cases():
            limits.run(generator)
