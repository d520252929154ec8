#!/usr/bin/python3
"""A TLS server on a free loopback port that fails as it is told, on each connection anew, until standard input ends.

usage: tls_server.py FAULT CERTIFICATE KEY AUTHORITY LOG BODY

LOG gets a line for each connection before its fault. The faults in place of a handshake: `plain` answers 400 without
TLS, `eof` closes, `reset` resets, `hold` waits, `alert-N` sends a fatal alert. Faults of the terms: `tls-1.1` speaks no
newer version; `client-1.2`, `client-1.3` and `client-h2` demand a certificate that AUTHORITY signed, the last with HTTP/2. Faults of the file BODY: `cut`
ends it in its midst without a close_notify, `cut-closed` with one, `cut-reset` with RST; `endless` and `endless-cut` announce
no length and send no close_notify, after the whole body and within it. `redirect` leads to the URL that BODY holds,
`serve` is without a fault, both over HTTP/1.1. Prints the server's address when it listens.
"""

import socket
import socketserver
import ssl
import struct
import sys
import threading
from pathlib import Path

fault, certificate, key, authority, log, body = sys.argv[1:]
body = Path(body).read_bytes()
lock = threading.Lock()

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
if fault == "tls-1.1":
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
if fault.startswith("client-"):
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = ssl.TLSVersion.TLSv1_2 if fault.endswith("1.2") else ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"] if fault.endswith("h2") else [])


class Connection(socketserver.BaseRequestHandler):
    def handle(self):
        with lock, open(log, "a") as file:
            file.write("GET\t/\t0\n")
        try:
            with self.request.dup() as connection:
                self.fail(connection)
        except OSError:
            pass  # The client may end a connection at any time.

    def fail(self, connection):
        secure = None
        try:
            if not self.ends_handshake(connection):
                secure = context.wrap_socket(self.request, server_side=True)
                self.answer(secure)
        except ssl.SSLError:
            pass  # The alert has been sent.
        if fault.endswith("reset"):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            (secure or self.request).close()
            return
        if fault != "hold":
            connection.shutdown(socket.SHUT_WR)
        # Bytes that nobody has read would make the end a reset, which can overtake an alert.
        while connection.recv(1 << 16):
            pass

    def ends_handshake(self, connection):
        kind, _, number = fault.partition("-")
        if kind not in ("plain", "eof", "reset", "hold", "alert"):
            return False
        head = connection.recv(5, socket.MSG_WAITALL)
        connection.recv(int.from_bytes(head[3:], "big"), socket.MSG_WAITALL)
        if kind == "plain":
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        elif kind == "alert":
            connection.sendall(bytes([21, 3, 3, 0, 2, 2, int(number)]))
        return True

    def answer(self, secure):
        with secure.makefile("rb") as reader:
            while reader.readline().strip():
                pass
        if fault == "redirect":
            secure.sendall(b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: " + body + b"\r\n\r\n")
            return
        length = b"" if fault.startswith("endless") else b"Content-Length: %d\r\n" % len(body)
        part = body if fault in ("serve", "endless") else body[: len(body) // 2]
        secure.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + length + b"\r\n" + part)
        if fault in ("serve", "cut-closed"):
            secure.unwrap()


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


with Server(("127.0.0.1", 0), Connection) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"https://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
