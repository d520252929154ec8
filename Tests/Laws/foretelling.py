"""The law of foretelling: what --dry-run and explain announced is what the run did, and a dry run asks no server."""
from articles import says
from run import UNDRY
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
# What a remote has comes in place of a request, and what it once had too.
BY_REMOTE = {"request": {"remote", "revalidated", "derived"}, "revalidate": {"remote", "derived"}, "refuse": {"remote", "stale", "derived"},
             "stale": {"remote"}}
PINS = {"--hash", "--hash-column", "--lock"}
SILENT = {"memory", "disk", "derive", "answer", "leave_out", "refuse"}


def judge(seen):
    dry, run, case = seen.dry, seen.first, seen.case
    if dry is None or "--json" not in run.argv:
        return
    is_explain = dry.argv[:2] == ["cache", "explain"]
    asked = [request for request in dry.requests if not (is_explain and request.party == "remote" and says(
        "UsingTheCache", "asks a `--remote` what it has"))]
    if asked:
        yield (f"{'explain' if is_explain else 'a dry run'} asks the {asked[0].party}",
               f"{asked[0].method} {asked[0].target} of the {asked[0].party}")
    if case.get("end") or run.status < 0 or run.hung:
        return
    if not is_explain and dry.status == 2 != run.status and "--dry-run" not in dry.error:
        yield "a dry run refuses what the run does", dry.error
    is_known_late = "--prune-lock" in case and says(
        "Pinning", "neither does one whose list names no image or has a record that cannot be read; that is status")
    if run.status == 2 and dry.status != 2 and not is_explain and not UNDRY & set(case) and not is_known_late and not (
            "--on-failure: " in run.error and "exceed" in run.error and says("CommandLine", "Neither makes a request or decodes an image")):
        yield "a run refuses what its dry run announced", f"announced {[row.get('next') for row in dry.rows]}: {run.error}"
    if run.status == 2 or dry.status == 2:
        return
    if not is_explain and dry.status == 1 and not dry.rows and run.rows:
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
    may_stop = "--max-failures" in case and says(
        "CommandLine", "`--max-failures 3` starts nothing new after the third failure")
    is_all_cached = all(row.get("next") == "disk" for rows in announced.values() for row in rows)
    may_stop = may_stop or "--read-only" in case and not is_all_cached and says(
        "UsingTheCache", "`prefetch` ends with status 3 at the first image that is not cached")
    may_stop = may_stop or "disk" in case and says("Faults", "`fetch` delivers and exits 3, `prefetch` stops with 3")
    for key, rows in announced.items():
        for row in rows:
            word, name = row.get("next"), row.get("name") or row.get("variant")
            results = [result for result in done.get(key, ()) if name in (None, result.get("variant"))]
            if row.get("status") == "invalid" and any(result["status"] in DELIVERED for result in results):
                yield "invalid was announced, and the image came", str(key)
            if word is None:
                continue
            if not results and not may_stop:
                yield f"{word} was announced, and the run has no row", f"{key}: {run.error}"
            right = rightful(case, word, is_explain)
            for result in results:
                if result["status"] not in right and not excused(seen, word, result) and not (
                        result["status"] == "not_tried" and may_stop):
                    yield (f"{word} was announced, done: {result['status']}",
                           f"{key[0]}: announced {row.get('status')}/{word}, done {result['status']}: {result.get('error')}")
            if row.get("status") == "stale" and results and not run.requests and case.get("remote") != "directory" and not (
                    has_new_overlay(case)) and not any(
                    excused(seen, word, result) or result["status"] == "not_tried" for result in results):
                # "stale (cached, and would be revalidated)" (kf help prefetch)
                yield f"stale was announced ({word}), and no server was asked", f"{key[0]}: {results[0]}"
    words = {row.get("next") for row in dry.rows}
    asked = [request for request in run.requests if request.party in ("origin", "other", "mirror")]
    others = {"--remote", "--alternative", *(PINS if is_explain else ())}
    if words and words <= SILENT and asked and not others & set(case) and not has_new_overlay(case):
        yield (f"{'/'.join(sorted(words))} was announced, and the {asked[0].party} was asked",
               f"{asked[0].method} {asked[0].target}")


def rightful(case, word, is_explain):
    """What the rows of a run may say after an announcement."""
    right, pinned = set(DEEDS[word]), PINS & set(case)
    if "--remote" in case and says("Remotes", "by `--dry-run` and `kf cache path`, which make no request"):
        right |= BY_REMOTE.get(word, set())
    if pinned and says("Pinning", "they are hashed and taken from there, which `-v` and `--json` call `pinned`"):
        right |= {"pinned"} | (ORIGIN if is_explain or word == "request" else set())  # explain has no option for a pin.
    if case.get("sources") in ("repeated", "many") and says("LifeOfAMiss", "A run requests a URL once, however often its list repeats it"):
        right |= {"cached", "disk"} | (ORIGIN if word == "request" else set())
    if word in ("request", "revalidate") and "--alternative" in case and says(
            "LifeOfAMiss", "The next alternative starts the job over at the first stage."):
        right |= ORIGIN
    if has_new_overlay(case) and (word == "request" or case.get("overlay") == "changed"):
        right |= ORIGIN
    if loses_overlay(case):
        right |= {"failed"}
    if "--drop-duplicates" in case and says("CommandLine", "It is fetched and cached like the others, and no failure."):
        right |= {"duplicate"}
    return right


def has_new_overlay(case):
    """Whether the images wait for an overlay of which only a request tells what it is."""
    return case.get("--process") == "mark-url" and says(
        "CommandLine", "another picture under the same name makes new images")


def loses_overlay(case):
    """Whether the origin of an overlay has it no longer, which a run sees once its own entry has expired."""
    return case.get("overlay") == "missing" and says("CommandLine", "fails with the overlay's error")


def excused(seen, word, result):
    code = (result.get("error") or {}).get("code", 0)
    if result["status"] == "failed" and (2007 <= code <= 2009 or 4000 <= code < 5000) and says(
            "CommandLine", "Neither makes a request or decodes an image"):
        return True
    if code == 3013 and "disk" in seen.case and says("Faults", "`fetch` delivers and exits 3, `prefetch` stops with 3"):
        return True
    if seen.case.get("disk") == "read-only" and (code in (3006, 3015) or word in ("revalidate", "request")) and says(
            "Faults", "`fetch` works uncached with one warning; `prefetch` refuses with 3"):
        return True
    if code == 3017 and says("Remotes", "A remote that refuses or cannot be reached ends both with status 3"):
        return True
    return word in ("disk", "derive") and seen.case.get("state") == "damaged-index" and says(
        "UsingTheCache", "A damaged index is set aside too")
