#!/bin/bash
# Builds the programs of this package, which use the library as other packages do, and runs them against a private nginx.
# The readme's example is one of them: what the readme says is what is compiled.
# usage: run.sh
set -euo pipefail

package=$(realpath "$(dirname "$0")")
root=$(realpath "$package/../..")
scratch=$(mktemp -d)

what="The example"
source "$root/Tests/Support/served.sh"
trap finish EXIT

diff -u "$package/Sources/ReadmeExample/main.swift" <(sed -n '/^```swift$/,/^```$/p' "$root/README.md" | sed '1d;$d') || {
    echo "example: the readme's example is not the one that is compiled" >&2
    exit 1
}

# So are the parts of a program's own that articles show. An empty line is between the blocks of an article.
for part in LibraryExample/SharedStore:Remotes LibraryExample/FarbfeldCodec:Formats ImageProxy/ImageProxy:ImageServer; do
    diff -u "$package/Sources/${part%:*}.swift" \
        <(awk '/^```swift$/ { if (blocks++) print ""; inside = 1; next } /^```$/ { inside = 0 } inside' \
            "$root/Sources/KFCore/KFCore.docc/${part#*:}.md") || {
        echo "example: the code of the article ${part#*:} is not the one that is compiled" >&2
        exit 1
    }
done

build=(swift build --package-path "$package" --scratch-path "$root/.build/example")
"${build[@]}"
bin=$("${build[@]}" --show-bin-path)

mkdir "$scratch/nginx"
cat >"$scratch/nginx/server.conf" <<'END'
location /signed/ {
    if ($http_x_signature != example) { return 403; }
    rewrite ^/signed(/.*)$ $1 last;
}
location /slow/ {
    limit_rate 4k;
    rewrite ^/slow(/.*)$ $1 break;
}
location /half/ {
    limit_rate 200k;
    rewrite ^/half(/.*)$ $1 break;
}
END
start_server "The example"

"$bin/LibraryExample" "$address" "$scratch/cache"

# What the readme's example prints is its way, its width and its path.
for way in fetched disk; do
    said=$(KF_CACHE_DIR=$scratch/readme "$bin/ReadmeExample" "$address/gallery.jpg")
    [[ $said == "$way "*" $scratch/readme/v1/objects/"*.jpg ]] || {
        echo "example: the readme's example says: $said" >&2
        exit 1
    }
    echo "the readme's example: ${said%% /*}"
done

said=$("$bin/ReadmeExample")
[[ $said == usage:* ]] || {
    echo "example: without an argument the readme's example says: $said" >&2
    exit 1
}

# The server of the article: 200 clients at once, one transfer for those of one image, and an end that finishes.
"$package/proxy.sh" "$bin/ImageProxy" "$address" "$scratch"
