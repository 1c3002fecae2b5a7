"""Runs of policies that leave alone what runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.tapfinger import Schedule, scheduling_problem, verify
from edgeopt.testing.strategies import tapfinger_instances
from tests.tapfinger.run_policy import STEADY, run_once

SEEDS = st.integers(0, 2**32 - 1)
REFILL = st.sampled_from(["slot", "round"])
INSTANCES = tapfinger_instances(noise=None)


@given(INSTANCES, st.sampled_from(STEADY), SEEDS, REFILL)
def test_who_runs_is_left_alone(instance, policy, seed, refill):
    trajectory, _ = run_once(instance, policy, seed, refill=refill, preemption=False)
    held = trajectory.held
    assert held.task.tolist() == sorted(set(held.task.tolist()))  # one stretch each
    done = trajectory.complete[0]
    assert np.array_equal(held.begin, trajectory.start[0, held.task])
    assert np.array_equal(held.end[done[held.task]], trajectory.completion[0, done])
    assert not trajectory.preemptions.any()
    if instance.noise == 0.0 and done.all():
        # It is a plan of the offline problem too, and costs there what it has cost here.
        plan = Schedule(trajectory.cluster[0], held.bundle, trajectory.start[0])
        problem = scheduling_problem(instance)
        verify(problem, plan)
        assert plan.flow_time(problem) == pytest.approx(trajectory.weighted_flow_time()[0])
