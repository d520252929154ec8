#!/usr/bin/python3
"""Draws what scaling.py measured: wall and processor time above, memory below, a column for each topic.

usage: plot.py FIGURES.json OUTPUT.svg
"""

import json
import sys
from pathlib import Path

ROWS = (("wall_ms", "wall time, ms"), ("cpu_ms", "processor time, ms"), ("memory_mib", "peak memory, MiB"))


def draw(figures, output):
    import matplotlib

    matplotlib.use("svg")
    # The same figures give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "kf"
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    topics = list(figures["topics"].values())
    figure, axes = pyplot.subplots(len(ROWS), len(topics), figsize=(4.4 * len(topics), 10), squeeze=False)
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    for column, topic in enumerate(topics):
        for row, (field, label) in enumerate(ROWS):
            axis = axes[row][column]
            for name, points in topic["lines"].items():
                axis.plot([p["at"] for p in points], [p[field] for p in points], marker="o", markersize=3, label=name)
            if max(p["at"] for points in topic["lines"].values() for p in points) > 16:
                axis.set_xscale("log")
                axis.set_yscale("linear" if field == "memory_mib" else "log")
            else:
                axis.set_xticks(sorted({p["at"] for points in topic["lines"].values() for p in points}))
            if axis.get_yscale() == "linear":
                axis.set_ylim(bottom=0)
            axis.xaxis.set_major_formatter(plain)
            axis.yaxis.set_major_formatter(plain)
            axis.grid(True, which="major", linewidth=0.4, alpha=0.6)
            axis.set_ylabel(label)
            axis.set_xlabel(topic["x"])
            if row == 0:
                axis.set_title(topic["title"])
                axis.legend(fontsize="small", frameon=False)
    figure.tight_layout()
    figure.savefig(output, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2])
