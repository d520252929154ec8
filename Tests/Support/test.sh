#!/bin/bash
# Run `swift test` with these arguments. Where something failed, its lines are shown once more just before the runner's
# closing line: of a long log often only the end is kept.
set -o pipefail
"${SWIFT:-swift}" test "$@" 2>&1 | awk '
    /^✘ Test run with/ { for (line = 1; line <= failures; line++) print failed[line] }
    /^(✘|↳)/ { failed[++failures] = $0 }
    { print; fflush() }'
