"""Bounds for policies that change bundles, against the best of all runs; and every run's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.tapfinger import flow_bound
from tests.oracles.tapfinger import changes
from tests.strategies import tapfinger_instances
from tests.tapfinger.run_policy import CHANGING, STEADY, run_once

SEEDS = st.integers(0, 2**32 - 1)
METHODS = ("trivial", "volume", "pooled", "relaxation")


@given(tapfinger_instances(clusters=2, tasks=2, capacity=2, noise=None))
def test_no_bound_exceeds_the_best_run(instance):
    least = changes.least_flow_time(instance)
    for method in METHODS:
        bound = flow_bound(instance, preemptive=True, method=method)
        assert 0.0 <= bound.value <= least * (1.0 + 1e-9), method


@given(tapfinger_instances(noise=None), st.sampled_from(STEADY + CHANGING), SEEDS)
def test_no_run_falls_below_the_bounds(instance, policy, seed):
    trajectory, _ = run_once(instance, policy, seed)
    for method in METHODS:
        bound = flow_bound(instance, preemptive=policy in CHANGING, method=method)
        assert bound.value <= trajectory.weighted_flow_time()[0] * (1.0 + 1e-9), method
