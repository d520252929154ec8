import os
import signal
import subprocess
import threading
import time

from .trial import first_line

# What the manual names, but for the two of signals, and wrong usage (2): of the config file alone, which may be
# unreadable.
DOCUMENTED = {0, 1, 3}


class Result:
    """What a command has said and how it ended; `killed` when this program killed it."""

    def __init__(self, arguments, status, output, errors, seconds, killed):
        self.arguments = arguments
        self.status = status
        self.output = output
        self.errors = errors.decode(errors="replace")
        self.seconds = seconds
        self.killed = killed

    def __str__(self):
        words = " ".join(word if len(word) < 90 else word[:60] + "…" for word in self.arguments[:9])
        return f"kf {words}: exit {self.status}: {first_line(self.errors) or 'no message'}"


class Program:
    """kf with an environment of its own, every run bounded. Hangs, traps and undocumented statuses are faults."""

    LIMIT = 60  # seconds

    def __init__(self, trial, origin, root):
        """`root` becomes the home, and holds the temporary files and the cache."""
        self.trial = trial
        self.kf = trial.kf
        self.cache = root / "cache"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(root), "TMPDIR": str(root), "LANG": "C.UTF-8",
            "KF_CACHE_DIR": str(self.cache), "KF_PROXY": origin.proxy, "SWIFT_BACKTRACE": "enable=no",
        }
        self.lock = threading.Lock()
        self.running = {}
        self.killed = set()

    def run(self, *arguments, stdin=None, under=(), environment=None, kills=False, limit=None, tolerates=None):
        """Runs one command to its end. With `kills` an end by SIGKILL is what was wanted.

        `tolerates`: says of an undocumented status whether another than kf has brought it about.
        """
        limit = limit or self.LIMIT
        arguments = [str(argument) for argument in arguments]
        start = time.monotonic()
        with self.lock:
            process = subprocess.Popen(
                [*map(str, under), self.kf, *arguments], env=self.environment | (environment or {}),
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True)
            self.running[process.pid] = process
        try:
            output, errors = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            self.trial.fault(f"kf {' '.join(arguments[:9])} hung for {limit} s: {first_line(errors)}")
            return Result(arguments, None, output, errors, limit, True)
        finally:
            with self.lock:
                self.running.pop(process.pid, None)
        killed = process.returncode == -signal.SIGKILL and (kills or process.pid in self.killed)
        result = Result(arguments, process.returncode, output, errors, time.monotonic() - start, killed)
        documented = DOCUMENTED | {4} if arguments[0] == "prefetch" else DOCUMENTED
        if "/.config/kf/config" in result.errors:
            documented = documented | {2}
        if result.status == 127 and "error while loading shared libraries" in result.errors:
            # The C runtime could not be loaded: kf has not begun.
            result.killed = True
        elif not killed and result.status not in documented and tolerates and tolerates(result.status):
            self.trial.count("ends that others have brought about")
            result.killed = True
        elif not killed and result.status not in documented:
            how = f"died of signal {-result.status}" if result.status < 0 else "ended with an undocumented status"
            self.trial.fault(f"{how}: {result}")
        return result

    def kill_one(self, generator):
        """Kills one of the commands that run now; false when there is none."""
        with self.lock:
            if not self.running:
                return False
            process = self.running[generator.choice(sorted(self.running))]
            if process.poll() is not None:
                return False
            self.killed.add(process.pid)
            process.send_signal(signal.SIGKILL)
            return True
