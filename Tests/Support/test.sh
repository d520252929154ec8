#!/bin/bash
# Builds the tests and runs them. usage: test.sh unit|all
#
# Tests wait more than they compute, so that sixteen unit tests run at once, and twelve where processes are among them (all
# tests on two cores: 92 s with eight, 79 s with twelve, 81 s with sixteen). Those that measure time run before them, one at
# a time.
# Tests from outside that took more than a second are listed, without the time that they waited for their turn.
# Where something failed, its lines are shown once more just before the runner's closing line: of a long log often only
# the end is kept.
set -uo pipefail

swift=${SWIFT:-swift}
earlier=$(mktemp)
trap 'rm -f "$earlier"' EXIT

# run ARGUMENTS runs tests and keeps what they print as the earlier output of the next run.
run() {
    local output status
    output=$(mktemp)
    "$swift" test --skip-build --disable-xctest "$@" 2>&1 | tee "$output" | awk -v earlier="$earlier" '
        function failed(line) { return line ~ /^(✘|↳)/ && line !~ /^↳ (Testing Library Version|Target Platform):/ }
        BEGIN {
            while ((getline line < earlier) > 0) {
                if (line ~ /^(✘|✔) Test run with/) { split(line, words); tests = words[5] }
                else if (failed(line)) failures[++count] = line
            }
        }
        /^(✘|✔) Test run with/ {
            if (slow) print "More than 1 s:"
            for (line = 1; line <= slow; line++) print slowest[line]
            for (line = 1; line <= count; line++) print failures[line]
            if (tests) print "Tests in all: " tests " + " $5 " = " tests + $5
        }
        /^slow: / { slowest[++slow] = substr($0, 7) }
        failed($0) { failures[++count] = $0 }
        { print; fflush() }'
    status=$?
    cat "$output" >>"$earlier"
    rm -f "$output"
    return $status
}

"$swift" build --build-tests || exit
together=(--skip '^KFMeasuringTests\.' --experimental-maximum-parallelization-width)
case $1 in
unit) run "${together[@]}" 12 --skip '^EndToEnd\.' ;;
all)
    run --no-parallel --filter '^KFMeasuringTests\.'
    measured=$?
    run "${together[@]}" 12 && exit $measured
    ;;
esac
