#!/bin/bash
# Runs the unit tests, and a long run of the library, under AddressSanitizer.
#
# usage: sanitize.sh [SECONDS [FILTER]...]    the length of the library's run, 60 by default; regular expressions of suites
#
# It is built under .build/sanitize. A report ends the process, and so fails the run; its stacks are in what is printed.
# Memory that is never freed is no report: a program of Swift leaves its types' records and its manager to its end.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift=${SWIFT:-swift}
seconds=${1:-60}
filters=()
for suite in "${@:2}"; do filters+=(--filter "$suite"); done
mkdir -p .build/sanitize
# Foundation's Process copies an entry of a folder as a whole, though it is shorter: with it the tests start djpeg and others.
echo "interceptor_via_fun:findMaximumOpenFromProcSelfFD" >.build/sanitize/suppressions.txt
export ASAN_OPTIONS="detect_leaks=0 allocator_may_return_null=1 suppressions=$PWD/.build/sanitize/suppressions.txt \
    ${ASAN_OPTIONS:-}"
build=(--sanitize=address --scratch-path "$PWD/.build/sanitize")

"$swift" build --build-tests "${build[@]}"
"$swift" test --skip-build --disable-xctest "${build[@]}" --experimental-maximum-parallelization-width 8 \
    --skip '^EndToEnd\.' --skip '^KFMeasuringTests\.' "${filters[@]}"

"$swift" build --package-path Tests/LibraryExample --product LibrarySoak --sanitize=address \
    --scratch-path "$PWD/.build/sanitize-library"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Freed memory that the sanitizer keeps is no growth of the program.
ASAN_OPTIONS="$ASAN_OPTIONS quarantine_size_mb=8" .build/sanitize-library/debug/LibrarySoak "$folder" "$seconds"
