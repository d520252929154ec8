#!/usr/bin/env python3
"""Installs each package in a clean root of Debian without Swift, and fetches an image there.

usage: test_packages.py --packages DIR

Needs root, and Debian's registry. Skips, saying so, without them.
"""

import argparse
import functools
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Integrations"))
import skips  # noqa: E402

PACKAGES = ROOT / ".build/packages"
VERSION = subprocess.run([ROOT / "Sources/Packaging/version.sh"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
LIMIT = 300  # seconds of a command
IMAGE_USER = 65532


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Clean:
    """A root with Debian's essential packages and apt, of which each test gets a copy."""

    folder = None

    @classmethod
    def copy(cls, name):
        if os.geteuid() != 0:
            raise unittest.SkipTest("clean roots need root")
        if shutil.which("mmdebstrap") is None:
            raise unittest.SkipTest("clean roots need mmdebstrap")
        if cls.folder is None:
            cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kf-root-"))
            subprocess.run(
                ["mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/apt/lists", "bookworm", cls.folder / "base"],
                check=True, timeout=600)
        target = cls.folder / name
        subprocess.run(["cp", "-a", "--reflink=auto", cls.folder / "base", target], check=True)
        shutil.copy("/etc/resolv.conf", target / "etc/resolv.conf")
        return target

    @classmethod
    def remove(cls):
        if cls.folder is not None:
            shutil.rmtree(cls.folder)


def setUpModule():
    handler = functools.partial(Quiet, directory=str(ROOT / "Fixtures"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    PackageTests.address = f"http://127.0.0.1:{server.server_port}"
    unittest.addModuleCleanup(server.server_close)
    unittest.addModuleCleanup(server.shutdown)
    unittest.addModuleCleanup(Clean.remove)


class PackageTests(unittest.TestCase):
    address = ""

    def enter(self, root, *words, status=0, user=None, **environment):
        """Runs a command in a root, as a process tree that ends with it, and returns its output."""
        options = ["--userspec", f"{user}:{user}"] if user is not None else []
        mounts = [shutil.which("unshare"), "--mount", "--pid", "--fork", f"--mount-proc={root}/proc"]
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                     "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", **environment}
        result = subprocess.run(
            [*mounts, shutil.which("chroot"), *options, str(root), *map(str, words)], env=variables, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(result.returncode, status, f"{words}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def install(self, root, *packages):
        self.enter(root, "apt-get", "-qq", "install", "--no-install-recommends", *packages)

    def fetch(self, root, kf="kf", **options):
        """Fetches an image, and makes a copy in another format. Returns the path in the cache."""
        path = self.enter(root, kf, "fetch", f"{self.address}/png/rgb.png", **options).strip()
        self.assertEqual((root / path[1:]).read_bytes(), (ROOT / "Fixtures/png/rgb.png").read_bytes())
        self.enter(root, kf, "fetch", f"{self.address}/png/rgb.png", "-p", "resize:8x8", "-o", "/tmp/copy.webp", **options)
        self.assertEqual((root / "tmp/copy.webp").read_bytes()[:4], b"RIFF")
        return path

    def one(self, pattern):
        found = list(PACKAGES.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern} in {PACKAGES}: {found}")
        return found[0]

    def put(self, package, root):
        shutil.copy(package, root / "tmp" / package.name)
        return f"/tmp/{package.name}"

    def told(self, what, start):
        print(f"{what}: from nothing to a fetched image in {time.monotonic() - start:.1f} s", file=sys.stderr)

    def test_a_package_of_debian_installs_and_leaves_caches_alone(self):
        root = self.one_root("deb")
        start = time.monotonic()
        self.install(root, self.put(self.one("kf_*.deb"), root))
        path = self.fetch(root)
        self.told("deb", start)
        self.assertIn(f"kf {VERSION}", self.enter(root, "kf", "--version", "-v"))
        for name in ("man/man1/kf.1.gz", "bash-completion/completions/kf", "zsh/vendor-completions/_kf",
                     "fish/vendor_completions.d/kf.fish", "doc/kf/copyright", "doc/kf/licences/swift.gz"):
            # Minimal roots of Debian leave documentation out.
            if not name.startswith(("man", "doc")) or (root / "usr/share/man/man1").exists():
                self.assertTrue((root / "usr/share" / name).exists(), name)
        units = root / "usr/lib/systemd/user"
        self.assertEqual(sorted(unit.name for unit in units.glob("kf*")), ["kf-clean.service", "kf-clean.timer"])
        self.assertEqual(list(root.glob("etc/systemd/user/**/kf*")), [], "the timer is off until its user turns it on")
        for command in ("remove", "purge"):
            self.enter(root, "apt-get", "-qq", command, "kf")
            self.assertFalse((root / "usr/bin/kf").exists())
            self.assertTrue((root / path[1:]).exists(), command)

    def test_units_of_systemd_are_valid(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("units are verified by systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            for unit in (ROOT / "Sources/Packaging/debian").glob("kf-clean.*"):
                text = unit.read_text().replace("/usr/bin/kf ", "/bin/true ").replace("Documentation=man:kf(1)\n", "")
                (pathlib.Path(folder) / unit.name).write_text(text)
            for unit in sorted(pathlib.Path(folder).iterdir()):
                result = subprocess.run(["systemd-analyze", "verify", "--user", unit], text=True, capture_output=True,
                                        env={**os.environ, "XDG_RUNTIME_DIR": folder}, timeout=LIMIT)
                self.assertEqual((result.returncode, [line for line in result.stderr.splitlines() if "kf-clean" in line]),
                                 (0, []), result.stderr)

    def test_a_tarball_runs_where_it_is_unpacked(self):
        root = self.one_root("tarball")
        archive = self.one(f"kf-{VERSION}-linux-{os.uname().machine}.tar.gz")
        start = time.monotonic()
        self.install(root, "libcurl4")
        for package in PACKAGES.glob("kf*"):
            self.put(package, root)
        shutil.copy(PACKAGES / "SHA256SUMS", root / "tmp")
        self.enter(root, "sh", "-c", "cd /tmp && sha256sum --quiet -c SHA256SUMS")
        self.enter(root, "tar", "-xzf", f"/tmp/{archive.name}", "-C", "/opt")
        kf = f"/opt/kf-{VERSION}-linux-{os.uname().machine}/bin/kf"
        self.fetch(root, kf)
        self.told("tarball", start)
        for name in ("share/man/man1/kf.1", "licences/swift", "licences/libssl", "README.md"):
            self.assertTrue((root / kf[1:]).parents[1].joinpath(name).stat().st_size > 0, name)
        said = json.loads(self.enter(root, kf, "--version", "--json"))
        self.assertIsNone(said["libraries"]["libavif"])
        self.assertTrue(said["libraries"]["libcurl"])

    def test_a_wheel_gives_the_program_and_the_module(self):
        root = self.one_root("wheel")
        start = time.monotonic()
        self.install(root, "libcurl4", "python3-venv")
        self.enter(root, "python3", "-m", "venv", "/venv")
        self.enter(root, "/venv/bin/pip", "install", "-q", "--no-index", self.put(self.one("kf-*.whl"), root))
        self.fetch(root, "/venv/bin/kf")
        self.told("wheel", start)
        program = f"""
from kf_partition import fetch
for row in fetch([{{"url": "{self.address}/png/grey.png", "id": 7}}]): print(row["id"], row["status"])
"""
        self.assertEqual(self.enter(root, "/venv/bin/python", "-c", program), "7 fetched\n")
        self.enter(root, "/venv/bin/pip", "uninstall", "-q", "-y", "kf")
        self.assertFalse((root / "venv/bin/kf").exists())

    def test_an_image_of_containers_runs_without_root(self):
        archive = self.one("kf-*-oci-*.tar")
        if os.geteuid() != 0:
            self.skipTest("an image is unpacked by root")
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            with tarfile.open(archive) as tar:
                tar.extractall(folder / "image")
            index = json.loads((folder / "image/index.json").read_bytes())

            def blob(entry):
                kind, digest = entry["digest"].split(":")
                content = (folder / "image/blobs" / kind / digest).read_bytes()
                self.assertEqual((hashlib.sha256(content).hexdigest(), len(content)), (digest, entry["size"]))
                return content

            manifest = json.loads(blob(index["manifests"][0]))
            configuration = json.loads(blob(manifest["config"]))
            root = folder / "root"
            root.mkdir()
            for layer, identity in zip(manifest["layers"], configuration["rootfs"]["diff_ids"]):
                path = folder / "layer.tar"
                path.write_bytes(subprocess.run(["gunzip"], input=blob(layer), check=True, capture_output=True).stdout)
                self.assertEqual("sha256:" + hashlib.sha256(path.read_bytes()).hexdigest(), identity)
                with tarfile.open(path) as tar:
                    tar.extractall(root, numeric_owner=True)
            for entry in json.loads((folder / "image/manifest.json").read_bytes()):
                for name in [entry["Config"], *entry["Layers"]]:
                    self.assertTrue((folder / "image" / name).exists(), "docker load reads this list")
            run = configuration["config"]
            self.assertEqual(run["User"], f"{IMAGE_USER}:{IMAGE_USER}")
            folder.chmod(0o755)
            start = time.monotonic()
            # A runtime without a volume uses the folder of the image, and mounts /proc.
            (root / "proc").mkdir()
            variables = dict(variable.split("=", 1) for variable in run["Env"])
            path = self.fetch(root, run["Entrypoint"][0], user=IMAGE_USER, **variables)
            self.assertTrue(path.startswith("/cache/"), path)
            self.told("image", start)
            said = json.loads(self.enter(root, run["Entrypoint"][0], "--version", "--json", user=IMAGE_USER))
            names = ("libcurl", "lcms2", "libavif", "libheif", "libjxl", "libtiff", "libarchive")
            self.assertNotIn(None, [said["libraries"][name] for name in names])
            self.assertGreater((root / "etc/ssl/certs/ca-certificates.crt").stat().st_size, 100_000)

    def test_an_image_runs_in_a_runtime(self):
        runtime = shutil.which("podman") or shutil.which("docker")
        if runtime is None:
            self.skipTest("no runtime of containers is installed; the image is tried by chroot")
        loaded = subprocess.run([runtime, "load", "-i", self.one("kf-*-oci-*.tar")], capture_output=True, timeout=LIMIT)
        if loaded.returncode != 0 and b"daemon" in loaded.stderr:
            self.skipTest("the daemon of containers does not run; the image is tried by chroot")
        self.assertEqual(loaded.returncode, 0, loaded.stderr)
        self.addCleanup(subprocess.run, [runtime, "rmi", "-f", f"kf:{VERSION}"], capture_output=True)
        result = subprocess.run(
            [runtime, "run", "--rm", "--network=host", f"kf:{VERSION}", "fetch", f"{self.address}/png/rgb.png", "-o", "-"],
            capture_output=True, timeout=LIMIT)
        if result.returncode in (125, 126):  # the runtime's own failures
            self.skipTest(f"a runtime of containers may not start a process here: {result.stderr.decode().strip()[:200]}")
        self.assertEqual((result.returncode, result.stdout), (0, (ROOT / "Fixtures/png/rgb.png").read_bytes()), result.stderr)

    def test_no_program_searches_for_libraries_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg-deb", "--extract", self.one("kf_*.deb"), folder], check=True, timeout=LIMIT)
            programs = [*PACKAGES.glob("bin/*/kf"), pathlib.Path(folder) / "usr/bin/kf"]
            self.assertGreater(len(programs), 1, f"no binary in {PACKAGES}/bin")
            for program in programs:
                section = subprocess.run(["readelf", "-d", program], check=True, text=True, capture_output=True).stdout
                self.assertIn("NEEDED", section)
                self.assertNotRegex(section, "R(UN)?PATH", program)

    def test_packages_are_the_same_bytes_each_time(self):
        binary = PACKAGES / "bin" / os.uname().machine / "kf"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "Sources/Packaging/package.py", "tarball", "wheel", "--kf", binary, "--out", folder],
                           check=True, stdout=subprocess.DEVNULL, timeout=LIMIT)
            for path in pathlib.Path(folder).glob("kf-*"):
                self.assertEqual(path.read_bytes(), (PACKAGES / path.name).read_bytes(), path.name)

    def test_another_machine_needs_an_sdk(self):
        listed = subprocess.run(["swift", "sdk", "list"], text=True, capture_output=True).stdout
        other = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
        if other in listed:
            self.skipTest(f"the toolchain has an SDK for {other}")
        result = subprocess.run([ROOT / "Sources/Packaging/portable.sh", "/nonexistent/kf", other, "swift", "build"],
                                text=True, capture_output=True, timeout=LIMIT)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"the toolchain has no SDK for {other}", result.stderr)

    def test_setup_names_the_packages_of_other_systems(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder)
            for name in ("sed", "grep", "head", "tr", "cat"):
                (programs / name).symlink_to(shutil.which(name))
            (programs / "swift").write_text("#!/bin/sh\necho Swift version 6.3\n")
            (programs / "swift").chmod(0o755)
            for lines, command in [
                ("ID=fedora\n", "dnf install libcurl-devel "), ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install "),
                ("ID=arch\n", "pacman -S curl "), ("ID=alpine\n", "apk add curl-dev "), ("ID=other\n", None),
            ]:
                (programs / "os-release").write_text(lines)
                result = subprocess.run(
                    [shutil.which("bash"), ROOT / "Tests/Support/setup.sh"], text=True, capture_output=True, timeout=LIMIT,
                    env={"PATH": folder, "OS_RELEASE": f"{folder}/os-release"})
                self.assertEqual(result.returncode, 1, result)
                self.assertIn("setup: this system has no apt. Please install:\nsetup:   libcurl (headers)\n", result.stderr)
                if command is None:
                    self.assertNotIn("come with", result.stderr)
                else:
                    self.assertIn(f"setup: which should come with:\nsetup:   {command}", result.stderr)

    def one_root(self, name):
        root = Clean.copy(name)
        self.assertIsNone(shutil.which("swift", path=f"{root}/usr/bin"))
        return root


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", type=pathlib.Path, default=PACKAGES)
    known, rest = parser.parse_known_args()
    PACKAGES = known.packages.resolve()
    sys.argv[1:] = rest
    skips.main()
