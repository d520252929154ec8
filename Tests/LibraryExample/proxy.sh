#!/bin/bash
# Tries the image server of the article against an origin that serves Fixtures/.
# usage: proxy.sh PROGRAM ORIGIN SCRATCH   (SCRATCH/nginx/access.log is the origin's)
set -euo pipefail

program=$1 origin=$2 scratch=$3
log=$scratch/nginx/access.log

fail() {
    echo "proxy: $*" >&2
    exit 1
}

# fetch NAME ARGUMENTS... prints the status, and keeps head and body in $scratch/NAME and $scratch/NAME.body.
fetch() {
    local name=$1
    shift
    curl -s -D "$scratch/$name" -o "$scratch/$name.body" -w '%{http_code}' "$@"
}

# requests PATH prints how often the origin was asked for it since this script began.
before=$(wc -l <"$log")
requests() { awk -F '\t' -v path="$1" -v before="$before" 'NR > before && $2 == path' "$log" | wc -l; }

coproc PROXY { exec "$program" "$origin" "$scratch/proxy"; }
proxy=$PROXY_PID
trap 'kill "$proxy" 2>/dev/null || true' EXIT
read -r address <&"${PROXY[0]}" || fail "it does not start"

for way in fetched memory; do
    status=$(fetch one "$address/160/jpeg/landscape-444.jpg")
    [[ $status == 200 ]] || fail "status $status: $(cat "$scratch/one.body")"
    grep -q "X-Way: $way" "$scratch/one" || fail "the image is not $way: $(cat "$scratch/one")"
done
fetch one "$address/64/jpeg/landscape-444.jpg" >/dev/null
grep -q 'X-Way: derived' "$scratch/one" || fail "the second size is not made of the original: $(cat "$scratch/one")"
[[ $(requests /jpeg/landscape-444.jpg) == 1 ]] || fail "the origin was asked more than once"
echo "proxy: a size is fetched, then from memory; another is made of the original"

hash=$(curl -s "$origin/png/rgb.png" | sha256sum | cut -d ' ' -f 1)
for case in "200 64/png/rgb.png?sha256=$hash" "502 320/png/grey.png?sha256=${hash//?/0}" "404 64/none.png" "404 99/png/rgb.png" \
    "404 64/png/rgb.png?sha256=1"; do
    status=$(fetch two "$address/${case#* }")
    [[ $status == "${case%% *}" ]] || fail "${case#* }: status $status in place of ${case%% *}: $(cat "$scratch/two.body")"
done
echo "proxy: the expected hash is served, others are refused"

# 200 clients of one image that takes the origin about two seconds.
for client in {1..200}; do echo "url = $address/320/half/gallery.jpg"; echo "output = $scratch/client.$client"; done >"$scratch/same"
curl --no-progress-meter --fail --parallel --parallel-immediate --parallel-max 200 -K "$scratch/same" || fail "a client of the slow image failed"
[[ $(requests /half/gallery.jpg) == 1 ]] || fail "200 clients made $(requests /half/gallery.jpg) requests of the origin"
[[ $(sha256sum "$scratch"/client.* | cut -d ' ' -f 1 | sort -u | wc -l) == 1 ]] || fail "the clients got different images"
echo "proxy: 200 clients of one image are one request of the origin"

# 200 clients of eight images in four sizes.
images=(jpeg/landscape-444.jpg png/rgb.png png/grey.png gif/still.gif webp/lossless.webp gallery.jpg jpeg/grey.jpg
    gif/animated.gif)
sides=(64 160 320 640)
for client in {1..200}; do
    echo "url = $address/${sides[client / 8 % 4]}/${images[client % 8]}"
    echo "output = $scratch/client.$client"
done >"$scratch/many"
curl --no-progress-meter --fail --parallel --parallel-immediate --parallel-max 200 -K "$scratch/many" || fail "a client of many images failed"
peak=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$proxy/status")
((peak < 256)) || fail "it took $peak MB"
echo "proxy: 200 clients of eight images in four sizes: all served, at most $peak MB"

fetch small "$address/64/jpeg/restart.jpg" >/dev/null

# A response that is under way at SIGTERM is sent. Its connection has had another one before, so that it was accepted.
: >"$scratch/trace"
curl -sv --fail "$address/64/png/rgb.png" -o "$scratch/first" "$address/64/slow/jpeg/restart.jpg" -o "$scratch/last" \
    2>"$scratch/trace" &
client=$!
until [[ $(grep -c '^> GET' "$scratch/trace") == 2 ]]; do sleep 0.02; done
sleep 0.5 # The server has read the request by then; its origin takes six seconds for the image.
kill -TERM "$proxy"
wait "$client" || fail "the last client failed: $(cat "$scratch/trace")"
wait "$proxy" || fail "it ended with status $?"
trap - EXIT
cmp -s "$scratch/last" "$scratch/small.body" || fail "the last client got another image"
[[ $(fetch after "$address/64/png/rgb.png" || true) == 000 ]] || fail "it still answers"
echo "proxy: the last response is sent, and the server ends"
