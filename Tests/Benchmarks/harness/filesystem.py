"""A place for files whose past is known.

ext4 without a journal, as many containers and virtual machines have it, passes over inodes that were deleted within
the last minute, one by one: creating 5,000 files in a directory where 20,000 were deleted takes 22 s in place of 0.4 s.
What creates files is therefore measured on a file system that was made just before.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


class Tmpfs:
    """A new directory in memory; where there is no tmpfs, one in `scratch`, and `fresh` is False."""

    name = "tmpfs"
    missing = f"{MEMORY} is not a writable tmpfs"

    def __init__(self, scratch):
        with open("/proc/mounts") as mounts:
            kinds = {fields[1]: fields[2] for fields in map(str.split, mounts)}
        self.fresh = kinds.get(str(MEMORY)) == "tmpfs" and os.access(MEMORY, os.W_OK)
        self.path = Path(tempfile.mkdtemp(prefix="kf-bench-", dir=MEMORY if self.fresh else scratch))

    def settle(self):
        """Does nothing: tmpfs has no writes pending."""

    def discard(self, path):
        """Deletes the results of a run to free their memory."""
        shutil.rmtree(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)


class FileSystem:
    """A new ext4 in a file, mounted; where that is not allowed, a new directory, and `fresh` is False."""

    name = "fresh ext4"
    missing = "mounting a new ext4 needs root, mkfs.ext4 and a loop device"

    def __init__(self, scratch, gigabytes=6, bytes_per_inode=8192, journal=True):
        self.image = Path(scratch) / "ext4.img"
        self.path = Path(scratch) / "ext4"
        self.path.mkdir()
        self.fresh = False
        if os.geteuid() == 0 and shutil.which("mkfs.ext4") and shutil.which("mount"):
            with self.image.open("wb") as file:
                file.truncate(gigabytes << 30)
            # Its tables are written now, not by the kernel behind the measurements.
            made = subprocess.run(
                [
                    "mkfs.ext4",
                    "-q",
                    "-F",
                    "-i",
                    str(bytes_per_inode),
                    "-E",
                    "lazy_itable_init=0,lazy_journal_init=0",
                    "-O",
                    "has_journal" if journal else "^has_journal",
                    self.image,
                ],
                capture_output=True,
            )
            mounted = (
                made.returncode == 0
                and subprocess.run(["mount", "-o", "loop", self.image, self.path], capture_output=True).returncode == 0
            )
            self.fresh = mounted
            if not mounted:
                self.image.unlink()

    def settle(self):
        """What was written so far reaches the disk now, not during the next run."""
        subprocess.run(["sync", "-f", self.path], check=True)

    def discard(self, path):
        """Keeps the results of a run: deletions would slow down the next one."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.fresh:
            subprocess.run(["umount", self.path], check=True)
            self.image.unlink()
        shutil.rmtree(self.path)
