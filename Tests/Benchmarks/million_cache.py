#!/usr/bin/env python3
"""Makes a cache of many small images, as kf itself would have left it.

usage: million_cache.py --kf BINARY --entries N DIRECTORY

The images are GIFs of one pixel with a comment, each different. Their access times are spread over five days and their
expiry times over ten, none later than its span allows, so that some have expired.
"""
import argparse
import hashlib
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import tempfile
import time

HOSTS = 20


def gif(number):
    comment = b"image %d" % number
    return (b"GIF89a\x01\0\x01\0\x80\0\0" + number.to_bytes(3, "big") + b"\xff\xff\xff"
            + b"\x21\xfe" + bytes([len(comment)]) + comment + b"\0" + b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;")


def place(digest):
    """The row where an entry or object is looked for first."""
    return min(struct.unpack(">q", digest[:8])[0], (1 << 63) - 1 - 4)


def key(number):
    return f"http://host{number % HOSTS}.example.com/images/{number}.gif"


def generate(kf, directory, count, expired=True):
    """A tenth has expired unless told otherwise."""
    directory = pathlib.Path(directory)
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "KF_CACHE_DIR": str(directory)}
    with tempfile.NamedTemporaryFile(suffix=".gif") as first:
        # kf makes the directory and an index that is its own in every respect; then it is emptied.
        first.write(gif(0))
        first.flush()
        subprocess.run([kf, "fetch", first.name], env=environment, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([kf, "cache", "clean", "--all", "--yes", "-q"], env=environment, check=True)
    objects = directory / "v1/objects"
    for folder in range(256):
        (objects / f"{folder:02x}").mkdir(exist_ok=True)
    index = sqlite3.connect(directory / "v1/index.sqlite", isolation_level=None)
    index.execute("PRAGMA synchronous = OFF")
    index.execute("PRAGMA cache_size = -400000")
    index.execute("BEGIN")
    index.executemany("INSERT OR IGNORE INTO hosts (name) VALUES (?)", [(f"host{h}.example.com",) for h in range(HOSTS)])
    index.execute("INSERT OR IGNORE INTO formats (name) VALUES ('gif')")
    hosts = dict(index.execute("SELECT name, id FROM hosts"))
    format_row = index.execute("SELECT id FROM formats WHERE name = 'gif'").fetchone()[0]
    generator = random.Random(1)
    now = int(time.time() * 1000)
    day = 86_400_000
    entries, times, files = [], [], []
    before = os.getcwd()
    os.chdir(objects)
    for number in range(count):
        data = gif(number)
        digest = hashlib.sha256(data).digest()
        name = digest.hex()
        path = f"{name[:2]}/{name[2:]}.gif"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
        os.write(file, data)
        modified = os.fstat(file).st_mtime_ns
        os.close(file)
        identity = key(number)
        row = place(hashlib.sha256(identity.encode() + b"\0").digest())
        created = now - generator.randrange(5 * day)
        host = f"host{number % HOSTS}.example.com"
        entries.append((row, identity, "", None, place(digest), None, hosts[host], format_row, len(data), created,
                        10 * day, -1, None, f'"{name[:16]}"', None, None))
        times.append((row, created, now + generator.randrange(-day if expired else day, 9 * day), 0))
        files.append((place(digest), digest, "gif", len(data), modified, 1, 1, 1, 1))
    os.chdir(before)
    # In the order of the rows, as VACUUM would have them: hundreds of times faster than as they come.
    index.executemany("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", sorted(entries))
    index.executemany("INSERT INTO times VALUES (?,?,?,?)", sorted(times))
    index.executemany("INSERT INTO objects (id, hash, ext, size, mtime, refs, width, height, frames)"
                      " VALUES (?,?,?,?,?,?,?,?,?)", sorted(files))
    index.execute("""UPDATE totals SET entries = (SELECT count(*) FROM entries), variants = 0,
        bytes = (SELECT sum(size) FROM entries), objects = (SELECT count(*) FROM objects),
        stored = (SELECT sum(size) FROM objects)""")
    for table, column in (("hosts", "host"), ("formats", "format")):
        index.execute(f"""UPDATE {table} SET (entries, bytes) =
            (SELECT count(*), coalesce(sum(size), 0) FROM entries WHERE {column} = {table}.id)""")
    index.execute("DELETE FROM ages")
    index.execute("INSERT INTO ages SELECT created / 3600000, count(*), sum(size) FROM entries GROUP BY 1")
    index.execute("DELETE FROM expiries")
    index.execute("INSERT INTO expiries SELECT expires / 3600000, count(*) FROM times GROUP BY 1")
    index.execute("COMMIT")
    index.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    index.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kf", required=True)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("directory")
    options = parser.parse_args()
    start = time.monotonic()
    generate(options.kf, options.directory, options.entries)
    print(f"{options.entries} entries in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
