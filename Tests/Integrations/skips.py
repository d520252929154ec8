"""Runs the tests of a file, and ends with what was skipped and what would have run it."""

import sys
import unittest
from collections import Counter
from pathlib import Path


def main():
    """Ends with status 0 if no test failed, also if tests were skipped, and else with 1."""
    result = unittest.main(exit=False).result
    for reason, count in Counter(reason for _, reason in result.skipped).items():
        print(f"{Path(sys.argv[0]).stem}: {count} test{'s' * (count > 1)} skipped: {reason}", file=sys.stderr)
    sys.exit(not result.wasSuccessful())
