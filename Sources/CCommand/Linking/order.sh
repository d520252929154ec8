#!/bin/bash
# Writes order.txt beside this file: the functions that a process of one hit runs. The linker puts them side by side.
# usage: order.sh KF
set -euo pipefail
kf=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
# valgrind refuses the debugging information.
strip -g -o "$work/kf" "$kf"
mkdir "$work/site"
cp "$here/../../../Fixtures/jpeg/grey.jpg" "$work/site/a.jpg"
PYTHONUNBUFFERED=1 python3 -m http.server 0 --bind 127.0.0.1 --directory "$work/site" >"$work/log" 2>&1 &
server=$!
trap 'kill "$server"; rm -rf "$work"' EXIT
until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/log") && [[ -n $port ]]; do sleep 0.1; done
hit=("$work/kf" fetch "http://127.0.0.1:$port/a.jpg")
export KF_CACHE_DIR=$work/cache
"${hit[@]}" >/dev/null
"${hit[@]}" >/dev/null
valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file="$work/calls" "${hit[@]}" >/dev/null 2>"$work/errors"
sed -nE "s/^c?fn=\([0-9]+\) ([^']+).*/\1/p" "$work/calls" | LC_ALL=C sort -u >"$work/run"
nm "$kf" | awk '$2 ~ /[tT]/ { print $3 }' | LC_ALL=C sort -u | LC_ALL=C comm -12 - "$work/run" >"$here/order.txt"
echo "order: $(wc -l <"$here/order.txt") functions"
