import contextlib
import itertools
import os
import shutil
import subprocess


class Bench:
    """What the works share: the binary, a scratch directory, an environment without the user's settings."""

    def __init__(self, kf, scratch, rounds):
        self.kf = kf
        self.scratch = scratch
        self.rounds = rounds
        self.skipped = []
        self.cache = scratch / "cache"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(scratch),
            "LANG": "C.UTF-8",
            "KF_CACHE_DIR": str(self.cache),
            # Both ask the network for newer versions and settings otherwise.
            "NO_ALBUMENTATIONS_UPDATE": "1",
            "WANDB_MODE": "disabled",
        }

    @contextlib.contextmanager
    def within(self, folder):
        """Has everything written there for a while."""
        outside = self.scratch
        self.scratch, self.cache = folder, folder / "cache"
        self.environment["KF_CACHE_DIR"] = str(self.cache)
        try:
            yield
        finally:
            self.scratch, self.cache = outside, outside / "cache"
            self.environment["KF_CACHE_DIR"] = str(self.cache)

    def skip(self, reason):
        """Reports a part that cannot be measured on this machine; the summary repeats it."""
        print(f"\nskipped: {reason}", flush=True)
        self.skipped.append(reason)

    def cheap(self, rounds):
        """Rounds of a work that takes so little that more of them cost nothing; one is one."""
        return max(rounds, self.rounds) if self.rounds > 1 else 1

    @property
    def without_cache(self):
        """What makes kf do as the peers do: write the result and keep nothing. A kf that cannot keeps it all."""
        said = subprocess.run([self.kf, "help", "fetch"], capture_output=True, text=True).stdout
        return ("--store", "none") if "--store " in said else ()

    def empty(self, name):
        """A new directory of that name."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def remove(self, name):
        """That path, with nothing there."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        return path


class Folders:
    """A new directory for every run, all on one file system."""

    def __init__(self, system):
        self.system = system
        self.numbers = itertools.count()
        self.last = {}

    def new(self, name):
        self.last[name] = self.system.path / f"{name.replace(' ', '-')}-{next(self.numbers)}"
        return self.last[name]

    def made(self, name):
        path = self.new(name)
        path.mkdir()
        return path

    def discard(self, _=None):
        """Gives the results of the last runs to the file system, which deletes or keeps them."""
        for path in self.last.values():
            self.system.discard(path)
        self.last.clear()


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def count_and_size(folder):
    found = files(folder)
    return f"{len(found)} files, {sum(file.stat().st_size for file in found) / 1e6:.1f} MB"
