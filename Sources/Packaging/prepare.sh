#!/bin/bash
# Makes what the linker needs beside the objects of the sources: libstdc++'s archive, and the name of the commit, which
# `kf --version -v` shows. usage: prepare.sh ARCHIVES KF
set -euo pipefail
archives=$1 kf=$2 build=${1%/*}
mkdir -p "$archives"
for compiler in gcc clang; do
    archive=$("$compiler" -print-file-name=libstdc++.a 2>/dev/null) || continue
    [[ -f $archive ]] || continue
    ln -sf "$archive" "$archives/libstdc++.a"
    break
done

# Sources that were unpacked from an archive have no commit; they may lie in another project's repository.
commit=
if [[ -e .git ]]; then
    commit=$(git -c safe.directory="$PWD" describe --always --exclude '*' --abbrev=12 --dirty 2>/dev/null || true)
fi
line="const char kf_linked_commit[] = \"$commit\";"
if [[ ! -f $build/commit.o || $(cat "$build/commit.c" 2>/dev/null) != "$line" ]]; then
    echo "$line" >"$build/commit.c"
    for compiler in "${CC:-cc}" clang gcc; do
        "$compiler" -c -O1 -o "$build/commit.o" "$build/commit.c" 2>/dev/null && break
    done
    [[ -f $build/commit.o ]] || {
        echo "prepare: no C compiler was found (cc, clang, gcc)" >&2
        exit 1
    }
    # SwiftPM does not see that the object has changed.
    rm -f "$kf"
fi
