"""Photographs to work on, made once from the few that are there and kept under .build."""

import random
import shutil
import subprocess

from .paths import KEPT, ROOT, corpora
from .peers import find

PHOTOGRAPHS = 200
SMALLEST, LARGEST = 0.3, 4.5  # megapixels
LARGE_WIDTH, LARGE_HEIGHT = 6000, 4000


def originals():
    """Large pictures to cut from, and the words for where they come from."""
    from PIL import Image

    folder = corpora()
    files = sorted(folder.glob("*/*.jp*g")) + sorted(folder.glob("*/*.png")) if folder else []
    images = [Image.open(file) for file in files if file.stat().st_size > 300_000]
    if not images:
        # Drawn, with grain laid on top: a smooth picture would decode faster than any photograph.
        images = [grained(Image.open(ROOT / f"Fixtures/jpeg/landscape-{kind}.jpg")) for kind in ("420", "444")]
        return images, "made from the fixtures"
    return [image.convert("RGB") for image in images], f"cut from {len(images)} photographs"


def grained(image):
    from PIL import Image

    image = image.convert("RGB").resize((3000, 2000))
    grain = Image.effect_noise(image.size, 24).convert("RGB")
    return Image.blend(image, grain, 0.2)


def photographs():
    """200 baseline JPEGs of 0.3 to 4.5 megapixels."""
    from PIL import Image

    folder = KEPT / f"photographs-baseline-{'corpora' if corpora() else 'fixtures'}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        sources, _ = originals()
        generator = random.Random(1)
        for index in range(PHOTOGRAPHS):
            # Evenly spread, in mixed order.
            pixels = SMALLEST + (LARGEST - SMALLEST) * (index * 37 % PHOTOGRAPHS) / (PHOTOGRAPHS - 1)
            shape = generator.choice((1.5, 4 / 3, 1, 0.75, 2 / 3))
            width = round((pixels * 1e6 * shape) ** 0.5)
            height = round((pixels * 1e6 / shape) ** 0.5)
            source = sources[index % len(sources)]
            part = generator.uniform(0.6, 1) * min(source.width / width, source.height / height)
            across, down = width * part, height * part
            left = generator.uniform(0, source.width - across)
            top = generator.uniform(0, source.height - down)
            image = source.resize((width, height), Image.Resampling.BICUBIC, (left, top, left + across, top + down))
            image.save(folder / f"{index:03}.jpg", quality=generator.randrange(80, 93))
        (folder / "made").touch()
    return sorted(folder.glob("*.jpg"))


def numbered(photos, folder, count, smallest, largest):
    """So many JPEGs of that many bytes: the photographs over and over, each with its number in a comment."""
    fitting = [photo.read_bytes() for photo in photos if smallest <= photo.stat().st_size <= largest]
    for index in range(count):
        data, comment = fitting[index % len(fitting)], str(index).encode()
        segment = b"\xff\xfe" + (2 + len(comment)).to_bytes(2, "big") + comment
        (folder / f"{index}.jpg").write_bytes(data[:2] + segment + data[2:])


def picture(width, height, name):
    """One baseline JPEG of that size, from the largest original."""
    from PIL import Image

    file = KEPT / f"{name}-{'corpora' if corpora() else 'fixtures'}.jpg"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        sources, _ = originals()
        source = max(sources, key=lambda image: image.width * image.height)
        part = min(source.width / width, source.height / height)
        box = (0, 0, width * part, height * part)
        unready = file.with_suffix(".part")
        source.resize((width, height), Image.Resampling.BICUBIC, box).save(unready, "jpeg", quality=85)
        unready.rename(file)
    return file


def avif(width, height, name):
    """One AVIF of that size, 4:2:0 with 8 bits, of the picture; None without avifenc."""
    encoder = find("avifenc")
    if not encoder:
        return None
    file = KEPT / f"{name}-{'corpora' if corpora() else 'fixtures'}.avif"
    if not file.exists():
        unready = file.with_suffix(".part.avif")
        words = (encoder, "-s", "8", "-y", "420", "--min", "18", "--max", "28", picture(width, height, name), unready)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        unready.rename(file)
    return file


def small_images(folder, count):
    """So many images of about 12 kB, each different."""
    import struct
    import zlib

    side, generator = 64, random.Random(1)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    for index in range(count):
        data = generator.randbytes(side * side * 3)
        raw = b"".join(b"\0" + data[y * side * 3 : (y + 1) * side * 3] for y in range(side))
        (folder / f"{index}.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b"")
        )
