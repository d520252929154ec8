#!/bin/bash
# Installs what building and testing kf needs and is missing. Says nothing and changes nothing when all is there.
# usage: setup.sh [PACKAGE...]    more packages to have (make bench asks for python3)
set -euo pipefail

# Libraries, then the servers of the tests, then the programs that check kf's work from outside.
libraries=(libcurl4-openssl-dev libsqlite3-dev libpng-dev libjpeg62-turbo-dev libwebp-dev libgif-dev
    liblcms2-dev libssl-dev zlib1g-dev libarchive-dev libavif-dev libtiff-dev libheif-dev libjxl-dev)
programs=(nginx apache2-bin curl openssl sqlite3 strace libjpeg-turbo-progs webp binutils zsh fish mandoc man-db
    python3 python3-botocore libavif-bin libheif-examples
    libjxl-tools jq)
packages=("${libraries[@]}" "${programs[@]}" "$@")

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

check_swift() {
    command -v swift >/dev/null ||
        fail "swift is not in PATH. kf needs Swift 6.2 or newer: https://www.swift.org/install/linux"
    local said version
    said=$(swift --version 2>/dev/null || true)
    version=$(sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' <<<"$said" | head -n 1)
    [[ $version =~ ^([0-9]+)\.([0-9]+)$ ]] || fail "cannot read the version from 'swift --version': ${said:-nothing}"
    ((BASH_REMATCH[1] > 6 || (BASH_REMATCH[1] == 6 && BASH_REMATCH[2] >= 2))) ||
        fail "Swift $version is too old: kf needs 6.2 or newer (https://www.swift.org/install/linux)"
}

# Names every package that dpkg does not have installed.
missing_packages() {
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
    local package
    for package in "${packages[@]}"; do
        grep -qxF "installed $package" <<<"$installed" || echo "$package"
    done
}

# Without apt: what pkg-config and PATH can tell, under the names that upstream gives it.
missing_elsewhere() {
    local name
    for name in libcurl sqlite3 libpng libjpeg libwebp libwebpmux libwebpdemux lcms2 libcrypto zlib libarchive libavif libtiff-4 libheif \
        libjxl; do
        pkg-config --exists "$name" 2>/dev/null || echo "$name (headers)"
    done
    [[ -e /usr/include/gif_lib.h || -e /usr/local/include/gif_lib.h ]] || echo "giflib (headers)"
    for name in nginx apache2 curl openssl sqlite3 strace djpeg avifdec readelf zsh fish mandoc man python3 jq; do
        PATH=$PATH:/usr/sbin:/sbin command -v "$name" >/dev/null || echo "$name"
    done
}

# Prints the command that installs what is missing on a system without apt, by the names of its own packages; nothing on an
# unknown system. None of these has been built on: Fedora and Arch lack some archives, so that the binary needs more dynamic
# libraries there, and Swift has no toolchain for Alpine's libc.
other_packages() {
    local ids
    ids=" $(sed -n 's/^ID\(_LIKE\)\?=//p' "${OS_RELEASE:-/etc/os-release}" 2>/dev/null | tr -d '"' | tr '\n' ' ') "
    case $ids in
    *" fedora "*)
        echo "dnf install libcurl-devel sqlite-devel libpng-devel libjpeg-turbo-devel libwebp-devel giflib-devel lcms2-devel" \
            "openssl-devel zlib-devel libarchive-devel libavif-devel libtiff-devel libheif-devel libjxl-devel libpng-static libstdc++-static nginx httpd curl openssl" \
            "sqlite strace libjpeg-turbo-utils libwebp-tools binutils zsh fish mandoc man-db python3 python3-botocore" \
            "libavif-tools jq"
        ;;
    *" arch "*)
        echo "pacman -S curl sqlite libpng libjpeg-turbo libwebp giflib lcms2 openssl zlib libarchive libavif libtiff libheif libjxl nginx apache" \
            "strace binutils zsh fish mandoc man-db python python-botocore jq"
        ;;
    *" alpine "*)
        echo "apk add curl-dev sqlite-dev libpng-dev libjpeg-turbo-dev libwebp-dev giflib-dev lcms2-dev openssl-dev zlib-dev" \
            "libarchive-dev libavif-dev tiff-dev libheif-dev libjxl-dev sqlite-static libpng-static libjpeg-turbo-static libwebp-static giflib-static" \
            "openssl-libs-static zlib-static nginx apache2 curl openssl sqlite strace libjpeg-turbo-utils libwebp-tools" \
            "binutils zsh fish mandoc man-db python3 py3-botocore libavif-apps jq"
        ;;
    esac
}

# The packages of nginx and Slurm would start services now and at every boot. The tests start their own. (apache2-bin
# has the programs alone, without a service.)
install_packages() {
    local policy=/usr/sbin/policy-rc.d units=/lib/systemd/system service new=()
    for service in nginx munge slurmctld slurmd; do
        [[ -e $units/$service.service ]] || new+=("$service")
    done
    if [[ ! -e $policy ]]; then
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    local apt=(apt-get -q -o DPkg::Lock::Timeout=120)
    "${apt[@]}" update || echo "setup: the package lists could not be refreshed, going on with the old ones" >&2
    "${apt[@]}" install -y --no-install-recommends "$@"
    for service in "${new[@]}"; do
        [[ -e $units/$service.service ]] || continue
        systemctl disable --quiet "$service" 2>/dev/null || update-rc.d "$service" disable 2>/dev/null || true
    done
}

if [[ ${1-} == --install ]]; then
    shift
    install_packages "$@"
    exit
fi

check_swift
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(missing_elsewhere)
    ((${#missing[@]})) || exit 0
    command=$(other_packages)
    fail "this system has no apt. Please install:" "${missing[@]/#/  }" ${command:+"which should come with:" "  $command"}
fi

# Ubuntu has libjpeg-turbo under another name.
if grep -qsE '^ID(_LIKE)?=.*ubuntu' /etc/os-release; then
    packages=("${packages[@]/libjpeg62-turbo-dev/libjpeg-turbo8-dev}")
fi
mapfile -t missing < <(missing_packages)
((${#missing[@]})) || exit 0

say="setup: installing ${missing[*]}"
if ((EUID == 0)); then
    echo "$say"
    "$BASH" "$0" --install "${missing[@]}"
elif command -v sudo >/dev/null; then
    echo "$say"
    sudo "$BASH" "$0" --install "${missing[@]}"
else
    fail "this needs root. Please run as root, then repeat the command:" "  apt-get install -y --no-install-recommends ${missing[*]}"
fi
mapfile -t missing < <(missing_packages)
((${#missing[@]} == 0)) || fail "still missing after installing: ${missing[*]}"
