"""The place of a case: its files, its cache and its remote as they are before the run, and the world as the case wants it."""
import base64
import contextlib
import csv
import gzip
import io
import json
import os
import shutil
import sqlite3
import time
from dataclasses import dataclass, field

from dimensions import COMMANDS, DIMENSIONS
from pictures import EXTENSIONS, NO_IMAGES, sha256
from world import Resource

# The words whose canary only one party may see. None: nobody may.
SECRETS = {
    "secret-user": "origin", "secret-header": "origin", "secret-bearer": "origin", "secret-netrc": "origin",
    "secret-info": "origin", "secret-cookie": "origin", "secret-query": "origin", "secret-column": "origin",
    "secret-mirror": "mirror", "secret-remote": "remote", "secret-proxy": "proxy",
    "secret-bucket": None, "secret-token": "remote"}

SHAPES = {  # What makes images of an original.
    "--variant", "--widths", "--process", "--format", "--quality", "--speed", "--background", "--placeholder", "--measure",
    "--first-frame", "--lenient", "--undecoded", "--srgb", "--keep-metadata", "--strip-metadata", "--scale-down",
    "--process-column"}
IDENTITY = {
    "--key", "--ignore-query", "--key-ignore", "--cache-policy", "--header", "--user", "--netrc", "--cookie-jar", "--cacert",
    "--cert", "--cert-key", "--trusted-host", "--url-column", "--key-column", "--headers-column", "--allow-local", "--tag",
    "--http1.1"}
CHANGES_KEY = {"--header", "--user", "--netrc", "--cookie-jar", "--cert"}
HEADERS = {
    "max-age": [("Cache-Control", "max-age=3600")], "expired": [("Cache-Control", "max-age=0")],
    "no-cache": [("Cache-Control", "no-cache")], "no-store": [("Cache-Control", "no-store")],
    "private": [("Cache-Control", "private, max-age=3600")], "vary": [("Vary", "Accept-Language")],
    "vary-star": [("Vary", "*")], "cookie": [("Set-Cookie", "visit=1; Path=/")],
    "opt-out": [("X-Robots-Tag", "noai"), ("X-Robots-Tag", "somebot: noimageai")]}
MINE = b"a file that was there before"
UNSHARED = ("no-store", "private", "vary-star")


@dataclass
class Item:
    """A source of a case."""
    name: str
    kind: str
    source: str = ""  # As the list or the command line has it.
    places: list = field(default_factory=list)  # The party and path of each hop of its own.
    versions: dict = field(default_factory=dict)  # Pictures by the name of their version.

    @property
    def file(self):
        return f"{self.name}.{EXTENSIONS[self.kind]}"

    def picture(self, version):
        return self.versions[version]


class Place:
    def __init__(self, worker, case):
        self.worker, self.case = worker, case
        self.world, self.pictures, self.root = worker.world, worker.pictures, worker.root / "place"
        worker.disk.unmount()
        shutil.rmtree(self.root, ignore_errors=True)
        for name in ("home", "out", "files"):
            (self.root / name).mkdir(parents=True)
        os.symlink(worker.certificates, self.root / "certificates")
        self.secure = case.get("tls") is not None
        self.is_changed = case.get("change") == "changed"
        self.now = "v1" if self.is_changed else "v0"
        self.items = [self.item(name) for name in
                      (("a0", "a1") if case.get("sources") in ("repeated", "many") else
                       ("a0", "a1", "a2", "a3", "a4") if case.get("sources") == "several" or case.get("url") == "folder"
                       else ("a0",))]
        self.order = {"repeated": [0, 1, 0, 0, 1], "many": [0, 0, 0, 1] * 50}.get(case.get("sources"), range(len(self.items)))
        self.mark, self.standin, self.alternative = (
            self.pictures.get("alpha", "mark"), self.pictures.get("png", "standin"), self.pictures.get("png", "alternative"))
        self.new_mark = self.pictures.get("alpha", "mark/new") if case.get("overlay") == "changed" else self.mark
        self.write_files()
        if "disk" in case:
            worker.disk.mount(self.root / ("out" if case["disk"] == "full-output" else "c"))

    # -- Sources

    def item(self, name):
        kind = self.case.get("body", "png")
        item = Item(name, kind)
        for version in ("v0", "v1", "eve", "mirror", "liar", "older", "member/v0", "member/v1"):
            item.versions[version] = self.pictures.get("png" if kind in NO_IMAGES and version == "v0" and self.is_changed
                                                       else kind, f"{name}/{version}")
        item.versions["member"] = item.versions["member/" + self.now]
        form = self.case.get("url", "plain")
        origin, file = self.world.url("origin", "", self.secure), item.file
        path = {"dotdot": f"/secret/{file}"}.get(form, f"/pub/{file}")
        if form.startswith("redirect"):
            item.places = [("origin", f"/pub/go/{file}"), ("other" if form == "redirect-other" else "origin", f"/pub/{file}")]
        elif form not in ("file", "data", "folder", "stdin"):
            item.places = [("origin", path)]
        item.source = {
            "query": f"{origin}/pub/{file}?v=1&sig=secret-query", "dotdot": f"{origin}/pub/../secret/{file}",
            "userinfo": self.world.url("origin", f"/pub/{file}", self.secure, "ann:secret-info"), "file": f"files/{file}",
            "data": "data:image/png;base64," + base64.b64encode(item.versions[self.now]).decode(), "folder": "files", "stdin": "-",
        }.get(form, f"{origin}{item.places[0][1]}" if item.places else "")
        return item

    @property
    def is_local(self):
        return not self.items[0].places

    def item_of(self, source):
        """The item of a row; None for what is none of the case."""
        for item in self.items:
            plain = item.source.replace("ann:secret-info@", "").replace("ann:•••@", "")
            if source in (item.source, plain) or source.endswith(f"/{item.file}") or (
                    source.split("?")[0].endswith("/" + item.file)) or f"secret/{item.file}" in source:
                return item
        return self.items[0] if len(self.items) == 1 and self.case.get("url") in ("data", "stdin") else None

    # -- Files

    def write_files(self):
        root, case = self.root, self.case
        for item in self.items:
            (root / "files" / item.file).write_bytes(item.versions[self.now])
        (root / "mark.png").write_bytes(self.mark)
        (root / "standin.png").write_bytes(self.standin)
        (root / "alt.png").write_bytes(self.alternative)
        host = self.world.parties["origin"][0].host
        (root / "home/.netrc").write_text(f"machine {host} login ann password secret-netrc\n")
        (root / "home/.netrc").chmod(0o600)
        (root / "jar").write_text(
            f"# Netscape HTTP Cookie File\n{host}\tFALSE\t/\tFALSE\t4102444800\tlogin\tsecret-cookie\n")
        (root / "other.lock").write_text(self.lock_text("v0"))
        (root / "kept").write_text("".join(item.source + "\n" for item in self.items if item.places) or "http://h.test/a.png\n")
        (root / "nothing").write_text("")
        if label := case.get("--lock"):
            extra = ["http://elsewhere.test/x.png"] if label == "others" else []
            if label != "new":
                (root / "im.lock").write_text(self.lock_text("older" if label == "older" else self.expected_version, extra))
        if "--no-clobber" in case:
            (root / "out" / self.items[0].file).write_bytes(MINE)
        self.write_list()

    def lock_text(self, version, extra=()):
        lines = []
        for item in self.items:
            if item.places:
                digest = base64.b64encode(bytes.fromhex(sha256(item.versions[version]))).decode()
                lines.append(f"{self.lock_url(item)} sha256-{digest} {len(item.versions[version])}\n")
        lines += [f"{url} sha256-{base64.b64encode(bytes(32)).decode()} 5\n" for url in extra]
        ignored = "# without query parameters: sig\n" if "--key-ignore" in self.case else ""
        ignored = "# without query parameters: all\n" if self.ignores_query else ignored
        return "# kf images.lock 1\n" + ignored + "".join(sorted(lines))

    @property
    def ignores_query(self):
        return "--ignore-query" in self.case or self.case.get("--key-ignore") == "all"

    def lock_url(self, item):
        url = item.source.replace("ann:secret-info@", "")
        if self.ignores_query:
            return url.partition("?")[0]
        return url.replace("&sig=secret-query", "") if "--key-ignore" in self.case else url

    def written(self, item):
        """A source as a list has it: relative to --base-url."""
        origin = self.world.url("origin", "", self.secure)
        return item.source.removeprefix(origin) if "--base-url" in self.case else item.source

    def records(self):
        for number, index in enumerate(self.order):
            item = self.items[index]
            record = {
                "link" if "--url-column" in self.case else "url": self.written(item), "key": f"key-{item.name}",
                "name": f"../../name-{number}", "process": "flip:h",
                "hash": "sha256:" + sha256(item.versions[self.expected_version]), "wrong": "sha256:" + "1" * 64, "alt": "A text"}
            if "--headers-column" in self.case:
                record["headers"] = "X-Column: secret-column"
            yield record

    @property
    def list_name(self):
        form = self.case.get("list", "lines")
        return {"stdin": "-", "gz": "list.gz", "csv": "list.csv", "tsv": "list.tsv", "jsonl": "list.jsonl"}.get(form, "list")

    def write_list(self):
        form, records = self.case.get("list", "lines"), list(self.records())
        if form in ("csv", "tsv"):
            buffer = io.StringIO()
            writer = csv.DictWriter(buffer, records[0], delimiter="," if form == "csv" else "\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
            text = buffer.getvalue()
        elif form == "jsonl":
            for record in records:
                if "headers" in record:
                    record["headers"] = {"X-Column": "secret-column"}
            text = "".join(json.dumps(record) + "\n" for record in records)
        else:
            text = "".join(self.written(self.items[index]) + "\n" for index in self.order)
        if form == "empty":
            text = "# Nothing here\n"
        if form == "invalid":
            text += "no URL at all\n"
        data = text.encode()
        self.stdin = data if form == "stdin" else self.items[0].versions[self.now] if self.case.get("url") == "stdin" else b""
        if self.list_name != "-":
            (self.root / self.list_name).write_bytes(gzip.compress(data, mtime=0) if form == "gz" else data)

    # -- Words

    @property
    def expected_version(self):
        """The version that the run's own requests are entitled to."""
        return "member" if self.is_member else self.now

    @property
    def is_member(self):
        """Whether the origin knows the run by its secrets, and has a picture for it."""
        case = self.case
        if self.is_local or case.get("url") == "redirect-other":
            return False  # The last hop is another origin.
        tells = case.get("--header") in ("key", "bearer") or case.get("url") == "userinfo" or any(
            name in case for name in ("--user", "--netrc", "--cookie-jar"))
        return "--cert" in case or case.get("guard") in ("personal", "basic", "digest") and tells

    def names(self):
        def url(party):
            return self.world.url(party, "", self.secure)

        item = self.items[0]
        return {
            "origin": url("origin"), "overlay": url("overlay"), "alternative": url("alternative"),
            "mirror-address": self.world.url("mirror", "", self.secure, "bob:secret-mirror"),
            "remote-address": f"file://{self.root}/shared" if self.case.get("remote") == "directory" else "s3://team" if (
                self.case.get("--remote") == "s3") else self.world.url("remote", "/team", False, "carl:secret-remote"),
            "proxy-address": self.world.url("proxy", "", False, "dora:secret-proxy"),
            "hash": "sha256:" + sha256(item.versions[self.expected_version]), "url": item.source}

    def words(self, options):
        """The words of some options of the case."""
        names, words = self.names(), []
        for name in options:
            for word in DIMENSIONS[name][self.case[name]].words:
                for key, text in names.items():
                    word = word.replace("{" + key + "}", text)
                words.append(word)
        if self.secure and not {"--cacert", "--trusted-host"} & set(self.case) and options:
            words += ["--cacert", "certificates/ca.pem"]
        return words

    @property
    def options(self):
        return [name for name in self.case if name.startswith("--")]

    def sources(self):
        if self.case.get("command", "prefetch") != "fetch":
            return [self.list_name]
        if self.case.get("url") in ("folder", "stdin"):
            return [self.items[0].source]
        return [self.items[index].source for index in self.order]

    def command(self, options=None, cache="c", command=None):
        words = command or {"pull": ["cache", "pull"]}.get(self.case.get("command"), [self.case.get("command", "prefetch")])
        options = self.options if options is None else options
        secure = ["--cacert", "certificates/ca.pem"] if self.secure and not options else []
        silent = "--print" in options or self.case.get("--output") == "stdout" and "--output" in options
        return [*words, *self.sources(), "--cache-dir", cache, *(() if silent else ("--json",)), *self.words(options), *secure]

    def following(self):
        """The command of the dimension `then`."""
        table = self.worker.table.commands.get(" ".join(COMMANDS[self.case["then"]][:2]), {})
        words = [word for word in COMMANDS[self.case["then"]] if word != "--skip-invalid" or word in table]
        for key, text in self.names().items():
            words = [word.replace("{" + key + "}", text) for word in words]
        if self.case["then"] == "library":
            return words
        return [*words, *(() if "--cache-dir" in words else ("--cache-dir", "c")), "--json"]

    # -- The world

    def serve(self, version, measured):
        """Sets what each place has: as the fill finds it, or as the run that is judged does."""
        case, world = self.case, self.world
        world.resources.clear()
        world.tls = case.get("tls", "plain") if measured or case.get("tls") != "required" or "--cert" in case else "plain"
        world.proxy_password = "secret-proxy"
        headers = HEADERS.get(case.get("headers"), [])
        if not measured and case.get("state") in ("expired", "old-originals") and case.get("--cache-policy") == "http":
            headers = [pair for pair in headers if pair[0] != "Cache-Control"] + [("Cache-Control", "max-age=0")]
        guard = "certificate" if "--cert" in case and case.get("guard") not in ("basic", "digest") else case.get("guard", "open")
        for item in self.items:
            member = item.versions["member" if measured else "member/v0"] if (
                self.is_member and measured or guard != "open") else None
            for party, path in item.places[:-1]:
                private = [("Cache-Control", "private")] if case.get("url") == "redirect-private" else []
                target = world.url(item.places[-1][0], item.places[-1][1], self.secure)
                world.resources[party, path] = Resource(b"", item.kind, location=target, headers=private)
            if not item.places:
                continue
            resource = Resource(
                item.versions[version], item.kind, member, headers=headers, validator=case.get("validator", "etag"),
                guard=guard if item.places[-1][0] == "origin" else "open", other=item.versions["eve"])
            if measured:
                resource.answer, resource.framing = case.get("answer", "ok"), case.get("framing", "length")
                resource.lagging = item.versions["member/v0" if self.is_member else "v0"]
            world.resources[item.places[-1]] = resource
            self.serve_mirror(item, version)
        world.resources["overlay", "/mark.png"] = Resource(
            self.new_mark if measured else self.mark, "alpha",
            headers=HEADERS["private"] if case.get("overlay") == "private" else [],
            answer="status:404" if case.get("overlay") == "missing" and measured else "ok")
        for party, path in (("alternative", "/alt.png"), ("origin", "/pub/alt.png")):
            world.resources[party, path] = Resource(self.alternative, "png")

    def serve_mirror(self, item, version):
        form = self.case.get("mirror", "honest")
        path = "/copy" + item.places[0][1]
        if form == "lacks" or not item.places[0][1].startswith("/pub/"):
            return
        if form == "redirects":
            self.world.resources["mirror", path] = Resource(
                b"", item.kind, location=self.world.url("other", "/copied/" + item.file, self.secure))
        place = ("other", "/copied/" + item.file) if form == "redirects" else ("mirror", path)
        picture = item.versions["mirror" if form == "other" else version]
        self.world.resources[place] = Resource(picture, item.kind, answer="status:503" if form == "broken" else "ok")

    # -- The cache and the remote before the run

    def fill(self, kf, version="v0", cache="c", shapes=True, words=(), identity=True):
        options = [name for name in self.options if name in IDENTITY or shapes and name in SHAPES]
        if not identity:
            options = [name for name in options if name not in CHANGES_KEY]
        command = ["fetch"] if self.case.get("command") == "fetch" else ["prefetch"]
        self.serve(version, measured=False)
        return kf([*self.command(options, cache, command), *words], stdin=self.stdin)

    def prepare(self, kf):
        """Makes the state that the case names, and leaves the world as the run finds it."""
        state = self.case.get("state")
        if "--remote" in self.case:
            self.prepare_remote(kf)
        if self.case.get("then") == "merge":
            self.fill(kf, "older", cache="merged")
            self.change_index("merged", "UPDATE entries SET created = created - 60000")
        if state == "liar":
            self.lie(kf, "lies", forged=True)
            self.fill(kf, words=["--remote", f"file://{self.root}/lies"])
        elif state == "layer":
            self.fill(kf, cache="layer")
        elif state == "others":
            self.fill(kf, identity=False, words=["--user", "eve:other"])
        elif state in ("expired", "old-originals"):
            self.fill(kf, shapes=state == "expired", words=["--expire", "10ms"])
            time.sleep(0.012)
        elif state is not None:
            self.fill(kf, shapes=state != "originals")
        if state == "damaged-file":
            self.damage_files()
        if state == "damaged-index":
            self.damage_index()
        if state == "older-version":
            self.age_index()
        if self.case.get("disk") == "read-only":
            self.worker.disk.freeze()
        elif "disk" in self.case:
            self.worker.disk.fill(64 << 10 if self.case["disk"] == "nearly-full" else 0)
        self.serve(self.now, measured=True)
        self.world.take_log()

    def damage_files(self):
        for number, path in enumerate(sorted((self.root / "c/v1/objects").glob("*/*"))):
            data = bytearray(path.read_bytes())
            times = path.stat()
            path.chmod(0o644)
            if number % 2:
                path.write_bytes(data[: len(data) // 2])
            else:
                data[len(data) // 2] ^= 0x55
                path.write_bytes(data)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))

    def damage_index(self):
        path = self.root / "c/v1/index.sqlite"
        if path.exists():
            data = bytearray(path.read_bytes())
            data[100:160] = b"\xff" * 60
            path.write_bytes(data)

    def age_index(self):
        """Makes the index one of format 2, without what only later versions write."""
        for number, text in self.change_index("c", "SELECT id, freshness FROM entries WHERE freshness LIKE '%kf-%'"):
            lines = [line for line in text.split("\n") if not line.startswith(("kf-made", "kf-image", "kf-dhash"))]
            self.change_index("c", "UPDATE entries SET freshness = ? WHERE id = ?", "\n".join(lines) or None, number)
        for statement in ("DROP TABLE IF EXISTS tags", "DROP INDEX IF EXISTS entries_large", "PRAGMA user_version = 2"):
            self.change_index("c", statement)

    def change_index(self, cache, statement, *values):
        path = self.root / cache / "v1/index.sqlite"
        if not path.exists():
            return []
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as index:
            return index.execute(statement, values).fetchall()

    def lie(self, kf, folder, forged, version="liar"):
        """A remote whose pictures are another version's. A forged one says that they were made from the true originals."""
        (self.root / folder).mkdir(exist_ok=True)
        self.fill(kf, version, cache="teller", words=["--remote", f"file://{self.root}/{folder}", "--remote-write"])
        shutil.rmtree(self.root / "teller", ignore_errors=True)
        truth = {sha256(item.versions[version]): sha256(item.versions["v0" if folder == "lies" else self.now])
                 for item in self.items}
        for path in (self.root / folder).glob("kf1/ac/*/*"):
            entry = json.loads(path.read_text())
            if not forged:
                continue
            if "original_sha256" not in entry:
                path.unlink()
            elif entry["original_sha256"] in truth:
                entry["original_sha256"] = truth[entry["original_sha256"]]
                path.write_text(json.dumps(entry))

    def prepare_remote(self, kf):
        label = self.case.get("remote")
        (self.root / "shared").mkdir(exist_ok=True)
        version = {"older": "older", "liar": "liar", "forged": "liar"}.get(label, self.now)
        if label not in (None, "read-only"):
            self.lie(kf, "shared", label == "forged", version)
        self.world.blobs = {"/team/" + str(path.relative_to(self.root / "shared")): path.read_bytes()
                            for path in (self.root / "shared").glob("kf1/*/*/*")}
        self.world.remote_mode, self.world.is_bucket = label or "honest", self.case.get("--remote") == "s3"
        self.filled_blobs = dict(self.world.blobs)
        if label != "directory":
            shutil.rmtree(self.root / "shared")
