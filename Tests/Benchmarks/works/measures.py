"""Measures of images, beside a prefetch that decodes them anyway."""

import statistics

from harness import inputs
from harness.filesystem import Tmpfs
from harness.measure import Reading, Side, alternate
from harness.result import Goal, Result
from .bench import Folders

COUNT = 400
ALL = "dhash,entropy,mean,sharpness,color,transparent"


def measures(bench):
    """400 photographs of a data set's usual size, which are checked, hashed and measured."""
    with Tmpfs(bench.scratch) as system:
        photos = bench.empty("photos")
        inputs.numbered([inputs.picture(640, 480, "vga")], photos, COUNT, 0, 1 << 30)
        paths = photos.parent / "list"
        paths.write_text("".join(f"{photo}\n" for photo in sorted(photos.iterdir())))
        folders = Folders(system)

        def kf(name, *options):
            def command():
                words = (bench.kf, "prefetch", "-", "--allow-local", "-q", "--cache-dir", folders.new(name), *options)
                return Reading(words, paths)

            return command

        sides = [
            Side("kf, dhash", kf("dhash", "--measure", "dhash"), "kf", "--measure dhash"),
            Side("kf, checked", kf("checked", "--check", "full"), "note", "--check full: the images alone"),
            Side("kf, figures", kf("figures", "--measure", "dhash,entropy,mean,sharpness"), "note", "of the luma"),
            Side("kf, all", kf("all", "--measure", ALL), "note", f"--measure {ALL}"),
            Side("kf, ThumbHash", kf("thumbhash", "--placeholder", "thumbhash"), "note", "--placeholder thumbhash"),
        ]
        alternate(sides, bench.cheap(7), bench.environment, after=folders.discard)

    def beside_check(name):
        def ratio(result):
            runs = zip(result.side(name).runs, result.side("kf, checked").runs)
            return statistics.median(run.cpu / check.cpu for run, check in runs)

        return ratio

    return [
        Result(
            "measures",
            f"measures of {COUNT} JPEGs of 640 × 480",
            system.name,
            sides,
            [
                Goal("dhash ≤ 1.1 × --check full by cpu", beside_check("kf, dhash"), 1.1),
                Goal("all ≤ 1.5 × --check full by cpu", beside_check("kf, all"), 1.5),
            ],
            {"input": inputs.originals()[1]},
        )
    ]
