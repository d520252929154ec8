#!/usr/bin/python3
"""Draws every picture in this directory, and MANIFEST.tsv, which lists them for the tests.

Run by hand, on Debian 12 with python3-pil and libjpeg-turbo-progs:  /usr/bin/python3 Fixtures/draw.py
Running it twice gives identical bytes. The tests use the pictures that are checked in and need no Python.

In MANIFEST.tsv the size is the one that a viewer shows, that is, after the EXIF orientation.
"""

import io
import math
import random
import shutil
import subprocess
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageOps

import writers

HERE = Path(__file__).resolve().parent
LIMIT = 4 << 20
rows = []
broken_rows = []


# -- What the pictures show


def noise(size, cell, seed):
    """Smooth noise with features of about `cell` pixels."""
    w, h = max(2, size[0] // cell + 2), max(2, size[1] // cell + 2)
    return Image.frombytes("L", (w, h), random.Random(seed).randbytes(w * h)).resize(size, Image.Resampling.BICUBIC)


def clouds(size, seed):
    result = noise(size, max(size) // 3 + 1, seed)
    for octave in range(1, 6):
        cell = max(1, max(size) // (3 << octave))
        result = Image.blend(result, noise(size, cell, seed + octave), 0.35)
    return ImageOps.autocontrast(result)


def gradient(size, top, bottom):
    mask = Image.linear_gradient("L").resize(size)
    return Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), mask)


def ridge(draw, size, base, height, seed, colour):
    w, h = size
    generator = random.Random(seed)
    waves = [(generator.uniform(0.5, 1.5) * 2**k, generator.uniform(0, 6.3), 0.6**k) for k in range(7)]
    line = [(x, h * base - h * height * sum(a * math.sin(f * 6.3 * x / w + p) for f, p, a in waves)) for x in range(w)]
    draw.polygon(line + [(w, h), (0, h)], fill=colour)


def landscape(w, h, seed=1):
    """Sky, sun, hills, water, grain and writing: smooth parts, edges and texture, as a photograph has."""
    size = (w, h)
    picture = gradient(size, (38, 84, 160), (246, 196, 140))
    picture.paste((255, 246, 236), mask=clouds(size, seed).point(lambda v: max(0, v - 120)))
    draw = ImageDraw.Draw(picture)
    r, x, y = min(w, h) * 0.09, w * 0.72, h * 0.24
    draw.ellipse((x - r, y - r, x + r, y + r), fill=(255, 236, 160))
    ridge(draw, size, 0.55, 0.07, seed + 20, (104, 122, 150))
    ridge(draw, size, 0.66, 0.05, seed + 21, (64, 92, 88))
    ridge(draw, size, 0.78, 0.03, seed + 22, (44, 70, 36))
    draw.polygon([(w * 0.3, h), (w * 0.47, h * 0.8), (w * 0.53, h * 0.8), (w * 0.78, h)], fill=(74, 124, 148))
    for index, colour in enumerate([(220, 40, 40), (240, 160, 0), (250, 240, 60), (40, 170, 60), (50, 90, 220)]):
        left = w * (0.04 + 0.05 * index)
        draw.rectangle((left, h * 0.84, left + w * 0.04, h * 0.94), fill=colour)
    grain = noise(size, 2, seed + 40).point(lambda v: 112 + v // 8)
    picture = ImageChops.overlay(picture, Image.merge("RGB", (grain, grain, grain)))
    return label(picture, f"kf {w}x{h}")


def label(picture, text):
    if min(picture.size) < 48:
        return picture
    font = ImageFont.load_default()
    left, top, right, bottom = font.getbbox(text)
    mask = Image.new("L", (right, bottom))
    ImageDraw.Draw(mask).text((0, 0), text, font=font, fill=255)
    scale = max(1, picture.width // 3 // right)
    mask = mask.resize((right * scale, bottom * scale), Image.Resampling.NEAREST)
    picture.paste(255 if picture.mode == "L" else (255, 255, 255), (picture.width // 24, picture.height // 24), mask)
    return picture


def sticker(w, h, seed=5):
    """A round badge with soft edges on nothing, for what keeps an alpha channel."""
    big = (w * 2, h * 2)
    alpha = Image.new("L", big)
    ImageDraw.Draw(alpha).ellipse((8, 8, big[0] - 9, big[1] - 9), fill=255)
    alpha = ImageChops.multiply(alpha, Image.linear_gradient("L").rotate(90).resize(big).point(lambda v: 110 + v * 145 // 255))
    picture = landscape(w, h, seed).convert("RGBA")
    picture.putalpha(alpha.resize((w, h), Image.Resampling.LANCZOS))
    return picture


def upright(w=120, h=80):
    """Every corner another colour and an F in the middle: no rotation or mirroring of it looks like another."""
    picture = gradient((w, h), (210, 225, 240), (120, 150, 190))
    draw = ImageDraw.Draw(picture)
    for (x, y), colour in {(0, 0): "#e02020", (1, 0): "#20b040", (0, 1): "#2040e0", (1, 1): "#f0d020"}.items():
        draw.rectangle((x * (w - 24), y * (h - 24), x * (w - 24) + 23, y * (h - 24) + 23), fill=colour)
    draw.polygon([(48, 16), (80, 16), (80, 26), (58, 26), (58, 36), (72, 36), (72, 46), (58, 46), (58, 64), (48, 64)], "#101010")
    return picture


# -- Keeping them


def keep(name, size, notes, data, frames=1):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    rows.append((name, path.parent.name, *size, frames, notes))


def encoded(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def cjpeg(image, *options):
    pnm = encoded(image, "PPM")
    return subprocess.run(["cjpeg", *options], input=pnm, stdout=subprocess.PIPE, check=True).stdout


def pixel(image, scale=1):
    values, w = list(image.getdata()), image.width
    if not isinstance(values[0], tuple):
        return lambda x, y: (values[y * w + x] * scale,)
    return lambda x, y: tuple(v * scale for v in values[y * w + x])


# -- The pictures


def draw_jpeg():
    big = landscape(1600, 1200)
    keep("jpeg/landscape-420.jpg", big.size, "baseline, 4:2:0, 1.9 MP", cjpeg(big, "-quality", "82", "-sample", "2x2"))
    view = landscape(1024, 683, 2)
    keep("jpeg/progressive.jpg", view.size, "progressive, 4:2:0", cjpeg(view, "-quality", "80", "-progressive"))
    small = landscape(480, 320, 3)
    keep("jpeg/landscape-422.jpg", small.size, "4:2:2", cjpeg(small, "-quality", "85", "-sample", "2x1"))
    keep("jpeg/landscape-444.jpg", small.size, "4:4:4", cjpeg(small, "-quality", "92", "-sample", "1x1"))
    keep("jpeg/restart.jpg", small.size, "restart markers", cjpeg(small, "-quality", "75", "-restart", "1"))
    keep("jpeg/grey.jpg", (640, 427), "greyscale", cjpeg(landscape(640, 427, 4).convert("L"), "-quality", "80"))
    keep("jpeg/grey-progressive.jpg", (300, 500), "greyscale, progressive, portrait",
        cjpeg(landscape(300, 500, 4).convert("L"), "-quality", "80", "-progressive"))
    ink = landscape(320, 240, 6).convert("CMYK")
    keep("jpeg/cmyk.jpg", ink.size, "CMYK, inverted as Adobe writes it", encoded(ink, "JPEG", quality=85))
    keep("jpeg/odd.jpg", (37, 61), "no whole number of blocks",
        cjpeg(landscape(37, 61, 7), "-quality", "85", "-sample", "2x2"))
    keep("jpeg/one-pixel.jpg", (1, 1), "one pixel", cjpeg(Image.new("RGB", (1, 1), (200, 100, 50)), "-quality", "95"))
    wide = writers.icc_profile("kf wide gamut", ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), (0.3127, 0.329), 2.2)
    keep("jpeg/icc-wide-gamut.jpg", (400, 300), "ICC profile with a wide green",
        encoded(landscape(400, 300, 8), "JPEG", quality=85, icc_profile=wide))

    picture = upright()
    turns = [None, "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_90", "TRANSVERSE", "ROTATE_270"]
    for orientation, turn in enumerate(turns, 1):
        stored = picture.transpose(Image.Transpose[turn]) if turn else picture
        data = cjpeg(stored, "-quality", "95", "-sample", "1x1")
        data = writers.with_exif_orientation(data, orientation)
        keep(f"jpeg/orientation-{orientation}.jpg", picture.size, f"EXIF orientation {orientation}, stored {stored.width}x{stored.height}",
            data)
    keep("png/orientation-upright.png", picture.size, "what every orientation-N.jpg shows", encoded(picture, "PNG"))


def draw_png():
    colour = landscape(200, 150, 9)
    grey = colour.convert("L")
    keep("png/rgb.png", (512, 384), "8-bit RGB", encoded(landscape(512, 384, 10), "PNG"))
    keep("png/rgb-interlaced.png", (200, 150), "8-bit RGB, Adam7",
        writers.png(200, 150, 8, 2, pixel(colour), interlaced=True))
    badge = sticker(160, 160)
    keep("png/rgba.png", (160, 160), "8-bit RGBA, soft edges", writers.png(160, 160, 8, 6, pixel(badge)))
    keep("png/rgba-interlaced.png", (160, 160), "8-bit RGBA, Adam7",
        writers.png(160, 160, 8, 6, pixel(badge), interlaced=True))
    keep("png/grey.png", (200, 150), "8-bit grey", writers.png(200, 150, 8, 0, pixel(grey)))
    keep("png/grey-alpha.png", (120, 120), "8-bit grey with alpha",
        writers.png(120, 120, 8, 4, pixel(sticker(120, 120, 11).convert("LA"))))
    keep("png/grey-1bit.png", (201, 151), "1-bit grey, odd width",
        writers.png(201, 151, 1, 0, lambda x, y: (int((x - 100) ** 2 + (y - 75) ** 2 < 3600 or (x // 8 + y // 8) % 2),)))
    keep("png/grey-4bit-interlaced.png", (67, 45), "4-bit grey, Adam7",
        writers.png(67, 45, 4, 0, lambda x, y: ((x + y) % 16,), interlaced=True))

    few = colour.quantize(64, dither=Image.Dither.NONE)
    table = [tuple(few.getpalette()[i * 3 : i * 3 + 3]) for i in range(64)]
    keep("png/palette.png", (200, 150), "8-bit palette", writers.png(200, 150, 8, 3, pixel(few), palette=table))
    clear = bytes(min(255, index * 8) for index in range(32))
    keep("png/palette-transparent.png", (200, 150), "8-bit palette with tRNS shorter than it",
        writers.png(200, 150, 8, 3, pixel(few), palette=table, alpha=clear))
    four = [(255, 255, 255), (220, 60, 40), (40, 90, 200), (20, 20, 20)]
    keep("png/palette-2bit.png", (99, 77), "2-bit palette",
        writers.png(99, 77, 2, 3, lambda x, y: ((x // 9 + y // 7) % 4,), palette=four))
    keep("png/rgb-colour-key.png", (64, 64), "8-bit RGB, one colour transparent by tRNS",
        writers.png(64, 64, 8, 2, lambda x, y: (255, 0, 255) if (x - 32) ** 2 + (y - 32) ** 2 > 900 else (x * 4, y * 4, 128), alpha=bytes([0, 255, 0, 0, 0, 255])))

    def deep(x, y):
        return (x * 65535 // 159, y * 65535 // 119, (x * 257 + y * 511) % 65536)

    keep("png/grey16.png", (160, 120), "16-bit grey",
        writers.png(160, 120, 16, 0, lambda x, y: ((x * 120 + y) * 65535 // (160 * 120),)))
    keep("png/rgb16.png", (160, 120), "16-bit RGB", writers.png(160, 120, 16, 2, deep))
    keep("png/rgba16-interlaced.png", (80, 60), "16-bit RGBA, Adam7",
        writers.png(80, 60, 16, 6, lambda x, y: deep(x * 2, y * 2) + (max(0, 65535 - ((x - 40) ** 2 + (y - 30) ** 2) * 40),), interlaced=True))
    keep("png/one-pixel.png", (1, 1), "one half-transparent pixel",
        writers.png(1, 1, 8, 6, lambda x, y: (10, 200, 30, 128)))
    draw_apng()
    keep("png/tall.png", (1, 600), "one column", writers.png(1, 600, 8, 2, lambda x, y: (y % 256, 255 - y % 256, 80)))


def draw_apng():
    view = landscape(96, 72, 18).convert("RGBA")
    frames = [{"size": (96, 72), "sample": pixel(view), "delay": (1, 5)}]
    for step in range(1, 12):
        ball = Image.new("RGBA", (24, 24))
        ImageDraw.Draw(ball).ellipse((1, 1, 22, 22), fill=(20 * step, 255 - 20 * step, 90, 120 + 12 * step))
        at = (4 + step * 6, 24 + round(20 * math.sin(step)))
        frames.append({"size": (24, 24), "sample": pixel(ball), "at": at, "delay": (step, 60), "disposal": step % 3, "blends": step // 3 % 2})
    keep("png/animated.png", (96, 72), "partial frames, every disposal and blending, loops for ever",
        writers.apng(96, 72, 8, 6, frames), frames=len(frames))
    table = [(0, 0, 0), (230, 40, 40), (50, 190, 60), (50, 100, 220)]
    frames = [
        {"size": (40 - 5 * step, 30 - 4 * step), "sample": lambda x, y, step=step: ((x // 4 + y // 5 + step) % 4,), "at": (5 * step, 4 * step), "delay": (1 + step, 0), "blends": step % 2}
        for step in range(5)
    ]
    keep("png/animated-palette-interlaced.png", (40, 30), "2-bit palette with tRNS, Adam7, a default image that is no frame, loops twice",
        writers.apng(40, 30, 2, 3, frames, still=lambda x, y: (1,), interlaced=True, palette=table, alpha=bytes([0, 255, 128]), plays=2), frames=len(frames))


def draw_gif():
    picture = landscape(240, 160, 12).quantize(128, dither=Image.Dither.FLOYDSTEINBERG)
    table = [tuple(picture.getpalette()[i * 3 : i * 3 + 3]) for i in range(128)]
    keep("gif/still.gif", (240, 160), "still", writers.gif(240, 160, [{"image": picture}], palette=table))
    keep("gif/interlaced.gif", (240, 160), "still, interlaced",
        writers.gif(240, 160, [{"image": picture, "interlaced": True}], palette=table))
    ring = Image.new("P", (90, 90))
    ImageDraw.Draw(ring).ellipse((5, 5, 84, 84), fill=1, outline=2, width=8)
    keep("gif/transparent.gif", (90, 90), "still, transparent",
        writers.gif(90, 90, [{"image": ring, "transparent": 0}], palette=[(0, 0, 0), (250, 210, 60), (180, 30, 90)]))
    keep("gif/one-pixel.gif", (1, 1), "one pixel",
        writers.gif(1, 1, [{"image": Image.new("P", (1, 1), 1)}], palette=[(0, 0, 0), (90, 120, 250)]))

    base = landscape(120, 90, 13).quantize(32, dither=Image.Dither.NONE)
    global_table = [tuple(base.getpalette()[i * 3 : i * 3 + 3]) for i in range(32)]
    frames = [{"image": base, "delay": 20, "disposal": 1}]
    for step in range(1, 12):
        ball = Image.new("P", (24, 24))
        ImageDraw.Draw(ball).ellipse((1, 1, 22, 22), fill=1 + step % 3)
        at = (4 + step * 8, 33 + round(24 * math.sin(step)))
        shades = [(0, 0, 0), (255, 40 + step * 15, 40), (40, 255, 40 + step * 15), (60, 60, 255 - step * 10)]
        frames.append({"image": ball, "at": at, "palette": shades, "transparent": 0, "delay": 5 + step, "disposal": (3, 1, 2)[step % 3]})
    keep("gif/animated.gif", (120, 90), "partial frames, local palettes, transparency, disposal 1, 2 and 3, loops for ever",
        writers.gif(120, 90, frames, palette=global_table), frames=len(frames))
    full = []
    for step in range(6):
        image = Image.new("P", (64, 48), step)
        ImageDraw.Draw(image).rectangle((step * 10, 8, step * 10 + 9, 39), fill=7)
        full.append({"image": image, "delay": (0, 1, 2, 10, 50, 100)[step]})
    rainbow = [(230, 40, 40), (230, 150, 30), (220, 220, 40), (50, 190, 60), (50, 100, 220), (140, 60, 200), (0, 0, 0), (255, 255, 255)]
    keep("gif/animated-loop-3.gif", (64, 48), "whole frames, delays from 0 to 1 s, loops 3 times",
        writers.gif(64, 48, full, palette=rainbow, loop=3), frames=6)


def draw_webp():
    view = landscape(800, 533, 14)
    keep("webp/lossy.webp", view.size, "lossy", encoded(view, "WEBP", quality=80, method=4))
    small = landscape(160, 120, 15)
    keep("webp/lossless.webp", small.size, "lossless", encoded(small, "WEBP", lossless=True))
    badge = sticker(200, 200, 16)
    keep("webp/alpha-lossy.webp", badge.size, "lossy with alpha", encoded(badge, "WEBP", quality=80))
    badge = sticker(96, 96, 17)
    keep("webp/alpha-lossless.webp", badge.size, "lossless with alpha", encoded(badge, "WEBP", lossless=True))
    keep("webp/one-pixel.webp", (1, 1), "one pixel",
        encoded(Image.new("RGB", (1, 1), (7, 77, 177)), "WEBP", lossless=True))
    frames = []
    for step in range(8):
        frame = Image.new("RGBA", (100, 100))
        ImageDraw.Draw(frame).pieslice((10, 10, 89, 89), step * 45, step * 45 + 120, fill=(30 * step, 200 - 20 * step, 120, 255))
        frames.append(frame)
    data = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=[40, 60, 80, 100, 120, 140, 160, 180], loop=0, lossless=True)
    keep("webp/animated.webp", (100, 100), "transparent, lossless frames, 40 to 180 ms, loops for ever",
        data, frames=len(frames))


def draw_bmp():
    def of(picture, pack):
        pixels = picture.load()
        return lambda x, y: pack(*pixels[x, y]) if isinstance(pixels[x, y], tuple) else pack(pixels[x, y])

    def save(name, size, notes, depth, sample, runs=False, **header):
        top_down = header.pop("top_down", False)
        information = writers.bmp_information(size[0], -size[1] if top_down else size[1], depth, **header)
        data = writers.bmp_runs(*size, depth, sample) if runs else writers.bmp_rows(*size, depth, sample, top_down)
        keep(f"bmp/{name}.bmp", size, notes, writers.bmp(information, data))

    view = landscape(101, 67, 20)
    size = view.size
    save("rgb", size, "24 bits", 24, of(view, lambda r, g, b: r << 16 | g << 8 | b))
    save("rgb32", size, "32 bits, the fourth byte unused", 32, of(view, lambda r, g, b: r << 16 | g << 8 | b))
    save("rgb16", size, "5 bits a sample", 16, of(view, lambda r, g, b: r >> 3 << 10 | g >> 3 << 5 | b >> 3))
    save("rgb565-top-down", size, "masks of 5, 6 and 5 bits, rows from the top down", 16,
        of(view, lambda r, g, b: r >> 3 << 11 | g >> 2 << 5 | b >> 3), compression=3, masks=(0xF800, 0x7E0, 0x1F), top_down=True)
    save("rgba-v4", (64, 64), "header of version 4 with an alpha mask", 32,
        of(sticker(64, 64, 21), lambda r, g, b, a: a << 24 | r << 16 | g << 8 | b), header=108, compression=3,
        masks=(0xFF0000, 0xFF00, 0xFF, 0xFF000000))
    for name, notes, depth, count, options in (
        ("palette", "8-bit palette", 8, 200, {}), ("palette-os2", "4-bit palette, header of OS/2 1", 4, 16, {"header": 12}),
        ("palette-os2v2", "8-bit palette, header of OS/2 2", 8, 256, {"header": 64}),
        ("rle8", "8-bit palette, run lengths", 8, 64, {"compression": 1, "runs": True}),
        ("rle4", "4-bit palette, run lengths", 4, 16, {"compression": 2, "runs": True}),
    ):
        picture = view.quantize(count, dither=Image.Dither.NONE)
        table = [tuple(picture.getpalette()[i * 3 : i * 3 + 3]) for i in range(count)]
        save(name, size, notes, depth, of(picture, lambda index: index), palette=table, **options)
    save("rle8-transparent", (64, 64), "run lengths with skipped pixels, which are transparent", 8,
        lambda x, y: (x // 8 + y // 8) % 4 if (x - 32) ** 2 + (y - 32) ** 2 < 900 else None, runs=True, compression=1,
        palette=[(220, 30, 60), (250, 220, 70), (40, 160, 90), (30, 60, 170)])
    save("grey-1bit", (75, 41), "black and white, odd width", 1,
        lambda x, y: int((x - 37) ** 2 + (y - 20) ** 2 < 300), palette=[(0, 0, 0), (255, 255, 255)])
    save("one-pixel", (1, 1), "one pixel", 24, lambda x, y: 0x3C78FA)


def draw_ico():
    def bitmap(side, depth):
        badge = sticker(side, side, 22)
        alpha = badge.getchannel("A")
        if depth == 32:
            pixels = badge.load()
            table, sample = (), lambda x, y: pixels[x, y][3] << 24 | pixels[x, y][0] << 16 | pixels[x, y][1] << 8 | pixels[x, y][2]
        elif depth == 24:
            pixels = badge.convert("RGB").load()
            table, sample = (), lambda x, y: pixels[x, y][0] << 16 | pixels[x, y][1] << 8 | pixels[x, y][2]
        else:
            picture = badge.convert("RGB").quantize(1 << depth, dither=Image.Dither.NONE)
            table = [tuple(picture.getpalette()[i * 3 : i * 3 + 3]) for i in range(1 << depth)]
            pixels = picture.load()
            sample = lambda x, y: pixels[x, y]
        mask = writers.bmp_rows(side, side, 1, lambda x, y: int(alpha.getpixel((x, y)) == 0))
        return (side, depth, writers.bmp_information(side, side * 2, depth, palette=table)
            + writers.bmp_rows(side, side, depth, sample) + mask)

    def png(side):
        badge = Image.new("RGBA", (side, side))
        ImageDraw.Draw(badge).ellipse((4, 4, side - 5, side - 5), fill=(30, 120, 200, 255), outline=(250, 210, 60, 128), width=9)
        return (side, 32, encoded(badge, "PNG"))

    keep("ico/bitmaps.ico", (48, 48), "bitmaps of 16, 32 and 48 pixels, 4, 8 and 32 bits",
        writers.ico([bitmap(16, 4), bitmap(32, 8), bitmap(48, 32)]))
    keep("ico/mask.ico", (32, 32), "24 bits with a mask; a picture of 1 bit before it",
        writers.ico([bitmap(32, 1), bitmap(32, 24)]))
    keep("ico/png.ico", (256, 256), "a PNG of 256 pixels behind a bitmap of 16",
        writers.ico([bitmap(16, 8), png(256)]))
    keep("ico/png-large.ico", (300, 300), "a PNG of 300 pixels, which the directory cannot state",
        writers.ico([(0, 32, png(300)[2]), bitmap(32, 32)]))


# -- The broken ones


def spoil(name, data, notes):
    (HERE / "broken").mkdir(exist_ok=True)
    (HERE / "broken" / name).write_bytes(data)
    broken_rows.append((name, notes))


def draw_broken():
    jpeg = (HERE / "jpeg/landscape-444.jpg").read_bytes()
    png = (HERE / "png/rgb-interlaced.png").read_bytes()
    spoil("truncated.jpg", jpeg[: len(jpeg) * 2 // 5], "a JPEG that ends after two fifths")
    spoil("no-end.jpg", (HERE / "jpeg/odd.jpg").read_bytes()[:-2], "a JPEG without its end marker")
    spoil("truncated.png", png[: len(png) // 2], "a PNG that ends in the middle of IDAT")
    crc = bytearray((HERE / "png/grey.png").read_bytes())
    crc[crc.index(b"IDAT") + 200] ^= 0x40
    spoil("bad-crc.png", bytes(crc), "a PNG with one bit of IDAT turned, so that its CRC is wrong")
    spoil("truncated.gif", (HERE / "gif/still.gif").read_bytes()[:2000], "a GIF that ends in the middle of a frame")
    spoil("truncated.webp", (HERE / "webp/lossy.webp").read_bytes()[:5000], "a WebP shorter than its header says")
    spoil("truncated.bmp", (HERE / "bmp/rgb.bmp").read_bytes()[:5000], "a BMP that ends in the middle of its rows")
    spoil("truncated.ico", (HERE / "ico/bitmaps.ico").read_bytes()[:5000], "an ICO that ends in its largest picture")
    spoil("page.png", b"<!DOCTYPE html>\n<html><head><title>Not here</title></head><body>Sign in first.</body></html>\n", "an HTML page that is called .png")
    spoil("text.jpg", b"This is a note, and no picture at all.\n", "a text file that is called .jpg")
    spoil("empty.png", b"", "no bytes at all")


def main():
    for folder in ("jpeg", "png", "gif", "webp", "bmp", "ico", "broken"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
    draw_jpeg()
    draw_png()
    draw_gif()
    draw_webp()
    draw_bmp()
    draw_ico()
    draw_broken()
    lines = [("name", "format", "width", "height", "frames", "notes"), *sorted(rows)]
    (HERE / "MANIFEST.tsv").write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    lines = [("name", "notes"), *sorted(broken_rows)]
    (HERE / "broken/MANIFEST.tsv").write_text("".join("\t".join(line) + "\n" for line in lines))
    total = sum((HERE / row[0]).stat().st_size for row in rows)
    print(f"{len(rows)} pictures, {total / 1024:.0f} KiB, and {len(broken_rows)} broken ones")
    assert total < LIMIT, "the pictures should stay under 4 MiB together"


if __name__ == "__main__":
    main()
