"""What a command has done to a directory, recorded by strace, and what of it a power cut could leave behind.

The model is a journalling file system. Changes of names and sizes come on the disk in their order, up to some point. A
file's bytes come on the disk whenever they like, page by page, unless the file was synchronized. Synchronizing a file
brings everything in the journal on the disk up to the file's own last change.
"""
import collections
import os
import re
import stat

PAGE = 4096
TRACED = (
    "open,openat,openat2,creat,write,pwrite64,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,"
    "unlinkat,rmdir,mkdir,mkdirat,fsync,fdatasync")
Operation = collections.namedtuple("Operation", "kind arguments")


class File:
    """An inode: where its writes and changes stand in the recording."""

    def __init__(self, content=b"", mode=0o644, times=None, born=-1):
        self.content = content
        self.mode = mode
        self.times = times
        self.born = born
        self.changes = []  # (position, offset, bytes) or (position, None, size)
        self.synchronized = []  # positions


class Recording:
    """Operations on everything below `root`, in the order in which they ended."""

    LINE = re.compile(r"^(\d+) +(.*)$")
    UNFINISHED = re.compile(r"^(.*) <unfinished \.\.\.>$")
    RESUMED = re.compile(r"^<\.\.\. \w+ resumed>(.*)$")
    CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?")
    DESCRIPTOR = re.compile(r"^(\d+|AT_FDCWD)<([^>]*)>")

    def __init__(self, root):
        self.root = os.fsencode(root)
        self.files = []
        self.names = {}
        self.operations = []
        self.marks = []
        self.load()
        self.before = dict(self.names)

    def load(self):
        """What is there before the recording is on the disk."""
        for folder, _, files in os.walk(self.root):
            self.names[folder] = None
            for name in files:
                path = os.path.join(folder, name)
                status = os.stat(path)
                with open(path, "rb") as file:
                    self.files.append(File(file.read(), stat.S_IMODE(status.st_mode), status.st_mtime_ns))
                self.names[path] = self.files[-1]

    def under(self, log):
        return ["strace", "-f", "-y", "-xx", "-s", "16777216", "-e", f"trace={TRACED}", "-o", log]

    def take(self, log, mark=None):
        """Takes in what one command did. `mark` stands where it ended."""
        self.descriptors = {}
        waiting = {}
        with open(log, encoding="ascii", errors="replace") as lines:
            for line in lines:
                process, rest = self.LINE.match(line.rstrip("\n")).groups()
                if match := self.UNFINISHED.match(rest):
                    waiting[process] = match[1]
                    continue
                if match := self.RESUMED.match(rest):
                    rest = waiting.pop(process, "") + match[1]
                if (match := self.CALL.match(rest)) and int(match[3]) >= 0:
                    self.call(match[1], match[2], int(match[3]), match[4])
        if mark is not None:
            self.marks.append((len(self.operations), mark))

    # -- Reading a call

    @staticmethod
    def text(quoted):
        return bytes.fromhex(quoted.replace("\\x", ""))

    def strings(self, arguments):
        return [self.text(quoted) for quoted in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', arguments)]

    def folders(self, arguments):
        return [self.text(path) for path in re.findall(r"(?:^|, )(?:\d+|AT_FDCWD)<([^>]*)>", arguments)]

    def paths(self, arguments):
        names = self.strings(arguments)
        folders = self.folders(arguments) or [b"/"] * len(names)
        return [os.path.normpath(os.path.join(folder, name)) for folder, name in zip(folders, names)]

    def is_inside(self, path):
        return path == self.root or path.startswith(self.root + b"/")

    def call(self, name, arguments, result, shown):
        if name in ("open", "openat", "openat2", "creat"):
            self.opened(arguments, result, self.text(shown or ""))
        elif name in ("write", "pwrite64", "ftruncate", "fallocate", "fsync", "fdatasync"):
            descriptor = self.DESCRIPTOR.match(arguments)
            path = self.text(descriptor[2])
            if self.is_inside(path) and not path.endswith(b"-shm"):
                file = self.descriptors.get(descriptor[1]) or self.names.get(path)
                if file:
                    self.changed(name, file, arguments, result)
        else:
            paths = self.paths(arguments)
            if paths and self.is_inside(paths[0]):
                self.named(name, paths)

    def opened(self, arguments, descriptor, path):
        self.descriptors.pop(str(descriptor), None)
        if not self.is_inside(path) or path.endswith(b"-shm"):
            return
        file = self.names.get(path)
        if file is None and "O_CREAT" in arguments:
            mode = re.search(r"(?:mode=|, )(0\d+)", arguments)
            file = File(mode=int(mode[1], 8) if mode else 0o644, born=len(self.operations))
            self.files.append(file)
            self.names[path] = file
            self.operations.append(Operation("create", (path, file)))
        elif file and "O_TRUNC" in arguments:
            self.change(file, None, 0)
        if file:
            file.position = 0
            self.descriptors[str(descriptor)] = file

    def change(self, file, offset, value):
        file.changes.append((len(self.operations), offset, value))
        self.operations.append(Operation("change", (file,)))

    def changed(self, name, file, arguments, result):
        numbers = arguments.split(", ")
        if name in ("fsync", "fdatasync"):
            file.synchronized.append(len(self.operations))
            self.operations.append(Operation("synchronize", (file,)))
        elif name == "ftruncate":
            # strace prints it in hexadecimal or in decimal, as it likes.
            self.change(file, None, int(numbers[1], 0))
        elif name == "fallocate":
            self.change(file, 0, b"\0" * int(numbers[3], 0))
        else:
            data = self.strings(arguments)[0][:result]
            if name == "pwrite64":
                offset = int(numbers[-1], 0)
            else:
                offset = getattr(file, "position", 0)
                file.position = offset + len(data)
            self.change(file, offset, data)

    def named(self, name, paths):
        file = self.names.get(paths[0])
        if name in ("mkdir", "mkdirat"):
            self.names[paths[0]] = None
        elif name in ("unlink", "unlinkat", "rmdir"):
            self.names.pop(paths[0], None)
        elif name.startswith("link"):
            self.names[paths[1]] = file
        elif name.startswith("rename"):
            for path in [path for path in self.names if path == paths[0] or path.startswith(paths[0] + b"/")]:
                self.names[paths[1] + path[len(paths[0]):]] = self.names.pop(path)
        kind = {"link": "link", "rename": "rename", "mkdir": "mkdir"}.get(re.sub("at2?$", "", name), "unlink")
        # A link or a rename is a change of this file, whatever has its names later.
        self.operations.append(Operation(kind, (*paths, file) if kind in ("link", "rename") else tuple(paths)))

    # -- Cutting the power

    def committed(self, cut):
        """The least that the journal holds at that moment: what some synchronization has waited for."""
        point = 0
        last = {}
        for position, operation in enumerate(self.operations[:cut]):
            if operation.kind == "create":
                last[operation.arguments[1]] = position + 1
            elif operation.kind == "change":
                last[operation.arguments[0]] = position + 1
            elif operation.kind in ("link", "rename") and operation.arguments[2]:
                last[operation.arguments[2]] = position + 1
            elif operation.kind == "synchronize":
                point = max(point, last.get(operation.arguments[0], 0))
        return point

    def cut(self, target, generator, zeroes=False):
        """Leaves in `target` what a power cut at some moment could leave. Gives back the moment.

        `zeroes`: a file may have its size before its bytes, as on file systems that do not order the two.
        """
        moment = generator.randint(0, len(self.operations))
        journal = generator.choice([moment, generator.randint(self.committed(moment), moment), self.committed(moment)])
        names = dict(self.before)
        for operation in self.operations[:journal]:
            paths = operation.arguments
            if operation.kind == "create":
                names[paths[0]] = paths[1]
            elif operation.kind == "mkdir":
                names[paths[0]] = None
            elif operation.kind == "unlink":
                names.pop(paths[0], None)
            elif operation.kind == "link":
                names[paths[1]] = names.get(paths[0])
            elif operation.kind == "rename":
                for path in [path for path in names if path == paths[0] or path.startswith(paths[0] + b"/")]:
                    names[paths[1] + path[len(paths[0]):]] = names.pop(path)
        for path in sorted(names):
            place = os.fsencode(target) + path[len(self.root):]
            file = names[path]
            if file is None:
                os.makedirs(place, mode=0o700, exist_ok=True)
                continue
            content, whole = self.content(file, moment, journal, generator, zeroes)
            with open(place, "wb") as copy:
                copy.write(content)
                os.fchmod(copy.fileno(), file.mode)
            if whole and file.times:
                os.utime(place, ns=(file.times, file.times))
        return moment

    def note_times(self):
        """The index knows when an object was written: files that are whole get the time that they had."""
        for path, file in self.names.items():
            if file is not None and os.path.exists(path):
                file.times = os.stat(path).st_mtime_ns

    def differences(self):
        """Names of which the recording says something else than the directory: a call was overlooked."""
        found = []
        seen = {}
        for folder, _, files in os.walk(self.root):
            seen[folder] = None
            for name in files:
                if not name.endswith(b"-shm"):
                    with open(os.path.join(folder, name), "rb") as file:
                        seen[os.path.join(folder, name)] = file.read()
        for path in sorted(seen.keys() | self.names.keys()):
            file = self.names.get(path)
            if path not in seen or path not in self.names:
                if not path.endswith(b"-shm"):
                    found.append(path)
            elif file and self.content(file, len(self.operations) + 1, None, None, False)[0] != seen[path]:
                found.append(path)
        return [os.fsdecode(path[len(self.root):]) for path in found]

    @staticmethod
    def content(file, moment, journal, generator, zeroes):
        """The bytes on the disk, and whether they are all that was written; without chance, all that was written."""
        durable = bytearray(file.content)
        newest = bytearray(file.content)
        synchronized = max((position for position in file.synchronized if position < moment), default=-1)
        is_dirty = False
        for position, offset, value in file.changes:
            if position >= moment:
                break
            if offset is None:
                if journal is not None and position >= journal and position > synchronized:
                    # What was written behind a change of the size that never came on the disk did not come either.
                    is_dirty = True
                    break
                for content in (durable, newest):
                    del content[value:]
                    content.extend(b"\0" * (value - len(content)))
                continue
            for content in (durable, newest) if position <= synchronized else (newest,):
                content.extend(b"\0" * (offset - len(content)))
                content[offset:offset + len(value)] = value
            is_dirty = is_dirty or position > synchronized
        if not is_dirty or generator is None:
            return bytes(newest), True
        if len(newest) > len(durable):
            grown = generator.choice([len(durable), len(newest), generator.randint(len(durable), len(newest))])
        else:
            grown = len(newest)
        result = newest[:grown]
        # Which pages of what was there before have been written over, and which of the new ones have come.
        chance = generator.choice([0, 0.5, 1])
        for start in range(0, len(result), PAGE):
            end = min(start + PAGE, len(result))
            if generator.random() < chance:
                continue
            old = durable[start:end]
            if len(old) == end - start:
                result[start:end] = old
            elif zeroes:
                result[start:end] = old + b"\0" * (end - start - len(old))
        return bytes(result), bytes(result) == bytes(newest)
