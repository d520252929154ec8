"""An ext4 whose whole disk can be copied in an instant while it is in use: its image lies on an XFS with reflinks."""
import ctypes
import os
import shutil
import subprocess

from harness.filesystem import FileSystem

CLONE_NEWNS = 0x20000  # <sched.h>
NEEDED = ["mkfs.xfs", "mkfs.ext4", "mount", "umount"]


class Snapshots:
    """`path` is the ext4 in use; `take` copies its disk, `mounted` shows a copy as it would be after a power cut."""

    def __init__(self, scratch):
        hide_mounts()
        self.image = scratch / "xfs.img"
        self.xfs = scratch / "xfs"
        self.xfs.mkdir()
        with self.image.open("wb") as file:
            file.truncate(2 << 30)
        call("mkfs.xfs", "-q", "-m", "reflink=1", self.image)
        call("mount", "-o", "loop", self.image, self.xfs)
        try:
            self.filesystem = FileSystem(self.xfs, gigabytes=1)
            if not self.filesystem.fresh:
                raise OSError("an ext4 cannot be mounted")
            self.path = self.filesystem.path
            # The journal is written every second, the bytes of files when the kernel likes, 30 s later.
            call("mount", "-o", "remount,commit=1", self.path)
        except OSError:
            call("umount", self.xfs)
            raise

    def settle(self):
        self.filesystem.settle()

    def take(self):
        copy = self.xfs / "copy.img"
        copy.unlink(missing_ok=True)
        call("cp", "--reflink=always", self.filesystem.image, copy)
        return copy

    def mounted(self, copy):
        return Mounted(copy, self.xfs / "mounted")

    def close(self):
        self.filesystem.__exit__()
        call("umount", self.xfs)


class Mounted:
    """Mounting plays the journal back, as a start after a power cut does."""

    def __init__(self, image, path):
        self.image = image
        self.path = path

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        call("mount", "-o", "loop", self.image, self.path)
        return self.path

    def __exit__(self, *_):
        call("umount", self.path)
        self.image.unlink()


def hide_mounts():
    """What is mounted from here on goes with this process, however that ends."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError("no mount namespace of its own")
    call("mount", "--make-rprivate", "/")


def call(*arguments):
    """A program that needs root; what it says is in the error."""
    done = subprocess.run(arguments, capture_output=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{arguments[0]}: {done.stderr.decode(errors='replace').strip()}")


def why_not():
    """Why there can be no snapshots, or nothing."""
    if os.geteuid() != 0:
        return "this needs root"
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in NEEDED if not shutil.which(name, path=path)]
    return f"{', '.join(missing)} missing" if missing else None
