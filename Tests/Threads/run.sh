#!/bin/bash
# Runs the suites of the pipeline, of remotes, of the storage and of the engine under ThreadSanitizer.
#
# usage: run.sh [FILTER]...    regular expressions of suites, in place of those
#
# The sanitizer knows neither the futexes of Synchronization.Mutex nor the runtime's continuations. A copy of the tree is
# built under .build/threads: each of its modules has the types of Mutex.swift in their place, and it has only the targets
# that these suites need. The
# first build takes some ten minutes; later ones compile what has changed. Each kind of report is printed once, with its
# stacks. A report fails the run, unless suppressions.txt names it with the reason why it is false.
set -euo pipefail
cd "$(dirname "$0")/../.."

swift=${SWIFT:-swift}
tree=.build/threads/tree
log=$PWD/.build/threads/log
suppressions=$PWD/Tests/Threads/suppressions.txt
suites=("$@")
[[ ${#suites[@]} -gt 0 ]] || suites=('^KFCoreTests\.' '^KFNetworkTests\.' '^KFStorageTests\.')

# Files keep their dates, so that what has not changed is not compiled again; what is gone here goes there.
mkdir -p "$tree"
find "$tree" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' file; do
    [[ ! -e $file ]] || printf '%s\0' "$file"
done | tar --create --null --files-from=- | tar --extract --directory="$tree"
for module in Sources/*/ Tests/Support/ Tests/*Tests/; do
    if grep -rqsE --include='*.swift' '^import Synchronization|(Unsafe|Checked)Continuation' "$module"; then
        cp --preserve=timestamps Tests/Threads/Mutex.swift "$tree/${module}PthreadMutex.swift"
    fi
    { grep -rlE --include='*.swift' '(Unsafe|Checked)Continuation' "$module" || true; } | while IFS= read -r file; do
        sed -i -E 's/\bwith(Unsafe|Checked)Continuation\b/Watched.continuation/g
            s/\b(Unsafe|Checked)Continuation\b/WatchedContinuation/g' "$tree/$file"
        touch --reference="$file" "$tree/$file"
    done
done
# A target is left out with all lines of its declaration.
awk '
    /^        \.[a-zA-Z]*(t|T)arget\(/ { head = $0; left = -1 }
    left == -1 && /name: "/ {
        left = /name: "(kf|Command|CCommand|KFFoundation|CGIFReference|KFImagingTests|KFFoundationTests|KFMeasuringTests|EndToEnd)"/
        if (!left && head != $0) print head
    }
    /^    \],/ { left = 0 }
    /\.executable\(name: "kf"|\.library\(name: "KFFoundation"/ { next }
    !left { print }' Package.swift >"$tree/Package.swift"
touch --reference=Package.swift "$tree/Package.swift"

cd "$tree"
"$swift" build --build-tests --sanitize=thread
filters=()
for suite in "${suites[@]}"; do filters+=(--filter "$suite"); done
# The articles name targets that the copy has not.
filters+=(--skip 'ArticleTests')
status=0
# A report does not end the tests: more may follow. Threads of the tests' servers may outlive them.
TSAN_OPTIONS="halt_on_error=0 exitcode=66 history_size=4 report_thread_leaks=0 suppressions=$suppressions \
    print_suppressions=1 ${TSAN_OPTIONS:-}" \
    "$swift" test --skip-build --disable-xctest --sanitize=thread \
    --experimental-maximum-parallelization-width 4 "${filters[@]}" >"$log" 2>&1 || status=$?
grep -E '^(✘|↳)|Test run with' "$log" || true
# Reports are of one kind when their summaries are the same.
awk '
    /^WARNING: ThreadSanitizer/ { text = ""; inside = 1 }
    inside { text = text $0 "\n" }
    inside && /^SUMMARY: / { if (!seen[$0]++) { kinds++; print text }; inside = 0; count++ }
    END { printf "threads: %d reports of %d kinds\n", count, kinds }' "$log"
exit $status
