"""No unit of weights, and none of the times of a slot, changes a plan or how close it is proven.

The slot is the unit of time of retraining, so that only its weights can be scaled.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.oinc.retraining import RetrainingProblem, flow_bound
from edgeopt.models.oinc.slot import SlotProblem, allocate, solve_slot
from edgeopt.models.oinc.slot.columns import slot_bound, solve_by_columns
from tests.draws import draws
from tests.oinc.strategies import retraining_problems, slot_problems
from tests.scales import ANY, POWERS


def slower(problem: SlotProblem, factor: float) -> SlotProblem:
    """All times in another unit."""
    return SlotProblem(
        problem.transmission * factor,
        problem.computation * factor,
        problem.slo * factor,
        problem.room,
        problem.weight,
    )


def heavier(problem: SlotProblem, factor: float) -> SlotProblem:
    """All weights in another unit."""
    return SlotProblem(
        problem.transmission,
        problem.computation,
        problem.slo,
        problem.room,
        problem.weight * factor,
    )


@pytest.mark.parametrize("change", [slower, heavier])
@given(problem=slot_problems(objectives=None, weighted=None), factor=st.sampled_from(POWERS))
@settings(max_examples=draws(25))
def test_bound_and_best_plan_of_a_slot_keep_every_bit(change, problem, factor):
    other = change(problem, factor)
    for objectives in (False, True):
        known = slot_bound(problem, objectives=objectives, gap=1e-6)
        found = slot_bound(other, objectives=objectives, gap=1e-6)
        assert found.value == known.value * factor
        assert found.prices.tolist() == (known.prices * factor).tolist()
        assert (found.gap, found.certified, found.columns) == (
            known.gap,
            known.certified,
            known.columns,
        )
        best = solve_by_columns(problem, objectives=objectives)
        same = solve_by_columns(other, objectives=objectives)
        assert (same.objective, same.bound) == (best.objective * factor, best.bound * factor)
        assert (same.gap, same.columns) == (best.gap, best.columns)
        assert (best.plan is None) == (same.plan is None)
        if best.plan is not None:
            assert same.plan.site.tolist() == best.plan.site.tolist()
            assert same.plan.band.tolist() == best.plan.band.tolist()


@pytest.mark.parametrize("change", [slower, heavier])
@given(problem=slot_problems(objectives=None, weighted=None), factor=st.sampled_from(ANY))
@settings(max_examples=draws(25))
def test_best_plan_of_a_slot_is_proven_in_any_unit(change, problem, factor):
    for objectives in (False, True):
        best = solve_by_columns(problem, objectives=objectives)
        same = solve_by_columns(change(problem, factor), objectives=objectives)
        assert same.objective == pytest.approx(best.objective * factor, rel=1e-9)
        assert same.bound == pytest.approx(best.bound * factor, rel=1e-6)
        assert same.gap <= 1e-6


@given(problem=slot_problems(objectives=None, weighted=None), factor=st.sampled_from(POWERS))
def test_plan_of_a_slot_keeps_every_bit(problem, factor):
    best = solve_slot(problem, late=3.0)
    other = solve_slot(slower(problem, factor), late=3.0 * factor)
    assert other.site.tolist() == best.site.tolist()
    assert (other.band.tolist(), other.cpu.tolist()) == (best.band.tolist(), best.cpu.tolist())
    assert solve_slot(heavier(problem, factor)).site.tolist() == best.site.tolist()


@given(problem=slot_problems(sites=1, objectives=None), factor=st.sampled_from(POWERS))
def test_shares_of_a_site_keep_every_bit_and_their_gap(problem, factor):
    def share(unit: float, weight: float) -> tuple:
        found = allocate(
            problem.transmission[:, 0] * unit,
            problem.computation[:, 0] * unit,
            problem.slo * unit,
            room=problem.room[0],
            weight=problem.weight * weight,
        )
        return found.feasible, found.band.tolist(), found.gap

    assert str(share(factor, 1.0)) == str(share(1.0, 1.0)) == str(share(1.0, factor))


def weighing(problem: RetrainingProblem, factor: float) -> RetrainingProblem:
    return RetrainingProblem(problem.arrival, problem.duration, problem.weight * factor)


@pytest.mark.parametrize("method", ["patterns", "highs"])
@given(problem=retraining_problems(), factor=st.sampled_from(POWERS))
@settings(max_examples=draws(25))
def test_bound_of_retraining_keeps_every_bit(method, problem, factor):
    known = flow_bound(problem, method=method)
    found = flow_bound(weighing(problem, factor), method=method)
    assert found.value == known.value * factor
    assert (found.gap, found.slots) == (known.gap, known.slots)
    assert found.theta.tolist() == (known.theta * factor).tolist()
    assert found.eta.tolist() == (known.eta * factor).tolist()


@pytest.mark.parametrize("method", ["patterns", "highs"])
@given(problem=retraining_problems(), factor=st.sampled_from(ANY))
@settings(max_examples=draws(25))
def test_bound_of_retraining_is_proven_in_any_unit(method, problem, factor):
    known = flow_bound(problem, method=method)
    found = flow_bound(weighing(problem, factor), method=method)
    assert found.gap <= 1e-6
    assert found.value == pytest.approx(
        known.value * factor, rel=1e-9 if method == "highs" else 1e-6
    )
    assert found.violation() <= 1e-9 * factor * max(problem.weight)


@given(problem=slot_problems(objectives=False), factor=st.sampled_from((1.0, *POWERS)))
@settings(max_examples=draws(10))
def test_no_time_at_all_still_gives_a_plan_and_a_bound(problem, factor):
    problem = slower(problem, factor)
    found = solve_by_columns(problem, time_limit=0.0)
    assert found.plan is not None
    assert np.isfinite(found.bound)
    assert found.bound <= found.objective * (1 + 1e-12)
    bound = slot_bound(problem, time_limit=0.0)
    assert np.isfinite(bound.value)
    assert bound.value <= found.objective * (1 + 1e-12)
