#!/bin/bash
# Builds the reference of KFCore, and of what it re-exports, into .build/docs. A warning of DocC fails it, and so does a
# public symbol that nothing is said of.
# usage: docs.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

swift build --target KFFoundation
built=$(swift build --show-bin-path)
out=$PWD/.build/docs
graphs=$PWD/.build/symbols
rm -rf "$out" "$graphs" "$graphs-foundation"
mkdir -p "$graphs" "$graphs-foundation"

# The modules of C that KFCore's modules import: what the build knows of them, the extraction has to be told.
flags=()
for map in Sources/*/module.modulemap "$built"/C*.build/module.modulemap; do flags+=(-Xcc "-fmodule-map-file=$map"); done
for folder in Sources/*/include; do flags+=(-I "$folder"); done
triple=$(swift -print-target-info | sed -n 's/^ *"unversionedTriple": "\(.*\)",*$/\1/p')

swift symbolgraph-extract -module-name KFCore -I "$built/Modules" -target "$triple" "${flags[@]}" \
    -minimum-access-level public -skip-synthesized-members \
    -experimental-allowed-reexported-modules=KFImaging,KFStorage -output-dir "$graphs"

# What the module for Foundation adds is in no article; it is documented all the same.
swift symbolgraph-extract -module-name KFFoundation -I "$built/Modules" -target "$triple" "${flags[@]}" \
    -minimum-access-level public -skip-synthesized-members -output-dir "$graphs-foundation"

docc=$(command -v docc) || docc=$(dirname "$(realpath "$(command -v swift)")")/docc
"$docc" convert Sources/KFCore/KFCore.docc --additional-symbol-graph-dir "$graphs" --output-dir "$out" \
    --fallback-display-name KFCore --fallback-bundle-identifier kf.KFCore --fallback-default-module-kind Library \
    --warnings-as-errors

Tests/Support/undocumented.py "$graphs/KFCore.symbols.json"
for graph in "$graphs-foundation"/KFFoundation*.symbols.json; do Tests/Support/undocumented.py "$graph"; done
echo "docs: $out/index.html"
