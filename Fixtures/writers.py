"""Writers for what Pillow cannot write: PNG of any depth with Adam7, GIF with frames laid out by hand,
BMP of any header and depth, ICO, a JPEG's EXIF orientation, and a small ICC profile. Everything here is a pure
function to bytes."""

import struct
import zlib

ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour_type, sample, interlaced=False, palette=None, alpha=None):
    """`sample(x, y)` gives a tuple of the pixel's channels, each from 0 to 2**depth - 1.
    Rows take the five filters in turn, so that a decoder meets them all."""
    out = _png_head(width, height, depth, colour_type, interlaced, palette, alpha)
    data = _png_data(width, height, depth, colour_type, sample, interlaced)
    return out + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")


def apng(width, height, depth, colour_type, frames, still=None, interlaced=False, palette=None, alpha=None, plays=0):
    """A frame is a dict: size and sample, and where they differ from the usual: at, delay (a fraction of a second),
    disposal, blends. `still` is the sample of a default image that is no frame; without it the first frame is that."""
    out = _png_head(width, height, depth, colour_type, interlaced, palette, alpha)
    out += png_chunk(b"acTL", struct.pack(">II", len(frames), plays))
    if still:
        out += png_chunk(b"IDAT", _png_data(width, height, depth, colour_type, still, interlaced))
    number = 0
    for index, frame in enumerate(frames):
        control = (number, *frame["size"], *frame.get("at", (0, 0)), *frame.get("delay", (1, 10)))
        out += png_chunk(b"fcTL", struct.pack(">5I2H2B", *control, frame.get("disposal", 0), frame.get("blends", 0)))
        number += 1
        data = _png_data(*frame["size"], depth, colour_type, frame["sample"], interlaced)
        if index == 0 and not still:
            out += png_chunk(b"IDAT", data)
            continue
        for part in (data[: len(data) // 2], data[len(data) // 2 :]):
            out += png_chunk(b"fdAT", struct.pack(">I", number) + part)
            number += 1
    return out + png_chunk(b"IEND", b"")


def _png_data(width, height, depth, colour_type, sample, interlaced):
    channels = CHANNELS[colour_type]
    step = max(1, channels * depth // 8)
    data = bytearray()
    for x0, y0, dx, dy in ADAM7 if interlaced else ((0, 0, 1, 1),):
        columns, previous = range(x0, width, dx), None
        if not columns:
            continue
        for number, y in enumerate(range(y0, height, dy)):
            row = _pack([value for x in columns for value in sample(x, y)], depth)
            previous = previous or bytes(len(row))
            kind = number % 5 if depth >= 8 else 0
            data.append(kind)
            data += _filtered(kind, row, previous, step)
            previous = row
    return zlib.compress(bytes(data), 9)


def _png_head(width, height, depth, colour_type, interlaced, palette, alpha):
    out = b"\x89PNG\r\n\x1a\n"
    out += png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, int(interlaced)))
    if palette is not None:
        out += png_chunk(b"PLTE", bytes(v for colour in palette for v in colour))
    if alpha is not None:
        out += png_chunk(b"tRNS", alpha)
    return out


def _pack(samples, depth):
    if depth == 16:
        return struct.pack(f">{len(samples)}H", *samples)
    if depth == 8:
        return bytes(samples)
    per_byte = 8 // depth
    out = bytearray()
    for start in range(0, len(samples), per_byte):
        byte = 0
        for index, value in enumerate(samples[start : start + per_byte]):
            byte |= value << (8 - depth * (index + 1))
        out.append(byte)
    return bytes(out)


def _filtered(kind, row, up, step):
    if kind == 0:
        return row
    left = bytes(step) + row[:-step]
    if kind == 1:
        return bytes((v - a) & 255 for v, a in zip(row, left))
    if kind == 2:
        return bytes((v - b) & 255 for v, b in zip(row, up))
    if kind == 3:
        return bytes((v - (a + b) // 2) & 255 for v, a, b in zip(row, left, up))
    corner = bytes(step) + up[:-step]
    return bytes((v - _paeth(a, b, c)) & 255 for v, a, b, c in zip(row, left, up, corner))


def _paeth(a, b, c):
    pa, pb, pc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def gif(width, height, frames, palette=None, loop=0, background=0):
    """A frame is a dict: image (mode "P", its indices are written), and where they differ from the usual:
    at, palette (a local one), delay (in 1/100 s), disposal, transparent (an index), interlaced."""
    flags, table = _gif_table(palette)
    out = bytearray(b"GIF89a" + struct.pack("<HHBBB", width, height, flags | 0x70, background, 0) + table)
    if len(frames) > 1 and loop is not None:
        out += b"\x21\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<HB", loop, 0)
    for frame in frames:
        image, transparent = frame["image"], frame.get("transparent")
        if len(frames) > 1 or transparent is not None:
            packed = frame.get("disposal", 0) << 2 | (transparent is not None)
            out += b"\x21\xf9\x04" + struct.pack("<BHBB", packed, frame.get("delay", 10), transparent or 0, 0)
        flags, table = _gif_table(frame.get("palette"))
        rows = range(image.height)
        if frame.get("interlaced"):
            flags |= 0x40
            rows = [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, image.height, step)]
        out += b"\x2c" + struct.pack("<HHHHB", *frame.get("at", (0, 0)), image.width, image.height, flags) + table
        pixels = image.tobytes()
        data = _lzw(b"".join(pixels[y * image.width : (y + 1) * image.width] for y in rows))
        out += b"\x08" + b"".join(_block(data[i : i + 255]) for i in range(0, len(data), 255)) + b"\0"
    return bytes(out + b"\x3b")


def _block(data):
    return bytes([len(data)]) + data


def _gif_table(palette):
    if palette is None:
        return 0, b""
    size = max(1, (len(palette) - 1).bit_length())
    table = bytes(v for colour in palette for v in colour)
    return 0x80 | (size - 1), table.ljust(3 << size, b"\0")


def _lzw(pixels):
    """GIF's variable LZW with 8-bit symbols."""
    clear, end = 256, 257
    out, bits, held = bytearray(), 0, 0
    table, width = {}, 9

    def put(code):
        nonlocal bits, held
        held |= code << bits
        bits += width
        while bits >= 8:
            out.append(held & 255)
            held >>= 8
            bits -= 8

    put(clear)
    prefix = pixels[0]
    for symbol in pixels[1:]:
        known = table.get((prefix, symbol))
        if known is not None:
            prefix = known
            continue
        put(prefix)
        code = len(table) + 258
        if code < 4096:
            table[(prefix, symbol)] = code
            if code == 1 << width and width < 12:
                width += 1
        else:
            put(clear)
            table, width = {}, 9
        prefix = symbol
    put(prefix)
    if len(table) + 258 == 1 << width and width < 12:
        width += 1
    put(end)
    if bits:
        out.append(held & 255)
    return bytes(out)


def bmp_information(width, height, depth, header=40, compression=0, palette=(), masks=()):
    """The second header, with its masks and palette. A negative height is for rows from the top down."""
    if header == 12:
        out = struct.pack("<IHHHH", 12, width, height, 1, depth)
    else:
        out = struct.pack("<IiiHHIIiiII", header, width, height, 1, depth, compression, 0, 2835, 2835, len(palette), 0)
        out = (out + struct.pack(f"<{len(masks)}I", *masks)).ljust(header, b"\0")
    return out + b"".join(bytes(colour[::-1]) + bytes(header != 12) for colour in palette)


def bmp_rows(width, height, depth, sample, top_down=False):
    """`sample(x, y)` gives the number of a pixel; rows are padded to 32 bits."""
    out = bytearray()
    for y in range(height) if top_down else reversed(range(height)):
        values = [sample(x, y) for x in range(width)]
        row = _pack(values, depth) if depth < 8 else b"".join(value.to_bytes(depth // 8, "little") for value in values)
        out += row + bytes(-len(row) % 4)
    return bytes(out)


def bmp_runs(width, height, depth, sample):
    """RLE8 or RLE4: runs of one colour, and deltas over pixels of which `sample` is None."""
    out = bytearray()
    for y in reversed(range(height)):
        x = 0
        while x < width:
            value, count = sample(x, y), 1
            while x + count < width and count < 255 and sample(x + count, y) == value:
                count += 1
            if value is None:
                out += bytes([0, 2, count, 0])
            else:
                out += bytes([count, value if depth == 8 else value * 17])
            x += count
        out += b"\0\0" if y else b"\0\1"
    return bytes(out)


def bmp(information, data):
    offset = 14 + len(information)
    return struct.pack("<2sIII", b"BM", offset + len(data), 0, offset) + information + data


def ico(pictures):
    """`pictures` are (side, bits a pixel, bytes)."""
    out, offset = struct.pack("<HHH", 0, 1, len(pictures)), 6 + 16 * len(pictures)
    for side, bits, data in pictures:
        out += struct.pack("<BBBBHHII", side % 256, side % 256, 0, 0, 1, bits, len(data), offset)
        offset += len(data)
    return out + b"".join(data for _, _, data in pictures)


def with_exif_orientation(jpeg, orientation):
    """The JPEG with an APP1 segment that says nothing but the orientation; big-endian when it is even."""
    order, mark = (">", b"MM\0*") if orientation % 2 == 0 else ("<", b"II*\0")
    tiff = mark + struct.pack(order + "I", 8)
    tiff += struct.pack(order + "HHHIHHI", 1, 0x0112, 3, 1, orientation, 0, 0)
    body = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def icc_profile(description, primaries, white, gamma):
    """An ICC version 2 display profile from the xy of its primaries and white, adapted to D50 (Bradford)."""
    d50 = (0.9642, 1.0, 0.8249)
    cone = ((0.8951, 0.2664, -0.1614), (-0.7502, 1.7135, 0.0367), (0.0389, -0.0685, 1.0296))
    source = _xyz(white)
    scale = [t / s for s, t in zip(_times(cone, source), _times(cone, d50))]
    back = _inverse(cone)
    columns = [_xyz(p) for p in primaries]
    rows = tuple(zip(*columns))
    amounts = _times(_inverse(rows), source)
    adapted = []
    for column, amount in zip(columns, amounts):
        seen = _times(cone, [v * amount for v in column])
        adapted.append(_times(back, [v * k for v, k in zip(seen, scale)]))

    def xyz(value):
        return b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(v * 65536) for v in value))

    text = description.encode() + b"\0"
    desc = b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(4 + 4 + 2 + 1 + 67)
    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256))
    tags = [(b"desc", desc), (b"cprt", b"text\0\0\0\0MIT\0"), (b"wtpt", xyz(d50))]
    tags += [(name, xyz(value)) for name, value in zip((b"rXYZ", b"gXYZ", b"bXYZ"), adapted)]
    tags += [(name, curve) for name in (b"rTRC", b"gTRC", b"bTRC")]
    table, body, offset = struct.pack(">I", len(tags)), b"", 128 + 4 + 12 * len(tags)
    for name, value in tags:
        table += name + struct.pack(">II", offset + len(body), len(value))
        body += value + bytes(-len(value) % 4)
    header = struct.pack(">I4sI4s4s4s", offset + len(body), b"\0\0\0\0", 0x02100000, b"mntr", b"RGB ", b"XYZ ")
    header += struct.pack(">6H4s", 2024, 1, 1, 0, 0, 0, b"acsp") + bytes(28)
    header += struct.pack(">3i", *(round(v * 65536) for v in d50))
    return header.ljust(128, b"\0") + table + body


def _xyz(xy):
    x, y = xy
    return (x / y, 1.0, (1 - x - y) / y)


def _times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def _inverse(m):
    (a, b, c), (d, e, f), (g, h, i) = m
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return (
        ((e * i - f * h) / det, (c * h - b * i) / det, (b * f - c * e) / det),
        ((f * g - d * i) / det, (a * i - c * g) / det, (c * d - a * f) / det),
        ((d * h - e * g) / det, (b * g - a * h) / det, (a * e - b * d) / det),
    )
