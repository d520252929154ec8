#!/bin/bash
# Fuzzes every decoder, the probe, the structural check and the removal of metadata, one after the other.
# usage: run.sh [SECONDS-PER-TARGET] [TARGET...]    60 seconds and all targets unless told otherwise
# What crashes is left in .build/fuzz/, named after its target; the way there is in .build/fuzz/corpus/.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/build.sh"

duration=${1:-60}
shift || true
[[ $# -eq 0 ]] || targets=("$@")
for target in "${targets[@]}"; do
    mkdir -p "$out/corpus/$target"
    echo "fuzz: $target for $duration s"
    options=()
    [[ -e $root/Tests/Fuzz/$target.dict ]] && options+=("-dict=$root/Tests/Fuzz/$target.dict")
    KF_FUZZ_TARGET=$target "$out/fuzz" "${options[@]}" -max_total_time="$duration" -max_len=32768 -timeout=10 -rss_limit_mb=2048 \
        -verbosity=0 -print_final_stats=1 -artifact_prefix="$out/$target-" "$out/corpus/$target" "${seeds[@]}" 2>&1 |
        grep -vE '^(INFO|stat::(new_units|slowest|average))' ||
        [[ ${PIPESTATUS[0]} -eq 0 ]]
done
