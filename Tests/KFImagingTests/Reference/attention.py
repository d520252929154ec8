#!/usr/bin/env python3
"""Writes attention.tsv: where libvips 8.14 (`vips smartcrop --interesting attention`) crops photos.

Each line: the photo's path in the collection, the width and height of the crop, and x and y of vips' box. The box is
found as the place where the cropped pixels occur in the photo.

usage: attention.py COLLECTION >attention.tsv    (needs libvips-tools, python3-pil and python3-numpy)
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

# Fractions of the photo's sides.
CROPS = [(0.5, 0.5), (0.5, 1), (1, 0.5), (0.7, 0.7), (0.33, 0.33), (0.75, 0.5), (0.4, 0.9), (0.2, 0.2)]


def vips(*arguments):
    subprocess.run(["vips", *map(str, arguments)], check=True)


def box(whole, part):
    """The only place of a part in a picture."""
    height, width = part.shape[:2]
    rows, columns = whole.shape[0] - height + 1, whole.shape[1] - width + 1
    places = numpy.argwhere(
        (whole[:rows, :columns] == part[0, 0]).all(axis=2)
        & (whole[height - 1:, :columns] == part[-1, 0]).all(axis=2)
        & (whole[:rows, width - 1:] == part[0, -1]).all(axis=2))
    found = [(x, y) for y, x in places if (whole[y:y + height, x:x + width] == part).all()]
    assert len(found) == 1, found
    return found[0]


def main():
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        upright, cropped = f"{folder}/upright.png", f"{folder}/cropped.png"
        for path in sorted(root.rglob("*")):
            if path.suffix not in (".png", ".jpg", ".jpeg", ".webp"):
                continue
            vips("autorot", path, upright)
            whole = numpy.asarray(Image.open(upright).convert("RGB"))
            for across, down in CROPS:
                width, height = round(whole.shape[1] * across), round(whole.shape[0] * down)
                vips("smartcrop", upright, cropped, width, height, "--interesting", "attention")
                x, y = box(whole, numpy.asarray(Image.open(cropped).convert("RGB")))
                print(path.relative_to(root), width, height, x, y, sep="\t")


main()
