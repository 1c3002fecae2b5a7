"""Hypothesis draws the same examples on every run, without a time limit for each."""

from pathlib import Path

import pytest
from hypothesis import settings

SHOWN = (
    "rescue", "idn", "edr", "oinc", "tapfinger", "rounding", "solvers",
    "instances/test_edf.py",
    "models/edr/test_programs.py",
    "online/test_knapsack_projection.py",
    "online/edr/test_saddle_rounding.py",
    "online/rescue/test_causality.py",
)  # fmt: skip
"""Tests that show what is promised of the package, with 200 draws each.

The others hold parts of it to their twins, most of which these tests draw once more.
"""

settings.register_profile("shown", derandomize=True, deadline=None, max_examples=200)
settings.register_profile("edgeopt", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("edgeopt")


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Say how many examples the tests of a module draw, just before it is imported."""
    if isinstance(collector, pytest.Module):
        here = Path(__file__).parent
        shown = any(collector.path.is_relative_to(here / place) for place in SHOWN)
        settings.load_profile("shown" if shown else "edgeopt")
