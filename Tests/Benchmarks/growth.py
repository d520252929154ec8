#!/usr/bin/env python3
"""Runs faulty transfers through one engine in one process, and shows that it holds no more at the end than early on.

usage: growth.py [COUNT]    100,000 unless told otherwise

Descriptors, threads and resident memory are printed after 10 %, 50 % and 100 %. Fails when the last has grown past the
first: more than 8 descriptors, 4 threads or a quarter of the memory (and 2 MiB).
"""
import asyncio
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

import engine

HEAD = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    b"/reset": (HEAD + b"Content-Length: 100\r\n\r\nabc", "reset"),
    b"/cut": (HEAD + b"Content-Length: 100\r\n\r\nabc", "close"),
    b"/chunk": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "close"),
    b"/lengths": (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\na", "close"),
    b"/nul": (HEAD + b"X: a\0b\r\nContent-Length: 1\r\n\r\na", "close"),
    b"/old": (b"no head at all\n", "close"),
    b"/empty": (b"", "close"),
    b"/many": (HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(400)) + b"\r\n", "close"),
    b"/encoded": (HEAD + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "keep"),
    b"/missing": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", "keep"),
    b"/loop": (b"HTTP/1.1 302 Found\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n", "keep"),
    b"/file": (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", "keep"),
    b"/hold": (b"", "hold"),
    b"/good": (HEAD + b"Content-Length: 5\r\n\r\nhello", "keep"),
}


async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            answer, then = ANSWERS[head.split(b" ", 2)[1]]
            writer.write(answer)
            if then == "hold":
                await reader.read()
            if then == "reset":
                await writer.drain()
                linger = b"\1\0\0\0\0\0\0\0"
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if then != "keep":
                return
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def run(binary, count, nginx):
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    address = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
    urls = [address + path.decode() for path in ANSWERS]
    refusing = engine.free_ports(1)[0]
    # The certificate of this nginx is signed by nobody.
    urls += [f"http://127.0.0.1:{refusing}/", f"http://localhost:{refusing}/", nginx.secure_url("/")]
    process = await asyncio.create_subprocess_exec(binary, str(count), *urls, stdout=subprocess.PIPE)
    marks = []
    async for line in process.stdout:
        text = line.decode().strip()
        print(text, flush=True)
        if text.startswith("at "):
            marks.append([int(word) for word in re.findall(r"\d+", text)[1:]])
    status = await process.wait()
    server.close()
    return status, marks


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    binary = engine.build("growth", "growth")
    with tempfile.TemporaryDirectory(prefix="kf-growth-") as scratch, engine.Nginx(pathlib.Path(scratch)) as nginx:
        status, marks = asyncio.run(run(binary, count, nginx))
    if status != 0 or len(marks) != 3:
        sys.exit(f"growth: ended with {status} after {len(marks)} reports")
    first, _, last = marks
    limits = (first[0] + 8, first[1] + 4, max(first[2] * 5 // 4, first[2] + 2048))
    for name, value, limit in zip(("descriptors", "threads", "KiB"), last, limits):
        if value > limit:
            sys.exit(f"growth: {value} {name} at the end, more than {limit}")
    print("flat")


if __name__ == "__main__":
    main()
