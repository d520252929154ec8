"""The pictures of a site: widths, formats, placeholders and markup."""

from harness import inputs
from harness.filesystem import FileSystem
from harness.measure import Side, alternate
from harness.paths import BENCHMARKS
from harness.peers import environment
from harness.result import Goal, Result
from .bench import count_and_size, files
from .photos import CORES

WIDTHS = "320,640,1280"
WEBP, JPEG = 75, 85  # qualities


def site(bench):
    """Two hundred photographs in three widths and two formats; then the same command again."""
    photos = inputs.photographs()
    with FileSystem(bench.scratch) as system, bench.within(system.path):
        sides = [
            Side("kf", lambda: (bench.remove("cache"), kf(bench, bench.empty("kf"), photos))[1], "kf", check=made(bench, "kf"))
        ]
        again = [Side("kf", lambda: kf(bench, bench.scratch / "kf", photos), "kf")]
        if programs := environment("pyvips"):
            name, note = f"libvips × {CORES}", "pyvips as generators use sharp: a decode for each width"

            def peer(folder):
                script = BENCHMARKS / "peers/site.py"
                return (programs / "python", script, WIDTHS, WEBP, JPEG, CORES, folder, *photos)

            sides.append(Side(name, lambda: peer(bench.empty("vips")), note=note, check=made(bench, "vips")))
            again.append(Side(name, lambda: peer(bench.scratch / "vips"), note="compares the times of files"))
        else:
            bench.skip("site: no pyvips from PyPI to compare with")
        alternate(sides, bench.rounds, bench.environment)
        before = states(bench.scratch / "kf")
        alternate(again, bench.cheap(11), bench.environment)
        touched = states(bench.scratch / "kf") ^ before
    state = "fresh: a new ext4" if system.fresh else ""
    title = f"{len(photos)} photographs of 0.3–4.5 MP to {WIDTHS} px, WebP and JPEG, colours and markup"
    half = Goal("≤ 0.5 of libvips", lambda result: result.ratio(sides[-1]) if len(sides) > 1 else None, 0.5)
    quick = Goal("≤ 0.2 s", lambda result: result.kf.median() / 1000, 0.2)
    return [
        Result("site", title, state, sides, [half]),
        Result("site-again", title + ", again", state, again, [quick], {"files touched": str(len(touched))}),
    ]


def kf(bench, folder, photos):
    return (
        *(bench.kf, "fetch", "-q", "--widths", WIDTHS, "-f", "webp", "-f", "jpeg"),
        *("--quality", f"webp={WEBP},jpeg={JPEG}", "--placeholder", "color"),
        *("--srcset", folder / "pictures.html", "--output-dir", folder, *photos),
    )


def states(folder):
    return {(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in files(folder)}


def made(bench, name):
    def look():
        folder = bench.scratch / name
        text = (folder / "pictures.html").read_text()
        if text.count("<picture>") != inputs.PHOTOGRAPHS:
            raise SystemExit(f"bench: {name} has the markup of {text.count('<picture>')} photographs")
        return count_and_size(folder)

    return look
