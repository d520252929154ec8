"""What the laws say of the commands that follow a run: merge, push, and a program over the library."""
import json

from articles import says
from pictures import sha256


WAYS = {"fetched", "derived", "disk", "revalidated", "remote"}


def key_of(entry):
    return entry["key"], entry["identifier"]


def objects(files):
    """The digests of the objects in a cache, by the names of its files."""
    return {"".join(name.split("/")[3:5]).partition(".")[0] for name in files if name.startswith("c/v1/objects/")}


def truth(seen):
    """What a merge takes is one of both, the newer; what a push uploads is what the cache has."""
    if seen.merging:
        yield from merged(seen)
    if (seen.case.get("then") or "").startswith("push"):
        new = {path: data for path, data in seen.blobs_after.items() if seen.blobs_before.get(path) != data}
        held = objects(seen.following.before)
        for path, data in new.items():
            if "/cas/" in path and (sha256(data) != path.rpartition("/")[2] or sha256(data) not in held):
                yield "push uploads what the cache does not have", path
            if "/ac/" in path and json.loads(data)["sha256"] not in held:
                yield "push uploads an entry of what the cache does not have", path
    if seen.case.get("then") == "library" and not seen.place.secure and seen.following.status == 0:
        yield from library(seen)


def merged(seen):
    here, there, after = ({key_of(entry): entry for entry in entries if entry["bytes"]} for entries in seen.merging)
    for key in here.keys() | there.keys():
        both = [entries[key] for entries in (here, there) if key in entries]
        newest = max(both, key=lambda entry: entry["created"])
        right = {entry["sha256"] for entry in both if entry["created"] == newest["created"]}
        is_damaged = key in here and seen.case.get("state") == "damaged-file" and says(
            "UsingTheCache", "Every file is hashed, and a damaged one is left out")
        if not key[1] and key not in after and not is_damaged:
            yield "a merge loses an original", str(key)
        if not key[1] and not is_damaged and key in after and after[key]["sha256"] not in right:
            yield "a merge keeps the older original", f"{key}: {after[key]['sha256']}, the newer one is {newest['sha256']}"
    for key, entry in after.items():
        original = after.get((key[0], ""))
        if entry.get("original") and original and entry["original"] != original["sha256"]:
            yield "a merge keeps what was made of another original", str(key)
        if key not in here and key not in there:
            yield "a merge makes an entry", str(key)


def library(seen):
    """The readme's program prints a way, a width and a path: of a thumbnail that fits into 320 x 320."""
    way, _, path = seen.following.stdout.decode().strip().partition(" ")
    name = path.partition(" ")[2].removeprefix(str(seen.place.root) + "/")
    file, item = seen.following.after.get(name), seen.place.items[0]
    right = {row["sha256"] for picture in item.versions.values()
             for row in seen.oracle.rows_of("resize:320x320,fit", picture, seen.place)}
    if name == "not stored" and "disk" in seen.case:
        return
    if way in WAYS and not (file and file[0] in right):
        yield "a program over the library has what none served", f"{way} {name}: {file and file[0]}"


def accounts(seen):
    name, run = seen.case.get("then"), seen.following
    if name == "merge":
        total = next((row for row in run.rows if "taken" in row), None)
        mine = [entry for entry in seen.merging[0] if entry["bytes"]]
        before, after = ({key_of(entry): entry for entry in entries} for entries in seen.merging[1:])
        if total and sum(total[word] for word in ("taken", "kept", "damaged", "too_large")) != len(mine):
            yield "the counts of a merge are not those of its entries", f"{total}, the cache has {len(mine)}"
        known = {key: (entry["created"], entry["sha256"]) for key, entry in before.items()}
        new = sum(known.get(key) != (entry["created"], entry["sha256"]) for key, entry in after.items())
        if total and not new <= total["taken"] <= new + len(known):  # Equal ones of one second may be taken, too.
            yield "the merge's count of taken entries is wrong", f"{total}, new or newer: {new}"
    if name == "push" and run.summary:
        entries = sum(request.method == "PUT" and "/ac/" in request.path and request.status == 201 for request in run.requests)
        if run.summary["uploaded"] != entries and seen.case.get("remote") != "directory":
            yield "push's count of uploads is wrong", f"{run.summary}, the remote got {entries}"


def rest(seen):
    """The same once more has nothing to do."""
    name, again = seen.case.get("then"), seen.repeated
    if again is None or seen.following.status != 0 or again.status != 0:
        return
    if name == "merge" and any(row.get("taken") for row in again.rows):
        yield "the second merge takes something", str(again.rows)
    # Where a remote has something else than what was put there, it is put there once more.
    is_kept = seen.case.get("remote") != "garbage"
    if name == "push" and is_kept and any(request.method == "PUT" for request in again.requests):
        yield "the second push uploads something", next(
            request.target for request in again.requests if request.method == "PUT")
    first, second = (run.stdout.decode().partition(" ")[0] for run in (seen.following, again))
    if name == "library" and first in WAYS and second != "disk" and "disk" not in seen.case:
        yield f"a program over the library has what was {first} {second} again", again.stdout.decode()
