"""The law of rest: the same run again asks only what freshness demands, makes nothing and writes nothing."""
from truth import DELIVERED, STALE, trusted_places

# What a run does not keep, it makes and asks for again: "store nothing on disk", "serve hits, … and write nothing", "nothing of
# them is cached", "Size limit of the cache" (UsingTheCache, kf help fetch); and what is served without a request stays as it is.
UNSTORED = {"--memory-only", "--read-only", "--lenient", "--max-size", "--offline", "--only-from-cache"}
# "Fetch again", "revalidate with the origin", "--alternative is tried when a source fails", "ask again" (kf help fetch).
ASKS = {"--force-refresh", "--revalidate", "--update-lock", "--alternative", "--retry-failed"}
# "It is emptied when the first record is written" (CommandLine, Existing files); a jar is written at the end.
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
    http = case.get("--cache-policy") == "http"
    return bool(UNSTORED & set(case) or case.get("--store") in ("none", "original") or case.get("--expire") in (
        "soon", "expired") or http and case.get("headers") == "no-store")


def may_ask(case):
    """Whether freshness demands a request in each run."""
    # "A malformed value makes the response stale", and so does none: a response needs a lifetime. "A 302, 303 or 307 without
    # freshness of its own gives none" (HTTPCaching, Freshness, Redirects).
    if "--cookie-jar" in case and case.get("headers") == "cookie":
        return True  # "The cookies of a cookieJar as they are when the run begins" are part of the key (Identity).
    lives = case.get("headers") in ("max-age", "private") and not (case.get("url") or "").startswith("redirect")
    return bool(ASKS & set(case)) or is_unstored(case) or case.get("--cache-policy") == "http" and not lives


def confirms(case):
    """Whether the origin answers a condition of each run by a 304. "A validator proves nothing at another URL" (HTTPCaching)."""
    asks_anew = {"--force-refresh", "--alternative", "--retry-failed", "--mirror", "--remote"} & set(case)
    return not asks_anew and case.get("validator") != "none" and case.get("answer") in (None, "slow") and not (
        case.get("url") or "").startswith("redirect") and case.get("headers") not in ("no-store", "vary-star", "vary", "cookie")


def is_settled(seen):
    """Whether the first run left nothing to make or to ask for."""
    case = seen.case
    # "Serve an image that expired …, and revalidate it afterwards" (kf help fetch): an overlay too, so that the second run makes
    # the image with the new one.
    if "--stale-while-revalidate" in case:
        return False
    return not is_unstored(case) and not (may_ask(case) and not confirms(case)) and not unstored_pin(seen) and not any(
        row["status"] == "stale" for row in seen.first.rows)


def compare(seen, one, other):
    case, status, source = seen.case, other["status"], one["source"]
    may_change = (case.get("answer") or "").startswith(("once", "wrong")) or "--alternative" in case or (
        "--remote" in case and case.get("remote") in ("older", "liar", "forged", "down", "refusing", "garbage", "cut"))
    if status not in DELIVERED:
        if not (status == "failed" and (may_change or is_unstored(case) or may_ask(case) and case.get("answer"))):
            yield (f"what was {one['status']} is {status} in the second run",
                   f"{source}: {one['status']}, then {status}: {other.get('error')}")
        return
    is_same = one.get("sha256") == other.get("sha256") or status == "exported" or (
        "--stale-while-revalidate" in case and case.get("overlay") == "changed")
    if not is_same and one["status"] != "stale" and not (may_ask(case) and may_change):
        yield ("the second run delivers other bytes",
               f"{source}: {one['sha256']} ({one['status']}), then {other['sha256']} ({status})")
    if is_settled(seen) and status not in KEPT:
        yield (f"the second run has what was {one['status']} {status} again",
               f"{source}: {one['status']}, then {status} ({other.get('fetch_reason')})")


def unstored_pin(seen):
    """"Nothing of that is stored under this URL": what was found by its hash elsewhere. "Processed images from there are not
    used" (Pinning): what a layer or a remote gave to the run that wrote the lock, the next one makes by itself."""
    case = seen.case
    return case.get("--lock") not in (None, "held") and bool({"--cache-from", "--remote"} & set(case)) or any(
        row["status"] == "pinned" for row in seen.first.rows)


def writes(seen):
    """No inode and no time changes: of outputs, of objects, of the lock."""
    run = seen.second
    if not is_settled(seen):
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

