"""The pictures that the world serves: small, and of another colour under each label, so that bytes and pixels tell their source."""
import functools
import hashlib
import random
import struct
import subprocess
import zlib
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "Fixtures"
WIDTH, HEIGHT = 48, 32
LARGE = 480  # Pixels a side of a picture that is kept as a partial download when its transfer breaks off.


@functools.lru_cache(1024)
def sha256(data):
    return hashlib.sha256(data).hexdigest()


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def colours(label):
    return zlib.crc32(label.encode()).to_bytes(4, "big")


def rows(label, channels, step=0):
    """A gradient over the label's colour; the alpha is a gradient, too."""
    red, green, blue, _ = colours(label)
    for y in range(HEIGHT):
        line = bytearray(b"\0")
        for x in range(WIDTH):
            pixel = ((red + x + step) & 255, (green + 2 * y) & 255, (blue + x * y) & 255, min(255, 5 * x))
            line += bytes(pixel[:channels])
        yield bytes(line)


def png(label, channels=3, frames=1):
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2 if channels == 3 else 6, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head)]
    if frames > 1:
        parts.append(chunk(b"acTL", struct.pack(">II", frames, 0)))
    number = 0
    for frame in range(frames):
        body = zlib.compress(b"".join(rows(label, channels, 40 * frame)))
        if frames > 1:
            parts.append(chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, WIDTH, HEIGHT, 0, 0, 1, 10, 0, 0)))
            number += 1
        if frame == 0:
            parts.append(chunk(b"IDAT", body))
        else:
            parts.append(chunk(b"fdAT", struct.pack(">I", number) + body))
            number += 1
    return b"".join(parts) + chunk(b"IEND", b"")


def large(label):
    noise = random.Random(label).randbytes(3 * LARGE * LARGE)
    body = b"".join(b"\0" + noise[i:i + 3 * LARGE] for i in range(0, len(noise), 3 * LARGE))
    head = struct.pack(">IIBBBBB", LARGE, LARGE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(body, 1)) + chunk(b"IEND", b"")


def gif(label, frames=3):
    """An animation whose codes are never wider than nine bits: a clear code every 250 pixels."""
    red, green, blue, _ = colours(label)
    table = b"".join(bytes(((red + i) & 255, (green + 3 * i) & 255, (blue + 5 * i) & 255)) for i in range(256))
    parts = [b"GIF89a" + struct.pack("<HHBBB", WIDTH, HEIGHT, 0xF7, 0, 0) + table,
             b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"]
    for frame in range(frames):
        bits = length = 0
        for i in range(WIDTH * HEIGHT):
            if i % 250 == 0:
                bits |= 256 << length
                length += 9
            bits |= ((i % WIDTH) + 60 * frame) % 256 << length
            length += 9
        bits |= 257 << length
        codes = bits.to_bytes((length + 16) // 8, "little")
        blocks = b"".join(bytes([len(codes[i:i + 255])]) + codes[i:i + 255] for i in range(0, len(codes), 255))
        parts.append(b"\x21\xf9\x04\x04\x0a\x00\x00\x00" + b"\x2c" + struct.pack("<HHHHB", 0, 0, WIDTH, HEIGHT, 0)
                     + b"\x08" + blocks + b"\0")
    return b"".join(parts) + b";"


def boundary(data):
    """The end of the last whole part of a file: of a GIF before its last frame, of others before their last bytes."""
    if data.startswith(b"GIF"):
        return data.rindex(b"\x21\xf9\x04\x04")
    if data.startswith(b"\x89PNG"):
        return len(data) - 12
    return len(data) - 2


EXTENSIONS = {"png": "png", "large": "png", "alpha": "png", "apng": "png", "jpeg": "jpg", "cmyk": "jpg", "gif": "gif", "webp": "webp",
              "avif": "avif", "svg": "svg", "html": "png", "damaged": "png", "broken-pixels": "png"}
TYPES = {"jpg": "image/jpeg", "svg": "image/svg+xml"}
# What no run may deliver, and what kf stores as it is.
NO_IMAGES = {"html", "damaged"}


class Pictures:
    """Makes each picture once. The formats that need an encoder are made by kf, of a PNG."""

    def __init__(self, kf, folder):
        self.kf, self.folder = kf, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.made = {}
        self.labels = {}

    def get(self, kind, label):
        if (kind, label) not in self.made:
            data = self.make(kind, label)
            self.made[kind, label] = data
            self.labels.setdefault(sha256(data), label)
        return self.made[kind, label]

    def label(self, digest):
        return self.labels.get(digest)

    def make(self, kind, label):
        if kind == "large":
            return large(label)
        if kind == "gif":
            return gif(label)
        if kind == "apng":
            return png(label, frames=2)
        if kind == "alpha":
            return png(label, channels=4)
        if kind == "cmyk":
            data = (FIXTURES / "jpeg/cmyk.jpg").read_bytes()
            return data[:2] + b"\xff\xfe" + struct.pack(">H", len(label) + 2) + label.encode() + data[2:]
        if kind == "svg":
            colour = colours(label)[:3].hex()
            return f'<svg xmlns="http://www.w3.org/2000/svg" width="48" height="32" fill="#{colour}"/>'.encode()
        if kind == "html":
            return f"<!DOCTYPE html><title>{label}</title><p>No image here.".encode()
        if kind == "damaged":
            data = bytearray(png(label))
            data[-20] ^= 0xFF
            return bytes(data)
        if kind == "broken-pixels":  # Its checksums are right, its rows are too few: only a full decode notices.
            head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
            body = zlib.compress(b"".join(list(rows(label, 3))[:5]))
            return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
        if kind == "png":
            return png(label)
        source, made = self.folder / "plain.png", self.folder / f"made.{EXTENSIONS[kind]}"
        source.write_bytes(png(label))
        subprocess.run(
            [self.kf, "fetch", source, "-q", "-f", kind, "--speed", "10", "-o", made], check=True,
            env={"HOME": str(self.folder), "KF_CACHE_DIR": str(self.folder / "cache"), "PATH": "/usr/bin:/bin"})
        return made.read_bytes()
