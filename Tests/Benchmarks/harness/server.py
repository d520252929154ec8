import re
import socket
import subprocess
import sys
import urllib.request

from .paths import ROOT


class Server:
    """A private nginx over a directory, on a port that is free.

    With `secure` it also listens for HTTP/2 over TLS, with a certificate of its own, and tells how many connections it
    has accepted. It keeps no log then. The certificate is for the addresses `names`, too.
    """

    def __init__(self, root, state, configuration="", secure=False, names=()):
        self.asked = 0
        state.mkdir(parents=True, exist_ok=True)
        if secure:
            self.authority, key = certificate(state, names)
            (port,) = free_ports(1)
            self.secure_address = f"https://127.0.0.1:{port}"
            configuration += f"""
                listen 127.0.0.1:{port} ssl http2 backlog=1024;
                ssl_certificate "{self.authority}";
                ssl_certificate_key "{key}";
                access_log off;
                location = /status {{ stub_status; }}
                """
        if configuration:
            (state / "server.conf").write_text(configuration)
        self.process = subprocess.Popen(
            [ROOT / "Tests/Support/serve.sh", root, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            sys.exit("bench: nginx did not start")

    def accepted(self):
        """The number of connections so far, without those that have asked for it."""
        with urllib.request.urlopen(f"{self.address}/status") as answer:
            count = int(re.search(r"requests\s+(\d+)", answer.read().decode()).group(1))
        self.asked += 1
        return count - self.asked

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def certificate(folder, names=()):
    """A new certificate for 127.0.0.1 and other addresses, signed by itself, and its key."""
    alternatives = ",".join(f"IP:{address}" for address in ("127.0.0.1", *names))
    authority, key = folder / "authority.pem", folder / "key.pem"
    subprocess.run(
        (
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=127.0.0.1", "-addext", f"subjectAltName={alternatives}"),
            *("-keyout", key, "-out", authority),
        ),
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return authority, key


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
