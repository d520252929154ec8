#!/bin/bash
# Shows kf at work: a private nginx over Fixtures/, a fresh cache, and every command as it could be typed.
# usage: demo.sh KF    (make demo builds kf and calls this)
set -euo pipefail
exec 2>&1

kf=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
out=$root/.build/demo
if ! mkdir -p "$out" 2>/dev/null || [[ ! -w $out ]]; then
    out=$(mktemp -d)
fi
scratch=$(mktemp -d)

source "$root/Tests/Support/served.sh"
start_server "The demo"

if [[ -t 1 ]]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Shows a command, runs it, and says how long it took.
run() {
    printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
    local start=$EPOCHREALTIME status=0 note=
    "$@" || status=$?
    local end=$EPOCHREALTIME
    ((status == 0)) || note=", exit status $status"
    printf '%s(%d ms%s)%s\n' "$dim" "$(((${end/[.,]/} - ${start/[.,]/}) / 1000))" "$note" "$plain"
    return "$status"
}

# nginx logs after it has sent: a request of our own makes sure that the log has what came before.
requests() {
    curl -s -o /dev/null "$address/?count"
    grep -vc '?count' "$scratch/nginx/access.log" || true
}

PATH=$(dirname "$kf"):$PATH
export PATH KF_CACHE_DIR=$out/cache
unset "${!KF_@}" && export KF_CACHE_DIR=$out/cache
export XDG_CONFIG_HOME=$scratch
cd "$out"
rm -rf cache
rm -f -- thumbnail.png square.jpg soft.jpg badge.png
tail -n +2 "$root/Fixtures/MANIFEST.tsv" | cut -f 1 | sed "s|^|$address/|" >pictures.txt

say "nginx serves Fixtures/ at $address, the cache is $KF_CACHE_DIR"

say "1. Warm the cache with all $(wc -l <pictures.txt) pictures"
run kf prefetch pictures.txt
requests_before=$(requests)
echo "nginx answered $requests_before requests."

say "2. Fetch, process, convert: the originals come from the cache"
run kf fetch "$address/jpeg/landscape-420.jpg"
run kf fetch "$address/jpeg/landscape-420.jpg" -p resize:320x240,fit -f png -o thumbnail.png
run kf fetch "$address/jpeg/progressive.jpg" -p crop:400x400,anchor=0.7x0.3 --quality 90 -o square.jpg
run kf fetch "$address/webp/lossy.webp" -p resize:400x300,fit -p blur:5 -f jpeg -o soft.jpg
run kf fetch "$address/png/rgba.png" -p resize:64x64 -o badge.png

say "3. The same again: hits, and no request"
run kf prefetch pictures.txt
run kf fetch -v "$address/jpeg/landscape-420.jpg" -p resize:320x240,fit -f png -o thumbnail.png
echo "nginx answered $(($(requests) - requests_before)) more requests."

say "4. What goes wrong is said in one line"
run kf fetch "$address/missing.png" || true
run kf fetch "$address/broken/page.png" || true

say "5. The cache"
run kf cache stat

say "The copies are in $out:"
stat -c '  %-16n %8s bytes' thumbnail.png square.jpg soft.jpg badge.png
