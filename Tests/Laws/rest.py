"""The law of rest: the same run again asks only what freshness demands, makes nothing and writes nothing."""
import others
from articles import says
from foretelling import loses_overlay
from truth import DELIVERED, STALE, trusted_places

# "It is emptied when the first record is written" (CommandLine, Existing files); a jar is written at the end.
REPORTS = {"rows.csv", "rows.jsonl", "failed", "dropped", "jar"}
KEPT = {"memory", "disk", "cached", "pinned", "exported", "revalidated", "stale"}


def judge(seen):
    yield from others.rest(seen)
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
    """Whether a run keeps nothing of what it fetches or makes, so that the next one does it again."""
    if "disk" in case and says("UsingTheCache", "below it, it keeps what it has, and storing fails (exit 3)"):
        return True
    if ("--memory-only" in case or case.get("--store") == "none") and says(
            "UsingTheCache", "store nothing on disk; cached images are still used"):
        return True
    if "--read-only" in case and says("UsingTheCache", "and write nothing to the cache"):
        return True
    if "--lenient" in case and case.get("body") in ("damaged", "broken-pixels") and says(
            "Formats", "Such an image is written and processed like others, and never cached"):
        return True
    if case.get("--max-size") == "small" and says("UsingTheCache", "Past the limit (`--max-size`, 5 GiB) the expired go first"):
        return True
    if case.get("--store") == "original" and says("UsingTheCache", "which of the two images to store"):
        return True
    if case.get("--expire") in ("soon", "expired") and says("UsingTheCache", "how long an image is fresh, or until when"):
        return True
    return case.get("--cache-policy") == "http" and case.get("headers") == "no-store" and says(
        "HTTPCaching", "`no-store` keeps a response out of the cache.")


def may_ask(case):
    """Whether freshness or an option demands a request in each run."""
    if "--force-refresh" in case and says("HTTPCaching", "``KingfisherOptions/forceRefresh`` makes a request"):
        return True
    if "--revalidate" in case and says("UsingTheCache", "revalidate with the origin even if the image is fresh"):
        return True
    if "--update-lock" in case and says("Pinning", "is revalidated, and may be replaced"):
        return True
    if "--alternative" in case and says("CommandLine", "`--alternative URL|FILE` is tried when a source fails"):
        return True
    if "--retry-failed" in case and says("CommandLine", "`--retry-failed` asks again."):
        return True
    if "--cookie-jar" in case and case.get("headers") == "cookie" and says(
            "Identity", "the cookies of a ``TransferOptions/cookieJar`` as they are when the run begins"):
        return True
    is_found = (case.get("url") or "").startswith("redirect") and says(
        "HTTPCaching", "A 302, 303 or 307 without freshness of its own gives none")
    lives = case.get("headers") in ("max-age", "private") and not is_found
    return is_unstored(case) or case.get("--cache-policy") == "http" and not lives


def confirms(case):
    """Whether the origin answers a condition of each run by a 304."""
    is_elsewhere = (case.get("url") or "").startswith("redirect") and says(
        "HTTPCaching", "A validator proves nothing at another URL.")
    is_elsewhere = is_elsewhere or "--mirror" in case and says("Pinning", "validators are sent only to the place that gave them")
    asks_anew = {"--force-refresh", "--alternative", "--retry-failed", "--remote"} & set(case)
    return not asks_anew and case.get("validator") != "none" and case.get("answer") in (None, "slow") and not is_elsewhere and (
        case.get("headers") not in ("no-store", "vary-star", "vary", "cookie"))


def is_settled(seen):
    """Whether the first run left nothing to make or to ask for."""
    case = seen.case
    if "--stale-while-revalidate" in case and says(
            "UsingTheCache", "serve an image that expired less than a day ago at once, and revalidate it afterwards"):
        return False
    return not is_unstored(case) and not (may_ask(case) and not confirms(case)) and not unstored_pin(seen) and not any(
        row["status"] == "stale" for row in seen.first.rows)


def compare(seen, one, other):
    case, status, source = seen.case, other["status"], one["source"]
    may_change = (case.get("answer") or "").startswith(("once", "wrong")) or "--alternative" in case
    if status == one["status"] == "duplicate":
        return
    if status not in DELIVERED:
        if not (status == "failed" and (may_change or loses_overlay(case) or is_unstored(case) or may_ask(case) and case.get("answer"))):
            yield (f"what was {one['status']} is {status} in the second run",
                   f"{source}: {one['status']}, then {status}: {other.get('error')}")
        return
    is_same = one.get("sha256") == other.get("sha256") or status == "exported" or (
        "--stale-while-revalidate" in case and case.get("overlay") == "changed")
    if not is_same and one["status"] != "stale" and not (may_ask(case) and may_change):
        yield ("the second run delivers other bytes",
               f"{source}: {one['sha256']} ({one['status']}), then {other['sha256']} ({status})")
    if is_settled(seen) and status not in KEPT:
        reason = f" ({one['fetch_reason']})" if one.get("fetch_reason") else ""
        yield (f"the second run has what was {one['status']}{reason} {status} again",
               f"{source}: {one['status']}, then {status} ({other.get('fetch_reason')})")


def unstored_pin(seen):
    """Whether a pin keeps what the first run had from being used by the second one."""
    case = seen.case
    from_others = case.get("--lock") not in (None, "held") and bool({"--cache-from", "--remote"} & set(case))
    if from_others and says("Pinning", "processed images from there are not used"):
        return True
    return any(row["status"] == "pinned" for row in seen.first.rows) and says(
        "Pinning", "Nothing of that is stored under this URL")


def writes(seen):
    """No inode and no time changes: of outputs, of objects, of the lock."""
    run = seen.second
    if not is_settled(seen):
        return
    for name in sorted(run.changed()):
        is_object = name.startswith("c/v1/objects/")
        if name.startswith("c/") and not is_object or name in REPORTS:
            continue
        if name.startswith("home/") or name.endswith(("-shm", "-wal")) and says(
                "LifeOfAHit", "SQLite maps its shared memory and reads the write-ahead log's frames."):
            continue
        what = "an object" if is_object else "a file of a data set" if name.startswith("data/") else "the lock" if (
            name == "im.lock") else "a page" if name.startswith("page") else "an output"
        yield f"the second run writes {what}", f"{name}: {run.before.get(name)} -> {run.after.get(name)}"


def requests(seen):
    case, run = seen.case, seen.second
    if may_ask(case) or any(row["status"] == "stale" for row in seen.first.rows) or STALE.keys() & set(case):
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

