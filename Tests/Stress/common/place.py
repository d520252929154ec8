import hashlib
import os
import stat

from .program import Program


class Place:
    """A directory with a cache in it and canaries beside that: what is outside the cache must not change."""

    def __init__(self, trial, origin, root, template=None, existing=False):
        """`template` is a cache to begin with a copy of. An existing place is taken as it is."""
        self.trial = trial
        self.root = root
        self.cache = root / "cache"
        if not existing:
            self.make()
        if template:
            copy_tree(template, self.cache)
        self.program = Program(trial, origin, root)
        self.kf = self.program.run
        self.before = self.picture()

    def make(self):
        root = self.root
        beside = root / "beside"
        (beside / "v1/objects/ab").mkdir(parents=True)
        (beside / "index.sqlite").write_text("a canary\n")
        (beside / "v1/objects/ab/cd.png").write_text("a canary that looks like an object\n")
        (root / "cache.old").write_text("a canary beside the cache\n")
        os.symlink("beside/index.sqlite", root / "link")

    def picture(self):
        """Every file outside the cache, with its content and what else of it a program could change."""
        seen = {}
        folders = [self.root]
        while folders:
            for entry in os.scandir(folders.pop()):
                if entry.path == str(self.cache) or "output" in entry.name:
                    continue
                status = entry.stat(follow_symlinks=False)
                content = None
                if stat.S_ISDIR(status.st_mode):
                    folders.append(entry.path)
                elif stat.S_ISREG(status.st_mode):
                    with open(entry.path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                elif stat.S_ISLNK(status.st_mode):
                    content = os.readlink(entry.path)
                changed = None if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
                seen[os.path.relpath(entry.path, self.root)] = (status.st_mode, status.st_nlink, changed, content)
        return seen

    def check_canaries(self):
        after = self.picture()
        for name in sorted(self.before.keys() | after.keys()):
            if self.before.get(name) != after.get(name):
                how = "appeared" if name not in self.before else "is gone" if name not in after else "has changed"
                self.trial.fault(f"outside the cache, {name} {how}")


def copy_tree(source, target):
    """A copy with modes and times to the nanosecond, which the index knows of."""
    target.mkdir()
    for entry in os.scandir(source):
        new = target / entry.name
        if entry.is_dir(follow_symlinks=False):
            copy_tree(entry.path, new)
        elif entry.is_file(follow_symlinks=False):
            with open(entry.path, "rb") as file, open(new, "wb") as copy:
                copy.write(file.read())
                os.fchmod(copy.fileno(), stat.S_IMODE(entry.stat().st_mode))
            os.utime(new, ns=(entry.stat().st_atime_ns, entry.stat().st_mtime_ns))
    status = os.stat(source)
    os.chmod(target, stat.S_IMODE(status.st_mode))
