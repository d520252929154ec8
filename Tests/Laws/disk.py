"""A small disk that a case may fill, in a mount namespace of its own; only root can have one."""
import contextlib
import ctypes
import os
import subprocess

SIZE = "16m"
NEW_NAMESPACE = 0x20000  # CLONE_NEWNS


def separate():
    """Gives this process mounts of its own. Returns whether it may mount."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(NEW_NAMESPACE) != 0:
        return False
    return subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode == 0


class Disk:
    """A disk of the worker. A folder of the place lies on it, and beside the folder what fills it."""

    def __init__(self, root):
        self.root, self.folder = root / "disk", None

    def mount(self, folder):
        self.root.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
        self.run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "laws", self.root)
        (self.root / "part").mkdir()
        self.run("mount", "--bind", self.root / "part", folder)
        self.folder = folder

    def unmount(self):
        if self.folder:
            self.run("umount", "-l", self.folder)
            self.run("umount", "-l", self.root)
            self.folder = None

    def freeze(self):
        """Lets nobody write any more."""
        self.run("mount", "-o", "remount,bind,ro", self.folder)

    def run(self, *words):
        subprocess.run(words, check=True, capture_output=True)

    def fill(self, room):
        """Leaves `room` bytes."""
        with open(self.root / "filler", "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(size))
            file.truncate(max(0, file.tell() - room))
