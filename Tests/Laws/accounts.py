"""The law of accounts: rows, summary, reports, exit status and what the servers saw agree to the number."""
import csv
import json
from collections import Counter

import others
from articles import says
from rest import may_ask

HITS = {"memory", "disk", "cached", "pinned"}


def judge(seen):
    for run in (seen.first, seen.second):
        if run.status < 0 or run.hung:
            continue
        if run.bad_lines and "--json" in run.argv:
            yield "a line of --json is no JSON", repr(run.bad_lines[0][:200])
        if run.status == 2:
            is_known_late = "--prune-lock" in seen.case and seen.case.get("command") != "fetch" and says(
                "Pinning", "neither does one whose list names no image or has a record that cannot be read; that is status")
            if run.rows and not is_known_late:
                yield "a usage error with rows", run.error
            continue
        yield from summary(seen, run)
        yield from reports(seen, run)
        if run is seen.first or not seen.case.get("end"):
            yield from requests(seen, run)
    if seen.following:
        yield from others.accounts(seen)


def summary(seen, run):
    case, total = seen.case, run.summary
    if total is None:
        if run.status == 3 and not run.rows and says("CommandLine", "ends the run with status 3 before anything is fetched"):
            return
        if run.status == 143 and case.get("command") == "fetch" and says("CommandLine", "`fetch` ends within a second"):
            return
        if "--json" in run.argv:
            yield "no summary", f"exit {run.status}: {run.error}"
        return
    if total["exit_status"] != run.status:
        yield "the summary has another exit status", f"{total['exit_status']}, ended with {run.status}"
    if case.get("command") == "fetch":
        written = Counter(row.get("output_state") for row in run.rows)
        for name in ("written", "unchanged"):
            if total.get(name) != written.get(name, 0):
                yield f"fetch's count of {name} is wrong", f"{total.get(name)}, rows: {dict(written)}"
    else:
        yield from counts(seen, run, total)
    states = Counter(row["status"] for row in run.rows)
    if run.status in (0, 1) and not case.get("end"):
        fails = states["failed"] > 0 and not ("--allow-failures" in case and says(
            "CommandLine", "`--allow-failures` ends such a run with 0."))
        if run.status == 0 and fails:
            yield "exit status 0 with failures", str(dict(states))
        if run.status == 1 and not states["failed"]:
            yield "exit status 1 without a failure", f"{dict(states)}: {run.error}"
    if run.status == 3 and not run.error.strip():
        yield "status 3 without a message", str(run.argv)
    if total.get("remote") and case.get("remote") != "directory" and not seen.twin and not case.get("end"):
        # "uploaded and dropped count uploads" (Remotes), of which each has one entry.
        entries = sum(request.party == "remote" and request.method == "PUT" and "/ac/" in request.path and request.status == 201
                      for request in run.requests)
        if total["remote"]["uploaded"] != entries:
            yield "the remote's count of uploads is wrong", f"{total['remote']}, the remote got {entries}"
    expected = len(seen.place.order)
    if case.get("list") == "empty":
        expected = 0
    if case.get("list") == "invalid":
        expected += 1
    sources = {(row.get("source"), row.get("line")) for row in run.rows}
    if case.get("command", "prefetch") != "fetch" and "--shard" not in case and run.status in (0, 1) and len(sources) != expected:
        yield "some items have no row", f"{len(sources)} of {expected} items: {run.error}"


def counts(seen, run, total):
    """The counts of a prefetch: of items, of which one has a row for each image."""
    items = {}
    for row in run.rows:
        items.setdefault((row.get("source"), row.get("line")), []).append(row["status"])
    names = {"failed": "failed", "filtered": "filtered", "opted_out": "opted_out", "duplicates": "duplicate",
             "cancelled": "cancelled",
             "not_tried": "not_tried", "exported": "exported", "derived": "derived", "revalidated": "revalidated",
             "fetched": "fetched"}
    several = any(len(set(states)) > 1 for states in items.values())
    for name, status in names.items():
        number = sum(status in states for states in items.values())
        if total.get(name) != number and not several:
            yield f"the summary's {name} is wrong", f"{total.get(name)}, rows have {number}: {Counter(sum(items.values(), []))}"
    cached = sum(set(states) <= HITS | {"exported", "stale"} for states in items.values())
    if total.get("cached") != cached and not several:
        yield "the summary's cached is wrong", f"{total.get('cached')}, rows have {cached}"
    outputs = Counter(row.get("output_state") for row in run.rows)
    for name in ("written", "unchanged"):
        if total.get(name) != outputs.get(name, 0):
            yield f"the summary's {name} is wrong", f"{total.get(name)}, rows: {dict(outputs)}"


def reports(seen, run):
    case, root = seen.case, seen.place.root
    if run is not seen.second or "then" in case or "--json" not in run.argv:
        return  # The files are those of the last run, and only --json has its rows.
    is_of_shards = "--shards" in case and says(
        "CommandLine", "`--results` has the rows of the jsonl, with their statuses, as a run without interruption would have "
                       "written them")
    if "--results" in case and not is_of_shards:
        path = root / ("rows." + case["--results"])
        if not path.exists():
            yield "no --results", run.error
        elif case["--results"] == "jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            said = Counter((row.get("source"), row.get("line"), row.get("status")) for row in run.rows)
            there = Counter((row.get("source"), row.get("line"), row.get("status")) for row in rows)
            if said != there:
                yield "--results differs from --json", f"{there - said} more, {said - there} missing"
        else:
            rows = list(csv.DictReader(path.open()))
            said, there = Counter(row["status"] for row in run.rows), Counter(row["status"] for row in rows)
            if said != there:
                yield "--results differs from --json", f"{dict(there)} in place of {dict(said)}"
    if "--failures" in case:
        path = root / "failed"
        lines = [line for line in path.read_text().splitlines() if line] if path.exists() else []
        items = {(row.get("source"), row.get("line")) for row in run.rows if row["status"] in ("failed", "not_tried", "cancelled")}
        if case.get("list") in ("csv", "tsv") and lines:
            lines = lines[1:]
        if len(lines) != len(items):
            yield "--failures differs from the rows", f"{len(lines)} lines, {len(items)} failed items"


def requests(seen, run):
    """One request, its retries, one for a challenge and one after a wrong 304, for each hop of an identity."""
    case = seen.case
    retries = {"none": 0, "one": 1}.get(case.get("--retry"), 2)
    fails, most = case.get("answer", "ok"), 1
    if fails.startswith(("status:5", "status:429", "once:5", "once:429", "once:cut", "reset", "cut")) and says(
            "Faults", "Retried, twice by default"):
        most += retries
    if fails == "once:429" and not retries and says("CommandLine", "Such an image waits without using a retry"):
        most += 1
    if fails == "wrong-304" and says(
            "HTTPCaching", "is answered by one unconditional request, and so is one that names another validator"):
        most += 1
    if case.get("guard") in ("basic", "digest"):  # Digest asks once more without credentials, where it need not.
        most *= 2 if case["guard"] == "basic" else 3
    if case.get("url") == "redirect-other" and case.get("tls") == "required" and says(
            "Faults", "A reset, an end or silence within the handshake; a reset within the body | Retried"):
        most += retries  # A server that wants a certificate may close before its alert is read.
    if most == 1 and "--proxy" in case and "tls" in case:
        most += retries  # The proxy refuses a tunnel with 502.
    is_kept = any(row["status"] != "failed" for row in run.rows) and not may_ask(case)
    if case.get("end") == "twice" and (fails != "ok" or not is_kept) and says(
            "UsingTheCache", "that want the same missing image make one request"):
        most *= 2
    asked = Counter((request.party, request.target) for request in run.requests
                    if request.party in ("origin", "other", "mirror", "overlay", "alternative") and request.method == "GET")
    for (party, target), number in asked.items():
        bound = most
        # Whatever else the same server has answered leaves its connection open: a redirect, a challenge, another image.
        is_kept_open = case.get("guard") in ("basic", "digest") or any(other != target for place, other in asked if place == party)
        if fails == "reset" and is_kept_open and says(
                "Faults", "The request is made once more, uncounted, over a new connection"):
            bound *= 2
        if party in ("mirror", "alternative", "overlay"):
            bound = most if party == "mirror" and case.get("mirror") != "broken" else 1 + retries
        if case.get("end") == "twice" and party in ("mirror", "alternative"):
            bound *= 2
        if number > bound:
            what = "an overlay" if party == "overlay" else f"the {party}"
            why = fails
            if case.get("sources") in ("repeated", "many"):
                why = "a repeated URL" + (f", --store {case['--store']}" if "--store" in case else "")
            yield (f"{what} is asked too often ({why})", f"{number} requests of {target}, at most {bound}: {case.get('answer', 'ok')}")
    done = [row for row in run.rows if row.get("status") == "fetched"]
    for row in done:
        bound = (most + ("--alternative" in case)) * (1 + ("--mirror" in case))
        if row.get("attempts", 1) > bound and not row.get("variant"):
            yield "attempts are too many", f"{row['source']}: {row['attempts']}, at most {bound}"
