#!/usr/bin/env python3
"""Joins the symbol graphs of several modules into the graph of the first: merge_symbols.py OUTPUT GRAPH...

The first module names types of the others by type aliases. The types take the place of their aliases, so that DocC shows
a program's view: one module.
"""

import json
import sys

output, *inputs = sys.argv[1:]
graphs = []
for path in inputs:
    with open(path, encoding="utf-8") as file:
        graphs.append(json.load(file))
merged, *others = graphs
types = {tuple(symbol["pathComponents"]) for graph in others for symbol in graph["symbols"]}
aliases = {
    symbol["identifier"]["precise"]
    for symbol in merged["symbols"]
    if symbol["kind"]["identifier"] == "swift.typealias" and tuple(symbol["pathComponents"]) in types
}
merged["symbols"] = [symbol for symbol in merged["symbols"] if symbol["identifier"]["precise"] not in aliases]
merged["relationships"] = [relation for relation in merged["relationships"] if relation["source"] not in aliases]
for graph in others:
    merged["symbols"] += graph["symbols"]
    merged["relationships"] += graph["relationships"]
with open(output, "w", encoding="utf-8") as file:
    json.dump(merged, file)
