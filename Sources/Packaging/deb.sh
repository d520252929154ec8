#!/bin/bash
# Makes a package of Debian of the built release binary. usage: deb.sh OUT
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$1
mkdir -p "$out"
out=$(cd "$out" && pwd)
version=$("$root/Sources/Packaging/version.sh")
work=$out/deb/kf-$version
rm -rf "$out/deb"
mkdir -p "$work"
cp -r "$root/Sources/Packaging/debian" "$work/debian"
# The time of the commit, as in the other packages.
epoch=${SOURCE_DATE_EPOCH:-$(git -c safe.directory="$root" -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH=$epoch
cat >"$work/debian/changelog" <<LOG
kf ($version) unstable; urgency=medium

  * Version $version (changes: Changelog in the documentation).

 -- kf developers <kf@kf.invalid>  $(date -u -R -d "@$epoch")
LOG
cd "$work"
# Swift is no package of Debian.
KF_TREE=$root dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$out/deb/log" 2>&1 || {
    cat "$out/deb/log"
    exit 1
}
cp "$out"/deb/kf_*.deb "$out"/
cp "$out"/deb/kf-dbgsym_*.deb "$out"/ 2>/dev/null || true
"$root/Sources/Packaging/package.py" sums --out "$out"
lintian --fail-on error,warning --profile debian "$out"/deb/kf_*.changes || {
    echo "deb: lintian has found faults" >&2
    exit 1
}
ls -l "$out"/kf_*.deb | awk '{ printf "%s: %.1f MB\n", $NF, $5 / 1e6 }'
