"""The law of rest: the same run again asks only what freshness demands, makes nothing and writes nothing."""
from truth import DELIVERED, STALE, trusted_places

# With these a run stores nothing, or less than it needs again (UsingTheCache, kf help fetch).
UNSTORED = {"--memory-only", "--read-only", "--lenient", "--max-size", "--offline", "--only-from-cache"}
# These ask the source in each run by their own words.
ASKS = {"--force-refresh", "--revalidate", "--update-lock", "--alternative", "--retry-failed"}
REPORTS = {"rows.csv", "rows.jsonl", "failed", "dropped", "jar"}
KEPT = {"memory", "disk", "cached", "pinned", "exported", "revalidated", "stale"}


def judge(seen):
    first, second, case = seen.first, seen.second, seen.case
    if case.get("end") in ("sigterm", "kill") or first.status in (2, 3) or second.hung or first.hung:
        return
    good = {key: rows for key, rows in by_key(first).items() if all(row["status"] in DELIVERED for row in rows)}
    later = by_key(second)
    for key, rows in good.items():
        again = later.get(key)
        if again is None:
            yield "the second run lacks a row", f"{key}: {second.error}"
            continue
        for one, other in zip(rows, again):
            yield from compare(seen, one, other)
    if len(good) == len(by_key(first)) and good:
        yield from writes(seen)
        yield from requests(seen)


def by_key(run):
    found = {}
    for row in run.rows:
        found.setdefault((row.get("source"), row.get("line"), row.get("variant")), []).append(row)
    return found


def is_unstored(case):
    return bool(UNSTORED & set(case)) or case.get("--store") in ("none", "original") or case.get("--expire") in (
        "soon", "expired") or case.get("--cache-policy") == "http" and case.get("headers") == "no-store" or (
        case.get("--process") == "mark-url" and case.get("overlay") == "missing")


def may_ask(case):
    """Whether freshness demands a request in each run."""
    return bool(ASKS & set(case)) or is_unstored(case) or case.get("--expire") in ("soon", "expired") or (
        # Without a lifetime of its own a response is stale at once (HTTPCaching, Freshness).
        case.get("--cache-policy") == "http" and (
            case.get("headers") not in ("max-age", "private") or (case.get("url") or "").startswith("redirect")))


def compare(seen, one, other):
    case, status = seen.case, other["status"]
    source = one["source"]
    may_change = case.get("answer", "").startswith(("once", "wrong")) or "--remote" in case and case.get(
        "remote") not in (None, "filled", "directory", "read-only", "slow") or "--alternative" in case
    if status not in DELIVERED:
        if status == "failed" and (may_change or is_unstored(case) or may_ask(case) and case.get("answer")):
            return
        yield (f"what was {one['status']} is {status} in the second run",
               f"{source}: {one['status']}, then {status}: {other.get('error')}")
        return
    if one.get("sha256") != other.get("sha256") and one["status"] != "stale" and status != "exported" and not (may_ask(case) and may_change):
        yield "the second run delivers other bytes", f"{source}: {one['sha256']} ({one['status']}), then {other['sha256']} ({status})"
    if is_unstored(case) or may_ask(case) and not confirms(seen) or one["status"] == "stale" or unstored_pin(seen, one):
        return
    if status not in KEPT:
        yield (f"the second run has what was {one['status']} {status} again",
               f"{source}: {one['status']}, then {status} ({other.get('fetch_reason')})")


def confirms(seen):
    """Whether the origin answers a condition by a 304 in each run."""
    case = seen.case
    return case.get("validator") != "none" and not {"--force-refresh", "--alternative", "--retry-failed"} & set(case) and (
        case.get("answer", "ok") in ("ok", "slow")) and not (case.get("url") or "").startswith("redirect") and (
        "--mirror" not in case) and "--remote" not in case and case.get("headers") not in ("no-store", "vary-star", "vary", "cookie")


def unstored_pin(seen, row=None):
    """"Nothing of that is stored under this URL": what was found by its hash elsewhere. "Processed images from there are not
    used" (Pinning): what a layer or a remote gave to the run that wrote the lock, the next one makes by itself."""
    case = seen.case
    if "--lock" in case and case["--lock"] != "held" and {"--cache-from", "--remote"} & set(case):
        return True
    return row is not None and row["status"] == "pinned"


def writes(seen):
    """No inode and no time changes: of outputs, of objects, of the lock."""
    case, run = seen.case, seen.second
    if is_unstored(case) or may_ask(case) and not confirms(seen) or unstored_pin(seen) or any(
            row["status"] == "stale" for row in seen.first.rows):
        return
    for name in sorted(run.changed()):
        is_object = name.startswith("c/v1/objects/")
        if name.startswith("c/") and not is_object or name in REPORTS:
            continue
        if name.startswith(("shared/", "home/", "layer/")):
            continue
        what = "an object" if is_object else "a file of a data set" if name.startswith("data/") else "the lock" if (
            name == "im.lock") else "a page" if name.startswith("page") else "an output"
        yield f"the second run writes {what}", f"{name}: {run.before.get(name)} -> {run.after.get(name)}"


def requests(seen):
    case, run = seen.case, seen.second
    if may_ask(case) or any(row["status"] == "stale" for row in seen.first.rows) or STALE & set(case):
        return
    own = {place for item in seen.place.items for place in trusted_places(seen, item)}
    for request in run.requests:
        if (request.party, request.path) in own:
            yield "the second run asks for what is fresh", f"{request.party} {request.target}: {request.status}"
            return
        if request.party == "overlay" and case.get("overlay") is None:
            yield "the second run asks for a fresh overlay", f"{request.target}: {request.status}"
            return
        if request.party == "remote" and request.method == "PUT" and case.get("remote") in (None, "filled"):
            yield "the second run uploads again", request.target
            return

