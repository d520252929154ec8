#!/bin/bash
# Builds the fuzzer with libFuzzer and AddressSanitizer: .build/fuzz/fuzz. Other scripts read this file for `seeds`.
# usage: build.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$root/.build/fuzz
targets=(png jpeg gif webp avif heic jxl bmp tiff ico probe structure metadata lzw)

# Swift's own handler would take the crash away from libFuzzer's.
export SWIFT_BACKTRACE=enable=no
# An image may ask for more memory than there is: that is an error of ours, not of the machine's. Detecting leaks at
# exit costs a pass over the heap and is done by libFuzzer for each input anyway.
export ASAN_OPTIONS=allocator_may_return_null=1:${ASAN_OPTIONS:-}

# The folders with seeds: the test images beside the repository where they exist, and the fixtures always.
seeds=("$root/Fixtures")
for corpora in "${KF_CORPORA:-}" "$root/../shared/corpora"; do
    if [[ -n $corpora && -d $corpora ]]; then
        for folder in "$corpora"/*/; do
            [[ $folder == */photos/ ]] || seeds+=("$folder")
        done
        break
    fi
done

compile_c() {
    local clang source object
    clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
    objects=()
    for source in "$root"/Sources/CImageCodecs/*.c "$root"/Tests/GIFReference/*.c; do
        object=$out/$(basename "$source" .c).o
        objects+=("$object")
        "$clang" -c -O1 -g -fsanitize=address,fuzzer-no-link -I"$root/Sources/CImageCodecs/include" \
            -I"$root/Tests/GIFReference/include" -o "$object" "$source"
    done
}

# SwiftPM cannot link libFuzzer's main. KFImaging and the fuzz target are compiled as one module, so that the target
# sees what is internal.
compile() {
    mkdir -p "$out"
    printf 'module %s { umbrella "%s" export * }\n' CImageCodecs "$root/Sources/CImageCodecs/include" \
        CGIFReference "$root/Tests/GIFReference/include" >"$out/module.modulemap"
    compile_c
    # The compiler leaves its module files where it runs.
    cd "$out"
    find "$root/Sources/KFImaging" "$root/Tests/Fuzz" -name '*.swift' -print0 | xargs -0 \
        swiftc -swift-version 6 -enable-upcoming-feature ExistentialAny -O -wmo -g -parse-as-library \
        -module-name KFImaging -package-name kf -sanitize=fuzzer,address -I "$out" -o "$out/fuzz" "${objects[@]}" \
        -Xlinker -l:libpng16.a -Xlinker -l:libjpeg.a -Xlinker -l:libwebpmux.a -Xlinker -l:libwebpdemux.a \
        -Xlinker -l:libwebp.a -Xlinker -l:libgif.a -Xlinker -l:libz.a 2>&1 |
        # Of no matter, and two hundred lines long.
        grep -v 'Cannot export local symbol' || [[ ${PIPESTATUS[1]} -eq 0 ]]
}

# Nothing to do when no source is newer than the program.
if [[ ! -x $out/fuzz ]] || [[ -n $(find "$root/Sources/CImageCodecs" "$root/Sources/KFImaging" "$root/Tests/Fuzz" \
    "$root/Tests/GIFReference" -type f -newer "$out/fuzz" -print -quit) ]]; then
    compile
fi
