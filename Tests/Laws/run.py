"""Runs a case: the state, the dry run, the run, the same run again, what follows, and what each of them left behind."""
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from articles import says
from dimensions import COMMANDS
from disk import Disk
from pictures import Pictures
from place import SHAPES, Place
from world import BUCKET_KEY, World, make_certificates

LIMIT = 30  # Seconds in which each run has to end.
# What a dry run lacks: the reports of a run.
UNDRY = {"--srcset", "--srcset-url", "--srcset-sizes", "--results", "--failures", "--alt-column"}


@dataclass
class Run:
    """One run of the program."""
    argv: list
    status: int
    stdout: bytes
    stderr: str
    seconds: float
    requests: list
    before: dict
    after: dict
    environment: dict
    memory: int = 0  # KiB
    shown: str = ""  # The command line as other users of the machine see it, when the first request had come.
    hung: bool = False

    def __post_init__(self):
        self.rows, self.summary, self.bad_lines = [], None, []
        for line in self.stdout.splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                self.bad_lines.append(line)
            elif row.get("summary"):
                self.summary = row
            else:
                self.rows.append(row)

    @property
    def error(self):
        return next((line for line in self.stderr.splitlines() if line.startswith("kf: ")), self.stderr[:200])

    def changed(self, prefix=""):
        """The files whose bytes, inode or time changed, and those that came or went."""
        names = {name for name in {*self.before, *self.after} if name.startswith(prefix)}
        return {name for name in names if self.before.get(name) != self.after.get(name)}


@dataclass
class Observation:
    """All that the laws judge."""
    case: dict
    place: Place
    oracle: "Oracle"
    fills: list = field(default_factory=list)
    dry: Run = None
    first: Run = None
    twin: Run = None  # The other one of two that run at once.
    second: Run = None
    following: Run = None
    repeated: Run = None  # The command that followed once more.
    third: Run = None  # The same again, after the command that followed.
    verify: Run = None
    listing: list = field(default_factory=list)  # The entries of the cache after the first run.
    lock_before: str = None
    lock_after: str = None
    blobs: dict = field(default_factory=dict)  # The remote's, after the first run.
    blobs_before: dict = field(default_factory=dict)  # Before and after the command that followed.
    blobs_after: dict = field(default_factory=dict)
    merging: list = field(default_factory=list)  # The listings of both caches, and that of the merged one.

    @property
    def runs(self):
        return [run for run in (self.dry, self.first, self.twin, self.second, self.following, self.repeated, self.third) if run]


def format_of_output(case):
    """The format that the name of the output says; none if `--format` goes before it."""
    if "--format" in case and ("through" not in case or "--output" not in case):
        return None
    named = {"webp": "webp", "file": "png"}.get(case.get("--output"))
    return named or ("webp" if case.get("--name") == "webp" else None)


class Oracle:
    """What a chain of processors makes of a picture, in a clean cache and alone. Each answer is computed once."""

    def __init__(self, worker):
        self.worker, self.known = worker, {}
        self.folder = worker.root / "oracle"
        self.folder.mkdir()

    def rows(self, place, picture, overlay=None):
        """The rows of a local file with the same shapes, by variant and format; empty if they cannot be made."""
        case = place.case
        shapes = [name for name in case if name in SHAPES and name != "--process-column" and (
            name != "--format" or not format_of_output(case))]
        words = [word.replace(place.names()["overlay"] + "/mark.png", "mark.png") for word in place.words(shapes)]
        words = [word for word in words if word not in ("--cacert", "certificates/ca.pem")]
        if case.get("--drop-duplicates") == "near" and "dhash" not in case.get("--measure", "") and says(
                "CommandLine", "which adds `--measure dhash`"):
            words = [word + ",dhash" if word == case.get("--measure") else word for word in words]
            words += [] if "--measure" in case else ["--measure", "dhash"]
        column = ["--process", "flip:h"] if "--process-column" in case else []
        output = ["--output", "out." + {"webp": "webp", "file": "png"}.get(case.get("--output"), "bin")]
        if "--output" not in case:
            name = "{index}.webp" if case.get("--name") == "webp" else "{stem}-{variant}.{ext}" if (
                {"--variant", "--widths"} & set(case) or case.get("--format") == "two") else "{stem}.{ext}"
            output = ["--output-dir", "made", "--create-dirs"] + (["--name", name] if case.get("--name") == "webp" else [])
        overlay = overlay or place.new_mark
        key = (*words, *column, *output, picture, overlay)
        if key not in self.known:
            self.known[key] = self.make([*words, *column, *output], picture, place, overlay)
        return self.known[key]

    def rows_of(self, chain, picture, place):
        """The rows of a chain by itself."""
        key = (chain, picture)
        if key not in self.known:
            self.known[key] = self.make(["--process", chain], picture, place, place.mark)
        return self.known[key].values()

    def make(self, words, picture, place, overlay):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / place.items[0].file).write_bytes(picture)
        (self.folder / "mark.png").write_bytes(overlay)
        result = subprocess.run(
            [self.worker.kf, "fetch", place.items[0].file, "--cache-dir", "c", "--json", *words], cwd=self.folder,
            env={"HOME": str(self.folder), "PATH": os.environ["PATH"]}, capture_output=True)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        return {(row.get("variant"), row["format"]): row for row in rows if not row.get("summary") and row["error"] is None}


def snapshot(root, known):
    """Of every file: the digest of its bytes, its inode, the time of its bytes, and its mode. `known` has digests of files
    that have not changed since.
    """
    found = {}
    stack = [str(root)]
    while stack:
        for entry in os.scandir(stack.pop()):
            if entry.is_dir(follow_symlinks=False):
                stack.append(entry.path)
                continue
            name = entry.path[len(str(root)) + 1:]
            status = entry.stat(follow_symlinks=False)
            digest = ""
            if not entry.is_symlink() and status.st_size < 1 << 22:
                key = (status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size)
                digest = known.get(key)
                if digest is None or name.endswith("-shm"):  # What is mapped changes without its times.
                    with open(entry.path, "rb") as file:
                        digest = known[key] = hashlib.sha256(file.read()).hexdigest()
            found[name] = (digest, status.st_ino, status.st_mtime_ns, status.st_mode)
    return found


class Worker:
    """The servers, the pictures and the places of one process of the harness."""

    def __init__(self, kf, root, library=None):
        self.kf, self.root, self.library = kf, Path(root), library
        self.root.mkdir(parents=True, exist_ok=True)
        self.certificates = self.root / "certificates"
        make_certificates(self.certificates)
        self.world = World(self.certificates)
        self.pictures = Pictures(kf, self.root / "pictures")
        self.oracle = Oracle(self)
        self.disk = Disk(self.root)
        self.runs, self.digests = 0, {}

    def close(self):
        self.world.close()
        self.disk.unmount()
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, place):
        """The variables of each run."""
        return {"HOME": str(place.root / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "KF_RETRY_DELAY": "10ms",
                "KF_TRUST_CACHE_DIR": "1", "SWIFT_BACKTRACE": "enable=no", "AWS_ENDPOINT_URL": self.world.url("remote"),
                **dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), BUCKET_KEY))}

    def kf_run(self, place, argv, stdin=b"", end="normal", environment=None, program=None):
        """Runs the program to its end, or to the one that the case gives it."""
        self.runs += 1
        environment = self.environment(place) | (environment or {})
        before = snapshot(place.root, self.digests)
        if end != "twice":
            place.world.take_log()
        words = [program or self.kf, *argv]
        if place.case.get("limits") == "descriptors":
            words = ["prlimit", "--nofile=128", *words]
        start = time.monotonic()
        process = subprocess.Popen(
            words, cwd=place.root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown, seen = [], threading.Event()

        def look():
            if not seen.is_set():
                seen.set()
                try:
                    shown.append(Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("latin-1"))
                except OSError:
                    pass
                if end in ("sigterm", "kill"):
                    process.send_signal(signal.SIGTERM if end == "sigterm" else signal.SIGKILL)

        place.world.hook = look
        hung = False
        try:
            stdout, stderr = process.communicate(stdin, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            hung = True
        place.world.hook = None
        return Run(argv, process.returncode, stdout, stderr.decode(errors="replace"), time.monotonic() - start,
                   place.world.take_log() if end != "twice" else [], before, snapshot(place.root, self.digests), environment,
                   resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, "".join(shown), hung)

    def observe(self, case):
        """All runs of a case."""
        self.digests = {}
        place = Place(self, case)
        self.world.reset()
        seen = Observation(case, place, self.oracle)

        def fill(argv, stdin=b""):
            run = self.kf_run(place, argv, stdin)
            seen.fills.append(run)
            return run

        place.prepare(fill)
        lock = place.root / "im.lock"
        seen.lock_before = lock.read_text() if lock.exists() else None

        def run(words, **more):
            words, environment = self.through(place, words)
            return self.kf_run(place, words, place.stdin, environment=environment, **more)

        argv = place.command()
        if case.get("command", "prefetch") != "fetch" and "--shards" not in case:
            options = [name for name in place.options if name not in UNDRY]
            seen.dry = run([*place.command(options), "--dry-run"])
        elif case.get("command") == "fetch" and case.get("url") not in ("folder", "stdin"):
            seen.dry = self.kf_run(place, self.explaining(place))
        end = case.get("end", "normal")
        if end == "twice":
            seen.first, seen.twin = self.both(run, argv)
        else:
            seen.first = run(argv, end=end)
        seen.listing = self.list(place)
        seen.blobs = dict(self.world.blobs)
        seen.lock_after = lock.read_text(errors="replace") if lock.exists() else None
        seen.second = run(argv)
        if "then" in case:
            self.follow(seen, place)
            if "--cache-dir" not in COMMANDS[case["then"]]:
                seen.third = run(argv)
        seen.verify = self.kf_run(place, ["cache", "verify", "--cache-dir", "c", "--json"])
        return seen

    def follow(self, seen, place):
        """Runs what follows, twice where the second time has nothing left to do."""
        name, program, environment = place.case["then"], None, {}
        if name == "library":
            program, environment = self.library, {"KF_CACHE_DIR": str(place.root / "c")}
        if name == "merge":
            seen.merging = [self.list(place), self.list(place, "merged")]
        seen.blobs_before = dict(self.world.blobs)
        seen.following = self.kf_run(place, place.following(), program=program, environment=environment)
        seen.blobs_after = dict(self.world.blobs)
        if name == "merge":
            seen.merging.append(self.list(place, "merged"))
        if name in ("merge", "push", "library"):
            seen.repeated = self.kf_run(place, place.following(), program=program, environment=environment)

    def both(self, run, argv):
        results = []
        self.world.take_log()
        threads = [threading.Thread(target=lambda: results.append(run(argv, end="twice"))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        requests = self.world.take_log()  # Of both: neither start may drop what the other one has asked.
        for result in results:
            result.requests = requests
        return results

    def list(self, place, cache="c"):
        run = self.kf_run(place, ["cache", "ls", "--cache-dir", cache, "--json"])
        return [row for row in run.rows if "identifier" in row]

    def explaining(self, place):
        table = self.table.commands["cache explain"]
        # "-o NAME.webp is -f webp as well" (kf help fetch), and explain has no -o.
        named = format_of_output(place.case)
        options = [name for name in place.options if name in table and (name != "--format" or not named)]
        return place.command(options, command=["cache", "explain"]) + (["--format", named] if named else [])

    def through(self, place, argv):
        """The options of a case by another way than the command line."""
        way = place.case.get("through")
        if not way:
            return argv, {}
        table = self.table.commands["cache pull" if place.case.get("command") == "pull" else place.case.get("command", "prefetch")]
        moved, kept, texts = {}, [], list(argv)
        while texts:
            word = texts.pop(0)
            known = table.get(word)
            if not known or not known["variable"] or word in ("--cache-dir", "--json"):
                kept.append(word)
                if known and known["value"] and texts:
                    kept.append(texts.pop(0))
                continue
            is_bare = not known["value"] or known.get("optional") and (not texts or texts[0].startswith("--"))
            moved.setdefault((word, known["variable"]), []).append("1" if is_bare else texts.pop(0))
        if way == "environment":
            return kept, {variable: "\n".join(values) for (_, variable), values in moved.items()}
        config = place.root / "home/.config/kf/config"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("".join(
            f'{word[2:]} = "{value}"\n' if table[word]["value"] else f"{word[2:]}\n"
            for (word, _), values in moved.items() for value in values))
        config.chmod(0o600)
        return kept, {}
