#!/bin/bash
# Runs every seed once through every decoder, the probe and the structural check, under AddressSanitizer.
# usage: replay.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

for target in "${targets[@]}"; do
    log=$out/replay-$target.log
    if ! KF_FUZZ_TARGET=$target KF_FUZZ_PIXELS=4000000 timeout 120 "$out/fuzz" -runs=0 -max_len=2000000 -timeout=20 \
        -rss_limit_mb=2048 -artifact_prefix="$out/$target-" "${seeds[@]}" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "replay: $target failed; the whole log is $log" >&2
        exit 1
    fi
    echo "replay: $target $(grep -o 'seed corpus: files: [0-9]*' "$log" | grep -o '[0-9]*$') files"
done
