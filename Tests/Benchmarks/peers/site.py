#!/usr/bin/python3
"""The pictures of a site as generators make them with sharp: libvips, a decode for each width, a process for each core.

usage: site.py WIDTHS QUALITY_WEBP QUALITY_JPEG PROCESSES FOLDER FILE...
Makes WebP and JPEG of each width that is not above the photo's, a placeholder colour, and the markup. What is there
already and not older than its photo is not made again.
"""
import html
import multiprocessing
import os
import sys

os.environ.setdefault("VIPS_CONCURRENCY", "1")
import pyvips

widths = [int(word) for word in sys.argv[1].split(",")]
qualities = {"webp": int(sys.argv[2]), "jpg": int(sys.argv[3])}
processes, folder, files = int(sys.argv[4]), sys.argv[5], sys.argv[6:]


def picture(file):
    stem = os.path.splitext(os.path.basename(file))[0]
    source = pyvips.Image.new_from_file(file)
    kept = sorted({min(width, source.width) for width in widths})
    time = os.stat(file).st_mtime
    made = {}
    for width in kept:
        paths = {ending: os.path.join(folder, f"{stem}-{width}.{ending}") for ending in qualities}
        if not all(os.path.exists(path) and os.stat(path).st_mtime >= time for path in paths.values()):
            image = pyvips.Image.thumbnail(file, width, size="down", height=10_000_000)
            image = image.copy_memory()
            image.webpsave(paths["webp"], Q=qualities["webp"], strip=True)
            image.jpegsave(paths["jpg"], Q=qualities["jpg"], strip=True)
        made[width] = paths
    color = os.path.join(folder, f"{stem}.color")
    if not os.path.exists(color):
        small = pyvips.Image.thumbnail(file, 100, height=100).colourspace("scrgb")
        average = small.bandjoin([]).stats()
        values = [average(0 + 4, band + 1)[0] for band in range(3)]
        srgb = pyvips.Image.new_from_array([[1]]).new_from_image(values).copy(interpretation="scrgb").colourspace("srgb")
        with open(color, "w") as output:
            output.write("#%02x%02x%02x" % tuple(round(value) for value in srgb(0, 0)))
    with open(color) as known:
        value = known.read()
    sets = {
        ending: ", ".join(f"{html.escape(os.path.basename(made[width][ending]))} {width}w" for width in kept)
        for ending in qualities
    }
    return (
        f'<picture>\n  <source type="image/webp" srcset="{sets["webp"]}" sizes="100vw">\n'
        f'  <img src="{stem}-{kept[-1]}.jpg" srcset="{sets["jpg"]}" sizes="100vw" alt="" '
        f'style="background-color:{value}">\n</picture>\n'
    )


if __name__ == "__main__":
    with multiprocessing.Pool(processes) as pool:
        markup = "".join(pool.imap(picture, files, chunksize=1))
    with open(os.path.join(folder, "pictures.html"), "w") as output:
        output.write(markup)
