#!/usr/bin/env python3
"""Measures the transfer engine, bodies thrown away, beside a bare loop over libcurl (floors/transfer.c) and curl itself.

usage: engine.py [--runs N] [small | secure | large]...

The sides take turns (A B A B ...). Times are medians, ratios are medians over the pairs of neighbours.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from harness.floors import floor
from harness.server import certificate, free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / ".build" / "engine-bench"
AT_ONCE = 64


def build(folder="engine", name="bench"):
    """An executable of the engine's sources and those of one folder beside this file."""
    OUT.mkdir(parents=True, exist_ok=True)
    include = ROOT / "Sources/CCurl/include"
    (OUT / "module.modulemap").write_text(f'module CCurl {{ header "{include}/kf_curl.h" export * }}\n')
    clang = pathlib.Path(os.path.realpath(shutil.which("swiftc"))).parent / "clang"
    subprocess.run(
        [clang, "-c", "-O2", f"-I{include}", "-o", OUT / "curl.o", ROOT / "Sources/CCurl/curl.c"], check=True)
    folders = (ROOT / "Sources/KFNetwork", ROOT / "Tests/Benchmarks" / folder)
    sources = [str(source) for folder in folders for source in sorted(folder.rglob("*.swift"))]
    subprocess.run(
        ["swiftc", "-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny", "-O", "-g", "-wmo",
         "-static-stdlib", "-parse-as-library", "-module-name", "KFNetwork", "-package-name", "kf", "-I", OUT, "-I", ROOT / "Sources/CZlib",
         "-o", OUT / name, *sources, OUT / "curl.o", "-lz"], check=True, cwd=OUT)
    return str(OUT / name)


class Nginx:
    """A private nginx over a directory, HTTP and HTTPS with HTTP/2, on ports that the kernel gives."""

    def __init__(self, folder):
        self.folder = folder
        self.authority, key = certificate(folder)
        (folder / "root").mkdir()
        self.port, self.secure_port = free_ports(2)
        (folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events {{ worker_connections 1024; }}
            http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 10000000; root root;
            http2_max_concurrent_streams 256;
            client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
            server {{ listen 127.0.0.1:{self.port} backlog=1024; }}
            server {{ listen 127.0.0.1:{self.secure_port} ssl http2 backlog=1024;
                ssl_certificate {self.authority}; ssl_certificate_key {key}; }} }}
            """)
        self.process = subprocess.Popen(
            [shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", "nginx.conf", "-e", "error.log"])
        for _ in range(500):
            if subprocess.run(["curl", "-s", "-o", "/dev/null", self.url("/")]).returncode == 0:
                return
            time.sleep(0.01)
        sys.exit("engine: nginx did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def secure_url(self, path):
        return f"https://127.0.0.1:{self.secure_port}{path}"


def measure(command):
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"engine: {command} ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compare(title, runs, **commands):
    """Prints every side beside the first one."""
    figures = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            figures[name].append(measure(command))
    print(title)
    ours = next(iter(figures.values()))
    for name, all in figures.items():
        wall, cpu = (statistics.median(figure[field] for figure in all) for field in (0, 1))
        ratio = [statistics.median(a[field] / b[field] for a, b in zip(ours, all)) for field in (0, 1)]
        print(f"  {name:<8}{wall * 1e3:8.0f} ms  cpu {cpu * 1e3:6.0f} ms  {max(f[2] for f in all):6.1f} MiB"
              f"   engine / {name}: wall {ratio[0]:.2f}, cpu {ratio[1]:.2f}", flush=True)


def small(bench, floor, nginx, runs):
    lists(nginx)
    plain = nginx.folder / "plain.txt"
    compare(f"5,000 files of 13 kB over {AT_ONCE} connections", runs, engine=(bench, plain, AT_ONCE),
            floor=(floor, plain, AT_ONCE))


def secure(bench, floor, nginx, runs):
    lists(nginx)
    listed, ca = nginx.folder / "secure.txt", nginx.authority
    compare(f"5,000 files of 13 kB over one HTTP/2 connection, {AT_ONCE} streams", runs,
            engine=(bench, listed, AT_ONCE, ca), floor=(floor, listed, AT_ONCE, ca),
            curl=("curl", "-s", "--no-progress-meter", "-Z", "--http2", "--parallel-max", AT_ONCE, "--cacert", ca, "-K",
                  nginx.folder / "curl.conf"))


def large(bench, floor, nginx, runs):
    file = nginx.folder / "root/large"
    if not file.exists():
        # Piece by piece: a child begins with the size of this process.
        with file.open("wb") as out:
            piece = os.urandom(1 << 20)
            for _ in range(200):
                out.write(piece)
    listed = nginx.folder / "large.txt"
    for scheme, url, extra in (("http", nginx.url("/large"), ()), ("https", nginx.secure_url("/large"),
                                                                   (nginx.authority,))):
        listed.write_text(url + "\n")
        cacert = ("--cacert", *extra) if extra else ()
        compare(f"one file of 200 MiB, {scheme}", runs, engine=(bench, listed, 1, *extra),
                floor=(floor, listed, 1, *extra), curl=("curl", "-s", "-o", "/dev/null", *cacert, url))


def lists(nginx):
    folder = nginx.folder / "root/small"
    if folder.exists():
        return
    folder.mkdir()
    for index in range(5000):
        (folder / str(index)).write_bytes(os.urandom(13_000))
    paths = [f"/small/{index}" for index in range(5000)]
    (nginx.folder / "plain.txt").write_text("".join(nginx.url(path) + "\n" for path in paths))
    urls = [nginx.secure_url(path) for path in paths]
    (nginx.folder / "secure.txt").write_text("".join(url + "\n" for url in urls))
    (nginx.folder / "curl.conf").write_text("".join(f'url = "{url}"\noutput = /dev/null\n' for url in urls))


def main():
    benchmarks = {"small": small, "secure": secure, "large": large}
    parser = argparse.ArgumentParser(description="Measures the transfer engine beside a bare loop over libcurl.")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *benchmarks], help=", ".join(benchmarks))
    arguments = parser.parse_args()
    bench, bare = build(), str(floor("transfer"))
    with tempfile.TemporaryDirectory(prefix="kf-engine-") as scratch, Nginx(pathlib.Path(scratch)) as nginx:
        for name in arguments.names or benchmarks:
            benchmarks[name](bench, bare, nginx, arguments.runs)


if __name__ == "__main__":
    main()
