#!/bin/bash
# Installs a package on a system without Swift, as its users would, and fetches an image there.
# usage: check_package.sh deb|tarball|wheel|image DIR    (root, but for image, which is loaded already; DIR has SHA256SUMS)
set -euo pipefail
fixtures=$(cd "$(dirname "$0")/../../Fixtures" && pwd)
kind=$1
cd "$2"

install_packages() {
    if command -v apt-get >/dev/null; then
        apt-get -qq update
        DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "$@" >/dev/null
    else
        dnf -q -y install "${@/libcurl4/libcurl}"
    fi
}

sha256sum --quiet --check SHA256SUMS
port=18080
case $kind in
deb)
    install_packages python3 ./kf_*.deb
    kf=(kf)
    ;;
tarball)
    install_packages python3 libcurl4
    archive=$(echo kf-*-linux-"$(uname -m)".tar.gz)
    tar -xzf "$archive" -C /opt
    kf=("/opt/${archive%.tar.gz}/bin/kf")
    ;;
wheel)
    install_packages libcurl4
    python3 -m venv /tmp/kf-venv
    /tmp/kf-venv/bin/pip install -q --no-index kf-*.whl
    kf=(/tmp/kf-venv/bin/kf)
    ;;
image)
    archive=$(echo kf-*-oci-*.tar)
    version=${archive#kf-}
    kf=(docker run --rm --network=host "kf:${version%%-oci*}")
    ;;
*)
    echo "check_package: unknown package $kind" >&2
    exit 2
    ;;
esac

python3 -m http.server --bind 127.0.0.1 --directory "$fixtures" "$port" >/dev/null 2>&1 &
server=$!
trap 'kill $server' EXIT
"${kf[@]}" --version -v
"${kf[@]}" fetch --retry 5 "http://127.0.0.1:$port/png/rgb.png" -o - | cmp - "$fixtures/png/rgb.png"
"${kf[@]}" fetch --retry 5 "http://127.0.0.1:$port/png/rgb.png" -p resize:8x8 -f webp -o - | head -c 4 | grep -q RIFF
echo "check_package: $kind fetches and writes images"
