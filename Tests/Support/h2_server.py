#!/usr/bin/python3
"""An HTTP/2 server over TLS on a free loopback port that treats each request as a script says, until standard input ends.

usage: h2_server.py CERTIFICATE KEY LOG BODY STEP...

Each request takes the next STEP, and the last one repeats: `serve` answers 200 with the file BODY, `refuse` resets the
stream with REFUSED_STREAM, `http1` with HTTP_1_1_REQUIRED, `goaway` says with GOAWAY that the stream was not processed and closes the connection,
`close` closes it without a frame. LOG gets a line of method, path and status for each request before its answer; the
path is always / and the status 0 without a response. A request of HTTP/1 is always served. Prints the server's address when it listens.
"""

import socketserver
import ssl
import struct
import sys
import threading
from pathlib import Path

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
REFUSED_STREAM, HTTP_1_1_REQUIRED = 7, 13
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

certificate, key, log, body, *steps = sys.argv[1:]
body = Path(body).read_bytes()
lock = threading.Lock()


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def next_step(step=None):
    with lock:
        step = step or (steps.pop(0) if len(steps) > 1 else steps[0])
        with open(log, "a") as file:
            file.write(f"GET\t/\t{200 if step == 'serve' else 0}\n")
    return step


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            self.request.do_handshake()
            self.serve()
        except (OSError, EOFError):
            pass  # The client may end a connection at any time.

    def read(self, size):
        data = self.rfile.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def serve(self):
        if self.read(len(PREFACE)) != PREFACE:
            while self.rfile.readline().strip():
                pass
            next_step("serve")
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            return
        self.wfile.write(frame(SETTINGS, 0, 0))
        served = 0
        while True:
            head = self.read(9)
            kind, flags, stream = head[3], head[4], struct.unpack(">I", head[5:])[0] & 0x7FFFFFFF
            payload = self.read(int.from_bytes(head[:3], "big"))
            if kind in (SETTINGS, PING) and not flags & ACK:
                self.wfile.write(frame(kind, ACK, 0, payload if kind == PING else b""))
            if kind != HEADERS:
                continue
            match next_step():
                case "serve":
                    served = stream
                    # 0x88 is ":status: 200" of HPACK's static table.
                    self.wfile.write(frame(HEADERS, END_HEADERS, stream, b"\x88") + frame(DATA, END_STREAM, stream, body))
                case "refuse" | "http1" as step:
                    code = REFUSED_STREAM if step == "refuse" else HTTP_1_1_REQUIRED
                    self.wfile.write(frame(RST_STREAM, 0, stream, struct.pack(">I", code)))
                case "goaway":
                    self.wfile.write(frame(GOAWAY, 0, 0, struct.pack(">II", served, 0)))
                    return
                case "close":
                    return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.set_alpn_protocols(["h2"])
with Server(("127.0.0.1", 0), Connection) as server:
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"https://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
