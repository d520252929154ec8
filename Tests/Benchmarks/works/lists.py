"""Lists of images, and the servers that have them."""

import contextlib

from harness import inputs
from harness.server import Server

IMAGES = 5000


class Lists:
    """The same addresses for programs that read lines, and for curl."""

    def __init__(self, scratch, name, urls, authority=None):
        self.lines = scratch / f"{name}.txt"
        self.curl = scratch / f"{name}.conf"
        self.count = len(urls)
        self.authority = authority  # the certificate to trust, for HTTPS
        self.lines.write_text("".join(url + "\n" for url in urls))
        self.curl.write_text("".join(f'url = "{url}"\n' for url in urls))


class Small:
    """A server of 5,000 small images, over HTTP/1.1 and over HTTP/2 with TLS."""

    def __init__(self, bench, server):
        self.scratch = bench.scratch
        self.server = server

    def lists(self, count=IMAGES, secure=False):
        address = self.server.secure_address if secure else self.server.address
        name = f"list-{count}-{'https' if secure else 'http'}"
        authority = self.server.authority if secure else None
        return Lists(self.scratch, name, [f"{address}/{index}.png" for index in range(count)], authority)


@contextlib.contextmanager
def small(bench):
    images = bench.scratch / "small"
    if not images.exists():
        images.mkdir()
        inputs.small_images(images, IMAGES)
    server = Server(images, bench.scratch / "nginx-small", secure=True)
    with server:
        yield Small(bench, server)


class Endless:
    """A server that has as many different images as one asks for, `blocks` quarters of a kilobyte each.

    nginx fills the address into a GIF's comment, so that each has bytes of its own and none lies on the disk.
    """

    CONFIGURATION = """
        location / { try_files /image.gif =404; sub_filter_types *; sub_filter XXXXXXXXXXXXXXXXXXXXX $request_uri; }
        """

    def __init__(self, bench, blocks=40):
        folder = bench.empty("endless")
        (folder / "image.gif").write_bytes(
            b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff"
            + b"\x21\xfe\x15"
            + b"X" * 21
            + b"\0"
            + (b"\x21\xfe" + (b"\xff" + b"." * 255) * blocks + b"\0")
            + b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
        )
        self.server = Server(folder, bench.scratch / "nginx-endless", self.CONFIGURATION)
        self.scratch = bench.scratch

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *reason):
        self.server.__exit__(*reason)

    def url(self, number):
        return f"{self.server.address}/{number:016}.gif"

    def lists(self, name, count):
        return Lists(self.scratch, name, [self.url(number) for number in range(count)])

    def list(self, length):
        path = self.scratch / f"list-{length}.txt"
        if not path.exists():
            with path.open("w") as file:
                file.writelines(f"{self.url(number)}\n" for number in range(length))
        return path
