"""The dimensions of a case, and the values of each: every option of the program, and what the world around it is like.

A case is a dict from dimensions to labels; what it does not name is at its default. An option's words are words of the
command line, in which {origin} and the like are addresses, {secret-…} canaries, and other names are files of the case.
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Value:
    words: tuple = ()
    needs: dict = field(default_factory=dict)  # By dimension, the labels of which one must be set with this one.
    spoils: bool = False  # Most images fail, or no server is asked: the case says little about its other values.


def V(*words, spoils=False, **needs):
    return Value(words, {name.replace("_", "-"): tuple(labels.split()) for name, labels in needs.items()}, spoils)


def option(name, needs=None, /, **values):
    """An option's values. A text is one value of the option, a list several; True is the switch itself."""
    made = {}
    for label, value in values.items():
        spoils = label.endswith("_spoils")
        label = label.removesuffix("_spoils").replace("_", "-")
        texts = [] if value is True else [value] if isinstance(value, str) else value
        words = (name,) if value is True else tuple(word for text in texts for word in (name, text))
        made[label] = Value(words, needs or {}, spoils)
    return made


def switch(name, /, spoils=False, **needs):
    return {"on": Value((name,), {key: tuple(labels.split()) for key, labels in needs.items()}, spoils)}


FAILS = {"answer": ("status:404", "status:503", "reset", "cut")}
PROCESSED = {"--process": ("resize", "flip", "crop")}
COLUMNS = {"command": ("prefetch", "pull"), "list": ("csv", "tsv", "jsonl")}
REMOTE = {"--remote": "own s3"}
EXPIRED = {"state": ("expired", "old-originals")}
TLS = {"tls": ("plain", "optional")}

OPTIONS = {
    # Output
    "--output": {
        "file": V("--output", "out/one.png"), "webp": V("--output", "out/one.webp"), "stdout": V("--output", "-"),
        "lock": V("--output", "im.lock", **{"--lock": "new held"}), "full": V("--output", "/dev/full", spoils=True)},
    "--remote-name": switch("--remote-name"),
    "--output-dir": option("--output-dir", dir="out"),
    "--name": option("--name", {"--output-dir": ("dir",)}, hash="{stem}-{hash8}.{ext}", webp="{index}.webp", host="{host}-{name}"),
    "--safe-names": switch("--safe-names", **{"--output-dir": "dir"}),
    "--create-dirs": switch("--create-dirs"),
    "--no-clobber": switch("--no-clobber", **{"--output-dir": "dir"}),
    "--prune-output": switch("--prune-output", **{"--output-dir": "dir"}),
    "--skip-invalid": switch("--skip-invalid", **{"--output-dir": "dir", "--prune-output": "on"}),
    "--print": option("--print", {"--output-dir": ("dir",)}, written="written", none="none"),
    "--annotations": option("--annotations", github="github"),
    "--srcset": option("--srcset", {"--output-dir": ("dir",)}, html="page.html", json="page.json"),
    "--srcset-url": option("--srcset-url", {"--srcset": ("html", "json")}, path="/img/"),
    "--srcset-sizes": option("--srcset-sizes", {"--srcset": ("html",)}, half="50vw"),
    "--shards": option("--shards", dir="data"),
    "--shard-size": option("--shard-size", {"--shards": ("dir",)}, two="2"),
    "--caption-column": option("--caption-column", {**COLUMNS, "--shards": ("dir",)}, alt="alt"),
    "--drop-duplicates": {
        "equal": Value(("--drop-duplicates",), {"--shards": ("dir",)}), "near": Value(("--drop-duplicates=4",), {"--shards": ("dir",)})},
    # Lists
    "--input-format": option("--input-format", auto="auto"),
    "--base-url": {"origin": V("--base-url", "{origin}/lists/", command="prefetch pull")},
    "--url-column": option("--url-column", COLUMNS, other="link"),
    "--key-column": option("--key-column", COLUMNS, key="key"),
    "--name-column": option("--name-column", {**COLUMNS, "--output-dir": ("dir",)}, name="name"),
    "--headers-column": option("--headers-column", COLUMNS, headers="headers"),
    "--process-column": option("--process-column", COLUMNS, process="process"),
    "--hash-column": option("--hash-column", COLUMNS, right="hash", wrong_spoils="wrong"),
    "--alt-column": option("--alt-column", {**COLUMNS, "--srcset": ("html",)}, alt="alt"),
    "--allow-local": switch("--allow-local"),
    "--shard": option("--shard", {"sources": ("several",)}, first="0/2", host="0/2,host"),
    "--results": option("--results", csv="rows.csv", jsonl="rows.jsonl"),
    "--ordered": switch("--ordered"),
    "--failures": option("--failures", file="failed"),
    "--max-failures": option("--max-failures", one="1"),
    # Processing
    "--variant": option(
        "--variant", two=["a=resize:16x", "b=flip:h"], kept=["orig=encode:keep", "small=resize:16x"],
        webp=["w=resize:16x|>encode:webp"]),
    "--widths": option("--widths", two="8,24"),
    "--process": {
        **option("--process", flip="flip:h", resize="resize:16x", crop="crop:20x10"),
        "mark-url": V("--process", "watermark:{overlay}/mark.png"), "mark-file": V("--process", "watermark:mark.png")},
    "--format": option("--format", png="png", webp="webp", two=["webp", "jpeg"], keep="keep", gif="gif"),
    "--quality": option("--quality", {"--format": ("webp", "two")}, low="40"),
    "--speed": option("--speed", ten="10"),
    "--background": option("--background", {"--format": ("two",)}, red="#f00"),
    "--placeholder": option("--placeholder", color="color", thumbhash="thumbhash"),
    "--measure": option("--measure", color="color", dhash="dhash,frames"),
    "--first-frame": switch("--first-frame"),
    "--srgb": switch("--srgb"),
    "--keep-metadata": switch("--keep-metadata"),
    "--strip-metadata": switch("--strip-metadata"),
    "--lenient": switch("--lenient"),
    "--decoders": option("--decoders", most="png,jpeg,gif,webp,avif"),
    "--undecoded": option("--undecoded", copy="copy"),
    "--max-pixels": option("--max-pixels", few_spoils="100", many="10000"),
    "--max-memory": option("--max-memory", enough="64M"),
    "--max-process-time": option("--max-process-time", enough="20s"),
    "--scale-down": option("--scale-down", small="4K"),
    # Cache
    "--key": option("--key", named="picture"),
    "--force-refresh": switch("--force-refresh"),
    "--revalidate": switch("--revalidate"),
    "--only-from-cache": {"on": V("--only-from-cache", state="fresh expired old-originals", spoils=True)},
    "--offline": {"on": V("--offline", state="fresh expired old-originals layer", spoils=True)},
    "--memory-only": switch("--memory-only"),
    "--store": {**option("--store", PROCESSED, original="original", processed="processed"), **option("--store", none="none")},
    "--expire": option("--expire", never="never", soon="40ms", expired="expired", date="2090-12-31"),
    "--extend": option("--extend", none="none", day="1d"),
    "--ignore-query": {"on": V("--ignore-query", url="query")},
    "--key-ignore": {"sig": V("--key-ignore", "sig", url="query"), "all": V("--key-ignore", "*", url="query")},
    "--cache-policy": option("--cache-policy", http="http"),
    "--stale-while-revalidate": option("--stale-while-revalidate", EXPIRED, hour="1h"),
    "--stale-if-error": option("--stale-if-error", {**EXPIRED, **FAILS}, hour="1h"),
    "--retry-failed": switch("--retry-failed", answer="status:404 once:404"),
    "--cache-from": option("--cache-from", {"state": ("layer",)}, layer="layer"),
    "--remote": {"own": V("--remote", "{remote-address}"), "s3": V("--remote", "{remote-address}")},
    "--remote-write": switch("--remote-write", **REMOTE),
    "--remote-required": switch("--remote-required", **REMOTE),
    "--remote-wait": option("--remote-wait", {"--remote-write": ("on",)}, all="all"),
    "--remote-dropped": option("--remote-dropped", {"--remote-write": ("on",)}, file="dropped"),
    "--read-only": switch("--read-only", state="fresh originals expired old-originals"),
    "--check": option("--check", full="full"),
    "--verify": switch("--verify"),
    "--fsync": switch("--fsync"),
    "--max-size": option("--max-size", small="1K", none="0"),
    "--tag": option("--tag", site="site"),
    "--negative-ttl": option("--negative-ttl", {"answer": ("status:404", "status:410")}, hour="1h", zero="0"),
    "--hash": option("--hash", right="{hash}", wrong_spoils="sha256:" + "0" * 64),
    "--lock": option("--lock", new="im.lock", held="im.lock", older="im.lock", others="im.lock"),
    "--frozen": {"on": V("--frozen", **{"--lock": "held older"})},
    "--update-lock": {"on": V("--update-lock", **{"--lock": "held older"})},
    "--prune-lock": {"on": V("--prune-lock", **{"--lock": "others"})},
    # Network
    "--jobs": option("--jobs", one="1"),
    "--timeout": option("--timeout", short="4s"),
    "--max-time": option("--max-time", short="4s"),
    "--retry": option("--retry", none="0", one="1"),
    "--retry-delay": option("--retry-delay", {"answer": ("status:503", "once:503", "reset")}, growing="accumulated:10ms"),
    "--mirror": {"one": V("--mirror", "{origin}/pub/={mirror-address}/copy/pub/")},
    "--alternative": {
        "url": Value(("--alternative", "{alternative}/alt.png"), FAILS), "file": Value(("--alternative", "alt.png"), FAILS),
        "same": Value(("--alternative", "{origin}/pub/alt.png"), FAILS)},
    "--on-failure": option("--on-failure", {**FAILS, "--output-dir": ("dir",)}, file="standin.png"),
    "--allow-failures": switch("--allow-failures"),
    "--header": option("--header", key="X-Api-Key: secret-header", bearer="Authorization: Bearer secret-bearer",
                       language="Accept-Language: de"),
    "--user": option("--user", name="ann:secret-user"),
    "--auth": option("--auth", {"--user": ("name",), "guard": ("digest",)}, basic="basic", digest="digest", any="any"),
    "--netrc": switch("--netrc"),
    "--cookie-jar": option("--cookie-jar", jar="jar"),
    "--user-agent": option("--user-agent", laws="laws"),
    "--proxy": option("--proxy", http="{proxy-address}"),
    "--cacert": option("--cacert", TLS, ca="certificates/ca.pem"),
    "--cert": {"both": V("--cert", "certificates/both.pem", tls="optional required"),
               "apart": V("--cert", "certificates/client.pem", tls="optional required", **{"--cert-key": "key"})},
    "--cert-key": {"key": V("--cert-key", "certificates/client.key", **{"--cert": "apart"})},
    "--trusted-host": option("--trusted-host", TLS, origin="127.0.0.1"),
    "--max-redirects": option("--max-redirects", {"url": ("redirect", "redirect-other")}, none_spoils="0", one="1"),
    "--max-bytes": option("--max-bytes", few_spoils="100", many="1M"),
    "--min-bytes": option("--min-bytes", few="10", many_spoils="1M"),
    "--min-size": option("--min-size", small="10x10", large_spoils="500x"),
    "--max-aspect": option("--max-aspect", two="2", one_spoils="1.1"),
    "--formats": option("--formats", most="png,jpeg,gif,webp,avif,svg", bmp_spoils="bmp"),
    "--respect-opt-out": {"on": V("--respect-opt-out"), "bot": V("--respect-opt-out=somebot")},
    "--opt-out-agent": option("--opt-out-agent", {"--respect-opt-out": ("on",)}, bot="somebot"),
    "--deny-private": switch("--deny-private", spoils=True),
    "--http1.1": switch("--http1.1"),
    "--max-per-host": option("--max-per-host", one="1"),
    "--rate": option("--rate", many="200/s", host="100/s,127.0.0.1=200/s"),
    "--limit-rate": option("--limit-rate", one="1M"),
    "--deadline": option("--deadline", far="20s"),
    "--grace": option("--grace", one="1s"),
    "--progress": option("--progress", always="always"),
    # Common
    "--quiet": switch("--quiet"),
    "--verbose": switch("--verbose"),
    "--color": option("--color", always="always"),
}

# What each run has or is, by the name of the option: it needs no values.
FIXED = {"--cache-dir": "the place of each case", "--json": "the rows are read", "--help": "no run",
         "--dry-run": "the law of foretelling asks it of every case"}

WORLD = {
    "command": {name: V() for name in ("prefetch", "fetch", "pull")},
    "sources": {
        "several": V(), "repeated": V(command="prefetch"), "many": V(command="prefetch")},
    "url": {
        "query": V(), "dotdot": V(), "userinfo": V(), "redirect": V(), "redirect-other": V(), "redirect-private": V(),
        "file": V(spoils=True), "data": V(spoils=True), "folder": V(command="fetch", spoils=True),
        "stdin": V(command="fetch", spoils=True)},
    "body": {
        **{kind: V() for kind in ("large", "jpeg", "gif", "webp", "alpha", "apng", "avif", "cmyk", "svg")},
        **{kind: V(spoils=True) for kind in ("html", "damaged", "broken-pixels")}},
    "answer": {
        "status:404": V(spoils=True), "status:410": V(spoils=True), "status:503": V(spoils=True), "once:404": V(),
        "once:429": V(), "once:503": V(), "once:cut": V(), "once:cut-changed": V(body="large", change="changed"),
        "slow": V(), "reset": V(spoils=True), "cut": V(spoils=True),
        "cut-late": V(body="gif png", spoils=True), "wrong-304": V(state="expired old-originals", change="changed")},
    "framing": {"chunked": V(), "endless": V()},
    "headers": {
        name: V() for name in ("max-age", "expired", "no-cache", "no-store", "private", "vary", "vary-star", "cookie",
                               "opt-out")},
    "validator": {"weak": V(), "date": V(), "none": V()},
    "guard": {"basic": V(**{"--user": "name"}), "digest": V(**{"--user": "name"}), "personal": V()},
    "change": {"changed": V(state="expired fresh old-originals")},
    "overlay": {
        name: V(**{"--process": "mark-url"}) for name in ("private", "missing", "changed")},
    "mirror": {name: V(**{"--mirror": "one"}) for name in ("lacks", "other", "broken", "redirects")},
    "state": {
        **{name: V() for name in ("fresh", "expired", "originals", "old-originals", "older-version", "damaged-file", "damaged-index",
                                  "others")},
        "layer": V(**{"--cache-from": "layer"}),
        "liar": V(**{"--process": "flip resize"})},
    "remote": {
        **{name: V(**REMOTE) for name in ("filled", "older", "liar", "down", "refusing", "garbage", "cut", "slow", "read-only")},
        "directory": V(**{"--remote": "own"}),
        "forged": V(**REMOTE, **{"--process": "flip resize"})},
    "tls": {"plain": V(), "optional": V(), "required": V(**{"--cert": "both apart"})},
    "list": {name: V(command="prefetch pull") for name in ("csv", "tsv", "jsonl", "gz", "stdin", "empty", "invalid")},
    "limits": {"descriptors": V(sources="many", command="prefetch")},
    "disk": {"full": V(spoils=True), "nearly-full": V(), "full-output": V(spoils=True, **{"--output-dir": "dir"}),
             "read-only": V(state="fresh expired originals old-originals")},
    "end": {name: V() for name in ("sigterm", "kill", "twice")},
    "through": {name: V() for name in ("environment", "config")},
    "then": {},  # Filled from COMMANDS.
}

# What may follow a run, as the words of a command. Together they have every option of the other commands.
COMMANDS = {
    "stat": ["cache", "stat", "--max-size", "1G", "-q"],
    "reset": ["cache", "stat", "--reset", "-v"],
    "ls": ["cache", "ls", "--sort", "size", "--reverse", "--limit", "5", "--long", "-q"],
    "ls-host": ["cache", "ls", "--host", "127.0.0.1", "--format", "png", "--larger-than", "1", "-v"],
    "tags": ["cache", "tags"],
    "dupes": ["cache", "dupes", "--distance", "4"],
    "path": ["cache", "path", "{url}"],
    "which": ["cache", "which", "mark.png"],
    "put": ["cache", "put", "mark.png", "--key", "mark", "--expire", "1d", "--extend", "none", "--check", "full", "--fsync"],
    "verify": ["cache", "verify", "--repair"],
    "verify-lock": ["cache", "verify", "--lock", "other.lock"],
    "report": ["cache", "report", "-o", "report.html", "--thumbnails", "3", "--glob", "*"],
    "push": ["cache", "push", "--remote", "{remote-address}", "--progress", "never"],
    "push-list": ["cache", "push", "--remote", "{remote-address}", "--keep-list", "kept", "-v"],
    "merge": ["cache", "merge", "c", "--cache-dir", "merged", "--max-size", "0"],
    "clean": ["cache", "clean", "--expired", "--older-than", "1d", "--unused-for", "1d"],
    "clean-list": ["cache", "clean", "--keep-list", "kept", "--skip-invalid"],
    "clean-empty": ["cache", "clean", "--keep-list", "nothing"],
    "clean-lock": ["cache", "clean", "--keep-lock", "other.lock", "--dry-run"],
    "clean-all": ["cache", "clean", "--all", "--yes"],
    "rm": ["cache", "rm", "{url}"],
    "rm-processed": ["cache", "rm", "--processor", "flip:h", "--tag", "site", "--key", "picture"],
    "config": ["config"],
    "library": ["{url}"],  # A program over the library, with the cache of the case.
}
WORLD["then"] = {name: V(**(REMOTE if "push" in name else {})) for name in COMMANDS}

DIMENSIONS = {**WORLD, **OPTIONS}
# What changes no image, no request and no file, or hardly any: the pairs of these come last.
QUIET = {
    "--annotations", "--background", "--base-url", "--color", "--create-dirs", "--deadline", "--decoders", "--first-frame",
    "--fsync", "--http1.1", "--input-format", "--jobs",
    "--limit-rate", "--max-memory", "--max-per-host", "--max-process-time", "--max-time", "--ordered", "--progress", "--quality",
    "--quiet", "--rate", "--remote-wait", "--retry-delay", "--safe-names", "--speed", "--srcset-sizes",
    "--srcset-url", "--srgb", "--timeout", "--user-agent", "--verbose", "then"}
# What decides together where an image comes from, whether it is kept, and who may have it: these are taken three at a time.
CORE = {
    "change", "headers", "overlay", "remote", "sources", "state", "--cache-policy", "--force-refresh", "--frozen", "--lock",
    "--process", "--remote-write", "--revalidate", "--store", "--update-lock", "--variant", "--widths"}
# One value of a dimension is the default, which a case does not name.
DEFAULTS = {"command": "prefetch", "body": "png"}


# Values that older programs do not take, by what the option's own value is called where they are.
SINCE = {("--respect-opt-out", "bot"): "AGENT"}


def drop_missing(table):
    """Leaves out options and values that this program does not have."""
    known = {}
    for options in table.commands.values():
        known |= options
    for name in [name for name in OPTIONS if name not in known]:
        del OPTIONS[name], DIMENSIONS[name]
    for (name, label), word in SINCE.items():
        if name in OPTIONS and word not in (known[name]["value"] or ""):
            del OPTIONS[name][label]


def unknown_options(table):
    """The options of the program that no value here has."""
    given = {word for words in COMMANDS.values() for word in words if word.startswith("-")}
    short = {"-q": "--quiet", "-v": "--verbose", "-o": "--output"}
    given = {short.get(word, word) for word in given}
    missing = []
    for command, options in table.commands.items():
        main = command in ("fetch", "prefetch", "cache pull")
        for name in options:
            known = name in OPTIONS or name in FIXED if main else name in given or name in OPTIONS or name in FIXED
            if not known:
                missing.append(f"kf {command} {name}")
    return missing


def command_name(case):
    name = case.get("command", "prefetch")
    return "cache pull" if name == "pull" else name


def problem(case, table):
    """Why a case cannot be: an option that its command lacks, two that exclude each other, or a need that is not met."""
    options = [name for name in case if name.startswith("--")]
    command = command_name(case)
    for name in options:
        if name not in table.commands[command]:
            return f"{command} has no {name}"
        for other in options:
            if name < other and table.excludes(command, name, other):
                return f"{name} and {other} exclude each other"
    for name, label in case.items():
        if DEFAULTS.get(name) == label:
            continue
        for needed, labels in DIMENSIONS[name][label].needs.items():
            if case.get(needed, DEFAULTS.get(needed)) not in labels:
                return f"{name}={label} needs {needed}"
    several = case.get("sources") or case.get("url") == "folder"
    if several and ({"--key", "--hash"} & set(options) or case.get("--output") or case.get("url") in ("stdin", "data")):
        return "several sources with an option for one"
    if "--output" in case and ({"--variant", "--widths", "--remote-name"} & set(options) or case.get("--format") == "two"):
        return "one output for several images"
    if case.get("state") == "others" and case.get("url") == "userinfo":
        return "another user with the same user info"
    stores = {"--output-dir", "--shards", "--output", "--remote-name"} & set(case)
    if not stores and ("--memory-only" in case or "--store" in case and case["--store"] != "processed" or
                       case.get("--expire") == "expired"):
        return "a run that stores nothing"
    return None
