import json
import pathlib
import sqlite3
import threading
import time

from .contents import Contents
from .program import Program
from .trial import sha256


class Mixture:
    """Many processes of kf that fetch, prefetch, remove, clean, count and verify at random in one small cache."""

    VARIANTS = 20
    CHAIN = "resize:24x24"

    def __init__(self, trial, origin, place):
        self.trial = trial
        self.origin = origin
        self.place = place
        self.program = place.program
        self.limit = sum(origin.sizes) // 4
        self.kills = 0
        self.variants = []

    def prepare(self):
        """What the processor makes of the first images, in another cache."""
        other = Program(self.trial, self.origin, self.trial.folder("other"))
        for index in range(self.VARIANTS):
            made = other.run("fetch", self.origin.url(index), "-p", self.CHAIN, "-o", "-")
            self.variants.append(sha256(made.output))

    # -- Running

    def expect(self, name, result, *allowed):
        """The output, or nothing when the process was killed or has failed."""
        if result.killed:
            return None
        self.trial.count(name)
        # What is not there cannot be removed; that is said, and is no fault.
        errors = [line for line in result.errors.splitlines() if "[3006]" not in line or name != "cache rm"]
        if result.status not in allowed or errors:
            self.trial.fault(f"{name}: {result}")
            return None
        return result.output

    def run(self, *arguments, stdin=None):
        return self.program.run(*arguments, stdin=stdin)

    def check(self, index, data, what):
        if sha256(data) not in self.origin.ever[index]:
            self.trial.fault(f"{what} is wrong ({len(data)} bytes)")

    # -- What a process does

    def fetch(self, generator):
        index = generator.choice(self.origin.indexes)
        output = self.expect(
            "fetch", self.run("fetch", self.origin.url(index), "--max-size", self.limit, "-o", "-"), 0)
        if output is not None:
            self.check(index, output, f"fetch: what came for {self.origin.url(index)}")

    def fetch_path(self, generator):
        """The printed file may be evicted by now; what is there must be right."""
        index = generator.choice(self.origin.indexes)
        output = self.expect(
            "fetch (path)", self.run("fetch", self.origin.url(index), "--max-size", self.limit), 0)
        if output:
            try:
                data = pathlib.Path(output.decode().rstrip("\n")).read_bytes()
            except FileNotFoundError:
                return
            self.check(index, data, f"fetch: {output.decode().strip()}")

    def process(self, generator):
        index = generator.randrange(len(self.variants))
        output = self.expect("fetch -p", self.run(
            "fetch", self.origin.url(index), "-p", self.CHAIN, "--max-size", self.limit, "-o", "-"), 0)
        if output is not None and sha256(output) != self.variants[index]:
            self.trial.fault(f"fetch -p: {self.origin.url(index)} came wrong ({len(output)} bytes)")

    def prefetch(self, generator):
        urls = [self.origin.url(generator.choice(self.origin.indexes)) for _ in range(generator.randint(1, 60))]
        self.expect("prefetch", self.run(
            "prefetch", "-", "-q", "--max-size", self.limit, stdin="".join(url + "\n" for url in urls).encode()), 0)

    def remove(self, generator):
        urls = [self.origin.url(generator.choice(self.origin.indexes)) for _ in range(generator.randint(1, 5))]
        self.expect("cache rm", self.run("cache", "rm", "-q", *urls), 0, 1)

    def clean(self, generator):
        size = generator.choice([0, self.limit // 4, self.limit // 2])
        arguments = ["--all"] if size == 0 else ["--max-size", size]
        self.expect("cache clean", self.run("cache", "clean", "-q", "--yes", *arguments), 0)

    def stat(self, _):
        output = self.expect("cache stat", self.run("cache", "stat", "--json"), 0)
        if output is not None and min(v for v in json.loads(output).values() if isinstance(v, int)) < 0:
            self.trial.fault(f"cache stat: {output.decode()}")

    def verify(self, _):
        output = self.expect("cache verify", self.run("cache", "verify", "--json"), 0, 1)
        for line in (output or b"").decode().splitlines():
            kind = json.loads(line).get("kind")
            # Kills leave files that no row knows, and rows whose file is gone.
            if kind not in ((None, "orphan", "missing_file", "leftover") if self.kills else (None,)):
                self.trial.fault(f"cache verify: {line}")

    def actions(self):
        return (
            [self.fetch] * 30 + [self.fetch_path] * 20 + [self.process] * 12 + [self.prefetch] * 20
            + [self.remove] * 10 + [self.clean] * 4 + [self.stat] * 3 + [self.verify] * 3)

    # -- The whole

    def work(self, number):
        generator = self.trial.random("process", number)
        actions = self.actions()
        while time.monotonic() < self.trial.end and not self.trial.is_spoilt:
            generator.choice(actions)(generator)

    def work_all(self, *more):
        """So many processes as were asked for, and these functions beside them, until the time is over."""
        self.trial.end = time.monotonic() + self.trial.seconds
        threads = [
            threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(self.trial.processes)]
        threads += [threading.Thread(target=function, daemon=True) for function in more]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def finish(self):
        """The cache against itself, without kf; then kf's own repair has to put right what is left."""
        if self.kills:
            # One that was killed between its commit and its eviction leaves that to the next store.
            self.expect("fetch", self.run("fetch", self.origin.url(0) + "?last", "--max-size", self.limit, "-q"), 0)
        try:
            contents = Contents(self.place.cache)
        except sqlite3.Error as error:
            self.trial.fault(f"the index cannot be read: {error}")
            return
        for text in contents.faults + [f"objects/{name} is torn" for name in contents.torn]:
            self.trial.fault(text)
        if contents.stored > self.limit * 1.1:
            self.trial.fault(f"{contents.stored} bytes are stored, the limit is {self.limit}")
        # A kill in the middle of a batch can leave as many as the batch has.
        if len(contents.orphans) + len(contents.missing) > 64 * self.kills:
            self.trial.fault(f"{contents} after {self.kills} kills")
        print(f"stress: {self.trial.name}: {contents}")
        repaired = self.run("cache", "verify", "--repair", "--json")
        clean = self.run("cache", "verify", "--json")
        if repaired.status != 0 or clean.status != 0:
            self.trial.fault(f"after a repair: {repaired}, {clean}: {clean.output[-1000:].decode()}")
        self.place.check_canaries()
