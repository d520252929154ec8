"""One large response."""

import os
import shlex
import struct
import zlib

from harness.filesystem import Tmpfs
from harness.measure import Side, alternate
from harness.peers import find
from harness.result import Result
from harness.server import Server
from .bench import Folders

SIDE = 8192
ROWS_A_PIECE = 64


def large_body(bench):
    """A PNG of 200 MB over HTTP/1.1, fetched into a cache and into a file."""
    folder = bench.empty("large-body")
    write_png(folder / "large.png")
    size = (folder / "large.png").stat().st_size
    with Server(folder, bench.scratch / "nginx-large") as address, Tmpfs(bench.scratch) as system:
        url = f"{address}/large.png"
        folders = Folders(system)

        def fetch(*options):
            return (bench.kf, "fetch", "-q", "--cache-dir", folders.new("kf"), *options, url)

        def curl():
            return (find("curl"), "-s", "-o", folders.made("curl") / "large.png", url)

        def check(name):
            def look():
                held = max(file.stat().st_size for file in folders.last[name].rglob("*.png"))
                if held != size:
                    raise SystemExit(f"bench: {name} stored {held} of {size} bytes")
                return f"{held / 1e6:.0f} MB"

            return look

        sides = [
            Side("kf fetch", fetch, "kf", "checks the image's structure, names it by its SHA-256", check("kf")),
            Side("curl -o", curl, check=check("curl")),
            Side(
                "curl -o, then sha256sum",
                lambda: in_turn(command := curl(), ("sha256sum", command[3])),
                "note",
                check=check("curl"),
            ),
        ]
        alternate(sides, bench.rounds, bench.environment, after=folders.discard)
        rates = ", ".join(f"{side.name} {size / 1e3 / side.median():,.0f} MB/s" for side in sides)
        ours, theirs = sides[0], sides[1]
    result = Result(
        "prefetch-large",
        f"fetch of one body of {size / 1e6:.0f} MB over loopback",
        system.name if system.fresh else "",
        sides,
    )
    result.facts = {
        "throughput": rates,
        "kf / curl": f"throughput × {1 / result.ratio(theirs):.2f},"
        f" memory × {ours.median('memory') / theirs.median('memory'):.2f}",
    }
    return [result]


def in_turn(*commands):
    """One shell that runs the commands, each when the one before has succeeded."""
    return ("sh", "-c", " && ".join(shlex.join(map(str, command)) for command in commands))


def write_png(path):
    """Noise, stored without compression, so that the file is as large as its pixels."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    stream = zlib.compressobj(0)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)))
        for _ in range(SIDE // ROWS_A_PIECE):
            rows = b"".join(b"\0" + os.urandom(3 * SIDE) for _ in range(ROWS_A_PIECE))
            file.write(chunk(b"IDAT", stream.compress(rows)))
        file.write(chunk(b"IDAT", stream.flush()) + chunk(b"IEND", b""))
