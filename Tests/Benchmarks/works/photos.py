"""Decoding, scaling, filtering, encoding."""

import os
import subprocess

from harness import inputs, quality
from harness.filesystem import FileSystem
from harness.floors import floor
from harness.measure import Side, alternate
from harness.paths import BENCHMARKS
from harness.peers import find
from harness.result import Goal, Result
from .bench import count_and_size, files

SIDE = 320
QUALITY = 85
SIGMA = 10
PYTHON = "/usr/bin/python3"
CORES = str(os.cpu_count())


def spread(folder, count, *command):
    """The command over all photos there, as many processes as there are cores, each with its share of the files."""
    share = str(-(-count // (2 * int(CORES))))
    return (
        "sh",
        "-c",
        'cd "$1"; share=$2; cores=$3; shift 3; printf "%s\\0" *.jpg | xargs -0 -n "$share" -P "$cores" "$@"',
        "sh",
        folder,
        share,
        CORES,
        *command,
    )


def thumbnails(bench):
    """Two hundred photographs made small, files to files. kf writes its cache besides unless told not to."""
    photos = inputs.photographs()
    with FileSystem(bench.scratch) as system, bench.within(system.path):
        return on_new_files(bench, photos, "fresh: a new ext4" if system.fresh else "")


def on_new_files(bench, photos, state):
    def kf(extension, *options):
        def command():
            bench.remove("cache")
            return (
                bench.kf,
                "fetch",
                "-q",
                "-p",
                f"resize:{SIDE}x{SIDE},fit",
                "-f",
                extension,
                *options,
                "--name",
                "{stem}.{ext}",
                "--output-dir",
                bench.empty("kf"),
                *photos,
            )

        return command

    def vips(suffix, *, several=False):
        def command():
            words = (find("vipsthumbnail"), "-s", SIDE, "-o", f"{bench.empty('vips')}/%s{suffix}")
            return spread(photos[0].parent, len(photos), *words, "--vips-concurrency=1") if several else (*words, *photos)

        return command

    def pillow():
        return (PYTHON, BENCHMARKS / "peers/thumbnails.py", SIDE, QUALITY, CORES, bench.empty("pillow"), *photos)

    def graphics():
        return spread(
            photos[0].parent,
            len(photos),
            find("gm"),
            "mogrify",
            "-size",
            f"{2 * SIDE}x{2 * SIDE}",
            "-output-directory",
            bench.empty("gm"),
            "-thumbnail",
            f"{SIDE}x{SIDE}",
            "-quality",
            QUALITY,
        )

    def magick():
        return spread(
            photos[0].parent,
            len(photos),
            find("mogrify"),
            "-limit",
            "thread",
            "1",
            "-define",
            f"jpeg:size={2 * SIDE}x{2 * SIDE}",
            "-path",
            bench.empty("im"),
            "-thumbnail",
            f"{SIDE}x{SIDE}",
            "-quality",
            QUALITY,
        )

    def check(name):
        def look():
            folder = bench.scratch / name
            made = sorted(files(folder))
            if len(made) != len(photos):
                raise SystemExit(f"bench: {name} made {len(made)} of {len(photos)} thumbnails")
            stems = {photo.stem: photo for photo in photos}
            value = quality.scaled_quality((stems[file.stem], file) for file in made)
            return f"{count_and_size(folder)}, {value:.1f} dB"

        return look

    sides = [
        Side("kf", kf("jpeg"), "kf", "caches the originals and the thumbnails, and writes copies", check("kf")),
        Side("vipsthumbnail", vips(f".jpg[Q={QUALITY}]"), check=check("vips")),
        Side(
            f"vipsthumbnail × {CORES}",
            vips(f".jpg[Q={QUALITY}]", several=True),
            note="xargs -P, a thread each",
            check=check("vips"),
        ),
        Side(
            f"Pillow × {CORES}",
            pillow,
            note="draft, thumbnail with LANCZOS, a process for each core",
            check=check("pillow"),
        ),
        Side(
            f"GraphicsMagick × {CORES}",
            graphics,
            note="gm mogrify -size 640x640 -thumbnail, xargs -P",
            check=check("gm"),
        ),
        Side(
            f"ImageMagick × {CORES}",
            magick,
            note="mogrify -define jpeg:size=640x640 -thumbnail, xargs -P",
            check=check("im"),
        ),
        Side("libjpeg, scaled decode", lambda: (floor("decode"), SIDE, *photos), "floor", "one thread, nothing else"),
    ]
    if bench.without_cache:
        sides.insert(
            1,
            Side(
                "kf, nothing cached",
                kf("jpeg", *bench.without_cache),
                "note",
                " ".join(bench.without_cache) + ": what the peers do",
                check("kf"),
            ),
        )
    # What was decoded and scaled, before encoding takes its part: into PNG.
    lossless = [
        Side("kf", kf("png"), check=check("kf")),
        Side("vips", vips(".png[compression=1]"), check=check("vips")),
    ]
    alternate(lossless, 1, bench.environment)
    decibels = [float(side.output.split(", ")[-1].split()[0]) for side in lossless]
    alternate(sides, bench.rounds, bench.environment)
    return [
        Result(
            "thumbnails",
            f"{len(photos)} photographs of 0.3–4.5 MP to {SIDE} px JPEG",
            state,
            sides,
            [
                Goal("≤ 0.65 s wall", lambda result: result.kf.median() / 1000, 0.65),
                Goal("≤ 1.2 s cpu", lambda result: result.kf.median("cpu") / 1000, 1.2),
                *(
                    [
                        Goal(
                            "≤ 0.65 s wall, nothing cached",
                            lambda result: result.side("kf, nothing cached").median() / 1000,
                            0.65,
                        )
                    ]
                    if bench.without_cache
                    else []
                ),
                Goal("≥ 45 dB before encoding", lambda _: decibels[0], 45, least=True),
            ],
            {
                "before encoding": f"kf {decibels[0]:.1f} dB, vips {decibels[1]:.1f} dB to a full decode and Lanczos-3",
                "input": inputs.originals()[1],
            },
        )
    ]


def of_kf(bench, photo, output, check, processor, *format):
    """kf in a cache that is there, and in one that it makes: making one waits for the disk several times."""

    def kf(cache, *options):
        return (bench.kf, "fetch", "-q", "--cache-dir", cache, *options, "-p", processor, *format, "-o", output, photo)

    def in_new_cache():
        return kf(bench.remove("new-cache"))

    known = bench.empty("cache")
    known.chmod(0o700)
    note = "into a cache that is there, everything done anew: --force-refresh"
    return [
        Side("kf", lambda: kf(known, "--force-refresh", *bench.without_cache), "kf", note, check),
        Side("kf, new cache", in_new_cache, "note", "makes a cache first", check),
    ]


def large(bench):
    """One photograph of 24 megapixels made small."""
    photo = inputs.picture(inputs.LARGE_WIDTH, inputs.LARGE_HEIGHT, "24mp")
    out = {name: bench.scratch / f"{name}.jpg" for name in ("kf", "vips", "pillow", "gm", "im")}

    def check(name):
        return lambda: f"{out[name].stat().st_size / 1e3:.1f} kB, {quality.scaled_quality([(photo, out[name])]):.1f} dB"

    sides = [
        *of_kf(bench, photo, out["kf"], check("kf"), f"resize:{SIDE}x{SIDE},fit"),
        Side(
            "vipsthumbnail",
            lambda: (find("vipsthumbnail"), "-s", SIDE, "-o", f"{out['vips']}[Q={QUALITY}]", photo),
            check=check("vips"),
        ),
        Side(
            "Pillow",
            lambda: (PYTHON, BENCHMARKS / "peers/one.py", "thumbnail", SIDE, QUALITY, photo, out["pillow"]),
            note="draft, thumbnail with LANCZOS",
            check=check("pillow"),
        ),
        Side(
            "GraphicsMagick",
            lambda: (
                find("gm"),
                "convert",
                "-size",
                f"{2 * SIDE}x{2 * SIDE}",
                photo,
                "-thumbnail",
                f"{SIDE}x{SIDE}",
                "-quality",
                QUALITY,
                out["gm"],
            ),
            check=check("gm"),
        ),
        Side(
            "ImageMagick",
            lambda: (
                find("convert"),
                "-define",
                f"jpeg:size={2 * SIDE}x{2 * SIDE}",
                photo,
                "-thumbnail",
                f"{SIDE}x{SIDE}",
                "-quality",
                QUALITY,
                out["im"],
            ),
            check=check("im"),
        ),
        Side("libjpeg, scaled decode", lambda: (floor("decode"), SIDE, photo), "floor", "one thread, nothing else"),
    ]
    alternate(sides[:1], 1, bench.environment)
    sides[0].runs.clear()
    alternate(sides, bench.cheap(11), bench.environment)
    return [
        Result(
            "large",
            f"one 24 MP JPEG to {SIDE} px",
            "",
            sides,
            [
                Goal("≤ 40 ms", lambda result: result.kf.median(), 40),
                Goal("≤ 24 MiB", lambda result: max(run.memory for run in result.kf.runs), 24),
            ],
        )
    ]


def avif(bench):
    """One AVIF of 24 megapixels made small. AV1 has no scaled decode, so that all pixels are decoded."""
    photo = inputs.avif(inputs.LARGE_WIDTH, inputs.LARGE_HEIGHT, "24mp")
    if not photo or not find("vipsthumbnail"):
        bench.skip("avif: no avifenc, or no vipsthumbnail")
        return []
    out = {name: bench.scratch / f"{name}.jpg" for name in ("kf", "vips")}
    # Debian's Pillow reads no AVIF, and the small pictures are compared with a full decode.
    whole = bench.scratch / "whole.png"
    subprocess.run((find("avifdec"), "--png-compress", "1", photo, whole), check=True, stdout=subprocess.DEVNULL)

    def check(name):
        return lambda: f"{out[name].stat().st_size / 1e3:.1f} kB, {quality.scaled_quality([(whole, out[name])]):.1f} dB"

    sides = [
        *of_kf(bench, photo, out["kf"], check("kf"), f"resize:{SIDE}x{SIDE},fit", "-f", "jpeg"),
        Side(
            "vipsthumbnail",
            lambda: (find("vipsthumbnail"), "-s", SIDE, "-o", f"{out['vips']}[Q={QUALITY}]", photo),
            check=check("vips"),
        ),
    ]
    alternate(sides[:1], 1, bench.environment)
    sides[0].runs.clear()
    alternate(sides, bench.rounds, bench.environment)

    def memory(result):
        most = [max(run.memory for run in side.runs) for side in (result.kf, result.side("vipsthumbnail"))]
        return most[0] / most[1]

    return [
        Result(
            "avif",
            f"one 24 MP AVIF to {SIDE} px",
            "",
            sides,
            [
                Goal("≤ 1.0 × vipsthumbnail's wall", lambda result: result.ratio("vipsthumbnail"), 1.0),
                Goal("≤ 0.6 × vipsthumbnail's memory", memory, 0.6),
            ],
        )
    ]


def blur(bench):
    """A filter over a whole picture of 6 megapixels, decoded and encoded at full size."""
    photo = inputs.picture(3000, 2000, "6mp")
    out = {name: bench.scratch / f"{name}.jpg" for name in ("kf", "vips", "pillow", "gm", "im", "recode")}

    def check(name):
        return lambda: (
            f"{out[name].stat().st_size / 1e3:.0f} kB, {quality.blurred_quality(photo, out[name], SIGMA):.1f} dB"
        )

    sides = [
        *of_kf(bench, photo, out["kf"], check("kf"), f"blur:{SIGMA}"),
        Side(
            "vips gaussblur",
            lambda: (find("vips"), "gaussblur", photo, f"{out['vips']}[Q={QUALITY}]", SIGMA),
            check=check("vips"),
        ),
        Side(
            "Pillow",
            lambda: (PYTHON, BENCHMARKS / "peers/one.py", "blur", SIGMA, QUALITY, photo, out["pillow"]),
            note="GaussianBlur, three box passes as kf's",
            check=check("pillow"),
        ),
        Side(
            "GraphicsMagick",
            lambda: (find("gm"), "convert", photo, "-blur", f"0x{SIGMA}", "-quality", QUALITY, out["gm"]),
            check=check("gm"),
        ),
        Side(
            "ImageMagick",
            lambda: (find("convert"), photo, "-blur", f"0x{SIGMA}", "-quality", QUALITY, out["im"]),
            check=check("im"),
        ),
        Side(
            "libjpeg, decode and encode",
            lambda: (floor("recode"), QUALITY, photo, out["recode"]),
            "floor",
            "one thread",
        ),
    ]
    alternate(sides[:1], 1, bench.environment)
    sides[0].runs.clear()
    alternate(sides, bench.cheap(11), bench.environment)
    return [
        Result(
            "blur",
            f"blur of radius {SIGMA} of a 6 MP JPEG",
            "",
            sides,
            [Goal("≤ 0.14 s", lambda result: result.kf.median() / 1000, 0.14)],
        )
    ]
