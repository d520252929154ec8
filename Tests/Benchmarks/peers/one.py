#!/usr/bin/python3
"""One picture with Pillow.

usage: one.py thumbnail SIDE QUALITY FILE OUTPUT | blur SIGMA QUALITY FILE OUTPUT
"""
import sys

from PIL import Image, ImageFilter

work, size, quality, file, output = sys.argv[1:]
with Image.open(file) as image:
    if work == "thumbnail":
        image.draft("RGB", (int(size) * 2, int(size) * 2))
        image.thumbnail((int(size), int(size)), Image.Resampling.LANCZOS)
    else:
        image = image.filter(ImageFilter.GaussianBlur(float(size)))
    image.save(output, quality=int(quality))
