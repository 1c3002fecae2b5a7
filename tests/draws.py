"""How many examples a test draws: all of them, or the share that ``EDGEOPT_DRAWS`` says."""

import os

SHARE = float(os.environ.get("EDGEOPT_DRAWS", "1"))
FEWEST = 8
"""Fewer show nothing."""


def draws(most: int) -> int:
    """Return how many of so many examples to draw."""
    return min(most, max(FEWEST, round(SHARE * most)))
