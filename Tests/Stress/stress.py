#!/usr/bin/env python3
"""Many processes of kf on one cache that is too small for them, one of which is killed every 100 ms.

usage: stress.py --kf BINARY [--seconds 60] [--processes 16] [--seed N]

The processes fetch, prefetch, remove, clean, count and verify at random. Every image that comes out is compared with
the origin's by its hash. At the end the index and the files are compared with each other, without kf: nothing may be
wrong but files that no row knows (no more than there were kills), and kf's own repair has to put that right.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = 300
LIMIT = 1_500_000  # bytes: a quarter of what the images take
PROCESS_LIMIT = 60  # seconds for one command


def png(side, generator):
    rows = b"".join(b"\0" + generator.randbytes(side * 3) for _ in range(side))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Stress:
    def __init__(self, options, scratch, address):
        self.kf = options.kf
        self.cache = scratch / "cache"
        self.address = address
        self.options = options
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(scratch), "LANG": "C.UTF-8", "KF_CACHE_DIR": str(self.cache)}
        self.lock = threading.Lock()
        self.running = {}
        self.killed = set()
        self.kills = 0
        self.counts = {}
        self.faults = []
        self.end = 0

    # -- Running

    def url(self, index):
        return f"{self.address}/{index}.png"

    def start(self, *arguments, stdin=None):
        """Starts a command and lets the killer know of it."""
        with self.lock:
            process = subprocess.Popen(
                [self.kf, *map(str, arguments)], env=self.environment, stdin=subprocess.PIPE if stdin else None,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.running[process.pid] = process
        try:
            output, errors = process.communicate(stdin, timeout=PROCESS_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fault(f"kf {arguments[0]} hung for {PROCESS_LIMIT} s")
            return None
        finally:
            with self.lock:
                self.running.pop(process.pid, None)
        return None if process.pid in self.killed and process.returncode == -9 else (
            process.returncode, output, errors.decode(errors="replace"))

    def fault(self, text):
        with self.lock:
            self.faults.append(text)
        print(f"stress: {text}", file=sys.stderr, flush=True)

    def expect(self, name, result, *allowed):
        """The output, or nothing when the process was killed or has failed."""
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + 1
        if result is None:
            return None
        status, output, errors = result
        # What is not there cannot be removed; that is said, and is no fault.
        errors = "\n".join(line for line in errors.splitlines() if "[3006]" not in line or name != "cache rm")
        if status not in allowed or errors.strip():
            self.fault(f"{name}: exit {status}: {errors.strip()[:600]}")
            return None
        return output

    # -- What a process does

    def fetch(self, generator):
        index = generator.randrange(IMAGES)
        output = self.expect("fetch", self.start(
            "fetch", self.url(index), "--max-size", LIMIT, "-o", "-"), 0)
        if output is not None and sha256(output) != self.originals[index]:
            self.fault(f"fetch: {self.url(index)} came wrong ({len(output)} bytes)")

    def fetch_path(self, generator):
        """The printed file may be evicted by now; what is there must be right."""
        index = generator.randrange(IMAGES)
        output = self.expect("fetch (path)", self.start("fetch", self.url(index), "--max-size", LIMIT), 0)
        if not output:
            return
        path = pathlib.Path(output.decode().rstrip("\n"))
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        if sha256(data) != self.originals[index]:
            self.fault(f"fetch: {path} is wrong ({len(data)} bytes)")

    def process(self, generator):
        index = generator.randrange(len(self.variants))
        output = self.expect("fetch -p", self.start(
            "fetch", self.url(index), "-p", "resize:24x24", "--max-size", LIMIT, "-o", "-"), 0)
        if output is not None and sha256(output) != self.variants[index]:
            self.fault(f"fetch -p: {self.url(index)} came wrong ({len(output)} bytes)")

    def prefetch(self, generator):
        urls = [self.url(generator.randrange(IMAGES)) for _ in range(generator.randint(1, 60))]
        self.expect("prefetch", self.start(
            "prefetch", "-", "-q", "--max-size", LIMIT, stdin="".join(url + "\n" for url in urls).encode()), 0)

    def remove(self, generator):
        urls = [self.url(generator.randrange(IMAGES)) for _ in range(generator.randint(1, 5))]
        self.expect("cache rm", self.start("cache", "rm", "-q", *urls), 0, 1)

    def clean(self, generator):
        size = generator.choice([0, LIMIT // 4, LIMIT // 2])
        arguments = ["--all"] if size == 0 else ["--max-size", size]
        self.expect("cache clean", self.start("cache", "clean", "-q", "--yes", *arguments), 0)

    def stat(self, _):
        output = self.expect("cache stat", self.start("cache", "stat", "--json"), 0)
        if output is not None and min(v for v in json.loads(output).values() if isinstance(v, int)) < 0:
            self.fault(f"cache stat: {output.decode()}")

    def verify(self, _):
        result = self.start("cache", "verify", "--json")
        output = self.expect("cache verify", result, 0, 1)
        for line in (output or b"").decode().splitlines():
            finding = json.loads(line)
            # Kills leave files that no row knows, and rows whose file is gone.
            if finding.get("kind") not in (None, "orphan", "missing_file", "leftover"):
                self.fault(f"cache verify: {line}")

    def work(self, number):
        generator = random.Random(f"{self.options.seed}-{number}")
        actions = [self.fetch] * 30 + [self.fetch_path] * 20 + [self.process] * 12 + [self.prefetch] * 20
        actions += [self.remove] * 10 + [self.clean] * 4 + [self.stat] * 3
        if self.can_verify:
            actions += [self.verify] * 3
        while time.monotonic() < self.end:
            generator.choice(actions)(generator)

    def kill(self):
        generator = random.Random(f"{self.options.seed}-kill")
        while time.monotonic() < self.end:
            time.sleep(0.1)
            with self.lock:
                if not self.running:
                    continue
                process = self.running[generator.choice(sorted(self.running))]
                if process.poll() is None:
                    self.killed.add(process.pid)
                    process.send_signal(signal.SIGKILL)
                    self.kills += 1

    # -- The whole

    def prepare(self, folder):
        generator = random.Random(self.options.seed)
        self.originals = []
        for index in range(IMAGES):
            data = png(generator.randint(20, 140), generator)
            (folder / f"{index}.png").write_bytes(data)
            self.originals.append(sha256(data))
        help_text = subprocess.run([self.kf, "help"], capture_output=True, text=True).stdout
        self.can_verify = "verify" in help_text
        self.variants = []
        for index in range(20):
            made = subprocess.run(
                [self.kf, "fetch", self.url(index), "-p", "resize:24x24", "--cache-dir", str(folder.parent / "other"),
                 "-o", "-"],
                env=self.environment, check=True, capture_output=True)
            self.variants.append(sha256(made.stdout))

    def run(self):
        self.end = time.monotonic() + self.options.seconds
        threads = [threading.Thread(target=self.work, args=(n,)) for n in range(self.options.processes)]
        threads.append(threading.Thread(target=self.kill))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(", ".join(f"{count} x {name}" for name, count in sorted(self.counts.items())), f"{self.kills} killed")
        self.check()
        if self.can_verify:
            repaired = self.start("cache", "verify", "--repair", "--json")
            if repaired[0] not in (0, 1):
                self.fault(f"verify --repair: exit {repaired[0]}: {repaired[2]}")
            clean = self.start("cache", "verify", "--json")
            if clean[0] != 0:
                self.fault(f"verify after repair: exit {clean[0]}: {clean[1].decode()[-2000:]} {clean[2]}")
        return self.faults

    def check(self):
        """The index against itself and against the files, with nothing of kf's."""
        index = sqlite3.connect(f"file:{self.cache}/v1/index.sqlite?mode=ro", uri=True)
        if (verdict := index.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            self.fault(f"integrity: {verdict}")
        one = lambda sql: index.execute(sql).fetchone()
        wrong = {
            "entries without an object": "SELECT count(*) FROM entries WHERE object NOT IN (SELECT id FROM objects)",
            "entries without times": "SELECT count(*) FROM entries WHERE id NOT IN (SELECT id FROM times)",
            "times without an entry": "SELECT count(*) FROM times WHERE id NOT IN (SELECT id FROM entries)",
            "wrong references": """SELECT count(*) FROM objects o
                WHERE refs <> (SELECT count(*) FROM entries WHERE object = o.id)""",
        }
        for name, sql in wrong.items():
            if count := one(sql)[0]:
                self.fault(f"{count} {name}")
        counted = one("""SELECT (SELECT count(*) FROM entries), (SELECT count(parent) FROM entries),
            (SELECT coalesce(sum(size), 0) FROM entries), (SELECT count(*) FROM objects),
            (SELECT coalesce(sum(size), 0) FROM objects)""")
        if (kept := one("SELECT entries, variants, bytes, objects, stored FROM totals")) != counted:
            self.fault(f"totals are {kept}, counted are {counted}")
        for table, column in (("hosts", "host"), ("formats", "format")):
            sql = f"""SELECT count(*) FROM {table} t WHERE entries <> (SELECT count(*) FROM entries e WHERE e.{column} = t.id)
                OR bytes <> (SELECT coalesce(sum(size), 0) FROM entries e WHERE e.{column} = t.id)"""
            if one(sql)[0]:
                self.fault(f"the sums of {table} are wrong")
        expected = dict(index.execute("SELECT expires / 3600000, count(*) FROM times GROUP BY 1"))
        if {h: n for h, n in index.execute("SELECT hour, entries FROM expiries") if n} != expected:
            self.fault("the sums of expiries are wrong")
        if counted[4] > LIMIT * 1.1:
            self.fault(f"{counted[4]} bytes are stored, the limit is {LIMIT}")
        self.check_files(index)

    def check_files(self, index):
        known = {}
        for digest, ext, size in index.execute("SELECT hash, ext, size FROM objects"):
            name = digest.hex()
            known[f"{name[:2]}/{name[2:]}.{ext}"] = size
        objects = self.cache / "v1/objects"
        files = {str(path.relative_to(objects)) for path in objects.rglob("*") if path.is_file()}
        orphans = files - known.keys()
        missing = known.keys() - files
        for name in files:
            data = (objects / name).read_bytes()
            digest = name[:2] + name[3:].split(".")[0]
            if sha256(data) != digest or known.get(name, len(data)) != len(data):
                self.fault(f"objects/{name} is torn ({len(data)} bytes)")
        left = [path for folder in ("tmp", "partial") for path in (self.cache / "v1" / folder).rglob("*")
                if path.is_file()]
        print(f"{len(known)} objects, {len(orphans)} orphans, {len(missing)} missing, {len(left)} left in tmp and partial")
        # A kill in the middle of a batch can leave as many as the batch has.
        if len(orphans) + len(missing) > 64 * self.kills:
            self.fault(f"{len(orphans)} orphans and {len(missing)} missing after {self.kills} kills")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kf", required=True)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("STRESS_SECONDS", "60")))
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--seed", default=str(time.time_ns()))
    options = parser.parse_args()
    print(f"stress: {options.processes} processes for {options.seconds} s, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kf-stress-") as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "images").mkdir()
        server = subprocess.Popen(
            [ROOT / "Tests/Support/serve.sh", scratch / "images", scratch / "nginx"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        try:
            stress = Stress(options, scratch, server.stdout.readline().strip())
            stress.prepare(scratch / "images")
            faults = stress.run()
        finally:
            server.stdin.close()
            server.wait()
    print(f"stress: {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
