"""What every trial needs: a repeatable run, an origin, a bounded kf, and an eye on the cache that is not kf's own."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Benchmarks"))
