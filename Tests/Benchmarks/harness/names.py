"""A name server of the benchmarks' own, for one command at a time: the command runs with its own /etc/resolv.conf."""

import collections
import os
import subprocess
import time
from pathlib import Path

from .paths import ROOT

ADDRESS = "127.83.70.2"
UNSHARE = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
WRAPPER = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
INTERVAL = 0.005  # seconds between two looks at a process


def possible():
    """Whether this machine allows a mount namespace, and a server on port 53."""
    command = (*UNSHARE, "mount", "--bind", "/dev/null", "/etc/resolv.conf")
    if subprocess.run(command, capture_output=True).returncode != 0:
        return False
    try:
        with NameServer(Path("/dev"), log=Path("/dev/null")):
            return True
    except OSError:
        return False


class NameServer:
    """The server of `Tests/Support/name_server.py`, with a delay of each answer in milliseconds."""

    def __init__(self, scratch, delay=0, log=None):
        self.log = log or scratch / "questions.log"
        self.configuration = scratch / "resolv.conf"
        if log is None:
            self.configuration.write_text(f"nameserver {ADDRESS}\n")
            self.log.write_text("")
        self.process = subprocess.Popen(
            [ROOT / "Tests/Support/name_server.py", ADDRESS, self.log, str(delay)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if not self.process.stdout.readline():
            self.__exit__()
            raise OSError(f"no name server on {ADDRESS}")

    def wrapped(self, command):
        """The command, with this name server in place of the machine's."""
        return (*UNSHARE, "/bin/sh", "-c", WRAPPER, "sh", self.configuration, *command)

    def forget(self):
        """Begins a new count."""
        os.truncate(self.log, 0)

    def lookups(self):
        """The number of look-ups of each name: each asks for an IPv4 address once."""
        with self.log.open() as lines:
            return collections.Counter(line.split()[1] for line in lines if line.startswith("A "))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def peak(command, environment):
    """Runs a command, and gives the most threads and open sockets that it had."""
    process = subprocess.Popen(
        [str(word) for word in command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    folder = Path(f"/proc/{process.pid}")
    threads = sockets = 0
    while process.poll() is None:
        try:
            threads = max(threads, len(os.listdir(folder / "task")))
            sockets = max(sockets, sum(is_socket(folder / "fd" / name) for name in os.listdir(folder / "fd")))
        except OSError:
            pass  # it has just ended
        time.sleep(INTERVAL)
    return threads, sockets


def is_socket(path):
    try:
        return os.readlink(path).startswith("socket:")
    except OSError:
        return False
