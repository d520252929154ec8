"""The law of secrecy: a canary of each kind of secret is seen only by the origin that it was given for, and stands nowhere in
outputs, logs, JSON, index, reports and the process list."""
import json

from urllib.parse import urlsplit

from articles import says
from pictures import sha256
from place import SECRETS, UNSHARED
from truth import DELIVERED

PASSWORDS = ("secret-user", "secret-header", "secret-bearer", "secret-remote", "secret-info", "secret-proxy", "secret-mirror")
INPUTS = ("list", "kept", "jar", "home/", "certificates", "other.lock", "files", "layer", "lies", "teller")


def judge(seen):
    yield from requests(seen)
    yield from certificates(seen)
    yield from writings(seen)
    yield from mirrors(seen)
    yield from remotes(seen)


def requests(seen):
    for run in seen.runs:
        for request in run.requests:
            text = request.text
            for secret, owner in SECRETS.items():
                if secret not in text or owner in (request.party, addressed(seen, request)):
                    continue
                is_in_key = not {"--key-ignore", "--ignore-query"} & set(seen.case)
                if secret == "secret-query" and request.party == "mirror" and is_in_key and says(
                        "Pinning", "and no query parameter that the key lacks"):
                    continue
                yield (f"{secret} at the {request.party}",
                       f"{request.method} {request.target} of the {request.party} has {secret}: {text[:300]!r}")


def addressed(seen, request):
    """The party that a request is for: a proxy passes it on."""
    return seen.place.world.names.get(urlsplit(request.target).netloc) if request.party == "proxy" else request.party


def certificates(seen):
    """"Client certificate, for servers that ask for one": for its own origin alone, and there always."""
    if "--cert" not in seen.case:
        return
    for run in seen.runs:
        for request in run.requests:
            if request.certificate and request.party != "origin":
                yield f"the certificate at the {request.party}", f"{request.party} got the certificate for {request.target}"
            if request.party == "origin" and request.secure and not request.certificate and seen.place.secure and (
                    seen.case.get("tls") in ("optional", "required")) and run is not seen.following:
                yield "no certificate at its origin", f"{request.target} was asked for without the certificate"


def writings(seen):
    """What the runs wrote and said, and their command lines as other users see them."""
    root = seen.place.root
    for run in seen.runs:
        for stream, text in (("prints", run.stdout.decode(errors="replace")), ("says", run.stderr)):
            for secret in SECRETS:
                if secret in text and not (secret == "secret-query" and stream == "prints" and says(
                        "Faults", "a query only there, in JSON, `--results` and the index")):
                    yield (f"{secret} in what {run.argv[0]} {stream}",
                           next(line for line in text.splitlines() if secret in line)[:300])
    for run in seen.runs:
        if seen.case.get("then") == "library" and run in (seen.following, seen.repeated):
            continue  # Not kf, but a program over the library.
        for secret in SECRETS:
            if secret in run.shown and secret in PASSWORDS and seen.twin is None:
                yield f"{secret} in the process list", run.shown[:300]
    for name in seen.runs[-1].after:
        if name.startswith(INPUTS) and not name.startswith("c/"):
            continue
        try:
            data = (root / name).read_bytes()
        except OSError:
            continue
        if b"secret-" not in data:
            continue
        for secret in SECRETS:
            if secret.encode() not in data:
                continue
            if holds(secret, name):
                continue
            top = name.split("/")[0] if not name.startswith("c/v1/") else "the cache's " + name.split("/")[2]
            yield f"{secret} in {top}", f"{name} holds {secret}"


def holds(secret, name):
    """Whether a file is one that names sources, and a secret is a part of these."""
    if name.startswith(("failed", "dropped")) and secret in ("secret-info", "secret-query", "secret-column") and says(
            "CommandLine", "so that the file is the list for another run"):
        return True
    return secret == "secret-query" and (
        name.startswith(("failed", "dropped", "rows.", "data/", "report.")) and says(
            "CommandLine", "they hold URLs, and a signed URL is a secret")
        or name.startswith(("c/", "merged/")) and says("Faults", "a query only there, in JSON, `--results` and the index")
        or name == "im.lock" and says("Pinning", "A line is the URL in the normal form of cache keys")
        or name == "page.json" and says("CommandLine", "`--srcset FILE.json` writes an array with an object a source"))


def mirrors(seen):
    """"A mapped URL that is not below TO is not asked" (Pinning, Mirrors)."""
    for run in seen.runs:
        for request in run.requests:
            if request.party == "mirror" and not request.path.startswith("/copy/pub/"):
                yield "a mirror is asked outside its prefix", f"{request.method} {request.target}"


def remotes(seen):
    """"Never uploaded are images whose request may identify a user, and responses with private, no-store or Vary: *"."""
    case, place = seen.case, seen.place
    if "--remote" not in case:
        return
    before = getattr(place, "filled_blobs", {})
    blobs = {path: body for path, body in (seen.blobs | seen.blobs_after).items() if before.get(path) != body}
    if case.get("remote") == "directory":
        folder = place.root / "shared"
        blobs = {str(path): path.read_bytes() for path in folder.glob("kf1/*/*/*")
                 if before.get("/team/" + str(path.relative_to(folder))) != path.read_bytes()}
    identifies = {"--user", "--netrc", "--cookie-jar", "--cert", "--headers-column"} & set(case) or (
        case.get("--header") in ("key", "bearer") or case.get("url") == "userinfo")
    entries = [body for path, body in blobs.items() if "/ac/" in path]
    mark_is_private = case.get("overlay") == "private"
    digests = {row["sha256"] for row in seen.first.rows + seen.second.rows if row.get("status") in DELIVERED}
    # What comes from other origins was asked for without the user's secrets.
    open_pictures = {sha256(place.mark), sha256(place.new_mark)} | {
        row["sha256"] for row in seen.oracle.rows(place, place.alternative).values()} | {sha256(place.alternative)}
    for body in entries:
        try:
            entry = json.loads(body)
        except ValueError:
            continue
        if mark_is_private and entry.get("original_sha256") and entry["sha256"] in digests:
            yield "a private overlay is uploaded", "the remote has a picture that holds a private overlay"
        if mark_is_private and entry["sha256"] == sha256(place.mark):
            yield "a private overlay is uploaded by itself", "the remote has the private overlay"
        elif entry["sha256"] not in open_pictures and not place.is_local:
            if identifies:
                yield f"an image of a user is uploaded ({sorted(identifies)[0] if identifies is not True else 'header'})", str(entry)
            if case.get("headers") in UNSHARED and case.get("--mirror") is None and case.get("--alternative") is None:
                yield f"an image is uploaded that is {case['headers']}", str(entry)
            if case.get("url") == "redirect-private" and case.get("--mirror") is None and case.get("--alternative") is None:
                yield "an image is uploaded that came over a private redirect", str(entry)
