#!/usr/bin/env python3
"""Writes areas.tsv: what the processors that look at a pixel's place or surroundings make of a small picture.

The formulas are those of the definitions, computed without any cleverness, and share nothing with the sources of kf. The
first lines have the pictures before, for 1, 2, 3 and 4 channels: name, channels, width, height, pixels. The others: the
processor, the number of channels, width, height, and the pixels after as RGBA (not rounded; of a transparent pixel only
the alpha counts).

usage: areas.py >areas.tsv
"""
import math

WIDTH, HEIGHT = 13, 10
LINES = 400


def picture(channels):
    state, out = 99 + channels, []
    for _ in range(HEIGHT):
        row = []
        for _ in range(WIDTH):
            pixel = []
            for _ in range(channels):
                state = (state * 1103515245 + 12345) % 2**31
                pixel.append(state >> 16 & 255)
            if channels in (2, 4) and state % 3 == 0:
                pixel[-1] = 255
            row.append(pixel)
        out.append(row)
    return out


def rgba(pixel):
    colors = pixel[:1] * 3 if len(pixel) < 3 else pixel[:3]
    return [v / 255 for v in colors] + [pixel[-1] / 255 if len(pixel) in (2, 4) else 1.0]


def unit(text):
    return [int(text[i:i + 2], 16) / 255 for i in range(1, 9, 2)]


def over(top, bottom):
    alpha = top[3] + bottom[3] * (1 - top[3])
    if alpha == 0:
        return [0.0] * 4
    return [(t * top[3] + b * bottom[3] * (1 - top[3])) / alpha for t, b in zip(top[:3], bottom[:3])] + [alpha]


def span(y, inset, radius, corners):
    """What the line at this height has of the rounded rectangle."""
    left, right, top, bottom = inset, WIDTH - inset, inset, HEIGHT - inset
    if not top <= y <= bottom:
        return 0, 0
    for name, distance in (("t", top + radius - y), ("b", y - (bottom - radius))):
        if distance > 0:
            cut = radius - math.sqrt(max(0, radius**2 - distance**2))
            if name + "l" in corners:
                left = max(left, inset + cut)
            if name + "r" in corners:
                right = min(right, WIDTH - inset - cut)
    return left, max(left, right)


def coverage(inset, radius, corners):
    out = [[0.0] * WIDTH for _ in range(HEIGHT)]
    for y in range(HEIGHT):
        for line in range(LINES):
            left, right = span(y + (line + 0.5) / LINES, inset, radius, corners)
            for x in range(WIDTH):
                out[y][x] += max(0.0, min(right, x + 1) - max(left, x)) / LINES
    return out


def round_corner(grid, radius, corners, background):
    cover = coverage(0, radius, corners)
    return [[over(p[:3] + [p[3] * c], unit(background)) for p, c in zip(*rows)] for rows in zip(grid, cover)]


def border(grid, width, color, radius, corners):
    ring = coverage(0, radius, corners)
    if 2 * width < min(WIDTH, HEIGHT):
        inner = coverage(width, max(0, radius - width), corners)
        ring = [[a - b for a, b in zip(*rows)] for rows in zip(ring, inner)]
    c = unit(color)
    return [[over(c[:3] + [c[3] * r], p) for p, r in zip(*rows)] for rows in zip(grid, ring)]


def premultiplied(grid):
    return [[[v * p[3] for v in p[:3]] + [p[3]] for p in row] for row in grid]


def straight(grid):
    out = []
    for row in grid:
        out.append([[min(max(v / p[3], 0), 1) for v in p[:3]] + [min(p[3], 1)] if p[3] > 0 else [0.0] * 4
                    for p in row])
    return out


def convolved(grid, kernel):
    """By a square of weights, edges extended."""
    half = len(kernel) // 2
    out = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            sums = [0.0] * 4
            for dy in range(-half, half + 1):
                source = grid[min(max(y + dy, 0), HEIGHT - 1)]
                for dx in range(-half, half + 1):
                    weight = kernel[dy + half][dx + half]
                    for i, v in enumerate(source[min(max(x + dx, 0), WIDTH - 1)]):
                        sums[i] += weight * v
            row.append(sums)
        out.append(row)
    return out


def sharpen(grid, sigma):
    half = math.ceil(6 * sigma)
    kernel = [[math.exp(-(x * x + y * y) / (2 * sigma * sigma)) for x in range(-half, half + 1)]
              for y in range(-half, half + 1)]
    total = sum(map(sum, kernel))
    grid = premultiplied(grid)
    soft = convolved(grid, [[w / total for w in row] for row in kernel])
    return straight([[[2 * a - b for a, b in zip(*pixels)] for pixels in zip(*rows)] for rows in zip(grid, soft)])


def blur(grid, radius):
    side = math.floor(max(radius, 2) * 3 * math.sqrt(2 * math.pi) / 4 + 0.5)
    side += side % 2 == 0
    grid = premultiplied(grid)
    for _ in range(1 if radius < 0.5 else 2 if radius < 1.5 else 3):
        grid = convolved(grid, [[1 / side**2] * side] * side)
    return straight(grid)


ALL = ("tl", "tr", "bl", "br")


def cases():
    for radius, pixels in (("3", 3), ("2.7", 2.7), ("100", 5), ("0.25w", 3.25), ("0.4h", 4), ("0", 0)):
        yield f"round-corner:{radius}", lambda g, r=pixels: round_corner(g, r, ALL, "#00000000")
    yield "round-corner:4.5,corners=tl+br", lambda g: round_corner(g, 4.5, ("tl", "br"), "#00000000")
    yield "round-corner:5,tr", lambda g: round_corner(g, 5, ("tr",), "#00000000")
    for background in ("#ff8800ff", "#3060c080", "#404040ff", "#ffffff40"):
        yield f"round-corner:4.2,background={background}", lambda g, b=background: round_corner(g, 4.2, ALL, b)
    for spec, *values in (("border", 4, "#000000ff", 0, ALL), ("border:1.5,#ff0000ff", 1.5, "#ff0000ff", 0, ALL),
                          ("border:2,#20c040a0,radius=4", 2, "#20c040a0", 4, ALL),
                          ("border:1.25,#ffffff80,radius=0.5h,corners=tr+bl", 1.25, "#ffffff80", 5, ("tr", "bl")),
                          ("border:3,#777777,radius=2", 3, "#777777ff", 2, ALL),
                          ("border:50,#102030,radius=4", 50, "#102030ff", 4, ALL)):
        yield spec, lambda g, v=values: border(g, *v)
    for sigma in ("0.4", "1", "2.3"):
        yield f"sharpen:{sigma}", lambda g, s=float(sigma): sharpen(g, s)
    for radius in ("0.3", "1", "2.5", "6"):
        yield f"blur:{radius}", lambda g, r=float(radius): blur(g, r)


def line(name, channels, grid):
    text = ";".join(",".join(f"{v:.2f}".rstrip("0").rstrip(".") for v in p) for row in grid for p in row)
    print(name, channels, WIDTH, HEIGHT, text, sep="\t")


def main():
    for channels in (1, 2, 3, 4):
        line("before", channels, picture(channels))
    for spec, change in cases():
        for channels in (1, 2, 3, 4):
            after = change([[rgba(p) for p in row] for row in picture(channels)])
            line(spec, channels, [[[255 * v for v in p] for p in row] for row in after])


main()
