#!/usr/bin/python3
"""A small S3 on a free loopback port that verifies the signature of each request with botocore, until standard input ends.

usage: s3_server.py STATE       STATE/config.json: {"bucket", "region", "keys": {ID: {"secret", "token"}},
                                "checks_bodies", "is_conditional"}; all but the keys may be missing
       s3_server.py --vectors DIRECTORY    checks the canonicalisation against the AWS SigV4 vectors; one line a case

Prints the server's address when it listens. STATE/objects/BUCKET/KEY holds the stored objects, STATE/access.log a line
of method, path, status and S3's error code for each request; the line is written before the answer is sent.
"""

import datetime
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from xml.sax.saxutils import escape

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.compat import HTTPHeaders
from botocore.credentials import Credentials

DATE = "%Y%m%dT%H%M%SZ"
SKEW = datetime.timedelta(minutes=15)
MOST = 1 << 30  # bytes of a body
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request,\s*"
    r"SignedHeaders=([a-z0-9;-]+),\s*Signature=([0-9a-f]{64})"
)


class Refused(Exception):
    def __init__(self, status, code, message, headers=(), detail=""):
        super().__init__(message)
        self.status, self.code, self.headers, self.detail = status, code, headers, detail


def exactly(base):
    """botocore's signer over exactly the headers that the client has signed, `User-Agent` and `Expect` included."""

    class Exactly(base):
        def headers_to_sign(self, request):
            headers = HTTPHeaders()
            for name, value in request.headers.items():
                headers[name.lower()] = value
            return headers

    return Exactly


ForS3, ForOthers = exactly(S3SigV4Auth), exactly(SigV4Auth)


def signed(signer, method, url, headers, date, body=b""):
    """The canonical request, the string to sign and the signature, as botocore makes them."""
    request = AWSRequest(method=method, url=url, data=body)
    for name, value in headers:
        request.headers.add_header(name, value)
    request.context["timestamp"] = date
    canonical = signer.canonical_request(request)
    string = signer.string_to_sign(request, canonical)
    return canonical, string, signer.signature(string, request)


def verify(config, method, target, headers, body):
    """Raises `Refused` unless the request is signed by a known key, for this region, just now, over all that counts."""
    found = AUTHORIZATION.fullmatch(headers.get("Authorization", ""))
    if not found:
        raise Refused(403, "AccessDenied", "Access Denied")
    key, day, region, service, names, signature = found.groups()
    names = names.split(";")
    if key not in config["keys"]:
        raise Refused(403, "InvalidAccessKeyId", "The AWS access key ID does not exist in our records.")
    credentials = config["keys"][key]
    if service != "s3":
        raise Refused(400, "AuthorizationHeaderMalformed", f"incorrect service {service}")
    if region != config["region"]:
        raise Refused(
            301, "PermanentRedirect", "The bucket is in another region.", [("x-amz-bucket-region", config["region"])]
        )
    date = headers.get("x-amz-date", "")
    try:
        age = datetime.datetime.utcnow() - datetime.datetime.strptime(date, DATE)
    except ValueError:
        raise Refused(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header") from None
    if abs(age) > SKEW or not date.startswith(day):
        raise Refused(403, "RequestTimeTooSkewed", "The difference between request time and server time is too large.")
    unsigned = [name for name in map(str.lower, headers) if name.startswith("x-amz-") and name not in names]
    if unsigned or "host" not in names or any(name not in headers for name in names):
        raise Refused(403, "AccessDenied", "There were headers present in the request which were not signed")
    said = headers.get("x-amz-content-sha256")
    if said is None:
        raise Refused(400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
    signer = ForS3(Credentials(key, credentials["secret"]), service, region)
    chosen = [(name, value) for name in names for value in headers.get_all(name)]
    canonical, string, right = signed(signer, method, "http://host" + target, chosen, date)
    if not hmac.compare_digest(signature, right):
        detail = f"<CanonicalRequest>{escape(canonical)}</CanonicalRequest><StringToSign>{escape(string)}</StringToSign>"
        message = "The request signature we calculated does not match the signature you provided."
        raise Refused(403, "SignatureDoesNotMatch", message, detail=detail)
    # S3 calls a wrong or expired token a bad request.
    if headers.get("x-amz-security-token") != credentials.get("token"):
        raise Refused(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
    if config["checks_bodies"] and said != "UNSIGNED-PAYLOAD" and said != hashlib.sha256(body).hexdigest():
        raise Refused(
            400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match the body."
        )


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120  # seconds of silence on a connection

    def answer(self):
        headers, body, code = [], b"", "-"
        try:
            sent = self.received()
            verify(self.server.config, self.command, self.path, self.headers, sent)
            status, headers, body = self.served(sent)
        except Refused as refused:
            status, headers, code = refused.status, [*refused.headers, ("Content-Type", "application/xml")], refused.code
            body = (
                f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{escape(str(refused))}'
                f"</Message>{refused.detail}<Resource>{escape(self.path)}</Resource></Error>"
            ).encode()
        self.server.log(f"{self.command}\t{self.path}\t{status}\t{code}\n")
        lines = [f"HTTP/1.1 {status} {self.responses[status][0]}", f"Content-Length: {len(body)}", "Server: kf-test-s3", f"Date: {self.date_time_string()}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if self.close_connection:
            lines.append("Connection: close")
        # One write: two would wait for each other's acknowledgement.
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + (b"" if self.command == "HEAD" else body))

    do_GET = do_HEAD = do_PUT = do_POST = do_MKCOL = do_OPTIONS = answer

    def log_message(self, *_):
        """Prints nothing: the access log has each request."""

    def received(self):
        if "Transfer-Encoding" in self.headers:
            self.close_connection = True
            raise Refused(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        length = int(self.headers.get("Content-Length") or 0)
        if length > MOST:
            self.close_connection = True
            raise Refused(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
        return self.rfile.read(length) if length else b""

    def served(self, sent):
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        if bucket != self.server.config["bucket"]:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist")
        if not key or key.endswith("/") or {"", ".", ".."} & set(key.split("/")):
            raise Refused(501, "NotImplemented", "A header or key implies functionality that is not implemented.")
        path = self.server.objects / bucket / key
        if self.command == "PUT":
            return self.stored(path, sent)
        if self.command not in ("GET", "HEAD"):
            raise Refused(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        try:
            with open(path, "rb") as file:
                body = file.read()
                changed = os.fstat(file.fileno()).st_mtime
        except OSError:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.") from None
        date = email.utils.formatdate(changed, usegmt=True)
        return 200, [("ETag", tag(body)), ("Last-Modified", date), ("Content-Type", "binary/octet-stream")], body

    def stored(self, path, sent):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.server.objects)
        with open(descriptor, "wb") as file:
            file.write(sent)
        try:
            if self.headers.get("If-None-Match") == "*" and self.server.config["is_conditional"]:
                os.link(name, path)
            else:
                os.replace(name, path)
                return 200, [("ETag", tag(sent))], b""
        except FileExistsError:
            raise Refused(
                412, "PreconditionFailed", "At least one of the preconditions you specified did not hold."
            ) from None
        finally:
            Path(name).unlink(missing_ok=True)
        return 200, [("ETag", tag(sent))], b""


def tag(body):
    return f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def __init__(self, state):
        super().__init__(("127.0.0.1", 0), Handler)
        self.config = {"bucket": "bucket", "region": "us-east-1", "checks_bodies": True, "is_conditional": True}
        self.config |= json.loads((state / "config.json").read_text())
        self.objects = state / "objects"
        self.objects.mkdir(exist_ok=True)
        self.access = os.open(state / "access.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log(self, line):
        os.write(self.access, line.encode())

    def handle_error(self, request, client_address):
        """Reports what is no client's early end."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def serve(state):
    server = Server(state)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()
    # Threads in the middle of an answer are not waited for.
    os._exit(0)


def check_vectors(directory):
    """Compares what botocore makes of each request with what AWS says. Exits with 1 when one differs."""
    wrong = 0
    for case in sorted(path.parent for path in directory.glob("*/context.json")):
        context = json.loads((case / "context.json").read_text())
        head, _, body = (case / "request.txt").read_text().partition("\n\n")
        line, *fields = head.rstrip("\n").split("\n")
        method, target = re.fullmatch(r"(\S+) (.*) HTTP/1\.1", line).groups()
        headers = []
        for field in fields:
            if field[:1].isspace():  # a folded line goes on with the value before
                headers[-1] = (headers[-1][0], f"{headers[-1][1]} {field.strip()}")
            else:
                name, _, value = field.partition(":")
                headers.append((name, value))
        date = context["timestamp"].replace("-", "").replace(":", "")
        credentials = context["credentials"]
        headers.append(("X-Amz-Date", date))
        if "token" in credentials and not context.get("omit_session_token"):
            headers.append(("X-Amz-Security-Token", credentials["token"]))
        if context["sign_body"]:
            headers.append(("X-Amz-Content-SHA256", hashlib.sha256(body.encode()).hexdigest()))
        signer = (ForOthers if context["normalize"] else ForS3)(
            Credentials(credentials["access_key_id"], credentials["secret_access_key"]),
            context["service"],
            context["region"],
        )
        # Other signers than S3's encode the path themselves.
        path, mark, query = target.partition("?")
        target = (path if context["normalize"] else quote(path)) + mark + quote(query, safe="%=&-_.~")
        made = signed(signer, method, "http://example.amazonaws.com" + target, headers, date, body.encode())
        parts = ("canonical-request", "string-to-sign", "signature")
        differing = [
            part for part, is_ in zip(parts, made) if is_ != (case / f"header-{part}.txt").read_text().strip()
        ]
        wrong += bool(differing)
        print(f"{case.name}: {'differs in ' + differing[0] if differing else 'right'}")
        if differing and "-v" in sys.argv:
            print(made[0], (case / "header-canonical-request.txt").read_text(), sep="\n---\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    if sys.argv[1] == "--vectors":
        check_vectors(Path(sys.argv[2]))
    serve(Path(sys.argv[1]))
