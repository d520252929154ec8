"""The works that kf is measured by: each a function that takes a `Bench` and gives results."""

from . import cached, caches, clean, dns, downloaders, hosts, instructions, large_body, many, measures, memory, photos
from . import prefetch, processing, remote, site

WORKS = {
    "hit": cached.hit,
    "prefetch-http1": prefetch.http1,
    "prefetch-http2": prefetch.http2,
    "prefetch-instructions": instructions.instructions,
    "prefetch-caches": caches.caches,
    "prefetch-calls": prefetch.calls,
    "prefetch-memory": memory.memory,
    "prefetch-photos": processing.processing,
    "prefetch-large": large_body.large_body,
    "prefetch-clean": clean.clean,
    "remote": remote.remote,
    "dns": dns.dns,
    "hosts": hosts.hosts,
    "downloaders": downloaders.downloaders,
    "deletions": downloaders.deletions,
    "hits": cached.hits,
    "thumbnails": photos.thumbnails,
    "large": photos.large,
    "avif": photos.avif,
    "blur": photos.blur,
    "measures": measures.measures,
    "site": site.site,
    "stat": many.million,
}
# Names for several works.
GROUPS = {
    "all": list(WORKS),
    "prefetch": [name for name in WORKS if name.startswith("prefetch-")],
}


def named(words):
    """The works of these names and groups, in their order; a word that is neither raises a KeyError."""
    wanted = {name for word in words for name in GROUPS.get(word) or [word]}
    for name in wanted - set(WORKS):
        raise KeyError(name)
    return [name for name in WORKS if name in wanted]


def work_of(result):
    """The work that a result in JSON is of: their names are the same, or the result's begins with the work's."""
    name = result["work"]
    return name if name in WORKS else name.split("-")[0]
