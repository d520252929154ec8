"""Results as text for a terminal and as Markdown for the README."""


def milliseconds(value):
    return f"{value / 1000:.2f} s" if value >= 10_000 else f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def mebibytes(value):
    return f"{value:.0f} MiB" if value >= 100 else f"{value:.1f} MiB"


def number(value):
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def show(result):
    """Prints one result, as it is in JSON."""
    print(f"\n{result['title']}" + (f"  [{result['state']}]" if result["state"] else ""))
    width = max(len(side["name"]) for side in result["sides"])
    print(f"  {'':{width}}  {'wall (least to most)':>31}  {'cpu':>9}  {'memory':>9}  kf takes (cpu)")
    for side in result["sides"]:
        walls = side["walls_ms"]
        span = f"({milliseconds(min(walls))} – {milliseconds(max(walls))})"
        ratio = "" if side["kind"] == "kf" else f"× {side['kf_ratio']:.2f} ({side['kf_cpu_ratio']:.2f})"
        print(
            f"  {side['name']:{width}}  {milliseconds(side['wall_ms']):>9} {span:>21}  "
            f"{milliseconds(side['cpu_ms']):>9}  {mebibytes(side['memory_mib']):>9}  {ratio:16}"
            + "  ".join(
                filter(
                    None,
                    (
                        side["kind"] if side["kind"] == "floor" else "",
                        side["output"],
                        f"({len(walls)} runs)" if len(walls) < 5 else "",
                    ),
                )
            )
        )
    for side in result["sides"]:
        if side["note"]:
            print(f"    {side['name']}: {side['note']}")
    if result["best_peer"]:
        print(f"  kf takes × {result['ratio_to_best_peer']:.2f} of the best peer, {result['best_peer']}", end="")
        print(f"; × {result['ratio_to_floor']:.2f} of the floor" if result["floor"] else "")
    for name, value in result["facts"].items():
        print(f"  {name}: {value}")
    for goal in result["goals"]:
        said = {True: "met", False: "NOT met", None: "not measured"}[goal["met"]]
        print(f"  goal {goal['text']}: {number(goal['value'])}, {said}", flush=True)


def markdown(figures):
    """The table of the README: a row for each work."""
    lines = ["| work | kf | best peer | floor | goal |", "|---|---|---|---|---|"]
    for result in figures["results"]:
        sides = {side["name"]: side for side in result["sides"]}
        ours = next(side for side in result["sides"] if side["kind"] == "kf")
        title = result["title"] + (f" ({result['state'].split(':')[0]})" if result["state"] else "")
        cells = [
            title,
            f"{milliseconds(ours['wall_ms'])} (least {milliseconds(min(ours['walls_ms']))}),"
            f" {mebibytes(ours['memory_mib'])}",
        ]
        for name, ratio in (("best_peer", "ratio_to_best_peer"), ("floor", "ratio_to_floor")):
            side = sides.get(result[name])
            cells.append(
                f"{side['name']}: {milliseconds(side['wall_ms'])}, {mebibytes(side['memory_mib'])};"
                f" kf × {result[ratio]:.2f} (cpu × {side['kf_cpu_ratio']:.2f})"
                if side
                else "–"
            )
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


def compare(first, second, allowed=0.15):
    """Prints how far the ratios of two runs are apart; true when all agree."""

    def ratios(figures, field):
        return {
            (result["work"], result["state"].split(":")[0], side["name"]): side[field]
            for result in figures["results"]
            for side in result["sides"]
            if side["kind"] != "kf"
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
