"""The law of foretelling: what --dry-run and explain announced is what the run did, and a dry run asks no server."""
from truth import DELIVERED

# By what was announced (`next`), what the row of the run may say. DecisionTests has the table for single retrievals.
ORIGIN = {"fetched", "failed", "revalidated", "stale", "remote", "derived", "filtered", "opted_out", "cached", "disk"}
DEEDS = {
    "memory": {"memory", "disk", "cached"},
    "disk": {"disk", "cached"},
    "derive": {"derived"},
    "remote": {"remote", "cached"},
    "answer": {"failed"},
    "leave_out": {"filtered", "opted_out"},
    "refuse": {"failed"},
    "stale": {"stale", "revalidated", "fetched"},
    "revalidate": {"revalidated", "fetched", "stale", "failed", "filtered", "opted_out"},
    "request": {"fetched", "failed", "stale", "filtered", "opted_out"},
}
# "It asks no remote" (kf help prefetch): what a remote has comes in place of a request, and what it once had too.
BY_REMOTE = {"request": {"remote", "revalidated", "derived"}, "revalidate": {"remote", "derived"}, "refuse": {"remote", "stale", "derived"},
             "stale": {"remote"}}
SILENT = {"memory", "disk", "derive", "answer", "leave_out", "refuse"}


def judge(seen):
    dry, run, case = seen.dry, seen.first, seen.case
    if dry is None or "--json" not in run.argv:
        return
    is_explain = dry.argv[:2] == ["cache", "explain"]
    asked = [request for request in dry.requests if not (is_explain and request.party == "remote")]
    if asked:
        yield (f"{'explain' if is_explain else 'a dry run'} asks the {asked[0].party}",
               f"{asked[0].method} {asked[0].target} of the {asked[0].party}")
    if case.get("end") or run.status < 0 or run.hung:
        return
    if not is_explain and dry.status == 2 != run.status and "--dry-run" not in dry.error:
        yield "a dry run refuses what the run does", dry.error
    prunes_all = "--prune-lock" in case and case.get("list") in ("empty", "invalid")  # A dry run prunes nothing.
    if run.status == 2 and dry.status != 2 and not is_explain and "--srcset" not in case and not prunes_all:
        yield "a run refuses what its dry run announced", f"announced {[row.get('next') for row in dry.rows]}: {run.error}"
    if run.status == 2 or dry.status == 2:
        return
    if not is_explain and dry.status == 1 and not dry.rows and "--check" not in case and run.rows:
        yield "a dry run ends with 1 and says nothing", dry.error
    yield from deeds(seen, dry, run, is_explain)


def deeds(seen, dry, run, is_explain):
    case = seen.case
    has_remote = "--remote" in case
    done, announced = {}, {}
    for row in run.rows:
        done.setdefault((row.get("source"), row.get("line")), []).append(row)
    for row in dry.rows:
        announced.setdefault((row.get("source"), row.get("line")), []).append(row)
    pinned = {"--hash", "--hash-column", "--lock"} & set(case)
    for key, rows in announced.items():
        for row in [part for row in rows for part in row.get("variants") or [row]]:
            word = row.get("next")
            name = row.get("name") or row.get("variant")
            results = [result for result in done.get(key, ()) if name in (None, result.get("variant"))]
            if row.get("status") == "invalid":
                if any(result["status"] in DELIVERED for result in results):
                    yield "invalid was announced, and the image came", str(key)
                continue
            if word is None:
                continue
            if not results:
                if case.get("--max-failures") is None:
                    yield f"{word} was announced, and the run has no row", f"{key}: {run.error}"
                continue
            right = set(DEEDS[word])
            if has_remote:
                right |= BY_REMOTE.get(word, set())
            if word == "request" and (case.get("sources") in ("repeated", "many") or pinned or case.get("state") == "others"):
                right |= ORIGIN
            if pinned:
                right |= {"pinned"}
            if case.get("sources") in ("repeated", "many"):
                right |= {"cached", "disk"}  # The first of several rows has asked for all.
            if word in ("request", "revalidate") and "--alternative" in case:
                right |= ORIGIN
            if pinned and is_explain:
                right |= ORIGIN  # explain has no option for a pin.
            if word == "request" and case.get("--process") == "mark-url":
                right |= {"derived"}
            if word in ("refuse",) and case.get("sources"):
                right |= {"cached"}
            for result in results:
                if result["status"] == "not_tried" and (
                        case.get("--max-failures") or "--read-only" in case and word != "disk"):
                    continue  # "--read-only: serve hits, … and write nothing to the cache" (UsingTheCache).
                if result["status"] not in right and not excused(seen, word, result):
                    yield (f"{word} was announced, done: {result['status']}",
                           f"{key[0]}: announced {row.get('status')}/{word}, done {result['status']}: {result.get('error')}")
            if row.get("status") == "stale" and not run.requests and case.get("remote") != "directory" and not any(
                    excused(seen, word, result) or result["status"] == "not_tried" for result in results):
                # "stale (cached, and would be revalidated)" (kf help prefetch)
                yield f"stale was announced ({word}), and no server was asked", f"{key[0]}: {results[0]}"
    words = {row.get("next") for row in dry.rows}
    silent = words <= SILENT and words
    asked = [request for request in run.requests if request.party in ("origin", "other", "mirror")]
    if silent and asked and not (is_explain and pinned) and not has_remote and not case.get("--process") == "mark-url" and not {
            "--alternative"} & set(case):
        yield f"{'/'.join(sorted(words))} was announced, and the {asked[0].party} was asked", f"{asked[0].method} {asked[0].target}"


def excused(seen, word, result):
    """"A dry run cannot foretell a failing decoder or processor": it decodes no image (CommandLine, Images that are left out)."""
    code = (result.get("error") or {}).get("code", 0)
    if result["status"] == "failed" and (2007 <= code <= 2009 or 4000 <= code < 5000):
        return True
    return word in ("disk", "derive") and seen.case.get("state", "").startswith("damaged")
