"""The law of bounds: a run ends, leaves no temporaries, and the cache that it leaves is whole."""
from articles import says

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
        is_asked = {"--max-failures", "--deadline"} & set(case) and says(
            "CommandLine", "stopped early, by `--deadline`, `--max-failures`")
        if run.status == 4 and not is_asked:
            yield f"{name} stops early", run.error
        if "Fatal error" in run.stderr or "precondition" in run.stderr:
            yield f"{name} traps", run.stderr[:300]
    is_killed = case.get("end") == "kill" and says(
        "Faults", "leftovers go with the next `clean` or `verify --repair` that is alone, else after an hour")
    if not is_killed:
        left = [name for name in seen.second.after if name.startswith("c/v1/tmp/")]
        if left:
            yield "temporaries stay", ", ".join(left[:3])
        stray = [name for name in seen.second.after if name.startswith("out/") and (".kf" in name or name.endswith(".tmp"))]
        if stray:
            yield "temporaries of outputs stay", ", ".join(stray[:3])
    total = seen.verify.summary
    is_known = case.get("state") == "damaged-file" and says(
        "UsingTheCache", "`--verify` only checks that a file matches its hash") or is_killed and says(
        "OnDisk", "An orphan among the objects")
    if case.get("state") == "damaged-index":
        is_untouched = seen.first.status == 2 and seen.second.status == 2 and says(
            "OnDisk", "A query that reports damage, or a failed `schemaProblem`, ends in `DiskStorage.healing`.")
        is_untouched = is_untouched or case.get("disk") == "full" and says("OnDisk", "The damaged index still in its place: it moves last")
        is_known = is_untouched or total and set(damage(total)) == {"orphan"} and says(
            "OnDisk", "Objects stay where they are, because their paths have been printed.")
    if total and not total["clean"] and not is_known:
        yield "verify finds damage", str(damage(total))
    is_full = "disk" in case and says("UsingTheCache", "Where nothing can be written, no directory can be made")
    if total is None and seen.verify.status not in (0, 1) and not is_full:
        yield "verify cannot look", seen.verify.error
    names_none = case.get("then", "").endswith(("list", "empty")) and says(
        "UsingTheCache", "a list that is empty, unreadable or partly invalid removes nothing")
    names_none = names_none or case.get("then") == "clean-lock" and case.get("url") in ("file", "folder", "data", "stdin") and says(
        "Pinning", "Local files and `data:` URIs have none.")
    if case.get("then") and seen.following.status == 2 and not names_none:
        yield f"{case['then']} is a usage error", seen.following.error
    yield from following(seen)


def damage(total):
    return {name: count for name, count in total["counts"].items() if count}


def following(seen):
    """What a command of the cache may do to what the run left."""
    case, run = seen.case, seen.following
    if run is None or case.get("end"):
        return
    name = case["then"]
    # A program that has no filter gets the image, in place of the remembered answer.
    before = {path for path in run.before if path.startswith("c/v1/objects/") and (
        name != "library" or not path.endswith(".none"))}
    lost = before - {path for path in run.after}
    is_replaced = name == "library" and case.get("state") == "damaged-file" and says(
        "Faults", "Objects that are missing, empty or torn after a power cut | A miss")
    if name not in ("clean", "clean-list", "clean-all", "rm", "rm-processed", "verify", "clean-lock") and lost and not is_replaced:
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
        is_not_its_own = {"--key", "--key-column", "--alternative"} & set(case) and says(
            "UsingTheCache", "It keeps what its own URLs brought, not what `--alternative` did.")
        if kept & again and not is_not_its_own and not case.get("url") in ("data", "file", "folder", "stdin") and not (
                {"--ignore-query", "--key-ignore", "--expire"} & set(case)):
            yield "clean --keep-list removes what the list names", ", ".join(sorted(kept & again))
