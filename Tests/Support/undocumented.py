#!/usr/bin/env python3
"""Names the public symbols of a symbol graph that nothing is said of, and fails when there are some."""

import json
import sys

# What a type says by adopting a protocol needs no words of its own.
with open(sys.argv[1], encoding="utf-8") as file:
    graph = json.load(file)
implied = {
    relation["source"]
    for relation in graph["relationships"]
    if relation["kind"] in ("defaultImplementationOf", "overrides") or "sourceOrigin" in relation
}
found = 0
for symbol in graph["symbols"]:
    if "docComment" in symbol or symbol["identifier"]["precise"] in implied:
        continue
    found += 1
    place = symbol.get("location", {})
    name = ".".join(symbol["pathComponents"])
    uri = place.get("uri", "").partition("/Sources/")[2]
    print(f"Sources/{uri}:{place.get('position', {}).get('line', 0) + 1}: nothing is said of {name}", file=sys.stderr)
print(f"docs: {len(graph['symbols'])} public symbols, {found} undocumented")
sys.exit(found > 0)
