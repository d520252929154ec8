#!/bin/bash
# Builds a binary for packages, for this machine or, with Swift's SDK for it, for another one.
# usage: portable.sh OUT MACHINE swift build OPTION...
set -euo pipefail
out=$1 machine=$2
shift 2
build=("$@")
if [[ $machine != "$(uname -m)" ]]; then
    sdk=$("$1" sdk list 2>/dev/null | grep -m 1 "$machine" || true)
    [[ -n $sdk ]] || {
        echo "portable: the toolchain has no SDK for $machine ('swift sdk list'); 'swift sdk install' adds one" >&2
        exit 1
    }
    build+=(--swift-sdk "$sdk")
fi
"${build[@]}" --product kf
mkdir -p "${out%/*}"
cp "$("${build[@]}" --show-bin-path)/kf" "$out"
