"""How near a picture is to the one that it should be."""

import math
import statistics


def psnr(first, second):
    import numpy

    difference = numpy.asarray(first, dtype=numpy.float32) - numpy.asarray(second, dtype=numpy.float32)
    error = float((difference * difference).mean())
    return 99.0 if error == 0 else 10 * math.log10(255 * 255 / error)


def scaled_quality(pairs, limit=25):
    """The median PSNR of small pictures to a full decode, scaled by Lanczos-3, of what they were made from."""
    from PIL import Image

    values = []
    for source, made in list(pairs)[:limit]:
        with Image.open(made) as small, Image.open(source) as large:
            expected = large.convert("RGB").resize(small.size, Image.Resampling.LANCZOS)
            values.append(psnr(small.convert("RGB"), expected))
    return statistics.median(values)


def blurred_quality(source, made, sigma):
    """PSNR to a true Gaussian of the same sigma, edges extended."""
    import numpy
    from PIL import Image

    reach = math.ceil(4 * sigma)
    kernel = numpy.exp(-0.5 * (numpy.arange(-reach, reach + 1) / sigma) ** 2)
    kernel = (kernel / kernel.sum()).astype(numpy.float32)
    with Image.open(source) as image:
        # A strip is enough, and a whole picture would take minutes.
        strip = (0, 0, image.width, min(image.height, 600))
        pixels = numpy.asarray(image.convert("RGB").crop(strip), dtype=numpy.float32)
    for axis in (0, 1):
        pad = [(reach, reach) if a == axis else (0, 0) for a in range(3)]
        wide = numpy.pad(pixels, pad, mode="edge")
        size = pixels.shape[axis]
        pixels = sum(weight * numpy.take(wide, range(i, i + size), axis) for i, weight in enumerate(kernel))
    with Image.open(made) as image:
        got = numpy.asarray(image.convert("RGB").crop(strip), dtype=numpy.float32)
    # The strip's lower edge is an edge only here.
    keep = pixels.shape[0] - reach if pixels.shape[0] == 600 else pixels.shape[0]
    return psnr(got[:keep], pixels[:keep])
