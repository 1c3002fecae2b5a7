"""No run of any policy falls below the bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.tapfinger import flow_bound
from edgeopt.testing.strategies import tapfinger_instances
from tests.tapfinger.run_policy import CHANGING, STEADY, run_once

SEEDS = st.integers(0, 2**32 - 1)
METHODS = ("trivial", "volume", "pooled", "relaxation")


@given(tapfinger_instances(noise=None), st.sampled_from(STEADY + CHANGING), SEEDS)
def test_no_run_falls_below_the_bounds(instance, policy, seed):
    trajectory, _ = run_once(instance, policy, seed)
    for method in METHODS:
        bound = flow_bound(instance, preemptive=policy in CHANGING, method=method)
        assert bound.value <= trajectory.weighted_flow_time()[0] * (1.0 + 1e-9), method
