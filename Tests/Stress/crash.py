"""The power is cut while the cache is in use.

Where root may mount: an ext4 on a loop device is copied whole, at a random moment, and the copy mounted. Everywhere: a
model that drops what was not synchronized (disk_recording.py). Cases take turns. STRESS_CRASH=ext4 or =model takes one.
"""
import os
import sys
import threading
import time

from common.healing import Healing
from common.origin import Origin
from common.place import Place
from disk_recording import Recording
from disk_snapshots import Snapshots, why_not

IMAGES = 80


class Workload:
    """Commands of chance on one cache. With `durable` all of them store with --fsync, and nothing is removed."""

    def __init__(self, origin, generator, durable):
        self.origin = origin
        self.generator = generator
        self.options = ["--fsync"] if durable else []
        self.durable = durable

    def next(self):
        """The arguments, what goes to standard input, and the URLs that must be there when it has succeeded."""
        generator, url = self.generator, self.origin.url
        index = generator.choice(self.origin.indexes)
        kind = generator.choice(["fetch"] * 3 + ["prefetch"] * 4 + ([] if self.durable else [
            "process", "refresh", "rm", "clean", "repair"]))
        if kind == "prefetch":
            urls = [url(i) for i in generator.sample(self.origin.indexes, generator.randint(1, 40))]
            return ["prefetch", "-", "-q", *self.options], "".join(f"{u}\n" for u in urls).encode(), urls
        arguments = {
            "fetch": ["fetch", url(index), "-o", "-", *self.options],
            "process": ["fetch", url(index), "-p", "resize:24x24", "-q"],
            "refresh": ["fetch", url(index), "--force-refresh", "-q"],
            "rm": ["cache", "rm", "-q", url(index)],
            "clean": ["cache", "clean", "-q", "--max-size", str(generator.randrange(1, sum(self.origin.sizes)))],
            "repair": ["cache", "verify", "-q", "--repair"],
        }[kind]
        return arguments, None, [url(index)] if kind == "fetch" else []


class Crash:
    def __init__(self, trial, origin):
        self.trial = trial
        self.origin = origin
        self.snapshots = None
        self.ways = [self.by_model]
        wanted = os.environ.get("STRESS_CRASH")
        reason = "not asked for" if wanted == "model" else why_not()
        if not reason:
            try:
                self.snapshots = Snapshots(trial.scratch)
                self.ways = [self.by_snapshot] if wanted == "ext4" else [self.by_snapshot, self.by_model]
            except OSError as error:
                reason = str(error)
        if wanted == "ext4" and reason:
            sys.exit(f"no snapshots of an ext4: {reason}")
        print(f"stress: crash: {'by snapshots of an ext4 and ' if self.snapshots else ''}"
              f"{'by the model' if self.by_model in self.ways else 'nothing else'}"
              f"{f' (no snapshots: {reason})' if reason else ''}", flush=True)

    def run(self, case, generator):
        way = self.ways[case % len(self.ways)]
        before = self.trial.faults
        said = way(generator, durable=generator.random() < 0.3)
        if self.trial.faults > before or self.trial.only is not None:
            print(f"stress: crash: case {self.trial.case}: {said}", flush=True)

    def heal(self, root, generator, promised, verifies=False):
        place = Place(self.trial, self.origin, root / "place", existing=True)
        indexes = generator.sample(self.origin.indexes, 25)
        Healing(place, self.origin, generator, indexes, verifies=verifies, promised=promised).run()

    # -- Ext4

    def by_snapshot(self, generator, durable):
        root = self.snapshots.path / str(self.trial.case)
        root.mkdir()
        (root / "place").mkdir()
        place = Place(self.trial, self.origin, root / "place")
        workloads = [Workload(self.origin, self.trial.random(self.trial.case, number), durable) for number in range(2)]
        if generator.random() < 0.5:
            for _ in range(3):
                self.command(place, workloads[0])
        self.snapshots.settle()
        wait = generator.choice([generator.uniform(0, 0.3), generator.uniform(0.3, 3)])
        over = threading.Event()
        promised = [set() for _ in workloads]
        threads = [
            threading.Thread(target=self.work, args=(place, workload, urls, over), daemon=True)
            for workload, urls in zip(workloads, promised)]
        for thread in threads:
            thread.start()
        time.sleep(wait)
        # The set is read before the disk is: what it holds has been reported as stored.
        kept = sorted(set().union(*(set(urls) for urls in promised))) if durable else []
        copy = self.snapshots.take()
        over.set()
        for thread in threads:
            thread.join()
        with self.snapshots.mounted(copy) as path:
            self.heal(path / str(self.trial.case), generator, kept)
        self.trial.count("snapshots")
        return f"a snapshot of an ext4 after {wait:.2f} s, durable: {durable}"

    def work(self, place, workload, urls, over):
        while not over.is_set():
            urls.update(self.command(place, workload))

    def command(self, place, workload, under=()):
        arguments, stdin, urls = workload.next()
        result = place.kf(*arguments, stdin=stdin, under=under)
        allowed = (0, 1) if arguments[0] == "cache" else (0,)
        if result.status not in allowed or (result.errors and arguments[1] != "rm"):
            self.trial.fault(f"before the crash: {result}")
        return urls if result.status == 0 else []

    # -- The model

    def by_model(self, generator, durable):
        folder = self.trial.folder("model")
        (folder / "before/place").mkdir(parents=True)
        place = Place(self.trial, self.origin, folder / "before/place")
        workload = Workload(self.origin, generator, durable)
        if generator.random() < 0.5:
            self.command(place, workload)
        recording = Recording(place.root)
        log = folder / "strace.log"
        names = []
        for _ in range(generator.randint(1, 4)):
            arguments, stdin, urls = workload.next()
            result = place.kf(*arguments, stdin=stdin, under=recording.under(log))
            names.append(" ".join(arguments[:2]))
            recording.take(log, urls if durable and result.status == 0 else [])
        if overlooked := recording.differences():
            self.trial.fault(f"the recording does not know what became of {', '.join(overlooked)}")
        recording.note_times()
        # Bytes that are zeroes where the size is right can be seen by reading them alone.
        zeroes = generator.random() < 0.2
        moments = []
        for number in range(3):
            after = folder / f"after-{number}"
            after.mkdir()
            moment = recording.cut(after / "place", generator, zeroes)
            moments.append(moment)
            promised = sorted({url for end, urls in recording.marks if end <= moment for url in urls})
            self.heal(after, generator, promised, verifies=zeroes)
            self.trial.count("cuts of the model")
        return (f"the model: {', '.join(names)}; cut at {moments} of {len(recording.operations)}, "
                f"durable: {durable}, zeroes: {zeroes}")

    def close(self):
        if self.snapshots:
            self.snapshots.close()


def run(trial):
    with Origin(trial.scratch, trial.random("origin"), IMAGES, largest=100) as origin:
        crash = Crash(trial, origin)
        try:
            for case, generator in trial.cases():
                crash.run(case, generator)
        finally:
            crash.close()
