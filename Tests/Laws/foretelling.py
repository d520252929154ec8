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
PINS = {"--hash", "--hash-column", "--lock"}
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
    """Compares each image's announcement with its row; a dry run announces all variants of an item in one object."""
    case = seen.case
    done, announced = {}, {}
    for row in run.rows:
        done.setdefault((row.get("source"), row.get("line")), []).append(row)
    for row in dry.rows:
        announced.setdefault((row.get("source"), row.get("line")), []).extend(row.get("variants") or [row])
    for key, rows in announced.items():
        for row in rows:
            word, name = row.get("next"), row.get("name") or row.get("variant")
            results = [result for result in done.get(key, ()) if name in (None, result.get("variant"))]
            if row.get("status") == "invalid" and any(result["status"] in DELIVERED for result in results):
                yield "invalid was announced, and the image came", str(key)
            if word is None:
                continue
            # "--max-failures 3 starts nothing new after the third failure" (CommandLine), and with --read-only a prefetch has
            # no place for what is missing: "serve hits, … and write nothing to the cache" (UsingTheCache).
            may_stop = "--max-failures" in case or "--read-only" in case and word != "disk"
            if not results and not may_stop:
                yield f"{word} was announced, and the run has no row", f"{key}: {run.error}"
            right = rightful(case, word, is_explain)
            for result in results:
                if result["status"] not in right and not excused(seen, word, result) and not (
                        result["status"] == "not_tried" and may_stop):
                    yield (f"{word} was announced, done: {result['status']}",
                           f"{key[0]}: announced {row.get('status')}/{word}, done {result['status']}: {result.get('error')}")
            if row.get("status") == "stale" and results and not run.requests and case.get("remote") != "directory" and not any(
                    excused(seen, word, result) or result["status"] == "not_tried" for result in results):
                # "stale (cached, and would be revalidated)" (kf help prefetch)
                yield f"stale was announced ({word}), and no server was asked", f"{key[0]}: {results[0]}"
    words = {row.get("next") for row in dry.rows}
    asked = [request for request in run.requests if request.party in ("origin", "other", "mirror")]
    others = {"--remote", "--alternative", *(PINS if is_explain else ())}
    if words and words <= SILENT and asked and not others & set(case) and case.get("--process") != "mark-url":
        yield (f"{'/'.join(sorted(words))} was announced, and the {asked[0].party} was asked",
               f"{asked[0].method} {asked[0].target}")


def rightful(case, word, is_explain):
    """What the rows of a run may say after an announcement."""
    right, pinned = set(DEEDS[word]), PINS & set(case)
    if "--remote" in case:
        right |= BY_REMOTE.get(word, set())
    if pinned:
        # "If the cache has the bytes under another URL only, or a remote has the object …, they are taken from there,
        # which --json calls pinned" (Pinning). explain has no option for a pin.
        right |= {"pinned"} | (ORIGIN if is_explain or word == "request" else set())
    if case.get("sources") in ("repeated", "many"):
        right |= {"cached", "disk"} | (ORIGIN if word == "request" else set())  # The first of several rows asks for all.
    if word in ("request", "revalidate") and "--alternative" in case:
        right |= ORIGIN  # Nor what an alternative gives.
    if word == "request" and (case.get("--process") == "mark-url" or case.get("state") == "others"):
        right |= ORIGIN  # The overlay that is fetched may be one with which the image is cached.
    return right


def excused(seen, word, result):
    """A dry run decodes no image (CommandLine, Images that are left out): it cannot foretell a failing decoder or processor.
    A damaged file shows when it is read."""
    code = (result.get("error") or {}).get("code", 0)
    if result["status"] == "failed" and (2007 <= code <= 2009 or 4000 <= code < 5000):
        return True
    return word in ("disk", "derive") and seen.case.get("state", "").startswith("damaged")
