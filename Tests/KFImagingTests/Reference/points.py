#!/usr/bin/env python3
"""Writes points.tsv: what every processor that looks at single pixels makes of a few of them.

The formulas are those of the definitions, computed in exact fractions where they allow it, and share nothing with the
sources of kf. The first lines have the pixels before, for 1, 2, 3 and 4 channels. The others: the processor, the number
of channels, the pixels after as RGBA (not rounded; of a transparent pixel only the alpha counts).

usage: points.py >points.tsv
"""
import math
from fractions import Fraction as F

LUMA = (F("0.2126"), F("0.7152"), F("0.0722"))


def unit(text):
    """#rrggbbaa as four fractions."""
    digits = text[1:] + "ff" * (len(text) == 7)
    return [F(int(digits[i:i + 2], 16), 255) for i in range(0, 8, 2)]


def clamp(x):
    return min(max(x, 0), 1)


def overlay(pixel, color, fraction):
    c = unit(color)
    return [fraction * p + (1 - fraction) * q for p, q in zip(pixel[:3], c)] + [pixel[3] * c[3]]


def tint(pixel, color):
    c = unit(color)
    return [c[3] * q + (1 - c[3]) * p for p, q in zip(pixel[:3], c)] + [pixel[3]]


def controls(pixel, brightness, contrast, saturation, ev):
    gray = sum(w * p for w, p in zip(LUMA, pixel))
    out = []
    for p in pixel[:3]:
        p = gray + saturation * (p - gray)
        p = F(1, 2) + contrast * (p - F(1, 2))
        out.append(clamp((p + brightness) * F(2.0 ** float(ev))))
    return out + [pixel[3]]


def lum(c):
    return F("0.3") * c[0] + F("0.59") * c[1] + F("0.11") * c[2]


def sat(c):
    return max(c) - min(c)


def set_lum(c, l):
    c = [x + l - lum(c) for x in c]
    l, n, x = lum(c), min(c), max(c)
    if n < 0:
        c = [l + (y - l) * l / (l - n) for y in c]
    if x > 1:
        c = [l + (y - l) * (1 - l) / (x - l) for y in c]
    return c


def set_sat(c, s):
    order = sorted(range(3), key=lambda i: c[i])
    low, mid, high = order
    out = [F(0)] * 3
    if c[high] > c[low]:
        out[mid] = (c[mid] - c[low]) * s / (c[high] - c[low])
        out[high] = s
    return out


def hard_light(b, s):
    return b * 2 * s if s <= F(1, 2) else 1 - (1 - b) * (1 - (2 * s - 1))


def soft_light(b, s):
    if s <= F(1, 2):
        return b - (1 - 2 * s) * b * (1 - b)
    d = ((16 * b - 12) * b + 4) * b if b <= F(1, 4) else F(math.sqrt(b))
    return b + (2 * s - 1) * (d - b)


SEPARABLE = {
    "normal": lambda b, s: s,
    "multiply": lambda b, s: b * s,
    "screen": lambda b, s: 1 - (1 - b) * (1 - s),
    "overlay": lambda b, s: hard_light(s, b),
    "darken": min,
    "lighten": max,
    "color-dodge": lambda b, s: F(0) if b == 0 else F(1) if s == 1 else min(F(1), b / (1 - s)),
    "color-burn": lambda b, s: F(1) if b == 1 else F(0) if s == 0 else 1 - min(F(1), (1 - b) / s),
    "soft-light": soft_light,
    "hard-light": hard_light,
    "difference": lambda b, s: abs(b - s),
    "exclusion": lambda b, s: b + s - 2 * b * s,
}
TOGETHER = {
    "hue": lambda b, s: set_lum(set_sat(s, sat(b)), lum(b)),
    "saturation": lambda b, s: set_lum(set_sat(b, sat(s)), lum(b)),
    "color": lambda b, s: set_lum(s, lum(b)),
    "luminosity": lambda b, s: set_lum(b, lum(s)),
}
PORTER_DUFF = {
    "clear": lambda a, b: (0, 0),
    "copy": lambda a, b: (1, 0),
    "source-in": lambda a, b: (b, 0),
    "source-out": lambda a, b: (1 - b, 0),
    "source-atop": lambda a, b: (b, 1 - a),
    "destination-over": lambda a, b: (1 - b, 1),
    "destination-in": lambda a, b: (0, a),
    "destination-out": lambda a, b: (0, 1 - a),
    "destination-atop": lambda a, b: (1 - b, a),
    "xor": lambda a, b: (1 - b, 1 - a),
}
PLUS = {
    "plus-darker": lambda s, d: max(F(0), s + d - 1),
    "plus-lighter": lambda s, d: min(F(1), s + d),
}


def blend(pixel, mode, alpha, background):
    cb, ab = unit(background)[:3], unit(background)[3]
    cs, a = pixel[:3], pixel[3] * alpha
    source, backdrop = [c * a for c in cs] + [a], [c * ab for c in cb] + [ab]
    if mode in PLUS:
        out = [PLUS[mode](s, d) for s, d in zip(source, backdrop)]
    elif mode in PORTER_DUFF:
        fa, fb = PORTER_DUFF[mode](a, ab)
        out = [s * fa + d * fb for s, d in zip(source, backdrop)]
    else:
        if mode in TOGETHER:
            mixed = TOGETHER[mode](cb, cs)
        else:
            mixed = [SEPARABLE[mode](b, s) for b, s in zip(cb, cs)]
        # co = cs·as·(1 − ab) + cb·ab·(1 − as) + as·ab·B(cb, cs)
        out = [s * (1 - ab) + d * (1 - a) + a * ab * m for s, d, m in zip(source, backdrop, mixed)]
        out.append(a + ab - a * ab)
    return [c / out[3] if out[3] else F(0) for c in out[:3]] + [out[3]]


def pixels(channels):
    """Some edges, some corners, and a scatter that is the same every time."""
    out = [[0] * channels, [255] * channels, [128] * channels, [127] * channels]
    state = 12345 + channels
    for index in range(10):
        pixel = []
        for _ in range(channels):
            state = (state * 1103515245 + 12345) % 2**31
            pixel.append(state >> 16 & 255)
        if channels in (2, 4) and index % 5 == 0:
            pixel[-1] = 255
        out.append(pixel)
    if channels >= 3:
        out += [[255, 0, 0, 200][:channels], [0, 255, 0, 90][:channels], [0, 0, 255, 255][:channels]]
    return out


def cases():
    for color in ("#ff8800", "#10203040", "#808080", "#000000"):
        for fraction in ("0.5", "0", "1", "0.123"):
            yield f"overlay:{color},fraction={fraction}", lambda p, c=color, f=fraction: overlay(p, c, F(f))
    for color in ("#ff880080", "#00000000", "#ffffffff", "#3040c011", "#77777780"):
        yield f"tint:{color}", lambda p, c=color: tint(p, c)
    for values in ("0,1,1,0", "0,1.1,1.1,1", "0.25,1,1,0", "-0.3,1,0,0", "0,2,1,0", "0,1,2.5,0", "0,1,0.4,-1.5",
                   "0,0,1,0", "0.1,100,3,-2", "1,0.5,100,0.25"):
        b, c, s, e = (F(v) for v in values.split(","))
        yield f"color:{values}", lambda p, b=b, c=c, s=s, e=e: controls(p, b, c, s, e)
    yield "black-white", lambda p: controls(p, 0, 1, 0, F("0.7"))
    yield "grayscale", lambda p: controls(p, 0, 1, 0, 0)
    for mode in [*SEPARABLE, *TOGETHER, *PORTER_DUFF, *PLUS]:
        for alpha, background in (("1", "#00000000"), ("1", "#ff8040ff"), ("0.6", "#3366ccff"), ("1", "#00ff3399"),
                                  ("0.35", "#9a8b7c66"), ("0.8", "#404040ff")):
            text = f"blend:{mode},alpha={alpha},background={background}"
            yield text, lambda p, m=mode, a=alpha, b=background: blend(p, m, F(a), b)


def main():
    for channels in (1, 2, 3, 4):
        print("before", channels, ";".join(",".join(map(str, p)) for p in pixels(channels)), sep="\t")
    for spec, change in cases():
        for channels in (1, 2, 3, 4):
            after = []
            for pixel in pixels(channels):
                colors = pixel[:1] * 3 if channels < 3 else pixel[:3]
                alpha = pixel[-1] if channels in (2, 4) else 255
                result = change([F(v, 255) for v in (*colors, alpha)])
                after.append(",".join(f"{float(v) * 255:.2f}".rstrip("0").rstrip(".") for v in result))
            print(spec, channels, ";".join(after), sep="\t")


main()
