"""What the laws find today and is not mended yet, each with its reason. A run counts it, and does not fail."""

# Values that give images hashes of their own.
PINNED = [{"--lock": "held"}, {"--lock": "older"}, {"--hash-column": "right"}]

KNOWN = [
    # A run asks for an alternative once more for each hash that it should have.
    *(("accounts", f"the {party} is asked too often ({why})", {"--alternative": value, **pinned})
      for party, value in (("origin", "same"), ("alternative", "url"))
      for why in ("status:404", "status:503", "reset", "cut", "a repeated URL") for pinned in PINNED),
    # Under --verify, what keeps the bytes of its original is written again, so that a damaged object would be mended.
    ("rest", "the second run writes an object", {"--update-lock": "on", "--verify": "on"}),
    # The entry that a 304 has confirmed may be evicted by another process before it is renewed.
    ("accounts", "the origin is asked too often (ok)", {"--max-size": "small", "end": "twice"}),
    # What has left a tiny cache is asked for again when a small window comes to its repetition.
    ("accounts", "the origin is asked too often (a repeated URL)", {"--max-size": "small", "limits": "descriptors"}),
    # `cache explain` does not know that fetch has no output for what a cache that is only read cannot store.
    ("foretelling", "derive was announced, done: failed", {"--read-only": "on", "command": "fetch"}),
    # The entry of another process, which it fetched at the same time, is confirmed once more.
    ("accounts", "the origin is asked too often (a repeated URL)", {"--revalidate": "on", "end": "twice"}),
]


def is_known(law, kind, case):
    return any((law, kind) == (other, what) and part.items() <= case.items() for other, what, part in KNOWN)
