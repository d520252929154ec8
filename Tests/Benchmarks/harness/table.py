"""Results as text for a terminal and as Markdown for the article."""


def milliseconds(value):
    return f"{value / 1000:.2f} s" if value >= 10_000 else f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def mebibytes(value):
    return f"{value:.0f} MiB" if value >= 100 else f"{value:.1f} MiB"


def number(value):
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def show(result):
    """Prints one result, as it is in JSON."""
    print(f"\n{result['title']}" + (f"  [{result['state']}]" if result["state"] else ""))
    show_counts(result) if is_counted(result) else show_times(result)
    for side in result["sides"]:
        if side["note"]:
            print(f"    {side['name']}: {side['note']}")
    for name, value in result["facts"].items():
        print(f"  {name}: {value}")
    for goal in result["goals"]:
        print(f"  goal {said(goal)}", flush=True)


def is_counted(result):
    return "counts" in result["sides"][0]


def said(goal):
    word = {True: "met", False: "NOT met", None: "not measured"}[goal["met"]]
    return f"{goal['text']}: {number(goal['value'])}, {word}"


def show_times(result):
    width = max(len(side["name"]) for side in result["sides"])
    print(f"  {'':{width}}  {'wall (least to most)':>31}  {'cpu':>9}  {'cores':>5}  {'memory':>9}  kf takes (cpu)")
    for side in result["sides"]:
        walls = side["walls_ms"]
        span = f"({milliseconds(min(walls))} – {milliseconds(max(walls))})"
        ratio = "" if side["kind"] == "kf" else f"× {side['kf_ratio']:.2f} ({side['kf_cpu_ratio']:.2f})"
        remarks = (
            side["kind"] if side["kind"] == "floor" else "",
            side["output"],
            f"({len(walls)} runs)" if len(walls) < 5 else "",
        )
        print(
            f"  {side['name']:{width}}  {milliseconds(side['wall_ms']):>9} {span:>21}  "
            f"{milliseconds(side['cpu_ms']):>9}  {side['cores']:5.2f}  {mebibytes(side['memory_mib']):>9}  {ratio:16}"
            + "  ".join(filter(None, remarks))
        )
    for kind, name, short in (("best peer, ", "best_peer", "best_peer"), ("floor, ", "floor", "floor")):
        if result[name]:
            print(
                f"  kf takes × {result[f'ratio_to_{short}']:.2f} of the {kind}{result[name]};"
                f" of its cpu × {result[f'cpu_ratio_to_{short}']:.2f}"
            )


def show_counts(result):
    width = max(len(side["name"]) for side in result["sides"])
    columns = list(result["sides"][0]["counts"])
    widths = [max(len(name), *(len(count(side["counts"][name])) for side in result["sides"])) for name in columns]
    print("  " + "  ".join([" " * width, *(f"{name:>{size}}" for name, size in zip(columns, widths)), "kf takes"]))
    for side in result["sides"]:
        cells = [f"{count(side['counts'][name]):>{size}}" for name, size in zip(columns, widths)]
        print(
            f"  {side['name']:{width}}  "
            + "  ".join([*cells, "" if side["kind"] == "kf" else f"× {side['kf_ratio']:.2f}"])
            + ("  floor" if side["kind"] == "floor" else "")
        )
    for breakdown in result.get("breakdowns", []):
        show_breakdown(breakdown)


def show_breakdown(breakdown):
    """A row for each part, a column for each side; the last row has the sums."""
    sides = breakdown["sides"]
    seen = {row for counts in sides.values() for row, value in counts.items() if abs(value) >= 0.5}
    rows = [row for row in breakdown["rows"] if row in seen]
    rows += sorted(seen.difference(rows), key=lambda row: -max(counts.get(row, 0) for counts in sides.values()))
    table = [(row, [counts.get(row, 0) for counts in sides.values()]) for row in rows]
    table.append(("all", [sum(counts.values()) for counts in sides.values()]))
    width = max(len(row) for row, _ in table)
    widths = [max(len(name), 9) for name in sides]
    print(f"  {breakdown['title']}")
    print("    " + "  ".join([" " * width, *(f"{name:>{size}}" for name, size in zip(sides, widths))]))
    for row, values in table:
        cells = (f"{f'{value:,.0f}' if round(value) else '–':>{size}}" for value, size in zip(values, widths))
        print("    " + "  ".join([f"{row:{width}}", *cells]))


def count(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def summary(results, skipped):
    """All goals once more, and what could not be measured."""
    judged = [(result, goal) for result in results for goal in result["goals"]]
    if judged:
        print("\ngoals")
        width = max(len(said(goal)) for _, goal in judged)
        for result, goal in judged:
            print(f"  {said(goal):{width}}  {result['title']}" + (f" [{result['state']}]" if result["state"] else ""))
    for reason in skipped:
        print(f"skipped: {reason}")


def markdown(figures):
    """The table of the article: a row for each work."""
    lines = ["| work | kf | best peer | floor | goal |", "|---|---|---|---|---|"]
    for result in figures["results"]:
        sides = {side["name"]: side for side in result["sides"]}
        ours = next(side for side in result["sides"] if side["kind"] == "kf")
        title = result["title"] + (f" ({result['state'].split(':')[0]})" if result["state"] else "")
        cells = [title, own_cell(ours)]
        for name, ratio in (("best_peer", "ratio_to_best_peer"), ("floor", "ratio_to_floor")):
            side = sides.get(result[name])
            cells.append(other_cell(side, result[ratio]) if side else "–")
        cells.append(
            "; ".join(
                f"{goal['text']}: {number(goal['value'])} {'✓' if goal['met'] else '✗'}" for goal in result["goals"]
            )
            or "–"
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    machine = figures["machine"]
    loads = [result.get("load", machine["load_before"]) for result in figures["results"]]
    versions = ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
    lines += [
        "",
        f"{figures['date']}, {machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB,"
        f" {machine['system']}, load average {min(loads)} to {max(loads)} from other programs and this; {versions}.",
    ]
    return "\n".join(lines) + "\n"


def own_cell(side):
    if "counts" in side:
        return ", ".join(f"{count(value)} {name}" for name, value in side["counts"].items())
    return (
        f"{milliseconds(side['wall_ms'])} (least {milliseconds(min(side['walls_ms']))}),"
        f" {mebibytes(side['memory_mib'])}"
    )


def other_cell(side, ratio):
    if "counts" in side:
        return f"{side['name']}: {count(next(iter(side['counts'].values())))}; kf × {ratio:.2f}"
    return (
        f"{side['name']}: {milliseconds(side['wall_ms'])}, {mebibytes(side['memory_mib'])};"
        f" kf × {ratio:.2f} (cpu × {side['kf_cpu_ratio']:.2f})"
    )


def compare(first, second, allowed=0.15):
    """Prints how far the ratios of two runs are apart; true when all agree."""

    def ratios(figures, field):
        return {
            (result["work"], result["state"].split(":")[0], side["name"]): side[field]
            for result in figures["results"]
            for side in result["sides"]
            if side["kind"] != "kf" and field in side
        }

    agree = True
    for field, word in (("kf_ratio", "wall"), ("kf_cpu_ratio", "cpu")):
        left, right = ratios(first, field), ratios(second, field)
        for key in [key for key in left if key in right]:
            apart = abs(left[key] - right[key]) / min(left[key], right[key])
            agree &= apart <= allowed
            name = " / ".join(filter(None, key))
            mark = "" if apart <= allowed else "  !"
            print(f"{name:<60} {word:5}{left[key]:8.3f} {right[key]:8.3f}  {apart * 100:5.1f} %{mark}")
    return agree
