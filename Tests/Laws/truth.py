"""The law of truth: what is delivered, written or cached is what the chain makes of bytes that the named origin served
during the run, or that the cache's lifetime allows; under a pin, of those bytes alone. Nothing else is ever written."""
import base64
import json
import re
import tarfile

import others
from articles import says
from pictures import sha256

DELIVERED = {"memory", "disk", "cached", "pinned", "remote", "derived", "revalidated", "fetched", "stale", "exported"}
# With these an old picture is no fault while the origin has a new one.
STALE = {"--stale-while-revalidate": says(
    "UsingTheCache", "serve an image that expired less than a day ago at once, and revalidate it afterwards"),
    "--offline": says("HTTPCaching", "``KingfisherOptions/offline`` serves every expired image and makes no request")}


def lock_lines(text):
    """The digests of a lock, by URL."""
    found = {}
    for line in (text or "").splitlines():
        words = line.split()
        if len(words) >= 2 and words[1].startswith("sha256-"):
            found[words[0]] = base64.b64decode(words[1][7:]).hex()
    return found


def pin(seen, run, item):
    """The digest that an item must have in a run; None without a pin."""
    place, case = seen.place, seen.case
    if "--hash" in case or "--hash-column" in case:
        wrong = "wrong" in (case.get("--hash"), case.get("--hash-column"))
        return "0" if wrong else sha256(item.versions[place.expected_version])
    if "--lock" in case and "--update-lock" not in case and item.places:
        text = seen.lock_before if run in (seen.first, seen.twin) else seen.lock_after
        return lock_lines(text).get(place.lock_url(item))
    return None


def trusted_places(seen, item):
    """Where the run may have an item's bytes from, but for caches."""
    places = set(item.places)
    if "--mirror" in seen.case and item.places:
        places |= {("mirror", "/copy" + item.places[0][1]), ("other", "/copied/" + item.file)}
    return places


def arrived(seen, run, item):
    """The digests that arrived whole from the item's own places, and were for this run."""
    place, own = seen.place, trusted_places(seen, item)
    strangers = {sha256(item.versions[place.now])} if place.is_member else set()
    return {request.picture for request in run.requests if (request.party, request.path) in own and request.picture and not (
        request.party == "origin" and request.picture in strangers)}


def was_misled(run, item):
    """Whether a wrong 304 was all that the origin said."""
    answers = [request for request in run.requests if (request.party, request.path) in item.places]
    return any(request.is_wrong_304 for request in answers) and not any(request.picture for request in answers)


def held_before(seen, item):
    """What the cache has of an item before the first run, that it may serve while it is fresh."""
    place, state = seen.place, seen.case.get("state")
    version = {"liar": "liar", "others": None, None: None}.get(state, "v0")
    if state == "others" and {"--key", "--key-column"} & set(seen.case) and says(
            "Identity", "replaces the URL and everything that identifies the requester"):
        return {sha256(item.versions[name]) for name in ("v0", "eve")}
    if version is None or state == "layer" and "--cache-from" not in seen.case:
        return set()
    right = sha256(item.versions["member/v0" if place.is_member else "v0"])
    return {right, sha256(item.versions[version])} if state == "liar" else {right}


def of_remote(seen, run, item):
    case = seen.case
    # "A look-up goes through memory, the disk and the lower layers. After a miss there, it asks each remote" (Remotes).
    asked = "--remote" in case and not {"--force-refresh", "--revalidate", "--offline"} & set(case)
    is_cached = case.get("state") in ("fresh", "originals") and case.get("--cache-policy") != "http" and run is not seen.third
    if not asked or is_cached:
        return set()
    version = {"older": "older", "liar": "liar", "forged": "liar"}.get(case.get("remote"), seen.place.now)
    if case.get("remote") is None or case.get("remote") == "read-only":
        return set()
    return {sha256(item.versions[version])}


def allowed(seen, run, item):
    """The digests of the originals of which a row of this run may be made."""
    place, case = seen.place, seen.case
    pinned = pin(seen, run, item)
    if pinned is not None:
        return {pinned}
    if place.is_local:
        return {sha256(item.versions[place.now])}
    now = arrived(seen, run, item)
    earlier = held_before(seen, item) | of_remote(seen, run, item)
    if run not in (seen.first, seen.twin):
        earlier |= arrived(seen, seen.first, item) | (arrived(seen, seen.second, item) if seen.second else set())
    if "--alternative" in case and not now and says("CommandLine", "and the image then counts as had"):
        return earlier | {sha256(place.alternative)}
    is_stale_allowed = bool(STALE.keys() & set(case)) or {"--only-from-cache", "--stale-if-error"} <= set(case) and says(
        "Remotes", "an expired image serves as long as `--stale-if-error` allows")
    if was_misled(run, item) and not is_stale_allowed:
        return now
    if now & {sha256(picture) for picture in item.versions.values()} and not is_stale_allowed and not case.get("end"):
        # An image that a remote says to be made of the very original is as good as one that was.
        return now | of_remote(seen, run, item) | (held_before(seen, item) if case.get("state") == "liar" else set())
    return now | earlier


def describe(seen, digest):
    """What bytes are, by the pictures of the case, and what the chain makes of them."""
    place = seen.place
    known = {sha256(place.standin): "the stand-in", sha256(place.alternative): "the alternative"}
    for item in place.items:
        known |= {sha256(picture): f"{version} of {item.name}" for version, picture in item.versions.items()}
    if digest in known:
        return known[digest]
    for original, label in known.items():
        picture = picture_of(seen, original)
        for row in seen.oracle.rows(place, picture).values():
            if row["sha256"] == digest:
                return f"made of {label}"
    return "bytes that none served"


def picture_of(seen, digest):
    place = seen.place
    for picture in (place.standin, place.alternative):
        if sha256(picture) == digest:
            return picture
    for item in place.items:
        for picture in item.versions.values():
            if sha256(picture) == digest:
                return picture
    return None


def overlays(seen):
    """The overlays that a run may lay over its images: a cache or a remote may have the older one."""
    place, case = seen.place, seen.case
    if case.get("overlay") == "changed" and (case.get("state") or "--remote" in case):
        return [place.new_mark, place.mark]
    return [place.new_mark]


def made(seen, digests, row):
    """The rows of the oracle for a row, of any of these originals."""
    found = []
    for digest in digests:
        picture = picture_of(seen, digest)
        for overlay in overlays(seen) if picture is not None else ():
            known = seen.oracle.rows(seen.place, picture, overlay)
            found += [known[key] | {"of": digest} for key in known if key == (row.get("variant"), row["format"])]
    return found


def short(text):
    return re.sub(r" of a\d", "", text)


def blame(seen, run, item, digest):
    """A short name for wrong bytes, with the reason if it is plain."""
    what = short(describe(seen, digest))
    if was_misled(run, item):
        return "what a wrong 304 confirmed"
    if seen.place.is_member and what.endswith(seen.place.now):
        return "what strangers get"
    return what


def judge(seen):
    yield from rows(seen)
    yield from archives(seen)
    yield from files(seen)
    yield from lock(seen)
    yield from cache(seen)
    yield from others.truth(seen)


def rows(seen):
    place = seen.place
    for run in (seen.first, seen.twin, seen.second, seen.third):
        for row in run.rows if run else ():
            item = place.item_of(row["source"])
            if row.get("status") == "failed" and row.get("output_state") == "written" and "--on-failure" in seen.case and (
                    item and pin(seen, run, item) is not None):
                yield "under a pin, the stand-in is written", f"{row['output']} has the stand-in, although {item.source} is pinned"
            if row.get("status") not in DELIVERED or not row.get("sha256"):
                continue
            if item is None:
                continue
            digests = allowed(seen, run, item)
            expected = made(seen, digests, row)
            if row["sha256"] not in {other["sha256"] for other in expected}:
                what = blame(seen, run, item, row["sha256"])
                pinned = pin(seen, run, item) is not None
                yield (f"{'under a pin, ' if pinned else ''}a row delivers {what}",
                       f"{row['source']}: '{row['status']}' has {describe(seen, row['sha256'])} ({row['sha256'][:12]}), allowed: "
                       + (", ".join(describe(seen, digest) for digest in digests) or "nothing"))
                continue
            same = [other for other in expected if other["sha256"] == row["sha256"]]
            if (seen.case.get("remote") == "forged" or seen.case.get("state") == "liar") and says(
                    "Remotes", "**the writers of a remote decide what its readers get.**"):
                same = expected  # It says that the image was made of the very original, and what that measures.
            for name in ("width", "height", "frames", "placeholder", "measures"):
                if not any(row.get(name) == other.get(name) for other in same):
                    yield (f"a row's {name} is wrong", f"{row['source']}: {name} is {row.get(name)}, "
                                                       f"by itself {same[0].get(name)}")
            for member, root in (("path", str(place.root) + "/"), ("output", "")):
                name = (row.get(member) or "").removeprefix(root)
                file = run.after.get(name)
                if not name or name.startswith(("/dev", "-")):
                    continue
                is_evicted = seen.case.get("--max-size") == "small" and says(
                    "CommandLine", "images that the run used and that left the cache again, because `--max-size` is too small")
                if file is None and not is_evicted:
                    yield f"a row's {member} is missing", f"{row['source']}: there is no {name}"
                elif file and file[0] != row["sha256"] and not (
                        member == "output" and "--no-clobber" in seen.case and says(
                            "CommandLine", "`--no-clobber` leaves every file")):
                    yield (f"a row's {member} has other bytes",
                           f"{row['source']}: {name} has {describe(seen, file[0])}, the row {describe(seen, row['sha256'])}")


def archives(seen):
    """The members of the archives of --shards have the bytes of the rows beside them."""
    for path in sorted((seen.place.root / "data").glob("*.tar")):
        rows = [json.loads(line) for line in path.with_suffix(".jsonl").read_text().splitlines()]
        right = {row["sha256"] for row in rows}
        with tarfile.open(path) as archive:
            for member in archive:
                if not member.name.endswith((".json", ".txt")) and sha256(archive.extractfile(member).read()) not in right:
                    yield "a member of an archive has other bytes than its row", member.name
        for row in rows:
            item = seen.place.item_of(row["source"])
            if row["sha256"] and item and row["status"] in DELIVERED:
                digests = allowed(seen, seen.first, item) | allowed(seen, seen.second, item)
                if row["sha256"] not in {other["sha256"] for other in made(seen, digests, row)}:
                    yield (f"an archive has {blame(seen, seen.first, item, row['sha256'])}", f"{row['source']} in {path.name}")


def outputs(case):
    """The names that a run may write, beside the cache."""
    names = {"rows.csv", "rows.jsonl"} if "--results" in case else set()
    for name, file in (("--failures", "failed"), ("--remote-dropped", "dropped"), ("--lock", "im.lock"), ("--cookie-jar", "jar")):
        if name in case:
            names.add(file)
    if "--srcset" in case:
        names.add("page." + case["--srcset"])
    return names


def files(seen):
    """What was written where, and with which bytes."""
    place, case = seen.place, seen.case
    reports = outputs(case)
    if case.get("--output") == "lock":
        reports.discard("im.lock")  # "A copy never replaces … the lock of the same run" (CommandLine).
    for run in (seen.dry, seen.first, seen.twin, seen.second, seen.third):
        for name in sorted(run.changed() if run else ()):
            top = name.split("/")[0]
            if top.startswith(".kf-") and case.get("end") in ("kill", "twice"):
                continue
            if name.endswith(("-shm", "-wal")) and says(
                    "LifeOfAHit", "SQLite maps its shared memory and reads the write-ahead log's frames."):
                continue
            is_remote = top == "shared" and "--remote-write" in case
            if top == "home" and case.get("through") == "config":
                continue
            if top == "c" and (run is not seen.dry or not name.startswith("c/v1/objects/")):
                continue
            if run is not seen.dry and (is_remote or name in reports):
                continue
            if run is seen.dry:
                yield "a dry run writes", f"{name} changed"
                continue
            if top in ("out", "data") or "--remote-name" in case and "/" not in name:
                yield from copy(seen, run, name)
                continue
            what = "its lock" if name == "im.lock" else "a list" if name.startswith("list") else "a file that is none of its outputs"
            yield f"a run writes over {what}", f"{name} changed"


def copy(seen, run, name):
    file, case = run.after.get(name), seen.case
    if file is None or name.startswith("data/"):
        return
    digest = file[0]
    if "--no-clobber" in case and run.before.get(name) and run.before[name][0] != digest:
        yield "a file is overwritten despite --no-clobber", f"{name} has {describe(seen, digest)}"
    rows = run.rows + (seen.twin.rows + seen.first.rows if seen.twin and run in (seen.first, seen.twin) else [])
    if any((row.get("output") or "") == name for row in rows) or "--json" not in run.argv or run.status < 0 or run.hung:
        return
    failed = [row for row in run.rows if row.get("status") == "failed"]
    standin = {row["sha256"] for row in seen.oracle.rows(seen.place, seen.place.standin).values()}
    if "--on-failure" in case and failed and digest in standin and says("CommandLine", "fills the place of the copy"):
        return
    yield f"an output without a row has {short(describe(seen, digest))}", f"{name} has {describe(seen, digest)}"


def lock(seen):
    """Each line is a picture that its own URL had; a pin stays unless it is asked for."""
    place, case = seen.place, seen.case
    if "--lock" not in case or seen.lock_after is None or case.get("--output") == "lock":
        return
    before, after = lock_lines(seen.lock_before), lock_lines(seen.lock_after)
    for item in place.items:
        if not item.places:
            continue
        digest = after.get(place.lock_url(item))
        if digest is None or digest == before.get(place.lock_url(item)):
            continue
        right = set()
        for run in (seen.first, seen.twin, seen.second):
            if run:
                right |= arrived(seen, run, item) | held_before(seen, item) | of_remote(seen, run, item)
        if digest not in right:
            what = short(describe(seen, digest))
            yield f"a lock gets the hash of {what}", f"the line of {item.source} is {describe(seen, digest)}"
    named = {place.lock_url(item) for item in place.items if item.places}
    lost = set(before) - set(after)
    by_variable = "--prune-lock" in case and "--prune-lock" not in seen.first.argv
    if lost and (lost & named or case.get("list") in ("empty", "invalid") or "--prune-lock" not in case or by_variable):
        why = case.get("through") if by_variable else (case["list"] if case.get("list") in ("empty", "invalid") else "plain")
        yield f"a lock loses lines ({why})", f"lost: {', '.join(sorted(lost))}"
    # "Accept images only with their hashes in FILE": an overlay is a part of the image.
    mark = place.world.url("overlay", "/mark.png", place.secure)
    good = any(row.get("status") in DELIVERED for row in seen.first.rows)
    if case.get("--process") == "mark-url" and good and mark not in after:
        yield "an overlay has no line in the lock", f"{mark} is a part of what was delivered, and not locked"


def cache(seen):
    """What lies under a URL, for everybody or for one user."""
    place, case = seen.place, seen.case
    if case.get("state") == "liar":
        return
    for entry in seen.listing:
        item = place.item_of(entry["key"].partition("#")[0])
        if item is None or entry["identifier"] or not item.places or not entry["bytes"] or "mark.png" in entry["key"]:
            continue
        versions = {name: sha256(picture) for name, picture in item.versions.items()}
        right = {versions["v0"], versions[place.now]}
        if "--mirror" in case:
            right |= {versions["mirror"]}
        if "--remote" in case:
            right |= {versions["older"], versions["liar"]}
        if "#user=" in entry["key"] or "--key" in case or "--key-column" in case:
            right |= {versions["member"], versions["member/v0"], versions["eve"]}
        if "--cert" in case:
            right |= {versions["member"], versions["member/v0"]}
        if entry["sha256"] not in right:
            what = short(describe(seen, entry["sha256"]))
            yield f"the cache has {what} under the URL", f"{entry['key']} has {describe(seen, entry['sha256'])}"

