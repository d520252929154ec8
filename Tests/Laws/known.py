"""What the laws find today and is not mended yet, each with its reason. A run counts it, and does not fail."""

KNOWN = [
    # A mirror that lacks an image is no answer that the run remembers.
    ("accounts", "the mirror is asked too often (a repeated URL)", {"--mirror": "one", "sources": "many"}),
    # What is made of an original that a 304 has just renewed gets the freshness from before the 304.
    ("rest", "the second run has what was revalidated derived again", {"--cache-policy": "http", "state": "old-originals"}),
    # A prefetch takes an overlay that is not cached although it is --read-only, and its dry run calls that missing.
    ("foretelling", "refuse was announced, done: derived", {"--process": "mark-url", "--read-only": "on"}),
    # An image that a remote has replaced is printed as stale, and its file goes at once.
    ("truth", "a row's path is missing", {"--stale-while-revalidate": "hour", "--remote": "own", "state": "expired"}),
]


def is_known(law, kind, case):
    return any((law, kind) == (other, what) and part.items() <= case.items() for other, what, part in KNOWN)
