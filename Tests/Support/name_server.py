#!/usr/bin/python3
"""A name server on 127.0.0.0/8 whose names say how it answers, until standard input ends.

usage: name_server.py ADDRESS[:PORT] LOG [DELAY]      port 53 and no delay (milliseconds) unless given

Prints its address when it listens. Every name has one IPv4 address in 127.0.0.0/8, made from its hash, and no IPv6
address. The first label can change that:

    nx…          NXDOMAIN
    fail…        SERVFAIL
    flakyN-…     SERVFAIL for the first N questions about the IPv4 address, then an address
    silent…      no answer
    slowN-…      an answer after N milliseconds more

LOG gets one line per question before it is answered: type (A, AAAA or its number) and name.
"""

import hashlib
import heapq
import os
import re
import select
import socket
import struct
import sys
import time

NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
A, AAAA = 1, 28
TTL = 300  # seconds; libc does not pass it on
BUFFER = 4 << 20  # bytes of questions that wait for an answer
HEADER = struct.Struct("!6H")


def address(name):
    """The IPv4 address of a name: 127.16.0.1 to 127.239.255.254, apart from the addresses that servers take."""
    digest = hashlib.sha256(name.encode()).digest()
    return bytes((127, 16 + digest[0] % 224, digest[1], 1 + digest[2] % 254))


def question(packet):
    """The name and type of the packet's question, and the question's bytes."""
    labels, at = [], HEADER.size
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]])
        at += 1 + packet[at]
    (kind,) = struct.unpack_from("!H", packet, at + 1)
    return b".".join(labels).decode("ascii", "replace").lower(), kind, packet[HEADER.size : at + 5]


class Answers:
    def __init__(self):
        self.asked = {}

    def of(self, name, kind):
        """The status, the address and the delay in milliseconds; None for no answer."""
        behaviour = re.match(r"(nx|fail|silent)|(?:(flaky|slow)(\d+)-)", name)
        word, number = (behaviour.group(1) or behaviour.group(2), behaviour.group(3)) if behaviour else (None, None)
        if word == "silent":
            return None
        if word == "nx":
            return NXDOMAIN, b"", 0
        if word == "fail":
            return SERVFAIL, b"", 0
        if word == "flaky":
            # libc asks for both addresses at once; both fail together.
            count = self.asked.get(name, 0) + (kind == A)
            self.asked[name] = count
            if count <= int(number):
                return SERVFAIL, b"", 0
        return NOERROR, address(name) if kind == A else b"", int(number) if word == "slow" else 0


def reply(packet, asked, status, found):
    (number, flags, *_) = HEADER.unpack_from(packet)
    # A response (QR), recursion as desired, recursion available.
    head = HEADER.pack(number, 0x8080 | flags & 0x0100 | status, 1, 1 if found else 0, 0, 0)
    # The answer's name is a pointer to the question's.
    record = struct.pack("!HHHIH", 0xC00C, A, 1, TTL, len(found)) + found if found else b""
    return head + asked + record


def serve(listener, log, delay):
    answers = Answers()
    waiting = []  # (time, order, packet, peer)
    order = 0
    while True:
        timeout = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        ready, _, _ = select.select([listener, sys.stdin], [], [], timeout)
        if sys.stdin in ready and not os.read(0, 4096):
            return
        lines = []
        while listener in ready and len(lines) < 256:
            try:
                packet, peer = listener.recvfrom(4096)
            except BlockingIOError:
                break
            try:
                name, kind, asked = question(packet)
            except (IndexError, struct.error):
                continue
            lines.append(f"{ {A: 'A', AAAA: 'AAAA'}.get(kind, kind) } {name}\n")
            answer = answers.of(name, kind)
            if answer:
                status, found, more = answer
                order += 1
                due = time.monotonic() + (delay + more) / 1000
                heapq.heappush(waiting, (due, order, reply(packet, asked, status, found), peer))
        os.write(log, "".join(lines).encode())
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, packet, peer = heapq.heappop(waiting)
            try:
                listener.sendto(packet, peer)
            except BlockingIOError:
                pass  # libc asks again


def main():
    host, _, port = sys.argv[1].partition(":")
    log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    delay = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    try:
        listener.bind((host, int(port or 53)))
    except OSError as error:
        sys.exit(f"name_server: {host}: {error.strerror}")
    listener.setblocking(False)
    print(host, flush=True)
    serve(listener, log, delay)


if __name__ == "__main__":
    main()
