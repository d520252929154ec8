"""The law of secrecy: a canary of each kind of secret is seen only by the origin that it was given for, and stands nowhere in
outputs, logs, JSON, index, reports and the process list."""
import json

from pictures import sha256
from place import SECRETS, UNSHARED
from truth import DELIVERED

# "These files hold URLs, and a signed URL is a secret" (CommandLine, Existing files): what names sources has their query, as
# the key of an entry has it, and what a list is made of again has its passwords, too.
HOLDS_QUERY = ("c/", "merged/", "im.lock", "rows.", "failed", "dropped", "page.", "data/", "home/.config")
HOLDS_USER = ("failed", "dropped")
PASSWORDS = ("secret-user", "secret-remote", "secret-info", "secret-proxy", "secret-mirror")
INPUTS = ("list", "kept", "jar", "home/", "certificates", "im.lock", "other.lock", "files", "layer", "lies", "teller")


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
                if secret not in text or request.party == owner:
                    continue
                if request.party == "proxy":
                    continue  # A proxy for http sees what it passes on.
                if secret == "secret-query" and request.party == "mirror" and not {
                        "--key-ignore", "--ignore-query"} & set(seen.case):
                    continue  # "A mirror gets … no query parameter that the key lacks" (Pinning): it gets the others.
                yield (f"{secret} at the {request.party}",
                       f"{request.method} {request.target} of the {request.party} has {secret}: {text[:300]!r}")


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
    said = [(run.argv[0], run.stdout.decode(errors="replace") + "\n" + run.stderr) for run in seen.runs]
    for kind, text in said:
        for secret in SECRETS:
            if secret in text and secret != "secret-query":
                yield f"{secret} in what {kind} says", next(line for line in text.splitlines() if secret in line)[:300]
    for run in seen.runs:
        for secret in SECRETS:
            # "kf overwrites a password on its command line when it starts" (Remotes, Credentials).
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
            if secret == "secret-query" and name.startswith(HOLDS_QUERY) or (
                    secret in ("secret-info", "secret-query") and name.startswith(HOLDS_USER)):
                continue
            top = name.split("/")[0] if not name.startswith("c/v1/") else "the cache's " + name.split("/")[2]
            yield f"{secret} in {top}", f"{name} holds {secret}"


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
    blobs = {path: body for path, body in seen.blobs.items() if before.get(path) != body}
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
