#!/bin/bash
# Builds the reference of KFCore, with the types of other modules that it names, into .build/docs. A DocC warning fails it,
# and so does a public symbol without documentation.
# usage: docs.sh
set -euo pipefail
cd "$(dirname "$0")/../.."

swift build --target KFFoundation
built=$(swift build --show-bin-path)
out=$PWD/.build/docs
graphs=$PWD/.build/symbols
rm -rf "$out" "$graphs" "$graphs-modules" "$graphs-foundation"
mkdir -p "$graphs"

# The modules of C that KFCore's modules import: what the build knows of them, the extraction has to be told.
flags=()
for map in Sources/*/module.modulemap "$built"/C*.build/module.modulemap; do flags+=(-Xcc "-fmodule-map-file=$map"); done
for folder in Sources/*/include; do flags+=(-I "$folder"); done
triple=$(swift -print-target-info | sed -n 's/^ *"unversionedTriple": "\(.*\)",*$/\1/p')

# What a program sees through KFCore's type aliases is documented as KFCore's: `merge_symbols.py` joins the modules.
extract() { # MODULE FOLDER
    mkdir -p "$2"
    swift symbolgraph-extract -module-name "$1" -I "$built/Modules" -target "$triple" "${flags[@]}" \
        -minimum-access-level public -skip-synthesized-members -output-dir "$2"
}
for module in KFCore KFPipeline KFLists KFRemote KFTerms KFImaging KFNetwork KFStorage; do extract $module "$graphs-modules"; done
Tests/Support/merge_symbols.py "$graphs/KFCore.symbols.json" \
    "$graphs-modules"/{KFCore,KFCore@KFImaging,KFCore@KFPipeline,KFPipeline,KFLists,KFRemote,KFTerms,KFImaging,KFNetwork,KFStorage}.symbols.json

# The articles mention none of what the module for Foundation adds; its symbols need documentation all the same.
extract KFFoundation "$graphs-foundation"

docc=$(command -v docc) || docc=$(dirname "$(realpath "$(command -v swift)")")/docc
"$docc" convert Sources/KFCore/KFCore.docc --additional-symbol-graph-dir "$graphs" --output-dir "$out" \
    --fallback-display-name KFCore --fallback-bundle-identifier kf.KFCore --fallback-default-module-kind Library \
    --warnings-as-errors

Tests/Support/undocumented.py "$graphs/KFCore.symbols.json"
for graph in "$graphs-foundation"/KFFoundation*.symbols.json; do Tests/Support/undocumented.py "$graph"; done
echo "docs: $out/index.html"
