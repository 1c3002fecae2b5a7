"""P1-LP does not depend on the units of profit and of work, and answers without any time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.rescue import ReservedTasks, generate
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.models.rescue.interior_point import promising_columns
from edgeopt.models.rescue.matrix import critical_slots
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.solvers import Quality, Status
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws, every
from tests.rescue.scaling import scaled as in_other_units

METHODS = ("direct", "structured", "columns")
POWERS = (2.0**-40, 2.0**40)
OTHERS = (1e-10, 1e-8, 1e6, 1e8)


def scaled(instance, *, profit=1.0, work=1.0):
    """Write profits in another unit, and the work of the first server."""
    work = [work] + [1.0] * (instance.servers - 1)
    return in_other_units(instance, profit=profit, work=work)


def drawn(seed):
    return generate(servers=2, devices=3, profiles=3, horizon=24, reserved=6, rng=seed)


@pytest.mark.parametrize("forbid", every(2, [False, True]))
@pytest.mark.parametrize(
    "unit", every(2, [{name: u} for name in ("profit", "work") for u in POWERS])
)
@pytest.mark.parametrize("method", METHODS)
def test_powers_of_two_change_no_bit(method, unit, forbid):
    for seed in range(2):
        instance = drawn(seed)
        plan = solve_p1_lp(scaled(instance), method=method, forbid_unsafe=forbid)
        same = solve_p1_lp(scaled(instance, **unit), method=method, forbid_unsafe=forbid)
        factor = unit.get("profit", 1.0)
        if method == "direct":  # a solver may end at another vertex
            assert same.objective == pytest.approx(factor * plan.objective, rel=1e-6)
            assert same.bound == pytest.approx(factor * plan.bound, rel=1e-6)
            continue
        np.testing.assert_array_equal(same.y, plan.y)
        np.testing.assert_array_equal(same.x, plan.x)
        np.testing.assert_array_equal(same.duals.arrival, factor * plan.duals.arrival)
        np.testing.assert_array_equal(same.duals.occupancy, factor * plan.duals.occupancy)
        assert (same.objective, same.bound) == (factor * plan.objective, factor * plan.bound)
        assert same.gap == plan.gap
        for name in ("status", "quality"):
            assert getattr(same.solution, name) is getattr(plan.solution, name)
        assert same.solution.quality is Quality.OPTIMAL


@pytest.mark.parametrize(
    "unit", every(3, [{name: u} for name in ("profit", "work") for u in OTHERS])
)
@pytest.mark.parametrize("method", METHODS)
def test_other_factors_change_what_they_round_and_no_more(method, unit):
    for seed in range(2):
        instance = drawn(seed)
        plan = solve_p1_lp(scaled(instance), method=method)
        same = solve_p1_lp(scaled(instance, **unit), method=method)
        factor = unit.get("profit", 1.0)
        assert same.objective == pytest.approx(factor * plan.objective, rel=1e-9)
        assert same.bound == pytest.approx(factor * plan.bound, rel=1e-9)
        assert same.gap == pytest.approx(plan.gap, abs=1e-9)
        assert same.solution.quality is plan.solution.quality is Quality.OPTIMAL
        assert same.solution.primal_residual() <= 1e-9
        assert same.solution.certify().quality is Quality.OPTIMAL


@pytest.mark.parametrize("method", METHODS)
@given(
    instance=rescue_instances(arrivals=None, beyond=None),
    unit=st.sampled_from([1.0, *POWERS, *OTHERS]),
    forbid=st.booleans(),
)
@settings(max_examples=draws(20))
def test_every_tiny_optimum_is_proven_in_every_unit(method, instance, unit, forbid):
    """Optima of 0 among them, which are proven to the last digit."""
    changed = scaled(instance, profit=unit, work=unit)
    plan = solve_p1_lp(changed, method=method, forbid_unsafe=forbid)
    again = solve_p1_lp(scaled(instance), method="direct", forbid_unsafe=forbid)
    assert plan.objective == pytest.approx(unit * again.objective, rel=2e-6)
    assert plan.gap <= 1e-6
    assert plan.solution.quality is Quality.OPTIMAL
    if plan.objective == 0.0:
        assert plan.gap == 0.0
        assert plan.solution.status is Status.CONVERGENCE_CRITERIA_SATISFIED


@pytest.mark.parametrize("unit", [*POWERS, *OTHERS])
def test_first_columns_do_not_depend_on_the_unit_of_a_server(unit):
    """All reserved work is on one server: the share of capacity that is left is none of a sum."""
    instance = drawn(0)
    tasks, mine = instance.reserved, instance.reserved.server == 0
    window = tasks.start[mine], tasks.end[mine]
    offer = [instance.capacity[0, a : b + 1].sum() for a, b in zip(*window, strict=True)]
    full = ReservedTasks(tasks.server[mine], *window, np.array(offer) * 0.99)
    instance = instance.replace(reserved=full)
    columns = [
        promising_columns(P1Relaxation(scaled(instance, work=work)), 1) for work in (1.0, unit)
    ]
    np.testing.assert_array_equal(columns[0].pair, columns[1].pair)


def best_pairs(instance, *, forbid):
    """Sum up what every arrival earns on its best pair that may be used at all."""
    usable = P1Relaxation(instance, forbid).usable
    profit = np.where(usable[:, None], instance.expected_profit, 0.0)
    return float((instance.arrival * profit.max(axis=(2, 3))).sum())


@pytest.mark.parametrize("method", ["auto", *METHODS])
@given(
    instance=rescue_instances(arrivals=None, beyond=None),
    unit=st.sampled_from([1.0, 1e-10, 1e6]),
    forbid=st.booleans(),
)
@settings(max_examples=draws(20))
def test_without_time_the_answer_is_what_is_known_beforehand(method, instance, unit, forbid):
    instance = scaled(instance, profit=unit, work=unit)
    plan = solve_p1_lp(instance, method=method, forbid_unsafe=forbid, time_limit=0.0)
    assert plan.solution.primal_residual() <= 1e-9
    assert plan.solution.dual_residual() <= 1e-12
    assert plan.solution.quality.usable
    best = best_pairs(instance, forbid=forbid)
    assert plan.bound <= best * (1 + 1e-12)
    assert plan.objective <= plan.bound * (1 + 1e-6)
    if method in ("structured", "columns"):  # presolve alone may do more than nothing
        assert not plan.y.any()
        assert plan.objective == 0.0
        assert plan.bound == pytest.approx(best, rel=1e-12, abs=1e-12 * unit)
        proven = best == 0.0
        assert plan.gap == (0.0 if proven else 1.0)
        assert plan.solution.quality is (Quality.OPTIMAL if proven else Quality.FEASIBLE)
        if not proven:
            assert plan.solution.status is Status.MAX_TIME_LIMIT


def test_a_large_allocation_of_nothing_is_sparse(monkeypatch):
    from edgeopt.models.rescue import solution as relaxation

    monkeypatch.setattr(relaxation, "DENSE_COLUMNS", 10)
    plan = solve_p1_lp(drawn(0), method="columns", time_limit=0.0)
    assert plan.y.shape == (24 * 3, 2 * 3)
    assert plan.y.nnz == 0
    assert plan.solution.primal_residual() == 0.0


def moved(plan, **values):
    return replace(plan.solution, values=plan.solution.values | values)


@pytest.mark.parametrize("unit", [1.0, *POWERS, *OTHERS])
def test_residuals_are_shares_of_what_meets_in_a_row(unit):
    instance = drawn(1)
    instance = scaled(instance, profit=unit, work=unit)
    small = instance.arrival.copy()
    small[5] *= 1e-9
    instance = instance.replace(arrival=small)
    plan = solve_p1_lp(instance, method="structured")
    assert plan.solution.primal_residual() <= 1e-9

    crowded, negative = plan.y.copy(), plan.y.copy()
    crowded[5, 0] *= 1.5 * small[5, 0] / crowded[5, 0].sum()
    assert moved(plan, y=crowded).primal_residual() == pytest.approx(0.5, rel=1e-6)
    negative[5, 0, 0, 0] = -0.25 * small[5, 0]
    assert moved(plan, y=negative).primal_residual() == pytest.approx(0.25)
    task = int(np.flatnonzero(instance.reserved.server == 0)[0])
    short = plan.x.copy()
    served = (short[task] * instance.capacity[0]).sum()
    short[task] *= 0.7 * instance.reserved.demand[task] / served
    assert moved(plan, x=short).primal_residual() == pytest.approx(0.3)

    largest = P1Relaxation(instance).idle.duals.arrival.max()
    assert plan.solution.dual_residual() <= 1e-12
    lower = plan.duals.arrival - 0.01 * largest
    spoilt = replace(plan.solution, duals=replace(plan.duals, arrival=lower))
    assert spoilt.dual_residual() == pytest.approx(0.01)


def test_use_of_an_arrival_that_never_comes_is_infinitely_wrong():
    instance = drawn(0)
    never = instance.arrival.copy()
    never[3, 1] = 0.0
    instance = instance.replace(arrival=never)
    plan = solve_p1_lp(instance, method="structured")
    used = plan.y.copy()
    used[3, 1, 0, 0] = 1e-30
    assert moved(plan, y=used).primal_residual() == np.inf


@pytest.mark.parametrize("unit", [1.0, *POWERS, *OTHERS])
def test_critical_slots_are_those_that_tasks_fill_in_every_unit(unit):
    instance = scaled(drawn(0))
    full = ReservedTasks([0, 0], [2, 10], [5, 12], instance.capacity[0, [2, 10]])
    demand = np.array([instance.capacity[0, 2:6].sum(), 0.999 * instance.capacity[0, 10:13].sum()])
    full = ReservedTasks(full.server, full.start, full.end, demand)
    slots, tasks = critical_slots(scaled(instance.replace(reserved=full), work=unit))
    assert np.flatnonzero(slots[0]).tolist() == [2, 3, 4, 5]
    assert tasks.tolist() == [True, False]
