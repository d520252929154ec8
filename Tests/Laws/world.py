"""The loopback world of a case: parties that serve from a script and write down all that they receive.

Each party has an address of its own, 127.0.0.K, so that cookies and netrc tell them apart too, and a port for http and one
for https. `World.resources` is the truth: which picture each place has, how it answers, and for whom.
"""
import base64
import contextlib
import email.utils
import hashlib
import hmac
import re
import socket
import socketserver
import ssl
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from pictures import TYPES, boundary, sha256

# The origin of the sources, another one that redirects lead to, and the others that a run may talk to.
PARTIES = ("origin", "other", "mirror", "overlay", "alternative", "remote", "proxy")


@dataclass
class Request:
    """What a party received, and what it answered."""
    party: str
    method: str
    target: str
    headers: list
    secure: bool
    certificate: bool
    body: bytes = b""
    status: int = 0
    picture: str = None  # The SHA-256 of the picture of a whole answer.
    is_wrong_304: bool = False
    via: bool = False  # Received through the proxy.

    @property
    def path(self):
        return self.target.partition("?")[0]

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def text(self):
        """All that was said, with passwords in plain text."""
        lines = [f"{self.method} {unquote(self.target)}"] + [f"{name}: {value}" for name, value in self.headers]
        for name, value in self.headers:
            if value.startswith("Basic "):
                with contextlib.suppress(ValueError):
                    lines.append(base64.b64decode(value[6:]).decode(errors="replace"))
        return "\n".join(lines) + "\n" + self.body.decode("latin-1")


@dataclass
class Reply:
    status: int
    headers: list = field(default_factory=list)
    body: bytes = b""
    framing: str = "length"
    cut: int = None  # The bytes of the body after which the connection ends.
    delay: float = 0
    picture: str = None
    is_wrong_304: bool = False
    resets: bool = False


@dataclass
class Resource:
    """What is at one path of a party: a picture, and how it is served."""
    picture: bytes
    kind: str
    member: bytes = None  # What those get that prove who they are.
    other: bytes = None  # What another user gets.
    answer: str = "ok"
    framing: str = "length"
    headers: list = field(default_factory=list)
    validator: str = "etag"
    guard: str = "open"
    location: str = None
    served: int = 0
    lagging: bytes = None  # The picture that a wrong 304 confirms.


class World:
    """All parties of a worker. A case sets `resources`, `remote` and the terms of TLS, and reads `log`."""

    def __init__(self, certificates):
        self.lock = threading.Lock()
        self.contexts = {mode: context(certificates, mode) for mode in ("plain", "optional", "required")}
        self.parties = {}
        for number, name in enumerate(PARTIES, 1):
            self.parties[name] = (Listener(self, name, f"127.0.0.{number}", False),
                                  Listener(self, name, f"127.0.0.{number}", True))
        self.names = {f"{listener.host}:{listener.port}": name
                      for name, pair in self.parties.items() for listener in pair}
        # The names of these addresses in the scripts of failing cases.
        self.variables = {f"{listener.host}:{listener.port}": name.upper() + ("_TLS" if listener.secure else "")
                          for name, pair in self.parties.items() for listener in pair}
        self.hook = None
        self.reset()

    def reset(self):
        self.resources, self.log, self.blobs = {}, [], {}
        self.tls, self.remote_mode, self.is_bucket, self.proxy_password = "plain", "honest", False, None

    def close(self):
        for pair in self.parties.values():
            for listener in pair:
                listener.server.shutdown()
                listener.server.server_close()

    def url(self, party, path="", secure=False, user=None):
        listener = self.parties[party][secure]
        mark = f"{user}@" if user else ""
        return f"http{'s' if secure else ''}://{mark}{listener.host}:{listener.port}{path}"

    def take_log(self):
        with self.lock:
            log, self.log = self.log, []
        return log

    # -- Answers

    def reply(self, request):
        hook = self.hook
        if hook:
            hook()
        with self.lock:
            self.log.append(request)
            if request.party == "proxy":
                return self.pass_on(request)
            reply = self.stored(request) if request.party == "remote" else self.served(request)
            self.note(request, reply)
        return reply

    def note(self, request, reply):
        request.status, request.is_wrong_304 = reply.status, reply.is_wrong_304
        if reply.cut is None and not reply.resets:
            request.picture = reply.picture

    def pass_on(self, request):
        """Answers as the party that an absolute target names."""
        parts = urlsplit(request.target)
        name = self.names.get(parts.netloc)
        said = request.header("proxy-authorization")
        if self.proxy_password and not (said and self.proxy_password in request.text):
            reply = Reply(407, [("Proxy-Authenticate", 'Basic realm="proxy"')])
        elif name is None:
            reply = Reply(502)
        else:
            headers = [pair for pair in request.headers if not pair[0].lower().startswith("proxy-")]
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            inner = Request(name, request.method, target, headers, False, False, request.body, via=True)
            self.log.append(inner)
            reply = self.stored(inner) if name == "remote" else self.served(inner)
            self.note(inner, reply)
        request.status = reply.status
        return reply

    def served(self, request):
        resource = self.resources.get((request.party, request.path))
        if resource is None:
            return Reply(404)
        if resource.location:
            return Reply(302, [("Location", resource.location)] + resource.headers)
        trusted = self.is_member(request, resource.guard)
        if "eve:other" in request.text and resource.member:
            trusted, resource = True, replace(resource, member=resource.other)
        if resource.guard in CHALLENGES and not trusted:
            return Reply(401, [("WWW-Authenticate", CHALLENGES[resource.guard])])
        data = resource.member if trusted and resource.member else resource.picture
        kind, _, number = resource.answer.partition(":")
        is_first, resource.served = resource.served == 0, resource.served + 1
        if number == "cut-changed" and is_first and resource.lagging:
            data = resource.lagging
        if number.startswith("cut"):
            kind = "cut" if is_first else "ok"
        elif kind == "status" or kind == "once" and is_first:
            rest = [("Retry-After", "0")] if number in ("429", "503") else []
            return Reply(int(number), rest)
        if kind == "reset":
            return Reply(200, [], data, resets=True, cut=0)
        reply = Reply(200, list(resource.headers), data, resource.framing, picture=sha256(data))
        if kind == "slow":
            reply.delay = 0.15
        reply.headers += [("Accept-Ranges", "bytes"), *self.validators(resource, data)]
        conditional = request.header("if-none-match") or request.header("if-modified-since")
        if conditional and resource.lagging and kind == "wrong-304":
            # A cache in front of the origin confirms what it is asked about, and names what it has.
            is_wrong = not self.confirms(request, resource, data)
            return Reply(304, self.validators(resource, data) + resource.headers, is_wrong_304=is_wrong)
        if conditional and kind != "cut" and self.confirms(request, resource, data):
            return Reply(304, self.validators(resource, data) + resource.headers)
        begin = 0
        if rest := re.fullmatch(r"bytes=(\d+)-", request.header("range") or ""):
            asked = request.header("if-range")
            if int(rest[1]) < len(data) and asked in [None, *(value for _, value in self.validators(resource, data))]:
                begin = int(rest[1])
                reply.status, reply.body = 206, data[begin:]
                reply.headers.append(("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}"))
        reply.headers.append(("Content-Type", TYPES.get(resource.kind, f"image/{resource.kind}")))
        if kind == "cut":
            reply.cut = max(0, len(data) // 2 - begin)
        if kind == "cut-late":
            reply.cut = boundary(data) - begin
        return reply

    def validators(self, resource, data):
        digest = sha256(data)
        if resource.validator == "etag":
            return [("ETag", f'"{digest[:12]}"')]
        if resource.validator == "weak":
            return [("ETag", f'W/"{digest[:12]}"')]
        if resource.validator == "date":
            return [("Last-Modified", email.utils.formatdate(1.5e9 + int(digest[:6], 16), usegmt=True))]
        return []

    def confirms(self, request, resource, data):
        said = request.header("if-none-match") or request.header("if-modified-since")
        return said in [value for _, value in self.validators(resource, data)]

    def is_member(self, request, guard):
        if guard == "certificate":
            return request.certificate
        if guard == "digest":
            return answers_challenge(request)
        if guard == "basic":
            return any(f"secret-{name}" in request.text.partition("\n")[2] for name in ("user", "netrc", "info", "bearer"))
        return any(request.header(name) for name in ("authorization", "x-api-key", "cookie")) or request.certificate

    # -- The remote: a WebDAV server of blobs, or a bucket

    def stored(self, request):
        mode = self.remote_mode
        if self.is_bucket and not is_signed(request):
            return Reply(403)
        if mode == "down":
            return Reply(503)
        if mode == "refusing":
            return Reply(403)
        if request.method == "PUT":
            if mode == "read-only":
                return Reply(405)
            if request.header("if-none-match") == "*" and request.path in self.blobs:
                return Reply(412)
            self.blobs[request.path] = request.body
            return Reply(201)
        if request.method == "MKCOL":
            return Reply(405 if self.is_bucket else 201)
        data = self.blobs.get(request.path)
        if data is None:
            return Reply(404)
        if mode == "garbage":
            data = b"no blob at all"
        return Reply(200, [], data, cut=len(data) // 2 if mode == "cut" else None, delay=0.1 if mode == "slow" else 0)


BUCKET_KEY = ("key-of-the-bucket", "secret-bucket", "secret-token")  # The key, its secret and its token.


def is_signed(request):
    """Whether a request is signed with the bucket's key, by SigV4."""
    said = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request,\s*SignedHeaders=([a-z0-9;-]+),\s*Signature=(\w{64})",
        request.header("authorization") or "")
    if not said or said[1] != BUCKET_KEY[0] or request.header("x-amz-security-token") != BUCKET_KEY[2]:
        return False
    _, day, region, names, signature = said.groups()
    path, _, query = request.target.partition("?")
    lines = [request.method, path, "&".join(sorted(query.split("&"))), *(
        f"{name}:{request.header(name)}" for name in names.split(";")), "", names, request.header("x-amz-content-sha256") or ""]
    date, scope = request.header("x-amz-date") or "", f"{day}/{region}/s3/aws4_request"
    secret = b"AWS4" + BUCKET_KEY[1].encode()
    for part in scope.split("/"):
        secret = hmac.digest(secret, part.encode(), "sha256")
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, sha256("\n".join(lines).encode())])
    return hmac.digest(secret, text.encode(), "sha256").hex() == signature


CHALLENGES = {"basic": 'Basic realm="pictures"', "digest": 'Digest realm="pictures", nonce="once", qop="auth", algorithm=MD5'}


def answers_challenge(request):
    """Whether a request has the digest of the right password."""
    said = dict(re.findall(r'(\w+)="?([^",]*)"?', (request.header("authorization") or "").removeprefix("Digest ")))

    def digest(*parts):
        return hashlib.md5(":".join(parts).encode()).hexdigest()

    known = (digest("ann", "pictures", "secret-user"), digest("ann", "pictures", "secret-netrc"),
             digest("ann", "pictures", "secret-info"))
    return any(said.get("response") == digest(
        own, "once", said.get("nc", ""), said.get("cnonce", ""), "auth", digest(request.method, request.target)) for own in known)


def context(certificates, mode):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    if mode != "plain":
        made.load_verify_locations(certificates / "ca.pem")
        made.verify_mode = ssl.CERT_OPTIONAL if mode == "optional" else ssl.CERT_REQUIRED
    return made


class Listener:
    """One port of a party. Each connection has a thread."""

    def __init__(self, world, party, host, secure):
        listener = self

        class Connection(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError, ValueError):
                    listener.serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads, allow_reuse_address, request_queue_size, block_on_close = True, True, 256, False

        self.world, self.party, self.host, self.secure = world, party, host, secure
        self.server = Server((host, 0), Connection)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.2,), daemon=True).start()

    def serve(self, connection):
        connection.settimeout(30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        certificate = False
        if self.secure:
            connection = self.world.contexts[self.world.tls].wrap_socket(connection, server_side=True)
            certificate = bool(connection.getpeercert())
        with contextlib.closing(connection), connection.makefile("rb") as reader:
            while request := read_request(reader, self.party, self.secure, certificate):
                reply = self.world.reply(request)
                if reply.delay:
                    time.sleep(reply.delay)
                if reply.resets:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                if not send(connection, request, reply):
                    return


def read_request(reader, party, secure, certificate):
    line = reader.readline().decode("latin-1").split()
    if len(line) != 3:
        return None
    headers = []
    while text := reader.readline().decode("latin-1").strip():
        name, _, value = text.partition(":")
        headers.append((name, value.strip()))
    request = Request(party, line[0], line[1], headers, secure, certificate)
    if length := request.header("content-length"):
        request.body = reader.read(int(length))
    elif (request.header("transfer-encoding") or "") == "chunked":
        while size := int(reader.readline(), 16):
            request.body += reader.read(size)
            reader.readline()
        reader.readline()
    return request


def send(connection, request, reply):
    """Returns whether the connection goes on."""
    head = [f"HTTP/1.1 {reply.status} Said", f"Date: {email.utils.formatdate(usegmt=True)}"]
    head += [f"{name}: {value}" for name, value in reply.headers]
    body = reply.body
    if request.method == "HEAD" or reply.status in (204, 304):
        if request.method == "HEAD":
            head.append(f"Content-Length: {len(body)}")
        connection.sendall(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
        return True
    sent = body if reply.cut is None else body[:reply.cut]
    if reply.framing == "chunked":
        head.append("Transfer-Encoding: chunked")
        parts = [sent[i:i + 1500] for i in range(0, len(sent), 1500)]
        sent = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        sent += b"0\r\n\r\n" if reply.cut is None else b""
    elif reply.framing == "endless":
        head.append("Connection: close")
    else:
        head.append(f"Content-Length: {len(body)}")
    connection.sendall(("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + sent)
    return reply.cut is None and reply.framing != "endless"


def make_certificates(folder):
    """An authority, and what it signed: one certificate for all servers, and that of a client."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *key, "-subj", "/CN=laws", "-keyout", "ca.key", "-out", "ca.pem")
    names = ",".join(f"IP:127.0.0.{number}" for number in range(1, len(PARTIES) + 1))
    for name in ("server", "client"):
        openssl("req", *key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / "extensions").write_text(f"subjectAltName={names}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                "-extfile", "extensions", "-out", f"{name}.pem")
    (folder / "both.pem").write_text((folder / "client.pem").read_text() + (folder / "client.key").read_text())
