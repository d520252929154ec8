#!/usr/bin/python3
"""Runs one work with kf under perf, or under valgrind's callgrind where perf does not work, and prints where it spends
its time.

usage: profile_work.py [--kf BINARY] [--lines N] WORK

Each command that the work gives to kf is shown once, as it ran last: of `hit` the hit, not the fetch before it.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.paths import ROOT
from works import GROUPS, WORKS, named
from works.bench import Bench

PERF = ("perf", "record", "-q", "-F", "2999", "-e", "cpu-clock", "-g")
CALLGRIND = ("valgrind", "-q", "--tool=callgrind")


def perf_works(folder):
    if not shutil.which("perf"):
        return False
    return subprocess.run([*PERF, "-o", folder / "probe", "true"], capture_output=True).returncode == 0


def wrapper(kf, folder, perf):
    """A program that looks like kf and leaves a profile of each run under the names of its command."""
    if not perf:
        # Valgrind 3.19 takes the release binary's debug information for damaged.
        subprocess.run(("objcopy", "--strip-debug", kf, folder / "kf-plain"), check=True)
        kf = folder / "kf-plain"
    command = " ".join(PERF) + ' -o "$profile" --' if perf else " ".join(CALLGRIND) + ' --callgrind-out-file="$profile"'
    script = folder / "kf"
    script.write_text(f"""#!/bin/sh
case $1 in
    help | --version) exec "{kf}" "$@" ;;
    cache) profile="{folder}/profile-cache-$2" ;;
    *) profile="{folder}/profile-$1" ;;
esac
exec {command} "{kf}" "$@"
""")
    script.chmod(0o755)
    return script


def show(profile, perf, lines):
    print(f"\nkf {profile.name.removeprefix('profile-').replace('-', ' ')}")
    if perf:
        command = ("perf", "report", "-i", profile, "--stdio", "--no-children", "-g", "none", "--sort", "symbol")
    else:
        command = ("callgrind_annotate", profile)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if not perf:
        # What was run and how comes before the table.
        said = said[said.index("Ir ") :]
    kept = [line for line in said.splitlines() if line.strip() and not line.startswith(("#", "--"))]
    print("\n".join(line[:150] for line in kept[:lines]))
    if perf:
        by_thread = subprocess.run(
            ("perf", "report", "-i", profile, "--stdio", "--no-children", "-g", "none", "--sort", "dso"),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        print(
            "  by library: "
            + ", ".join(
                " ".join(line.split()) for line in by_thread.splitlines() if line.strip() and not line.startswith("#")
            )
        )


def main():
    parser = argparse.ArgumentParser(description="Shows where kf spends its time on one work.")
    parser.add_argument("--kf", type=Path, default=ROOT / ".build/release/kf")
    parser.add_argument("--lines", type=int, default=30)
    parser.add_argument("work", metavar="WORK", choices=[*GROUPS, *WORKS], help=", ".join(WORKS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kf-profile-") as scratch:
        folder = Path(scratch)
        perf = perf_works(folder)
        if not perf and not shutil.which("valgrind"):
            sys.exit("profile: neither perf (linux-perf) nor valgrind works here")
        (folder / "work").mkdir()
        # Of a group the first; some works are generators.
        work = WORKS[named([arguments.work])[0]]
        list(work(Bench(wrapper(arguments.kf.resolve(), folder, perf), folder / "work", 1)))
        for profile in sorted(folder.glob("profile-*")):
            if not profile.name.endswith(".old"):
                show(profile, perf, arguments.lines)


if __name__ == "__main__":
    main()
