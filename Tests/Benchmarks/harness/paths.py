import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ROOT / "Tests/Benchmarks"
# What can be kept from one run to the next: compiled floors, generated photographs, the peers' environment.
KEPT = ROOT / ".build/bench"


def corpora():
    """The folder of photographs that are no part of the tree, or None."""
    for path in (os.environ.get("KF_CORPORA"), ROOT.parent / "shared/corpora"):
        if path and (Path(path) / "photos").is_dir():
            return Path(path) / "photos"
    return None
