"""No unit of weights changes a plan, or how close it is proven.

Cores, GPUs and slots are counted; a weight is all that has a unit here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.tapfinger import flow_bound, optimal_schedule, pooled_bound, relaxation
from edgeopt.models.tapfinger.bounds import trivial_bound
from edgeopt.models.tapfinger.branch_and_bound import improved, value_step
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.scales import ANY, POWERS
from tests.tapfinger.strategies import scheduling_problems

FEW = settings(max_examples=draws(15))


def heavier(problem, factor):
    return replace(problem, weight=problem.weight * factor)


@given(problem=scheduling_problems(), factor=st.sampled_from(POWERS))
@FEW
def test_best_schedule_keeps_every_bit(problem, factor):
    best = optimal_schedule(problem)
    same = optimal_schedule(heavier(problem, factor))
    assert (same.objective, same.bound) == (best.objective * factor, best.bound * factor)
    assert (same.gap, same.status) == (best.gap, best.status)
    for part in ("cluster", "bundle", "start"):
        assert (getattr(same.schedule, part) == getattr(best.schedule, part)).all()


@given(problem=scheduling_problems(), factor=st.sampled_from(ANY))
@FEW
def test_best_schedule_is_proven_in_any_unit(problem, factor):
    best, same = optimal_schedule(problem), optimal_schedule(heavier(problem, factor))
    assert same.objective == pytest.approx(best.objective * factor, rel=1e-9)
    assert same.bound == pytest.approx(best.bound * factor, rel=1e-5)
    assert same.gap <= 1e-5


@given(problem=scheduling_problems(tasks=6), factor=st.sampled_from(POWERS))
@FEW
def test_bounds_by_prices_keep_every_bit(problem, factor):
    other = heavier(problem, factor)
    for bound in (relaxation, pooled_bound):
        known, found = bound(problem), bound(other)
        assert found.value == known.value * factor
        assert found.prices.resource.tolist() == (known.prices.resource * factor).tolist()
    assert pooled_bound(other).gap == pooled_bound(problem).gap


@given(problem=scheduling_problems(tasks=6), factor=st.sampled_from(ANY))
@FEW
def test_bounds_by_prices_are_proven_in_any_unit(problem, factor):
    other = heavier(problem, factor)
    known, found = relaxation(problem), relaxation(other)
    assert found.value == pytest.approx(known.value * factor, rel=1e-9)
    known, found = pooled_bound(problem), pooled_bound(other)
    assert found.gap <= 1e-4
    assert found.value == pytest.approx(known.value * factor, rel=2e-4)


@pytest.mark.parametrize("preemptive", [False, True])
@given(instance=tapfinger_instances(noise=None), factor=st.sampled_from(POWERS))
@FEW
def test_bounds_of_policies_keep_every_bit(preemptive, instance, factor):
    known = flow_bound(instance, preemptive=preemptive)
    found = flow_bound(instance.replace(weight=instance.weight * factor), preemptive=preemptive)
    assert found.method == known.method
    assert found.values == {name: value * factor for name, value in known.values.items()}


@given(problem=scheduling_problems(tasks=6), factor=st.sampled_from((1.0, *POWERS)))
@FEW
def test_no_time_at_all_still_gives_a_plan_and_a_bound(problem, factor):
    problem = heavier(problem, factor)
    found = optimal_schedule(problem, time_limit=0.0)
    assert trivial_bound(problem) * (1 - 1e-12) <= found.bound <= found.objective
    assert improved(problem, found.schedule, time_limit=0.0) is found.schedule
    assert relaxation(problem, time_limit=0.0).value <= found.objective
    assert pooled_bound(problem, time_limit=0.0).value <= found.objective


@given(problem=scheduling_problems(weighted=True), factor=st.sampled_from(POWERS))
def test_step_of_values_is_a_divisor_in_any_unit(problem, factor):
    step = value_step(problem)
    assert value_step(heavier(problem, factor)) == step * factor
    if step:
        assert (problem.weight / step == np.rint(problem.weight / step)).all()
