"""Hypothesis draws the same examples on every run, without a time limit for each."""

import gc
import os
import random
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.draws import LEAN, draws

SHOWN = (
    "rounding", "solvers",
    "rescue/test_formulation.py", "rescue/test_oracles.py", "rescue/test_paths.py",
    "rescue/test_values.py",
    "idn/test_gain.py", "idn/test_oracles.py", "idn/test_placement.py", "idn/test_policies.py",
    "idn/test_round_trip.py", "idn/test_useful_pairs.py",
    "oinc/test_density.py", "oinc/test_policies.py", "oinc/test_slots.py",
    "edr/test_offline.py", "edr/test_policies.py", "edr/test_relaxed.py", "edr/test_routing.py",
    "models/tapfinger/test_bound.py", "models/tapfinger/test_exact.py", "tapfinger/test_runs.py",
    "instances/test_edf.py",
    "models/edr/test_programs.py",
    "online/test_knapsack_projection.py",
)  # fmt: skip
"""Tests of what users rely on, with 200 draws each.

The others compare parts with their reference implementations, mostly on the same draws.
"""

# Nothing here depends on how fast a machine is.
slow = [HealthCheck.too_slow]
settings.register_profile(
    "shown", derandomize=True, deadline=None, max_examples=draws(200), suppress_health_check=slow
)
settings.register_profile(
    "edgeopt", derandomize=True, deadline=None, max_examples=draws(40), suppress_health_check=slow
)
if "EDGEOPT_MUTANTS" in os.environ:
    # Nobody reads the smallest example that a mutant fails on.
    quick = [Phase.explicit, Phase.generate]
    for name in ("shown", "edgeopt"):
        settings.register_profile(name, settings.get_profile(name), phases=quick)
settings.load_profile("edgeopt")

# Workers of a parallel run have a width of their own; tables are piped as users pipe them.
os.environ.pop("COLUMNS", None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background deaf to Ctrl-C, and so would be all its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Say how many examples the tests of a module draw, just before it is imported."""
    if isinstance(collector, pytest.Module):
        here = Path(__file__).parent
        shown = any(collector.path.is_relative_to(here / place) for place in SHOWN)
        settings.load_profile("shown" if shown else "edgeopt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests out of a lean run; shuffle all where `EDGEOPT_TEST_ORDER` is a seed."""
    if LEAN:
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
    seed = os.environ.get("EDGEOPT_TEST_ORDER")
    if seed:
        drawn = random.Random(seed)
        modules = {item.path: drawn.random() for item in items}
        items.sort(key=lambda item: (modules[item.path], drawn.random()))


def pytest_collection_finish() -> None:
    """Spare the collector of garbage ten thousand tests, which stay to the end."""
    gc.collect()
    gc.freeze()
