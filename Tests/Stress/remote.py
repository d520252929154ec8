"""A fleet on one remote: writers of the same list, of which some are killed, and a remote that is damaged and lies."""
import json
import re
import shutil
import threading
import time

from common.origin import Origin
from common.program import Program
from common.trial import sha256
from harness.server import Server

IMAGES = 60
WRITERS = 16

WEBDAV = """
    dav_methods PUT DELETE MKCOL;
    create_full_put_path on;
    client_max_body_size 0;
    access_log off;
    """


def run(trial):
    tree = trial.folder("tree")
    # Its workers are another user, if this one is root.
    tree.chmod(0o777)
    with Origin(trial.scratch, trial.random("origin"), IMAGES) as origin:
        with Server(tree, trial.scratch / "nginx-remote", WEBDAV) as address:
            for case, generator in trial.cases():
                clear(tree)
                url = generator.choice([f"{address}/fleet", f"file://{tree}/fleet"])
                Fleet(trial, origin, tree / "fleet", url, generator).work()


def clear(folder):
    for path in folder.iterdir():
        shutil.rmtree(path)


class Fleet:
    """Machines with a cache each, and their remote."""

    def __init__(self, trial, origin, tree, url, generator):
        self.trial, self.origin, self.tree, self.url, self.generator = trial, origin, tree, url, generator
        self.list = "".join(origin.url(index) + "\n" for index in origin.indexes).encode()
        self.machines = 0

    def machine(self):
        """A machine with an empty cache."""
        self.machines += 1
        program = Program(self.trial, self.origin, self.trial.folder(f"machine-{self.machines}"))
        # The origin is reached as a proxy, and the remote is not.
        program.environment |= {
            "KF_PROXY": "", "http_proxy": self.origin.proxy, "no_proxy": "127.0.0.1", "KF_RETRY": "0",
        }
        del program.environment["KF_PROXY"]
        return program

    def prefetch(self, program, *options, kills=False):
        return program.run(
            "prefetch", "--json", "--remote", self.url, *options, "-", stdin=self.list, kills=kills)

    def work(self):
        self.write()
        self.check_tree()
        if self.tree.exists() and self.generator.random() < 0.7:
            self.damage()
        self.read()
        # A writer replaces what it finds wrong. It finds a wrong object when it has the entry, which may be missing too.
        for _ in range(2):
            self.check(self.prefetch(self.machine(), "--remote-write"))
        self.read()
        self.check_tree()

    def write(self):
        """Some writers at once. Some of them are killed at any time."""
        writers = [self.machine() for _ in range(self.generator.choice([1, 2, WRITERS]))]
        kills = [self.generator.random() < 0.5 for _ in writers]
        delays = [self.generator.uniform(0, 0.5) for _ in writers]
        threads = [
            threading.Thread(target=lambda writer=writer, kill=kill: self.end(writer, kill))
            for writer, kill in zip(writers, kills)
        ]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        for delay, writer, kill in sorted(zip(delays, writers, kills), key=lambda each: each[0]):
            time.sleep(max(0, start + delay - time.monotonic()))
            if kill and writer.kill_one(self.generator):
                self.trial.count("kills")
        for thread in threads:
            thread.join()

    def end(self, writer, kill):
        self.trial.count("writers")
        result = self.prefetch(writer, "--remote-write", kills=kill)
        if not result.killed:
            self.check(result)

    def read(self):
        result = self.prefetch(self.machine())
        self.check(result)
        summary = self.summary(result)
        if summary and summary["remote"]:
            for name in ("hits", "errors"):
                self.trial.count(name, summary["remote"][name])

    def check(self, result):
        """Whatever the remote is like, the run succeeds with the right images."""
        if result.status != 0:
            return self.trial.fault(f"a run failed: {result}")
        for line in result.output.splitlines():
            item = json.loads(line)
            if "source" not in item:
                continue
            with open(item["path"], "rb") as file:
                digest = sha256(file.read())
            if digest not in self.origin.ever[self.origin.index(item["source"])]:
                self.trial.fault(f"a wrong image for {item['source']}")
            self.trial.count("images")

    @staticmethod
    def summary(result):
        lines = [json.loads(line) for line in result.output.splitlines()]
        return next((line for line in lines if line.get("summary")), None)

    # -- The tree

    def blobs(self, branch):
        folder = self.tree / "kf1" / branch
        names = sorted(path for path in folder.glob("??/*") if re.fullmatch("[0-9a-f]{64}", path.name))
        return names if folder.exists() else []

    def check_tree(self):
        """Each object has its digest, and each entry an object."""
        objects = set()
        for path in self.blobs("cas"):
            if sha256(path.read_bytes()) != path.name:
                self.trial.fault(f"a wrong object {path}")
            objects.add(path.name)
        for path in self.blobs("ac"):
            entry = json.loads(path.read_text(errors="replace"))
            if entry["name"] != path.name or entry["sha256"] not in objects:
                self.trial.fault(f"a wrong entry {path}")
        self.trial.count("objects", len(objects))

    def damage(self):
        blobs = self.blobs("ac") + self.blobs("cas")
        for path in self.generator.sample(blobs, min(len(blobs), self.generator.randint(1, 20))):
            data = bytearray(path.read_bytes())
            kind = self.generator.choice(["flip", "cut", "grow", "remove", "swap", "empty"])
            if kind == "flip" and data:
                data[self.generator.randrange(len(data))] ^= 1 << self.generator.randrange(8)
            elif kind == "cut":
                del data[self.generator.randrange(len(data) + 1):]
            elif kind == "grow":
                data += self.generator.randbytes(100)
            elif kind == "swap" and (other := self.generator.choice(blobs)).exists():
                data = bytearray(other.read_bytes())
            elif kind == "empty":
                data = bytearray()
            path.unlink()
            if kind != "remove":
                path.write_bytes(data)
            self.trial.count("damaged")
