"""No unit of costs, of memory or of weights changes a placement, or how close it is proven.

Requests and capacities are counted.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.idn import Demand, greedy, solve_placement
from edgeopt.models.idn.bounds import solve_cooperative
from edgeopt.solvers import Quality, Status
from edgeopt.testing.strategies import idn_instances
from tests.draws import draws
from tests.models.idn.cases import within_budgets
from tests.scales import ANY, POWERS

FEW = settings(max_examples=draws(15))


def dearer(instance, factor):
    """All costs in another unit."""
    cost = None if instance.cost is None else instance.cost * factor
    return instance.replace(
        latency=instance.latency * factor,
        delay=instance.delay * factor,
        alpha=instance.alpha * factor,
        cost=cost,
    )


def larger(instance, factor):
    """All memory in another unit."""
    size = instance.size * factor
    permanent = (size * instance.repository).sum(axis=1)  # not exactly a budget, once rounded
    return instance.replace(size=size, budget=np.maximum(instance.budget * factor, permanent))


CHANGES = pytest.mark.parametrize(
    ("change", "gains"), [(dearer, True), (larger, False)], ids=["cost", "memory"]
)


@CHANGES
@pytest.mark.parametrize("relax", [False, True])
@given(instance=idn_instances(cost=None), factor=st.sampled_from(POWERS))
@FEW
def test_placement_keeps_every_bit(change, gains, relax, instance, factor):
    best = solve_placement(instance, relax=relax)
    same = solve_placement(change(instance, factor), relax=relax)
    unit = factor if gains else 1.0
    assert (same.objective, same.bound) == (best.objective * unit, best.bound * unit)
    assert same.allocation.tolist() == best.allocation.tolist()
    assert (same.gap, same.status, same.quality) == (best.gap, best.status, best.quality)


@CHANGES
@pytest.mark.parametrize("method", ["direct", "structured"])
@given(instance=idn_instances(cost=None), factor=st.sampled_from(POWERS))
@FEW
def test_cooperative_bound_keeps_every_bit(change, gains, method, instance, factor):
    best = solve_cooperative(instance, method=method)
    same = solve_cooperative(change(instance, factor), method=method)
    unit = factor if gains else 1.0
    assert (same.objective, same.bound) == (best.objective * unit, best.bound * unit)
    assert same.allocation.tolist() == best.allocation.tolist()
    assert (same.gap, same.status, same.quality) == (best.gap, best.status, best.quality)
    assert same.solution.primal_residual() == best.solution.primal_residual()


@CHANGES
@pytest.mark.parametrize("method", ["direct", "structured"])
@given(instance=idn_instances(cost=None), factor=st.sampled_from(ANY))
@FEW
def test_cooperative_bound_is_proven_in_any_unit(change, gains, method, instance, factor):
    best = solve_cooperative(instance, method=method, gap=1e-7)
    same = solve_cooperative(change(instance, factor), method=method, gap=1e-7)
    exact = 1e-9 if method == "direct" else 2e-7
    assert same.objective == pytest.approx(best.objective * (factor if gains else 1.0), rel=exact)
    assert same.gap <= 1e-7
    assert same.quality is best.quality is Quality.OPTIMAL


@CHANGES
@given(instance=idn_instances(cost=None), factor=st.sampled_from(ANY))
@FEW
def test_placement_is_proven_in_any_unit(change, gains, instance, factor):
    best, same = solve_placement(instance), solve_placement(change(instance, factor))
    assert same.objective == pytest.approx(best.objective * (factor if gains else 1.0), rel=1e-9)
    assert same.gap <= 1e-6
    assert same.quality is best.quality is Quality.OPTIMAL


@given(instance=idn_instances(cost=None), factor=st.sampled_from(POWERS))
def test_weights_of_slots_and_greedy_keep_every_bit(instance, factor):
    demand, even = Demand.of(instance), np.full(instance.horizon, factor / instance.horizon)
    other = Demand.of(instance, weight=even)
    assert greedy(instance, other).tolist() == greedy(instance, demand).tolist()
    known, found = solve_placement(instance, demand), solve_placement(instance, other)
    assert found.objective == pytest.approx(known.objective * factor, rel=1e-12)
    assert found.quality is known.quality
    for change in (dearer, larger):
        scaled = change(instance, factor)
        assert greedy(scaled, Demand.of(scaled)).tolist() == greedy(instance, demand).tolist()


@given(instance=idn_instances(cost=None), factor=st.sampled_from((1.0, *POWERS)))
@FEW
def test_no_time_at_all_still_gives_a_point_and_a_bound(instance, factor):
    instance = dearer(instance, factor)
    best = solve_cooperative(instance)
    for method in ("direct", "structured"):
        plan = solve_cooperative(instance, method=method, time_limit=0.0)
        assert plan.quality.usable
        assert plan.objective <= best.bound * (1 + 1e-9)
        assert best.objective * (1 - 1e-9) <= plan.bound < np.inf
        assert plan.solution.primal_residual() <= 1e-12
        assert within_budgets(instance, plan.allocation)
    placed = solve_placement(instance, time_limit=0.0)
    exact = solve_placement(instance)
    assert placed.objective <= exact.bound * (1 + 1e-9)
    assert exact.objective * (1 - 1e-9) <= placed.bound < np.inf


def test_cooperative_point_in_hand_is_labelled_as_such():
    from edgeopt.instances.idn import generate

    plan = solve_cooperative(generate(topology=2, horizon=1), method="structured", time_limit=1e-9)
    assert (plan.status, plan.quality) == (Status.MAX_TIME_LIMIT, Quality.FEASIBLE)
    assert 0.0 < plan.objective < plan.bound < np.inf
    assert plan.gap < 1.0
