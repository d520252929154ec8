#!/usr/bin/env python3
"""Makes the packages of kf of a binary: a tarball, a wheel, an image of containers; or writes the licences
of what is linked into it, or the file SHA256SUMS of a folder.

usage: package.py KIND... --kf BINARY --out DIR [--machine aarch64]

The same binary and commit make the same bytes: members are sorted, and have the time of the commit and owner 0.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The images and the wheel name machines as Go and PyPI do.
GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
# What is linked into the binary, by the package of Debian that has the archive.
LINKED = ["libsqlite3-dev", "libssl-dev", "libpng-dev", "libjpeg62-turbo-dev", "libwebp-dev", "libgif-dev", "zlib1g-dev",
          "libstdc++-12-dev", "libgcc-12-dev"]
# The oldest glibc that has all symbols of the binary, which `check_glibc` makes sure of.
GLIBC = (2, 34)
# What the image has beside kf: what it is linked with, and what it loads when it is needed.
IMAGE_PACKAGES = ["libc6", "libcurl4", "liblcms2-2", "libavif15", "libheif1", "libjxl0.7", "libtiff6", "libarchive13"]
IMAGE_USER = 65532


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def git(*words):
    return run("git", "-c", f"safe.directory={ROOT}", *words, cwd=ROOT).strip()


VERSION = run(ROOT / "Sources/Packaging/version.sh").strip()


def epoch():
    """The time of everything in a package: that of the commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(git("log", "-1", "--format=%ct")) if (ROOT / ".git").exists() else 0


def fail(message):
    sys.exit(f"package: {message}")


def check_glibc(binary):
    """Fails if a symbol of the binary needs a newer glibc than the packages promise."""
    needed = set(re.findall(r"GLIBC_[\w.]+", run("readelf", "--version-info", "-W", binary)))
    if "GLIBC_ABI_DT_RELR" in needed:
        fail(f"{binary} has packed relocations, which need glibc 2.36")
    newest = max(tuple(map(int, name[6:].split("."))) for name in needed if name[6].isdigit())
    if newest > GLIBC:
        fail(f"{binary} needs glibc {'.'.join(map(str, newest))}")


def strip(binary, folder, machine):
    """Returns copies of a binary without symbols, and of its symbols, which debuggers match by the name of the build."""
    prefix = "" if machine == platform.machine() else f"{machine}-linux-gnu-"
    bare, symbols = folder / "kf", folder / "kf.debug"
    run(prefix + "objcopy", "--only-keep-debug", "--compress-debug-sections", binary, symbols)
    run(prefix + "strip", "--strip-all", "-R", ".comment", "-o", bare, binary)
    # The linker's name of a build is a hash of the symbols too, which know the folder of the sources. That of the code alone
    # is the same for two folders.
    parts = [bytearray(path.read_bytes()) for path in (bare, symbols)]
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
    places = [part.index(note) + len(note) for part in parts]
    parts[0][places[0]:places[0] + 20] = bytes(20)
    identity = hashlib.sha1(parts[0]).digest()
    for part, place in zip(parts, places):
        part[place:place + 20] = identity
    return bytes(parts[0]), bytes(parts[1])


def licences():
    """The licences of kf and of all that is linked into it, by the name of a file."""
    found = {"kf": (ROOT / "LICENSE").read_bytes()}
    swift = pathlib.Path(shutil.which("swift") or fail("swift is not in PATH")).resolve()
    for folder in swift.parents:
        text = folder / "share/swift/LICENSE.txt"
        if text.exists():
            found["swift"] = text.read_bytes()
            break
    for package in LINKED:
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if text.exists():
            found[package.removesuffix("-dev")] = text.read_bytes()
    missing = {"kf", "swift", *(package.removesuffix("-dev") for package in LINKED)} - set(found)
    if missing:
        fail(f"the licences of {', '.join(sorted(missing))} were not found; packages are made on Debian 12")
    return found


def write_licences(folder):
    folder.mkdir(parents=True)
    for name, text in licences().items():
        (folder / name).write_bytes(text)


def archive(members):
    """Returns a tar archive of (name, bytes, mode), with its folders; bytes of None make a folder, text a link."""
    time, buffer, seen = epoch(), io.BytesIO(), set()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:

        def add(name, content, mode, uid=0):
            member = tarfile.TarInfo(name)
            member.mtime, member.mode, member.uid, member.gid = time, mode, uid, uid
            if content is None:
                member.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
            else:
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content) if isinstance(content, bytes) else None)

        for name, content, mode, *uid in sorted(members, key=lambda member: member[0]):
            for parent in reversed(pathlib.PurePosixPath(name).parents):
                if str(parent) != "." and str(parent) not in seen:
                    seen.add(str(parent))
                    add(str(parent), None, 0o755)
            if content is not None or name not in seen:
                seen.add(name)
                add(name, content, mode, *uid)
    return buffer.getvalue()


def packed(content):
    return gzip.compress(content, 9, mtime=0)


def generated(binary, *words):
    return subprocess.run([binary, *words], check=True, stdout=subprocess.PIPE).stdout


def write(path, content):
    path.write_bytes(content)
    print(f"{path}: {len(content) / 1e6:.1f} MB")


def note_sums(folder):
    names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines))


def tarball(options, bare, symbols):
    name = f"kf-{VERSION}-linux-{options.machine}"
    # The program of this machine prints what the one of another machine would.
    program = options.host or options.kf
    documents = {
        "share/man/man1/kf.1": generated(program, "man"),
        "share/bash-completion/completions/kf": generated(program, "completions", "bash"),
        "share/zsh/site-functions/_kf": generated(program, "completions", "zsh"),
        "share/fish/vendor_completions.d/kf.fish": generated(program, "completions", "fish"),
        "README.md": (ROOT / "README.md").read_bytes(),
        **{f"licences/{part}": text for part, text in licences().items()},
    }
    members = [(f"{name}/{path}", content, 0o644) for path, content in documents.items()]
    write(options.out / f"{name}.tar.gz", packed(archive([*members, (f"{name}/bin/kf", bare, 0o755)])))
    write(options.out / f"{name}-debug.tar.gz", packed(archive([(f"{name}/bin/kf.debug", symbols, 0o644)])))


def wheel(options, bare, symbols):
    platform_tag = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{options.machine}"
    info, data = f"kf-{VERSION}.dist-info", f"kf-{VERSION}.data"
    readme = (ROOT / "README.md").read_text()
    metadata = f"""Metadata-Version: 2.1
Name: kf
Version: {VERSION}
Summary: Fetches images, keeps them in a disk cache, and writes processed copies
License: MIT
Requires-Python: >=3.9
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{readme}"""
    tags = f"Wheel-Version: 1.0\nGenerator: kf\nRoot-Is-Purelib: false\nTag: py3-none-{platform_tag}\n"
    files = {
        "kf_partition.py": (ROOT / "Sources/Integrations/kf_partition.py").read_bytes(),
        f"{data}/scripts/kf": bare,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": tags.encode(),
        **{f"{info}/licenses/{name}": text for name, text in licences().items()},
    }

    def row(name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    record = "".join(row(name, content) for name, content in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()
    time = max(epoch(), 315532800)  # a zip's times begin in 1980
    stamp = tuple(map(int, run("date", "-u", "-d", f"@{time}", "+%Y %m %d %H %M %S").split()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, stamp)
            member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3
            member.external_attr = (0o100755 if name.endswith("/scripts/kf") else 0o100644) << 16
            file.writestr(member, content)
    write(options.out / f"kf-{VERSION}-py3-none-{platform_tag}.whl", buffer.getvalue())


def system_members():
    """The members of the image that come from Debian: the libraries, their licences and the certificates."""
    members, status = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        debs = root / "var/cache/apt/archives"
        skip = ["--skip=cleanup/apt", "--quiet"]
        run("mmdebstrap", "--variant=extract", *skip, f"--include={','.join(IMAGE_PACKAGES)}", "bookworm", root)
        for deb in sorted(debs.glob("*.deb")):
            status.append((run("dpkg-deb", "-f", deb, "Package").strip(), run("dpkg-deb", "-f", deb)))
        certificates = pathlib.Path(folder) / "certificates"
        run("apt-get", "-q", "download", "ca-certificates", cwd=folder)
        run("dpkg-deb", "-x", next(pathlib.Path(folder).glob("ca-certificates*.deb")), certificates)
        bundle = b"".join(path.read_bytes() for path in sorted(certificates.rglob("*.crt")))
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            kept = name.startswith(("lib", "usr/lib", "etc/ssl")) or name.endswith("/copyright")
            if not kept or path.is_dir() and not path.is_symlink():
                continue
            if path.is_symlink():
                members.append((name, os.readlink(path), 0o777))
            elif path.is_file():
                members.append((name, path.read_bytes(), path.stat().st_mode & 0o777))
    members.append(("etc/ssl/certs/ca-certificates.crt", bundle, 0o644))
    # Scanners know the packages of images without dpkg by these files.
    members += [(f"var/lib/dpkg/status.d/{name}", text.encode(), 0o644) for name, text in status]
    return members


def image(options, bare, symbols):
    users = f"root:x:0:0:root:/root:/sbin/nologin\nkf:x:{IMAGE_USER}:{IMAGE_USER}:kf:/home/kf:/sbin/nologin\n"
    members = [
        *system_members(),
        ("etc/passwd", users.encode(), 0o644),
        ("etc/group", f"root:x:0:\nkf:x:{IMAGE_USER}:\n".encode(), 0o644),
        # A mounted volume begins with the owner of the folder.
        ("home/kf", None, 0o755, IMAGE_USER),
        ("cache", None, 0o700, IMAGE_USER),
        ("work", None, 0o755, IMAGE_USER),
        ("tmp", None, 0o1777),
    ]
    program = [("usr/bin/kf", bare, 0o755)]
    program += [(f"usr/share/doc/kf/licences/{name}", text, 0o644) for name, text in licences().items()]
    # Libraries change seldom: a new kf brings one small layer.
    layers = [archive(members), archive(program)]
    created = run("date", "-u", "-d", f"@{epoch()}", "+%Y-%m-%dT%H:%M:%SZ").strip()
    labels = {"org.opencontainers.image.title": "kf", "org.opencontainers.image.version": VERSION,
              "org.opencontainers.image.licenses": "MIT"}
    configuration = {
        "architecture": GO_NAMES[options.machine],
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{IMAGE_USER}:{IMAGE_USER}",
            "Env": ["PATH=/usr/bin", "KF_CACHE_DIR=/cache", "HOME=/home/kf"],
            "Entrypoint": ["/usr/bin/kf"],
            "Cmd": ["help"],
            "Volumes": {"/cache": {}},
            "WorkingDir": "/work",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]},
        "history": [{"created": created, "comment": comment} for comment in ("libraries of Debian 12", "kf")],
    }
    blobs = {}

    def blob(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", json.dumps(configuration).encode()),
        "layers": [blob("layer.v1.tar+gzip", packed(layer)) for layer in layers],
    }
    entry = blob("manifest.v1+json", json.dumps(manifest).encode())
    entry["annotations"] = {"org.opencontainers.image.ref.name": VERSION, "io.containerd.image.name": f"kf:{VERSION}"}
    # `docker load` before 25 reads the last file.
    paths = {part: f"blobs/sha256/{part.split(':')[1]}" for part in [one["digest"] for one in
             [manifest["config"], *manifest["layers"]]]}
    files = {
        **blobs,
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),
        "manifest.json": json.dumps([{
            "Config": paths[manifest["config"]["digest"]],
            "RepoTags": [f"kf:{VERSION}"],
            "Layers": [paths[layer["digest"]] for layer in manifest["layers"]],
        }]).encode(),
    }
    write(options.out / f"kf-{VERSION}-oci-{options.machine}.tar",
          archive([(name, content, 0o644) for name, content in files.items()]))
    print(f"unpacked: {sum(map(len, layers)) / 1e6:.1f} MB, {len(layers[1]) / 1e6:.1f} MB of it kf")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="+", choices=["tarball", "wheel", "image", "licences", "sums"])
    parser.add_argument("--kf", type=pathlib.Path)
    parser.add_argument("--host", type=pathlib.Path, help="a kf that runs here, for one of another machine")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--machine", default=platform.machine(), choices=sorted(GO_NAMES))
    options = parser.parse_args()
    if options.kinds == ["licences"]:
        return write_licences(options.out / "licences")
    if options.kinds == ["sums"]:
        return note_sums(options.out)
    if options.kf is None:
        parser.error("--kf is missing")
    check_glibc(options.kf)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        parts = strip(options.kf, pathlib.Path(folder), options.machine)
    for kind in options.kinds:
        {"tarball": tarball, "wheel": wheel, "image": image}[kind](options, *parts)
    note_sums(options.out)
    if options.machine != platform.machine():
        print(f"package: built for {options.machine}, and not tested on such a machine")


if __name__ == "__main__":
    main()
