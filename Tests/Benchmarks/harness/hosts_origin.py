#!/usr/bin/python3
"""Serves images at many loopback addresses, which are hosts of different kinds, until standard input ends.

usage: hosts_origin.py DIRECTORY [SECURE_PORT]

The third number of an address says what its host does: 1 answers after 30 ms, 2 after 500 ms, 3 never, and 4 after
30 ms, but with 429 to what nginx would refuse under `limit_req rate=50r/s burst=20 nodelay`. Every path has an image:
the number at the end of its name, modulo the number of files. With SECURE_PORT, a second port passes bytes to that port
of 127.0.0.1 and back, 15 ms late in each direction, so that handshakes wait, too.

Prints both ports. For each line of standard input it prints the number of requests at each address since the last one,
as JSON.
"""

import asyncio
import collections
import json
import os
import re
import sys
import threading
from pathlib import Path

HEAD = b"HTTP/1.1 %s\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n"
DELAYS = {"1": 0.03, "2": 0.5, "4": 0.03}
RATE, BURST = 50, 20
NUMBER = re.compile(rb"(\d+)\.png$")

counts = collections.Counter()


class Limit:
    """nginx's bucket: it leaks `RATE` requests a second and holds `BURST`."""

    def __init__(self):
        self.excess, self.last = 0, None

    def allows(self, now):
        excess = 0 if self.last is None else max(0, self.excess - RATE * (now - self.last) + 1)
        if excess > BURST:
            return False
        self.excess, self.last = excess, now
        return True


class Connection(asyncio.Protocol):
    limits = collections.defaultdict(Limit)

    def __init__(self, contents):
        self.contents, self.received = contents, b""

    def connection_made(self, transport):
        self.transport, self.loop = transport, asyncio.get_running_loop()
        self.address = transport.get_extra_info("sockname")[0]
        self.kind = self.address.split(".")[2]

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            counts[self.address] += 1
            if self.kind in DELAYS:
                self.loop.call_later(DELAYS[self.kind], self.transport.write, self.answer(head))

    def answer(self, head):
        if self.kind == "4" and not self.limits[self.address].allows(self.loop.time()):
            return HEAD % (b"429 Too Many Requests", 0)
        number = NUMBER.search(head.split(b" ", 2)[1])
        body = self.contents[int(number.group(1)) % len(self.contents)] if number else b""
        return HEAD % (b"200 OK", len(body)) + body


class Relay(asyncio.Protocol):
    """One end of a connection that is passed on."""

    LATE = 0.015

    def __init__(self, port=None, peer=None):
        self.port, self.peer, self.early = port, peer, []

    def connection_made(self, transport):
        self.transport, self.loop = transport, asyncio.get_running_loop()
        if self.peer is None:
            self.loop.create_task(self.connect())
        else:
            self.peer.peer = self
            for data in self.peer.early:
                self.peer.data_received(data)

    async def connect(self):
        await self.loop.create_connection(lambda: Relay(peer=self), "127.0.0.1", self.port)

    def data_received(self, data):
        if self.peer is None:
            self.early.append(data)
        else:
            self.loop.call_later(self.LATE, self.peer.transport.write, data)

    def connection_lost(self, _):
        if self.peer is not None:
            self.loop.call_later(self.LATE, self.peer.transport.close)


async def serve(directory, port):
    paths = sorted(directory.iterdir(), key=lambda path: int(path.stem))
    contents = [path.read_bytes() for path in paths]
    loop = asyncio.get_running_loop()
    plain = await loop.create_server(lambda: Connection(contents), "0.0.0.0", 0, backlog=4096)
    relay = await loop.create_server(lambda: Relay(port), "0.0.0.0", 0, backlog=4096)
    print(*(server.sockets[0].getsockname()[1] for server in (plain, relay)), flush=True)
    await plain.serve_forever()


def tell_counts():
    for _ in sys.stdin:
        print(json.dumps(counts), flush=True)
        counts.clear()
    os._exit(0)


threading.Thread(target=tell_counts, daemon=True).start()
asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
