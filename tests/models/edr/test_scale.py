"""No unit of costs, of energy or of computation changes a plan, or how close it is proven.

Requests and rounds are counted.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import ScalingWarning
from edgeopt.instances.edr import generate
from edgeopt.models.edr import frame_comparator, solve_offline
from edgeopt.models.edr.routing import solve_routing
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws, every
from tests.models.edr.routing_cases import Case, cases
from tests.scales import ANY, POWERS

FEW = settings(max_examples=draws(15))


def dearer(instance, factor):
    """All costs in another unit."""
    return instance.replace(
        energy_weight=instance.energy_weight * factor,
        delay_weight=instance.delay_weight * factor,
    )


def hungrier(instance, factor):
    """All energy in another unit."""
    prior = None if instance.price_prior is None else instance.price_prior / factor
    return instance.replace(
        cap=instance.cap * factor,
        energy_per_work=instance.energy_per_work * factor,
        power=instance.power * factor,
        price=instance.price / factor,
        price_prior=prior,
    )


def harder(instance, factor):
    """All computation in another unit."""
    return instance.replace(
        step_work=instance.step_work * factor,
        aggregation_work=instance.aggregation_work * factor,
        request_work=instance.request_work * factor,
        capacity=instance.capacity * factor,
        speed=instance.speed * factor,
        energy_per_work=instance.energy_per_work / factor,
    )


CHANGES = pytest.mark.parametrize(
    ("change", "costs"),
    every(2, [(dearer, True), (hungrier, False), (harder, False)], rows=True),
    ids=["cost", "energy", "computation"],
)


@CHANGES
@pytest.mark.parametrize("method", ["benders", "highs"])
@pytest.mark.parametrize("relax", every(2, [True, False]))
@given(instance=edr_instances(), factor=st.sampled_from(POWERS))
@FEW
def test_offline_plan_keeps_every_bit(change, costs, method, relax, instance, factor):
    best = solve_offline(instance, method=method, relax=relax)
    same = solve_offline(change(instance, factor), method=method, relax=relax)
    unit = factor if costs else 1.0
    if method == "highs":  # a solver may end at another vertex
        assert same.certified == best.certified
        assert same.objective == pytest.approx(best.objective * unit, rel=1e-6)
        assert same.bound == pytest.approx(best.bound * unit, rel=1e-6)
        return
    assert (same.objective, same.bound) == (best.objective * unit, best.bound * unit)
    assert same.rounds.tolist() == best.rounds.tolist()
    assert (same.gap, same.certified, same.iterations) == (
        best.gap,
        best.certified,
        best.iterations,
    )


# Costs that nearly cancel leave a rest of rounding, which is rightly warned of.
@pytest.mark.filterwarnings("ignore::edgeopt.errors.ScalingWarning")
@CHANGES
@pytest.mark.parametrize("method", ["benders", "highs"])
@given(instance=edr_instances(), factor=st.sampled_from(ANY))
@FEW
def test_offline_plan_is_proven_in_any_unit(change, costs, method, instance, factor):
    best = solve_offline(instance, method=method)
    same = solve_offline(change(instance, factor), method=method)
    unit = factor if costs else 1.0
    assert same.certified == best.certified
    size = np.abs(best.training_cost).sum() + np.abs(best.request_cost).sum()
    assert same.objective / unit == pytest.approx(best.objective, rel=2e-6, abs=1e-9 * size)


def scaled(case: Case, change, factor: float) -> Case:
    instance = change(case.instance, factor)
    training = case.training * (factor if change is harder else 1.0)
    return Case(instance, case.frame, training, case.split, float(instance.cap[case.frame]))


@CHANGES
@given(case=cases(), factor=st.sampled_from(POWERS))
@FEW
def test_routes_keep_every_bit(change, costs, case, factor):
    best = solve_routing(case.problem)
    same = solve_routing(scaled(case, change, factor).problem)
    # Where nothing costs anything, what is left out has a price in no unit.
    unit = factor if costs and case.problem.cost.any() else 1.0
    assert (same.objective, same.bound) == (best.objective * unit, best.bound * unit)
    assert same.flow.tolist() == best.flow.tolist()
    assert same.gap == best.gap


@CHANGES
@given(instance=edr_instances(), factor=st.sampled_from(POWERS))
@FEW
def test_comparator_of_a_frame_keeps_every_bit(change, costs, instance, factor):
    best, same = frame_comparator(instance, 0), frame_comparator(change(instance, factor), 0)
    unit = factor if costs else 1.0
    assert (same.cost, same.bound) == (best.cost * unit, best.bound * unit)
    assert same.feasible == best.feasible
    np.testing.assert_array_equal(same.rounds, best.rounds)


@given(instance=edr_instances(), factor=st.sampled_from((1.0, *POWERS)))
@FEW
def test_no_time_at_all_still_gives_a_plan_and_a_bound(instance, factor):
    instance = dearer(instance, factor)
    best = solve_offline(instance)
    for method in ("benders", "highs"):
        plan = solve_offline(instance, method=method, time_limit=0.0)
        size = plan.objective + abs(best.objective)
        assert np.isfinite([plan.objective, plan.bound]).all()
        assert plan.bound <= best.objective + 1e-9 * size
        assert plan.objective >= best.bound - 1e-9 * size


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_programs_within_warn_nobody_of_their_scale(factor):
    instance = dearer(generate(rng=3, sites=5, tasks=6, frames=12, slots=2), factor)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScalingWarning)
        for method in ("benders", "highs"):
            assert solve_offline(instance, method=method).certified
