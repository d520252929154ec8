"""The works that kf is measured by: each a function that takes a `Bench` and gives results."""

from . import cached, many, photos, prefetch

WORKS = {
    "hit": cached.hit,
    "prefetch": prefetch.prefetch,
    "hits": cached.hits,
    "thumbnails": photos.thumbnails,
    "large": photos.large,
    "blur": photos.blur,
    "stat": many.million,
    "memory": prefetch.memory,
}
