"""What the laws find today and is not mended yet, each with its reason. A run counts it, and does not fail."""

KNOWN = [
    # The entry of another process, which it fetched at the same time, is confirmed once more.
    ("accounts", "the origin is asked too often (a repeated URL)", {"--revalidate": "on", "end": "twice"}),
]


def is_known(law, kind, case):
    return any((law, kind) == (other, what) and part.items() <= case.items() for other, what, part in KNOWN)
