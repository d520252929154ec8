#!/usr/bin/python3
"""Serves the files of a directory on a free loopback port, each answer some milliseconds late, until standard input ends.

usage: slow_origin.py DIRECTORY MILLISECONDS

Prints its address. All files are read into memory first. A thousand requests can wait at once at no cost, so that the
latency alone makes this origin slower than nginx.
"""

import asyncio
import os
import sys
import threading
from pathlib import Path

HEAD = b"HTTP/1.1 %s\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n"


class Connection(asyncio.Protocol):
    def __init__(self, contents, seconds):
        self.contents, self.seconds, self.received = contents, seconds, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            body = self.contents.get(head.split(b" ", 2)[1])
            answer = HEAD % (b"404 Not Found", 0) if body is None else HEAD % (b"200 OK", len(body)) + body
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, answer)


async def serve(directory, seconds):
    contents = {b"/" + path.name.encode(): path.read_bytes() for path in directory.iterdir()}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(contents, seconds), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def wait_for_the_end():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=wait_for_the_end, daemon=True).start()
asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]) / 1000))
