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
    "vipsthumbnail": "libvips-tools",
    "convert": "imagemagick",
    "gm": "graphicsmagick",
    "djpeg": "libjpeg-turbo-progs",
}
PYTHON_PACKAGES = ("python3", "python3-venv", "python3-pil", "python3-numpy", "python3-matplotlib")
INSTALL_LIMIT = 600  # seconds


def install(with_python):
    """From Debian what is missing, then img2dataset from PyPI if asked to. Says what could not be had, and goes on."""
    subprocess.run([ROOT / "Tests/Support/setup.sh", *PACKAGES.values(), *PYTHON_PACKAGES], check=True)
    environment = KEPT / "img2dataset"
    if not with_python or (environment / "installed").exists():
        return
    shutil.rmtree(environment, ignore_errors=True)
    print("bench: installing img2dataset from PyPI into .build/bench/img2dataset", file=sys.stderr, flush=True)
    try:
        subprocess.run(
            ["/usr/bin/python3", "-m", "venv", environment],
            check=True,
            timeout=INSTALL_LIMIT,
            stdout=subprocess.DEVNULL,
        )
        subprocess.run([environment / "bin/pip", "install", "-q", "img2dataset"], check=True, timeout=INSTALL_LIMIT)
        (environment / "installed").touch()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"bench: img2dataset cannot be installed, going on without it: {error}", file=sys.stderr, flush=True)


def find(name):
    """The program's path, or None."""
    debian = f"/usr/bin/{name}"
    return debian if os.access(debian, os.X_OK) else shutil.which(name)


def toolchain(name):
    """A program of Swift's toolchain, which may not be in PATH."""
    swift = shutil.which("swift")
    beside = Path(swift).resolve().parent / name if swift else None
    return beside if beside and beside.exists() else name


def img2dataset():
    program = KEPT / "img2dataset/bin/img2dataset"
    return program if (KEPT / "img2dataset/installed").exists() else None


def versions(kf):
    """What was measured, a line each."""
    commands = {
        "kf": (kf, "--version"),
        "curl": ("curl", "--version"),
        "aria2c": ("aria2c", "--version"),
        "libvips": ("vipsthumbnail", "--version"),
        "ImageMagick": ("convert", "--version"),
        "GraphicsMagick": ("gm", "version"),
        "nginx": ("nginx", "-v"),
        "Pillow": ("/usr/bin/python3", "-c", "import PIL; print(PIL.__version__)"),
    }
    if img2dataset():
        commands["img2dataset"] = (KEPT / "img2dataset/bin/pip", "show", "img2dataset")
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
