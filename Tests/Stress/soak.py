"""One long mixed run on one small cache: memory, descriptors and disk are watched, images change at the origin."""
import os
import subprocess
import time

from common.mixture import Mixture
from common.origin import Origin
from common.place import Place
from common.trial import first_line, sha256

# Of one process; the images are small, and a prefetch takes about 50 MiB for itself.
MEMORY = 256 << 20
DESCRIPTORS = 512
# A process that lives on may grow by so much after its first seconds.
GROWTH = 1.3
SETTLED = 5  # seconds


class Soak(Mixture):
    """Images are replaced at the origin: a forced fetch gives one that the origin had meanwhile."""

    def force(self, generator):
        index = generator.choice(self.origin.indexes)
        before = self.origin.digests[index]
        output = self.expect("fetch --force-refresh", self.run(
            "fetch", self.origin.url(index), "--force-refresh", "--max-size", self.limit, "-o", "-"), 0)
        if output is None or sha256(output) == before:
            return
        if before == self.origin.digests[index] or sha256(output) not in self.origin.ever[index]:
            self.trial.fault(f"fetch --force-refresh: {self.origin.url(index)} came wrong ({len(output)} bytes)")

    def replace(self, generator):
        # Those of which variants are known stay as they are.
        index = generator.randrange(self.VARIANTS, len(self.origin))
        with self.trial.lock:
            self.origin.replace(index)
        self.trial.count("replaced")

    def list_paths(self, generator):
        self.expect("cache ls", self.run("cache", "ls", "--json", "--limit", generator.randint(1, 100)), 0)

    def actions(self):
        return super().actions() + [self.force] * 8 + [self.replace] * 4 + [self.list_paths] * 2


class Watch:
    """Samples memory and descriptors of every process, and the size of the cache."""

    def __init__(self, soak):
        self.soak = soak
        self.trial = soak.trial
        self.memory = self.descriptors = self.disk = self.temporaries = 0
        self.long = None
        self.settled = None

    def run(self):
        start = time.monotonic()
        while time.monotonic() < self.trial.end and not self.trial.is_spoilt:
            for pid in list(self.soak.program.running):
                self.look(pid)
            if self.long:
                now = self.look(self.long.pid)
                if now and time.monotonic() - start > SETTLED:
                    self.settled = self.settled or now
                    if now[0] > self.settled[0] * GROWTH + (16 << 20) or now[1] > self.settled[1] + 64:
                        self.trial.fault(
                            f"the long prefetch grew from {self.settled[0] >> 20} MiB and {self.settled[1]} "
                            f"descriptors to {now[0] >> 20} MiB and {now[1]}")
                        break
            self.measure_disk()
            time.sleep(0.25)

    def look(self, pid):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                lines = [line.split() for line in file if line.startswith("VmRSS")]
            count = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            return None
        if not lines:
            return None
        memory = int(lines[0][1]) << 10
        if memory > MEMORY > self.memory or count > DESCRIPTORS > self.descriptors:
            self.trial.fault(f"a process has {memory >> 20} MiB and {count} descriptors")
        self.memory, self.descriptors = max(self.memory, memory), max(self.descriptors, count)
        return memory, count

    def measure_disk(self):
        size = count = 0
        folders = [self.soak.place.cache]
        while folders:
            try:
                for entry in os.scandir(folders.pop()):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name != "reserve":
                        size += entry.stat(follow_symlinks=False).st_size
                        count += "/tmp/" in entry.path
            except FileNotFoundError:
                continue
        self.disk, self.temporaries = max(self.disk, size), max(self.temporaries, count)

    def feed(self):
        """One prefetch that lives as long as the run, fed with some hundred URLs a second."""
        generator = self.trial.random("long")
        program = self.soak.program
        with open(self.trial.scratch / "long.errors", "w+b") as errors:
            self.long = subprocess.Popen(
                [self.trial.kf, "prefetch", "-", "-q", "--max-size", str(self.soak.limit)],
                env=program.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors)
            try:
                while time.monotonic() < self.trial.end and not self.trial.is_spoilt:
                    urls = [self.soak.origin.url(generator.choice(self.soak.origin.indexes)) for _ in range(50)]
                    self.long.stdin.write("".join(url + "\n" for url in urls).encode())
                    self.long.stdin.flush()
                    time.sleep(0.1)
                self.long.stdin.close()
                status = self.long.wait(timeout=60)
            except (BrokenPipeError, subprocess.TimeoutExpired) as error:
                self.long.kill()
                self.long.wait()
                status = error
            errors.seek(0)
            said = first_line(errors.read())
        if status != 0 or said:
            self.trial.fault(f"the long prefetch: {status}: {said}")


def run(trial):
    with Origin(trial.scratch, trial.random("origin"), 300) as origin:
        soak = Soak(trial, origin, Place(trial, origin, trial.folder("place")))
        soak.prepare()
        watch = Watch(soak)
        soak.work_all(watch.run, watch.feed)
        soak.finish()
        print(f"stress: soak: at most {watch.memory >> 20} MiB and {watch.descriptors} descriptors a process, "
              f"{watch.disk / 1e6:.1f} MB on the disk (limit {soak.limit / 1e6:.1f} MB), "
              f"{watch.temporaries} temporary files")
        # The log and what is being written come on top.
        if watch.disk > soak.limit * 2 + (32 << 20):
            trial.fault(f"the cache took {watch.disk} bytes, its limit is {soak.limit}")
