"""The law of bounds: a run ends, leaves no temporaries, and the cache that it leaves is whole."""
DOCUMENTED = {0, 1, 2, 3, 4}
MEMORY = 400 << 10  # KiB: pictures of 48 x 32 pixels need less in any format.
GRACE = 8  # Seconds: a signal waits for what is on its way, of which nothing here takes long.


def judge(seen):
    case = seen.case
    for run in seen.runs:
        name = " ".join(run.argv[:2]) if run.argv[0] == "cache" else run.argv[0]
        end = case.get("end") if run in (seen.first, seen.twin) else None
        allowed = DOCUMENTED | ({143} if end == "sigterm" else {-9} if end == "kill" else set())
        if run.hung:
            yield f"{name} does not end", " ".join(run.argv)
        elif run.status not in allowed:
            yield f"{name} ends with {run.status}", run.stderr[-300:]
        if end == "sigterm" and run.seconds > GRACE:
            yield f"{name} takes too long after SIGTERM", f"{run.seconds:.1f} s"
        if run.memory > MEMORY:
            yield f"{name} takes much memory", f"{run.memory} KiB"
        if run.status == 4 and not case.get("--max-failures") and "--deadline" not in case:
            yield f"{name} stops early", run.error
        if "Fatal error" in run.stderr or "precondition" in run.stderr:
            yield f"{name} traps", run.stderr[:300]
    if case.get("end") != "kill":
        left = [name for name in seen.second.after if name.startswith("c/v1/tmp/")]
        if left:
            yield "temporaries stay", ", ".join(left[:3])
        stray = [name for name in seen.second.after if name.startswith("out/") and (".kf" in name or name.endswith(".tmp"))]
        if stray:
            yield "temporaries of outputs stay", ", ".join(stray[:3])
    total = seen.verify.summary
    if total and not total["clean"] and not (case.get("state") or "").startswith("damaged") and case.get("end") != "kill":
        yield "verify finds damage", str({name: count for name, count in total["counts"].items() if count})
    if total is None and seen.verify.status not in (0, 1):
        yield "verify cannot look", seen.verify.error
    if case.get("then") and seen.following.status == 2 and not (
            "it names no image" in seen.following.error or "obeys the command line only" in seen.following.error):
        yield f"{case['then']} is a usage error", seen.following.error
    yield from following(seen)


def following(seen):
    """What a command of the cache may do to what the run left."""
    case, run = seen.case, seen.following
    if run is None or case.get("end"):
        return
    before = {name for name in run.before if name.startswith("c/v1/objects/")}
    lost = before - {name for name in run.after}
    name = case["then"]
    if name not in ("clean", "clean-list", "clean-all", "rm", "rm-processed", "verify", "clean-lock") and lost:
        yield f"{name} removes objects", ", ".join(sorted(lost)[:3])
    if name == "clean-empty" and run.status != 2:
        yield "an empty keep-list is accepted", f"exit {run.status}"
    if name in ("stat", "ls", "ls-host", "tags", "dupes", "path", "which", "report", "config", "clean-lock", "clean-empty"):
        changed = {path for path in run.changed("c/") if not path.endswith(("-shm", "-wal", "/lock", "index.sqlite"))}
        if changed:
            yield f"{name} changes the cache", ", ".join(sorted(changed)[:3])
    if name == "clean-list" and seen.third and seen.second and run.status == 0:
        # "--keep-list removes what a list does not name": what it names stays.
        kept = {row["source"] for row in seen.second.rows if row.get("status") in ("cached", "disk")}
        again = {row["source"] for row in seen.third.rows if row.get("status") in ("fetched", "failed")}
        if kept & again and not case.get("url") in ("data", "file", "folder", "stdin") and not (
                {"--key", "--key-column", "--alternative", "--ignore-query", "--key-ignore", "--expire"} & set(case)):
            yield "clean --keep-list removes what the list names", ", ".join(sorted(kept & again))
