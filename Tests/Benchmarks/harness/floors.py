"""The least that each work can cost, as small C programs."""

import subprocess

from .paths import BENCHMARKS, KEPT

LIBRARIES = {
    "measure": (),
    "decode": ("-ljpeg",),
    "recode": ("-ljpeg",),
    "transfer": ("-lcurl",),
    "files": ("-l:libcrypto.a",),
    "rows": ("-l:libsqlite3.a", "-lm"),
    "lookup": ("-l:libsqlite3.a", "-l:libcrypto.a", "-lm"),
    "count": ("-l:libsqlite3.a", "-lm"),
    "unlink": (),
    "prefetch": ("-pthread", "-lcurl", "-l:libcrypto.a", "-l:libsqlite3.a", "-lm"),
}


def floor(name):
    """The compiled program, made anew when its source is younger."""
    source, program = BENCHMARKS / f"floors/{name}.c", KEPT / f"floors/{name}"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                "cc",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-deprecated-declarations",
                "-o",
                program,
                source,
                *LIBRARIES[name],
            ],
            check=True,
        )
    return program
