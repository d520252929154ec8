#!/usr/bin/python3
"""Draws every processor on one picture into a contact sheet with labels: Fixtures/gallery.jpg.

usage: gallery.py KF OUTPUT.jpg    (Debian's python3-pil lays the sheet out; the pictures are all kf's)
"""
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = ROOT / "Fixtures/jpeg/landscape-420.jpg"
BASE = "resize:200x150"
LOGO = ROOT / "Fixtures/png/rgba.png"
SPECS = [
    "", "resize:100x150", "resize:120x120,fit", "resize:120x120,fill", "downsample:120x120", "crop:120x90",
    "crop:120x90,anchor=0x1", "resize:120x120,cover",
    "resize:75x150,cover,anchor=attention", "resize:75x150,cover,anchor=entropy", "pad:190x140,tomato|>trim",
    f"watermark:{LOGO},scale=0.3,margin=8", f"watermark:{LOGO},scale=0.2,opacity=0.4,tile", "blur:2", "blur:10", "sharpen:2", "round-corner:30",
    "round-corner:0.5h,corners=tl+br", "round-corner:20,background=#ffcc00", "border:8,#ffffff",
    "border:6,#d02020,radius=30", "overlay:#ff0000", "overlay:#0044ff,fraction=0.8", "tint:#00800080",
    "color:brightness=0.2", "color:contrast=1.6,saturation=0.4", "color:ev=1", "black-white", "grayscale",
    "rotate:90", "rotate:180", "flip:h", "flip:v", "resize:120x120,fit|>pad:190x150,#334455", "round-corner:40|>border:5,#ffffff,radius=40",
] + [
    f"blend:{mode},alpha=0.8,background=#e07030" for mode in (
        "normal", "multiply", "screen", "overlay", "darken", "lighten", "color-dodge", "color-burn", "soft-light",
        "hard-light", "difference", "exclusion", "hue", "saturation", "color", "luminosity")
] + [
    f"round-corner:40|>blend:{mode},background=#3060c0a0" for mode in (
        "clear", "copy", "source-in", "source-out", "source-atop", "destination-over", "destination-in",
        "destination-out", "destination-atop", "xor", "plus-darker", "plus-lighter")
]
CELL, LABEL, COLUMNS, GAP = (200, 150), 30, 6, 10


def draw(kf, spec, cache):
    chain = BASE if not spec else f"{BASE}|>{spec}"
    answer = subprocess.run(
        [kf, "fetch", PICTURE, "-p", chain, "-f", "png", "-o", "-", "--cache-dir", cache], capture_output=True)
    if answer.returncode:
        sys.exit(f"gallery: {spec}: {answer.stderr.decode()}")
    path = pathlib.Path(cache) / "picture.png"
    path.write_bytes(answer.stdout)
    return Image.open(path).convert("RGBA")


def checkers(size):
    board = Image.new("RGB", size, "#ffffff")
    pen = ImageDraw.Draw(board)
    for y in range(0, size[1], 10):
        for x in range((y // 10 % 2) * 10, size[0], 20):
            pen.rectangle((x, y, x + 9, y + 9), fill="#d8d8d8")
    return board


def main():
    kf, output = sys.argv[1:]
    rows = -(-len(SPECS) // COLUMNS)
    cell = (CELL[0] + GAP, CELL[1] + LABEL + GAP)
    sheet = Image.new("RGB", (COLUMNS * cell[0] + GAP, rows * cell[1] + GAP), "#f4f4f4")
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default()
    with tempfile.TemporaryDirectory() as cache:
        for index, spec in enumerate(SPECS):
            x, y = GAP + index % COLUMNS * cell[0], GAP + index // COLUMNS * cell[1]
            picture = draw(kf, spec, cache)
            picture.thumbnail(CELL)
            board = checkers(picture.size)
            board.paste(picture, mask=picture)
            sheet.paste(board, (x + (CELL[0] - picture.width) // 2, y + (CELL[1] - picture.height) // 2))
            words, line, lines = (spec or "the picture").replace(str(LOGO), "logo.png").replace("|>", " |> ").replace(",", ", ").split(" "), "", []
            for word in words:
                if font.getlength(line + word) > CELL[0]:
                    lines, line = lines + [line], ""
                line += word if word.endswith(",") else word + " "
            for row, text in enumerate(lines + [line]):
                pen.text((x, y + CELL[1] + 2 + 12 * row), text, fill="#202020", font=font)
    sheet.save(output, quality=85, optimize=True)


main()
