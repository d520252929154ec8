import hashlib
import random
import shlex
import shutil
import sys
import threading
import time


class Trial:
    """One run of one harness: its time, its seed, its scratch directory, and the faults it has found."""

    FAULTS = 10  # A harness ends after so many; the same defect seldom comes alone.
    FAULTS_OF_CASE = 4  # What follows from the first ones is not printed.

    def __init__(self, name, options, scratch):
        self.name = name
        self.kf = options.kf
        self.other = options.other
        self.urls = options.urls
        self.bodies = options.bodies
        self.loops = options.loops
        self.seed = options.seed
        self.seconds = options.seconds
        self.processes = options.processes
        self.only = options.case
        self.limit = None if options.keep_going else self.FAULTS
        self.scratch = scratch / name
        self.scratch.mkdir()
        self.faults = self.faults_of_case = 0
        self.counts = {}
        self.lock = threading.Lock()
        self.case = None
        self.end = time.monotonic() + self.seconds

    # -- Cases

    def random(self, *parts):
        """A generator that follows from the seed, the harness and the parts alone."""
        return random.Random(":".join(map(str, (self.seed, self.name, *parts))))

    def cases(self):
        """The numbers of the cases, until the time is over; the first always runs."""
        self.end = time.monotonic() + self.seconds
        if self.only is not None:
            self.case = self.only
            yield self.only, self.random(self.only)
            return
        case = 0
        while case == 0 or (time.monotonic() < self.end and not self.is_spoilt):
            self.case = case
            self.faults_of_case = 0
            self.count("cases")
            yield case, self.random(case)
            case += 1

    def folder(self, name):
        """An empty directory of that name."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    # -- Findings

    @property
    def is_spoilt(self):
        return self.limit is not None and self.faults >= self.limit

    def fault(self, text):
        with self.lock:
            self.faults += 1
            self.faults_of_case += 1
            if self.faults_of_case > self.FAULTS_OF_CASE and self.case is not None and self.only is None:
                return
        print(f"stress: {self.name}: {text}\n    repeat: {self.repeat}", file=sys.stderr, flush=True)

    def count(self, name, number=1):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + number

    @property
    def repeat(self):
        words = ["make", "stress", f"STRESS={self.name}", f"STRESS_SEED={self.seed}"]
        words.append(f"STRESS_SECONDS={self.seconds}" if self.case is None else f"STRESS_CASE={self.case}")
        if self.name == "turns":
            words.append(f"STRESS_OTHER={self.other}")
        if self.name == "equal":
            words += [f"STRESS_URLS={self.urls}", f"STRESS_BODIES={self.bodies}", f"STRESS_LOOPS={self.loops}"]
        return shlex.join(words)

    def summary(self):
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"stress: {self.name}: {counts}; {self.faults} faults"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def first_line(text, length=300):
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    return " | ".join(text.strip().splitlines()[:3])[:length]
