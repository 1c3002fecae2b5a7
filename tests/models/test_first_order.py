"""The first-order method for P1-LP against HiGHS, its repair and its projections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.rescue import generate, small, tight
from edgeopt.models.rescue import first_order, solve_p1_lp
from edgeopt.models.rescue.first_order import FirstOrderMaster
from edgeopt.models.rescue.interior_point import every_column
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.solvers import Quality, Status
from tests.draws import draws

GAP = 1e-4


def drawn(seed: int):
    """Draw an instance: tiny, busy, with much reserved work or an outage."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        return small(seed)
    servers = int(rng.integers(1, 5))
    instance = generate(
        servers=servers,
        devices=int(rng.integers(1, 7)),
        profiles=int(rng.integers(1, 4)),
        horizon=int(rng.integers(5, 25)),
        reserved=int(rng.integers(0, 2 * servers + 1)),
        density=0.6,
        demand=float(rng.uniform(0.05, 0.5)),
        beyond="drop" if seed % 2 else "hold",
        rng=seed,
    )
    if rng.random() < 0.5:
        busy = np.minimum(rng.uniform(1.0, 6.0) * instance.arrival, 1.0)
        instance = instance.replace(arrivals="independent", arrival=busy)
    if servers > 1 and not len(instance.reserved.of_server(0)):
        instance = instance.down(0, 2, 3)
    return instance


@settings(max_examples=draws(200))
@given(seed=st.integers(0, 100_000), forbid=st.booleans())
def test_bounds_are_valid_and_points_feasible_on_drawn_instances(seed, forbid):
    instance = drawn(seed)
    optimum = solve_p1_lp(instance, method="direct", solver="highs", forbid_unsafe=forbid)
    assert optimum.gap <= 1e-7
    plan = solve_p1_lp(instance, method="pdhg", gap=GAP, forbid_unsafe=forbid)
    assert plan.bound >= optimum.objective * (1 - 1e-7)
    assert plan.objective <= optimum.bound * (1 + 1e-7)
    assert plan.solution.primal_residual() <= 1e-9
    assert plan.solution.dual_residual() <= 1e-9
    assert plan.gap <= GAP
    assert plan.solution.quality is Quality.OPTIMAL


@pytest.mark.parametrize("seed", range(3))
def test_reserved_tasks_that_fill_their_windows_stay_served(seed):
    instance = generate(servers=3, devices=5, profiles=2, horizon=25, reserved=9, density=0.8,
                        demand=0.8, rng=seed)  # fmt: skip
    direct = solve_p1_lp(instance, method="direct")
    plan = solve_p1_lp(instance, method="pdhg", gap=1e-3)
    assert plan.objective == pytest.approx(direct.objective, rel=2e-3)
    assert plan.solution.primal_residual() <= 1e-9


@given(
    values=st.lists(st.floats(-5, 5), min_size=1, max_size=8),
    limit=st.sampled_from([0.5, 1.0]),
)
def test_projections_are_the_nearest_points_of_the_simplex(values, limit):
    """At the nearest point, what is above 0 is lowered by the same level, all else is below it."""
    given_values = np.array(values)
    nearest = given_values.copy()
    first_order.project_part(nearest, limit)
    assert nearest.sum() == pytest.approx(limit)
    assert nearest.min() >= 0.0
    lowered = (given_values - nearest)[nearest > 0.0]
    assert np.ptp(lowered) <= 1e-12
    assert (given_values[nearest == 0.0] <= lowered.max() + 1e-12).all()


@pytest.mark.parametrize("seed", range(4))
def test_every_point_on_the_way_is_feasible_and_fills_what_room_is_left(seed):
    instance = generate(servers=3, devices=8, profiles=3, horizon=30, reserved=6, rng=seed)
    busy = np.minimum(4.0 * instance.arrival, 1.0)
    problem = P1Relaxation(instance.replace(arrivals="independent", arrival=busy))
    master = FirstOrderMaster(problem, every_column(problem))
    for _ in range(4):
        found, bound, _ = master._restricted()
        y, x = found.values["y"], found.values["x"]
        occupied = problem.occupation(y)
        np.add.at(occupied, problem.instance.promised.server, x)
        assert occupied.max() <= 1.0 + 1e-12
        assert (problem.arrivals_used(y) <= problem.instance.arrival * (1 + 1e-12)).all()
        assert found.objective == pytest.approx(problem.value(y))
        assert found.objective <= bound * (1 + 1e-12)
        # No column could have more: its arrival is used up, or a slot that it would touch is full.
        left = problem.instance.arrival.ravel() - problem.arrivals_used(y).ravel()
        full = occupied.T >= 1.0 - 1e-9
        columns = master.columns
        for row, pair in zip(columns.rows(), columns.pair, strict=True):
            profile, k = divmod(int(pair), instance.servers)
            touched = full[row // instance.devices :, k][: instance.longest[profile]]
            assert left[row] <= 1e-9 or touched.any()
        master.solve(1e-9, None)


def test_columns_that_were_wrongly_left_out_come_back(monkeypatch):
    instance = generate(servers=3, devices=8, profiles=3, horizon=30, reserved=6, rng=2)
    busy = np.minimum(4.0 * instance.arrival, 1.0)
    instance = instance.replace(arrivals="independent", arrival=busy)
    monkeypatch.setattr(first_order, "CLOSE", 0.0)
    monkeypatch.setattr(first_order, "UNUSED", 0.5)
    monkeypatch.setattr(first_order, "FIRST_DROP", 1.0)
    plan = solve_p1_lp(instance, method="pdhg", gap=1e-4, time_limit=60)
    assert plan.gap <= 1e-4


def test_steps_repeat_themselves_and_a_limit_of_time_keeps_the_best_point():
    instance = generate(servers=4, devices=8, profiles=3, horizon=30, reserved=6, rng=1)
    first, again = (solve_p1_lp(instance, method="pdhg", gap=1e-3) for _ in range(2))
    assert first.objective == again.objective
    assert first.bound == again.bound
    plan = solve_p1_lp(instance, method="pdhg", gap=1e-9, time_limit=0.3)
    assert plan.solution.status is Status.MAX_TIME_LIMIT
    assert 0.0 < plan.objective <= plan.bound
    nothing = solve_p1_lp(instance, method="pdhg", time_limit=0.0)
    assert nothing.objective == 0.0
    assert nothing.bound >= first.objective


def test_the_unit_of_profit_changes_nothing():
    instance = generate(servers=4, devices=8, profiles=3, horizon=30, reserved=6, rng=1)
    table = instance.replace(profit=instance.realised_profit)
    small_unit = instance.replace(profit=2.0**-30 * instance.realised_profit)
    plan, other = (solve_p1_lp(one, method="pdhg", gap=1e-3) for one in (table, small_unit))
    assert other.objective == 2.0**-30 * plan.objective
    assert other.bound == 2.0**-30 * plan.bound


def test_an_instance_that_earns_nothing_is_solved():
    instance = tight(0.5)
    instance = instance.replace(profit=np.zeros_like(instance.realised_profit))
    plan = solve_p1_lp(instance, method="pdhg")
    assert plan.objective == 0.0 == plan.bound
