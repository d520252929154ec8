"""Measures of images as numpy, Pillow and imagehash give them: a line of JSON for each file."""
import json
import sys

import imagehash
import numpy
from PIL import Image, ImageOps

for path in sys.argv[1:]:
    image = ImageOps.exif_transpose(Image.open(path))
    opaque = image.convert("RGBA")
    transparent = opaque.getextrema()[3][0] < 255
    opaque = Image.alpha_composite(Image.new("RGBA", opaque.size, (128, 128, 128, 255)), opaque).convert("RGB")
    scale = min(1, 256 / max(opaque.size))
    small = opaque.resize([max(1, round(side * scale)) for side in opaque.size], Image.Resampling.LANCZOS)
    luma = numpy.asarray(small.convert("L"), dtype=float)
    padded = numpy.pad(luma, 1, mode="reflect")
    laplacian = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * luma
    encoded = numpy.asarray(image.convert("RGBA"), dtype=float).reshape(-1, 4) / 255
    light = numpy.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)[:, :3]
    light = numpy.average(light, axis=0, weights=encoded[:, 3])
    color = numpy.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055) * 255
    print(json.dumps({
        "dhash": str(imagehash.dhash(image)), "entropy": small.convert("L").entropy(), "mean": luma.mean(),
        "sharpness": laplacian.var(), "color": color.tolist(), "transparent": transparent,
    }))
