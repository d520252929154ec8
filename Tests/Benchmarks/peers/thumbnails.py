#!/usr/bin/python3
"""Thumbnails as one writes them with Pillow: scaled decode, Lanczos, a process for each core.

usage: thumbnails.py SIDE QUALITY PROCESSES FOLDER FILE...
"""
import multiprocessing
import os
import sys

from PIL import Image, ImageOps

side, quality, processes = (int(word) for word in sys.argv[1:4])
folder, files = sys.argv[4], sys.argv[5:]


def thumbnail(file):
    with Image.open(file) as image:
        image.draft("RGB", (side * 2, side * 2))
        image = ImageOps.exif_transpose(image)
        image.thumbnail((side, side), Image.Resampling.LANCZOS)
        image.save(os.path.join(folder, os.path.basename(file)), quality=quality)


if __name__ == "__main__":
    with multiprocessing.Pool(processes) as pool:
        pool.map(thumbnail, files, chunksize=8)
