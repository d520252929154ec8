"""An index, and files beside it, damaged in every way that a disk, a restore or a stray program can damage them."""
import os
import shutil
import sqlite3

from common.healing import Healing
from common.origin import Origin
from common.place import Place, copy_tree

IMAGES = 150
PAGE = 4096


class Damage:
    """The ways to damage a cache; each returns the words for what it did."""

    def __init__(self, cache, generator):
        self.version = cache / "v1"
        self.cache = cache
        self.index = self.version / "index.sqlite"
        self.log = self.version / "index.sqlite-wal"
        self.generator = generator

    def below(self, size):
        """A place in a file; about the same one when the file is a little longer in another run."""
        return int(self.generator.random() * size)

    def run(self):
        """One damage to three."""
        count = self.generator.choice([1, 1, 1, 2, 3])
        return ", ".join(getattr(self, self.generator.choice(WAYS))() for _ in range(count))

    # -- Bytes

    def change(self, path, change):
        if path.is_symlink() or not path.is_file():
            return f"nothing to do in {path.name}"
        data = bytearray(path.read_bytes())
        what = change(data) if data else "nothing"
        path.write_bytes(data)
        return f"{path.name}: {what}"

    def flip(self, path, first=0, last=None):
        def change(data):
            end = max(min(last or len(data), len(data)), first + 1)
            places = [first + self.below(end - first) for _ in range(self.generator.choice([1, 1, 2, 8, 64]))]
            places = [place for place in places if place < len(data)]
            for place in places:
                data[place] ^= 1 << self.generator.randrange(8)
            return f"bits flipped at {places[:8]}"
        return self.change(path, change)

    def flip_index(self):
        return self.flip(self.index)

    def flip_header(self):
        return self.flip(self.index, 0, 100)

    def flip_schema(self):
        return self.flip(self.index, 100, PAGE)

    def flip_log(self):
        return self.flip(self.log)

    def truncate(self, path):
        def change(data):
            size = self.generator.choice([
                0, self.below(len(data)), self.below(len(data)) // PAGE * PAGE, 100])
            del data[size:]
            return f"truncated to {size}"
        return self.change(path, change)

    def truncate_index(self):
        return self.truncate(self.index)

    def truncate_log(self):
        return self.truncate(self.log)

    def lengthen(self):
        def change(data):
            data += self.generator.randbytes(self.generator.choice([1, PAGE, 10 * PAGE]))
            return "garbage at its end"
        return self.change(self.generator.choice([self.index, self.log]), change)

    def pages(self, change_pages):
        def change(data):
            count = len(data) // PAGE
            if count < 3:
                return "too short"
            first, second = (1 + self.below(count - 1) for _ in range(2))
            return change_pages(data, first * PAGE, second * PAGE)
        return self.change(self.index, change)

    def swap_pages(self):
        def change(data, a, b):
            data[a:a + PAGE], data[b:b + PAGE] = data[b:b + PAGE], data[a:a + PAGE]
            return f"pages at {a} and {b} swapped"
        return self.pages(change)

    def copy_page(self):
        def change(data, a, b):
            data[a:a + PAGE] = data[b:b + PAGE]
            return f"page at {b} put over {a}"
        return self.pages(change)

    def blank_page(self):
        def change(data, a, _):
            fill = self.generator.choice([b"\0", b"\xff", None])
            data[a:a + PAGE] = fill * PAGE if fill else self.generator.randbytes(PAGE)
            return f"page at {a} overwritten"
        return self.pages(change)

    # -- Files

    def garbage_log(self):
        """Random bytes, with and without the beginning of a log."""
        begin = self.generator.choice([b"", bytes.fromhex("377f0682002de21800001000"), b"\0" * 32])
        self.log.write_bytes(begin + self.generator.randbytes(self.generator.choice([10, 5000, 100_000])))
        return "a log of garbage"

    def garbage_memory(self):
        (self.version / "index.sqlite-shm").write_bytes(self.generator.randbytes(32768))
        return "shared memory of garbage"

    def foreign_file(self):
        self.remove(self.index)
        self.index.write_bytes(self.generator.choice([
            b"", b"not a database\n" * 999, b"SQLite format 3\0", self.generator.randbytes(100_000)]))
        return "something else in place of the index"

    def no_file(self):
        self.remove(self.index)
        how = self.generator.choice(["nothing", "a directory", "a FIFO", "a link"])
        if how == "a directory":
            self.index.mkdir()
        elif how == "a FIFO":
            os.mkfifo(self.index)
        elif how == "a link":
            self.index.symlink_to("../../beside/index.sqlite")
        return f"{how} in place of the index"

    def lock_garbage(self):
        path = self.version / self.generator.choice(["lock", "flights", "reserve"])
        if path.is_file():
            path.write_bytes(self.generator.randbytes(self.generator.choice([0, 7, 4096])))
        return f"garbage in {path.name}"

    def no_tag(self):
        path = self.cache / "CACHEDIR.TAG"
        path.unlink(missing_ok=True)
        if self.generator.random() < 0.5:
            path.touch()
            return "an empty CACHEDIR.TAG"
        return "no CACHEDIR.TAG"

    def no_folder(self):
        name = self.generator.choice(["tmp", "partial", "objects", f"objects/{self.generator.randrange(256):02x}"])
        if (self.version / name).is_dir():
            shutil.rmtree(self.version / name)
        return f"no {name}"

    def remove(self, path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def objects(self):
        """Some objects are gone, empty, shorter, longer, or other files."""
        files = sorted(path for path in (self.version / "objects").rglob("*") if path.is_file())
        said = set()
        for path in self.generator.sample(files, min(len(files), self.generator.choice([1, 3, 20]))):
            how = self.generator.choice(["gone", "empty", "shorter", "longer", "other", "a directory"])
            said.add(how)
            data = path.read_bytes()
            path.unlink()
            if how == "a directory":
                path.mkdir()
            elif how != "gone":
                path.write_bytes({
                    "empty": b"", "shorter": data[:len(data) // 2], "longer": data + b"x",
                    "other": self.generator.randbytes(len(data))}[how])
        return f"objects {', '.join(sorted(said))}"

    # -- Values: SQLite keeps any in any column

    def values(self):
        values = [0, -1, 1, 2**63 - 1, -2**63, 1.5, None, "", "../../../beside/index.sqlite", "\x00", b"\xff" * 40,
                  "a" * 100_000, b"", "http://[", 4_000_000_000_000]
        said = []
        for _ in range(self.generator.choice([1, 2, 5])):
            table, value = self.generator.choice(TABLES), self.generator.choice(values)

            def change(index):
                columns = [row[1] for row in index.execute(f"PRAGMA table_info({table})")]
                column = self.generator.choice(columns)
                rows = [row[0] for row in index.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
                chosen = self.generator.sample(rows, min(len(rows), self.generator.choice([1, 1, 50, 1000])))
                for row in chosen:
                    index.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", (value, row))
                return f"{len(chosen)} x {table}.{column} = {str(value)[:20]!r}"

            said.append(self.edit(change))
        return f"values: {'; '.join(said)}"

    def rows(self):
        """Rows of one table are gone."""
        table = self.generator.choice(TABLES)
        part = self.generator.choice([1, 2, 7])

        def change(index):
            index.execute(f"DELETE FROM {table} WHERE rowid % ? = 0", (part,))
            return f"every row of {table} that {part} divides is gone"
        return self.edit(change)

    def edit(self, change):
        """With SQLite, as far as the index still can be read."""
        if not self.index.is_file() or self.index.is_symlink():
            return "no index to edit"
        index = sqlite3.connect(self.index)
        try:
            with index:
                return change(index)
        except (sqlite3.Error, IndexError) as error:
            return str(error)
        finally:
            index.close()


TABLES = ["entries", "times", "objects", "hosts", "formats", "ages", "expiries", "totals"]
WAYS = [
    "flip_index", "flip_index", "flip_index", "flip_header", "flip_schema", "flip_log", "flip_log", "truncate_index",
    "truncate_log", "lengthen", "swap_pages", "swap_pages", "copy_page", "blank_page", "blank_page", "garbage_log",
    "garbage_memory", "foreign_file", "no_file", "lock_garbage", "no_tag", "no_folder", "objects", "objects",
    "values", "values", "values", "rows",
]


def templates(trial, origin):
    """Two caches: one without a log, and one with half of its entries in the log."""
    place = Place(trial, origin, trial.folder("template"))

    def prefetch(indexes):
        stdin = "".join(f"{origin.url(index)}\n" for index in indexes).encode()
        # One after another, so that the rows lie in the same pages in every run.
        return place.kf("prefetch", "-", "-q", "-j", 1, stdin=stdin)

    prefetch(range(IMAGES // 2))
    # While another connection is open, the last one to close does not fold the log into the database.
    with_log = trial.scratch / "with-log"
    connection = sqlite3.connect(place.cache / "v1/index.sqlite")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("SELECT count(*) FROM entries").fetchone()
    prefetch(range(IMAGES // 2, IMAGES))
    for index in range(5):
        place.kf("fetch", origin.url(index), "-p", "resize:24x24")
    place.kf("cache", "rm", origin.url(7))
    copy_tree(place.cache, with_log)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return [place.cache, with_log]


def run(trial):
    with Origin(trial.scratch, trial.random("origin"), IMAGES, largest=60) as origin:
        caches = templates(trial, origin)
        for _, generator in trial.cases():
            place = Place(trial, origin, trial.folder("case"), generator.choice(caches))
            before = trial.faults
            damage = Damage(place.cache, generator).run()
            Healing(place, origin, generator, generator.sample(origin.indexes, 40)).run()
            if trial.faults > before or trial.only is not None:
                print(f"stress: index: case {trial.case}: {damage}", flush=True)
