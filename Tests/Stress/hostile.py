"""A `file:` remote among foreign files: kf removes and replaces nothing there that is not its own."""
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import time

from common.origin import Origin
from remote import Fleet

IMAGES = 20
DAY = 86_400
OWN_BLOB = re.compile("kf1/(ac|cas)/[0-9a-f]{2}/[0-9a-f]{64}")
OWN_FOLDER = re.compile("kf1(/tmp|/(ac|cas)(/[0-9a-f]{2})?)?")
# What must stay of kf's own files in their folder is young, or from the future.
AGES = [0, 600, DAY - 600, DAY + 600, 40 * DAY, 15_000 * DAY, -DAY - 600, -40 * DAY, -15_000 * DAY, -200_000 * DAY]
NAMES = [
    "report.pdf", "0123456789abcdef.12.1.42", "kf-upload-", "kf-upload-0123456789abcde", "kf-upload-0123456789ABCDEF",
    "x-kf-upload-0123456789abcdef", "kf-upload-0123456789abcdef.png", ".hidden", "-rf", "f" * 64, "tmp", "index.sqlite",
]


def run(trial):
    outside = trial.folder("outside")
    with Origin(trial.scratch, trial.random("origin"), IMAGES) as origin:
        for _, generator in trial.cases():
            tree = trial.folder("tree")
            Hostile(trial, origin, tree, outside, generator).work()


class Hostile(Fleet):
    def __init__(self, trial, origin, tree, outside, generator):
        super().__init__(trial, origin, tree, f"file://{tree}", generator)
        self.outside = outside
        self.planted = {}
        self.doomed = set()

    def work(self):
        if self.generator.random() < 0.6:
            self.check(self.prefetch(self.machine(), "--remote-write"))
        self.fill_outside()
        self.plant_folders()
        for folder in ["", "tmp", "kf1", "kf1/tmp", "kf1/ac", "kf1/cas/00"]:
            self.plant_into(self.tree / folder)
        blobs = [path for path in self.blobs("ac") + self.blobs("cas") if path.is_file()]
        for path in self.generator.sample(blobs, k=min(10, len(blobs))):
            self.lie(path)
        before, canaries = self.picture(self.tree), self.picture(self.outside)
        for options in self.generator.choices([[], ["--remote-write"]], k=2) + [["--remote-write"], []]:
            self.check(self.prefetch(self.machine(), *options))
        self.compare(before, self.picture(self.tree))
        if self.picture(self.outside) != canaries:
            self.trial.fault("a file outside the remote has changed")

    # -- What is planted

    def fill_outside(self):
        shutil.rmtree(self.outside)
        self.outside.mkdir()
        for name in ["canary", "kf-upload-0123456789abcdef"]:
            (self.outside / name).write_text("precious")
            self.set_age(self.outside / name, 2 * DAY)

    def plant_folders(self):
        """Some of kf's folders are another thing: a link, a FIFO, a file."""
        for name in ["kf1", "kf1/ac", "kf1/tmp", "tmp"]:
            if self.generator.random() < 0.1:
                path = self.tree / name
                shutil.rmtree(path, ignore_errors=True)
                if path.parent.is_dir() and not path.is_symlink():
                    self.make(path, self.generator.choice(["link", "fifo", "file"]))

    def plant_into(self, folder):
        if not self.is_beneath(folder):
            return
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.generator.sample(NAMES, k=6):
            path = folder / name
            if not os.path.lexists(path) and not OWN_FOLDER.fullmatch(str(path.relative_to(self.tree))):
                self.make(path, self.generator.choice(["file", "file", "link", "folder", "fifo", "socket"]))
        for _ in range(4):
            path = folder / f"kf-upload-{self.generator.getrandbits(64):016x}"
            kind = self.generator.choice(["file", "file", "link", "folder", "fifo"])
            age = self.make(path, kind)
            if kind == "file" and age > DAY and folder == self.tree / "kf1/tmp":
                self.doomed.add(str(path.relative_to(self.tree)))

    def is_beneath(self, folder):
        """Whether no link and no file is on the way."""
        for part in [*reversed(folder.relative_to(self.tree).parents), folder.relative_to(self.tree)]:
            path = self.tree / part
            if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
                return False
        return True

    def make(self, path, kind):
        """Makes a file of that kind. Returns its age in seconds."""
        if kind == "link":
            path.symlink_to(self.generator.choice([self.outside, self.outside / "canary", "nothing", path.name]))
        elif kind == "folder":
            path.mkdir()
            (path / "precious").write_text("precious")
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            # The path of a socket has at most 107 bytes.
            folder = os.open(path.parent, os.O_RDONLY)
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(f"/proc/self/fd/{folder}/{path.name}")
            os.close(folder)
        else:
            path.write_text("precious")
        age = self.generator.choice(AGES)
        self.set_age(path, age)
        self.trial.count("planted")
        return age

    @staticmethod
    def set_age(path, age):
        then = time.time_ns() - age * 1_000_000_000
        os.utime(path, ns=(then, then), follow_symlinks=False)

    def lie(self, path):
        """Puts a wrong blob, or something that is no file, into the place of one."""
        kind = self.generator.choice(["text", "large", "entry", "link", "folder", "fifo"])
        path.unlink()
        if kind in ("link", "folder", "fifo"):
            self.make(path, kind)
        elif kind == "large":
            with open(path, "wb") as file:
                file.truncate(1 << 40)
        elif kind == "entry":
            digest = self.generator.choice(["../../../outside/canary", "/etc/passwd", "0" * 64, "", None, 7, [[]]])
            entry = {"name": path.name, "sha256": digest, "bytes": self.generator.choice([-1, 8, 1 << 62, "8"])}
            path.write_text(json.dumps(entry))
        else:
            path.write_bytes(self.generator.randbytes(self.generator.choice([0, 1, 100_000])))
        self.trial.count("lies")

    # -- What must be left of it

    @staticmethod
    def picture(root):
        """Everything below a folder, with its content and time."""
        seen = {}
        folders = [root]
        while folders:
            for entry in os.scandir(folders.pop()):
                status = entry.stat(follow_symlinks=False)
                content = None
                if stat.S_ISDIR(status.st_mode):
                    folders.append(entry.path)
                elif stat.S_ISLNK(status.st_mode):
                    content = os.readlink(entry.path)
                elif stat.S_ISREG(status.st_mode) and status.st_size < 1 << 30:
                    with open(entry.path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                changed = None if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
                seen[os.path.relpath(entry.path, root)] = (status.st_mode, changed, content)
        return seen

    def compare(self, before, after):
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) == after.get(name) or OWN_BLOB.fullmatch(name):
                continue
            if name in self.doomed and name not in after or name not in before and OWN_FOLDER.fullmatch(name):
                continue
            how = "appeared" if name not in before else "is gone" if name not in after else "has changed"
            self.trial.fault(f"in the remote, {name} {how}")
        for name in self.doomed & after.keys():
            self.trial.fault(f"{name}, which a killed writer has left, is still there")
