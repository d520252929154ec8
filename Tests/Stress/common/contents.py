"""The index against itself and against the files, with nothing of kf's."""
import sqlite3

from .trial import sha256

WRONG = {
    "entries without an object": "SELECT count(*) FROM entries WHERE object NOT IN (SELECT id FROM objects)",
    "entries without times": "SELECT count(*) FROM entries WHERE id NOT IN (SELECT id FROM times)",
    "times without an entry": "SELECT count(*) FROM times WHERE id NOT IN (SELECT id FROM entries)",
    "wrong references": """SELECT count(*) FROM objects o
        WHERE refs <> (SELECT count(*) FROM entries WHERE object = o.id)""",
    "wrong sums of hosts": """SELECT count(*) FROM hosts t
        WHERE entries <> (SELECT count(*) FROM entries e WHERE e.host = t.id)
        OR bytes <> (SELECT coalesce(sum(size), 0) FROM entries e WHERE e.host = t.id)""",
    "wrong sums of formats": """SELECT count(*) FROM formats t
        WHERE entries <> (SELECT count(*) FROM entries e WHERE e.format = t.id)
        OR bytes <> (SELECT coalesce(sum(size), 0) FROM entries e WHERE e.format = t.id)""",
}


class Contents:
    """What a cache holds: rows, files, and what one has and the other has not."""

    def __init__(self, cache):
        self.faults = []
        self.known = {}
        self.entries = self.stored = 0
        index = cache / "v1/index.sqlite"
        if index.exists():
            connection = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
            try:
                self.read_index(connection)
            except sqlite3.Error as error:
                self.faults.append(f"the index cannot be read: {error}")
            finally:
                connection.close()
        self.read_files(cache / "v1")

    def read_index(self, index):
        if (verdict := index.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            self.faults.append(f"integrity: {verdict}")
        for name, sql in WRONG.items():
            if count := index.execute(sql).fetchone()[0]:
                self.faults.append(f"{count} {name}")
        counted = index.execute("""SELECT (SELECT count(*) FROM entries), (SELECT count(parent) FROM entries),
            (SELECT coalesce(sum(size), 0) FROM entries), (SELECT count(*) FROM objects),
            (SELECT coalesce(sum(size), 0) FROM objects)""").fetchone()
        kept = index.execute("SELECT entries, variants, bytes, objects, stored FROM totals").fetchone()
        if kept != counted:
            self.faults.append(f"totals are {kept}, counted are {counted}")
        self.entries, self.stored = counted[0], counted[4]
        expected = dict(index.execute("SELECT expires / 3600000, count(*) FROM times GROUP BY 1"))
        if {h: n for h, n in index.execute("SELECT hour, entries FROM expiries") if n} != expected:
            self.faults.append("wrong sums of expiries")
        for digest, extension, size in index.execute("SELECT hash, ext, size FROM objects"):
            name = digest.hex()
            self.known[f"{name[:2]}/{name[2:]}.{extension}"] = size

    def read_files(self, version):
        objects = version / "objects"
        files = {str(path.relative_to(objects)): path for path in objects.rglob("*") if path.is_file()}
        self.orphans = files.keys() - self.known.keys()
        self.missing = self.known.keys() - files.keys()
        self.torn = []
        for name, path in files.items():
            data = path.read_bytes()
            if sha256(data) != name[:2] + name[3:].split(".")[0] or self.known.get(name, len(data)) != len(data):
                self.torn.append(f"{name} ({len(data)} bytes)")
        self.left = [
            path for folder in ("tmp", "partial") for path in (version / folder).rglob("*") if path.is_file()]

    def __str__(self):
        return (f"{len(self.known)} objects, {len(self.orphans)} orphans, {len(self.missing)} missing, "
                f"{len(self.torn)} torn, {len(self.left)} left in tmp and partial")
