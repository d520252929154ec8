#!/usr/bin/env python3
"""Measures decoding, scaling and encoding beside libjpeg-turbo's programs and vips.

usage: imaging.py [--runs N] PHOTO.jpg...    figures are the best of N runs, peers in turn
A picture of 24 megapixels is made of the first photograph.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / ".build" / "imaging-bench"


def build():
    OUT.mkdir(parents=True, exist_ok=True)
    include = ROOT / "Sources/CImageCodecs/include"
    (OUT / "module.modulemap").write_text(f'module CImageCodecs {{ umbrella "{include}" export * }}\n')
    clang = pathlib.Path(os.path.realpath(shutil.which("swiftc"))).parent / "clang"
    objects = []
    for source in sorted((ROOT / "Sources/CImageCodecs").glob("*.c")):
        objects.append(str(OUT / (source.stem + ".o")))
        subprocess.run([clang, "-c", "-O2", f"-I{include}", "-o", objects[-1], source], check=True)
    folders = (ROOT / "Sources/KFImaging", ROOT / "Tests/Benchmarks/imaging")
    sources = [source for folder in folders for source in folder.rglob("*.swift")]
    libraries = [f"-l:lib{name}.a" for name in ("png16", "jpeg", "webpmux", "webpdemux", "webp", "gif", "z")]
    links = [part for library in libraries for part in ("-Xlinker", library)]
    subprocess.run(
        ["swiftc", "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-O", "-wmo",
         "-static-stdlib", "-parse-as-library", "-module-name", "KFImaging", "-package-name", "kf", "-I", OUT,
         "-o", OUT / "bench",
         *map(str, sources), *objects, *links], check=True, cwd=OUT)
    return str(OUT / "bench")


def measure(command, shell=False):
    start = time.perf_counter()
    process = subprocess.Popen(command, shell=shell, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {command}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(runs, commands):
    """Runs the commands in turn; for each the least wall and cpu time, in ms, and the most memory, in MiB."""
    figures = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            figures[name].append(measure(command, shell=isinstance(command, str)))
    return {name: (min(f[0] for f in all) * 1e3, min(f[1] for f in all) * 1e3, max(f[2] for f in all))
            for name, all in figures.items()}


def show(title, figures, base):
    print(title)
    for name, (wall, cpu, memory) in figures.items():
        ratio = cpu / figures[base][1]
        print(f"  {name:24} wall {wall:7.1f} ms   cpu {cpu:7.1f} ms   {memory:6.1f} MiB   {ratio:5.2f} x {base}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("photos", nargs="+")
    options = parser.parse_args()
    bench = build()
    with tempfile.TemporaryDirectory() as folder:
        big = f"{folder}/24mp.jpg"
        subprocess.run(f"djpeg -scale 16/8 '{options.photos[0]}' | cjpeg -quality 85 >{big}", shell=True, check=True)
        commands = {
            "libjpeg scaled decode": [bench, "floor", big, "320"],
            "kf": [bench, "thumbnail", big, "320", f"{folder}/k.jpg"],
        }
        if shutil.which("vipsthumbnail"):
            commands["vipsthumbnail"] = ["vipsthumbnail", big, "-s", "320x320", "-o", f"{folder}/v.jpg"]
        show("24 MP JPEG to 320 px", best(options.runs, commands), "libjpeg scaled decode")
        for photo in options.photos:
            commands = {
                "djpeg | cjpeg": f"djpeg '{photo}' | cjpeg -quality 85 >{folder}/c.jpg",
                "kf": [bench, "recode", photo, "85", f"{folder}/k.jpg"],
            }
            show(f"decode and encode {os.path.basename(photo)}", best(options.runs, commands), "djpeg | cjpeg")
            commands = {"kf": [bench, "process", photo, "85", f"{folder}/k.jpg", "blur:10"]}
            if shutil.which("vips"):
                commands["vips gaussblur"] = ["vips", "gaussblur", photo, f"{folder}/v.jpg[Q=85]", "10"]
            show(f"blur of radius 10, {os.path.basename(photo)}", best(options.runs, commands), "kf")
            for side in (160, 320, 640):
                result = subprocess.run([bench, "quality", photo, str(side)], capture_output=True, text=True)
                print(f"  to {side} px: {float(result.stdout):.1f} dB from a full decode")


main()
