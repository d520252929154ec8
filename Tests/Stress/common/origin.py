import os
import struct
import zlib

from harness.server import Server

from .trial import sha256


def png(side, generator):
    """A square of noise: nothing about it can be compressed, and no two are alike."""
    rows = b"".join(b"\0" + generator.randbytes(side * 3) for _ in range(side))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


class Origin:
    """Images behind a private nginx, and the digest of every version that each URL has ever had.

    It is asked as a proxy: the keys, and with them every byte of an index, do not depend on its port.
    """

    ADDRESS = "http://origin.test"

    def __init__(self, scratch, generator, count, smallest=20, largest=140):
        self.generator = generator
        self.folder = scratch / "images"
        self.folder.mkdir()
        self.smallest, self.largest = smallest, largest
        self.digests = []
        self.sizes = []
        self.ever = []
        for index in range(count):
            self.digests.append(None)
            self.sizes.append(0)
            self.ever.append(set())
            self.replace(index)
        self.server = Server(self.folder, scratch / "nginx")

    def __enter__(self):
        self.proxy = self.server.__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def __len__(self):
        return len(self.digests)

    @property
    def indexes(self):
        return range(len(self.digests))

    def url(self, index):
        return f"{self.ADDRESS}/{index}.png"

    def index(self, url):
        return int(url.rsplit("/", 1)[1].split(".")[0])

    def replace(self, index):
        """Gives a URL another image, at once."""
        data = png(self.generator.randint(self.smallest, self.largest), self.generator)
        new = self.folder / f"{index}.new"
        new.write_bytes(data)
        # Known before it is served: whoever gets it meanwhile has got no wrong image.
        self.ever[index].add(sha256(data))
        os.replace(new, self.folder / f"{index}.png")
        self.digests[index] = sha256(data)
        self.sizes[index] = len(data)
