"""The programs that kf is measured beside: where they are, and which versions."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from .paths import KEPT, ROOT

# Some are no command of their own, and /usr/local may hold something else under the same name.
PACKAGES = {
    "curl": "curl",
    "aria2c": "aria2",
    "wget2": "wget2",
    "vipsthumbnail": "libvips-tools",
    "convert": "imagemagick",
    "gm": "graphicsmagick",
    "djpeg": "libjpeg-turbo-progs",
}
PYTHON_PACKAGES = ("python3", "python3-venv", "python3-pil", "python3-numpy", "python3-matplotlib")
INSTALL_LIMIT = 600  # seconds


# Those of PyPI, each in an environment of its own, and the works that need them.
ENVIRONMENTS = {"img2dataset": ("downloaders", "img2dataset"), "pyvips": ("site", "pyvips[binary]")}


def install(works):
    """From Debian what is missing, then from PyPI what the works need. Says what could not be had, and goes on."""
    subprocess.run([ROOT / "Tests/Support/setup.sh", *PACKAGES.values(), *PYTHON_PACKAGES], check=True)
    for name, (work, requirement) in ENVIRONMENTS.items():
        if work in works and not environment(name):
            install_environment(name, requirement)


def install_environment(name, requirement):
    environment = KEPT / name
    shutil.rmtree(environment, ignore_errors=True)
    print(f"bench: installing {name} from PyPI into .build/bench/{name}", file=sys.stderr, flush=True)
    try:
        subprocess.run(
            ["/usr/bin/python3", "-m", "venv", environment],
            check=True,
            timeout=INSTALL_LIMIT,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run([environment / "bin/pip", "install", "-q", requirement], check=True, timeout=INSTALL_LIMIT)
        (environment / "installed").touch()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"bench: {name} cannot be installed, going on without it: {error}", file=sys.stderr, flush=True)


def find(name):
    """The program's path, or None."""
    debian = f"/usr/bin/{name}"
    return debian if os.access(debian, os.X_OK) else shutil.which(name)


def toolchain(name):
    """A program of Swift's toolchain, which may not be in PATH."""
    swift = shutil.which("swift")
    beside = Path(swift).resolve().parent / name if swift else None
    return beside if beside and beside.exists() else name


def environment(name):
    """The programs of an environment from PyPI, or None."""
    return KEPT / name / "bin" if (KEPT / name / "installed").exists() else None


def versions(kf):
    """What was measured, a line each."""
    commands = {
        "kf": (kf, "--version"),
        "curl": ("curl", "--version"),
        "aria2c": ("aria2c", "--version"),
        "wget2": ("wget2", "--version"),
        "libvips": ("vipsthumbnail", "--version"),
        "ImageMagick": ("convert", "--version"),
        "GraphicsMagick": ("gm", "version"),
        "nginx": ("nginx", "-v"),
        "Pillow": ("/usr/bin/python3", "-c", "import PIL; print(PIL.__version__)"),
    }
    if environment("img2dataset"):
        commands["img2dataset"] = (environment("img2dataset") / "pip", "show", "img2dataset")
    if environment("pyvips"):
        version = "import pyvips; print('.'.join(str(pyvips.version(part)) for part in range(3)))"
        commands["libvips of pyvips"] = (environment("pyvips") / "python", "-c", version)
    found = {}
    for name, (program, *arguments) in commands.items():
        path = program if "/" in str(program) else find(program) or f"/usr/sbin/{program}"
        try:
            said = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60)
        except OSError:
            continue
        number = re.search(r"\d+\.\d+(\.\d+)?(-\d+)?", said.stdout + said.stderr)
        found[name] = number.group() if number else "?"
    return found
