"""Routing by HiGHS: whole, by columns, slot after slot, one priority after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.edr.routing import (
    Conditions,
    Penalties,
    RoutingProblem,
    conditions,
    routing_problem,
    solve_routing,
)
from edgeopt.models.edr.routing.highs import RoutingColumns, solve_by_columns, solve_whole
from edgeopt.models.edr.routing.programs import plan_of
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.models.edr.routing_cases import cases, check_plan

ELASTIC = st.sampled_from(["soft", "shed"])


@settings(max_examples=draws(60))
@given(cases(), ELASTIC)
def test_whole_and_by_columns_reach_the_optimum_and_prove_it(case, elastic):
    problem = case.problem
    best = case.penalised(problem.penalties(elastic))
    for method in ("highs", "columns"):
        plan = solve_routing(problem, elastic=elastic, method=method)
        check_plan(plan)
        assert plan.objective == pytest.approx(best, rel=1e-7, abs=1e-7)
        assert plan.bound == pytest.approx(best, rel=1e-6, abs=1e-6)


@settings(max_examples=draws(30))
@given(edr_instances(slots=2, tasks=0), ELASTIC, st.data())
def test_a_loaded_program_follows_demand_costs_capacities_and_routes(instance, elastic, data):
    solver, ways, splits = RoutingColumns(first=1), [], []
    for frame in range(instance.frames):
        training = data.draw(st.sampled_from([0.0, 0.5, 2.0])) * instance.capacity
        split = data.draw(st.sampled_from(["even", "free", "free"]))
        splits.append(split == "free")
        problem = routing_problem(
            instance,
            [conditions(instance, frame, slot) for slot in range(instance.slots)],
            price=float(instance.price[frame]),
            training=training,
            budget=float(instance.cap[frame]),
            split=split,
        )
        plan = solver.solve(problem, problem.penalties(elastic))
        whole = solve_routing(problem, elastic=elastic, method="highs")
        check_plan(plan)
        assert plan.objective == pytest.approx(whole.objective, rel=1e-7, abs=1e-7)
        assert plan.bound == pytest.approx(whole.objective, rel=1e-6, abs=1e-6)
        ways.append(plan.method)
    rows = np.column_stack([np.isfinite(instance.cap), splits])
    alike = (rows[1:] == rows[:-1]).all(axis=1)
    expected = ["columns, warm" if same else "columns, cold" for same in alike]
    assert ways == ["columns, cold", *expected]


@settings(max_examples=draws(60))
@given(cases(capped=True), ELASTIC)
def test_priorities_are_kept_one_after_the_other(case, elastic):
    plan = solve_routing(case.problem, elastic=elastic, method="highs", order="lexicographic")
    check_plan(plan, close=1e-7)
    best = case.in_order(elastic)
    assert plan.unserved.sum() == pytest.approx(best.unserved, abs=1e-6)
    assert plan.excess == pytest.approx(best.excess, abs=1e-6)
    assert plan.cost == pytest.approx(best.objective, abs=1e-6)


def alike_in_energy(budget):
    """Two sites: the second saves a thousandth of the energy, and is a hundred times slower."""
    return RoutingProblem(
        demand=np.array([[[1.0], [0.0]]]),
        capacity=np.full((1, 2), 5.0),
        room=np.full(2, np.inf),
        budget=budget,
        work=np.ones(1),
        energy=np.array([[1.0], [0.999]]),
        first=np.array([0, 2, 2]),
        site=np.array([0, 1], dtype=np.int32),
        seconds=np.array([0.01, 1.0]),
        cost=np.array([0.01, 1.0]),
    )


def test_no_penalty_set_in_advance_saves_every_watt_hour():
    problem = alike_in_energy(0.5)
    weighed = solve_routing(problem, method="highs")
    ordered = solve_routing(problem, method="highs", order="lexicographic")
    # 100 times the dearest request for a Wh, against 0.99 for 0.001 Wh.
    assert weighed.excess == pytest.approx(0.5, abs=1e-9)
    assert ordered.excess == pytest.approx(0.499, abs=1e-9)
    assert weighed.cost == pytest.approx(0.01)
    assert ordered.cost == pytest.approx(1.0)
    assert ordered.bound <= ordered.objective


def test_a_budget_between_two_routes_is_met_by_both():
    """One request costs 2 Wh for nothing, or 1 Wh for 10: 1.5 Wh are half of each, for 5."""
    problem = RoutingProblem(
        demand=np.array([[[1.0], [0.0]]]),
        capacity=np.full((1, 2), 5.0),
        room=np.full(2, np.inf),
        budget=1.5,
        work=np.ones(1),
        energy=np.array([[2.0], [1.0]]),
        first=np.array([0, 2, 2]),
        site=np.array([0, 1], dtype=np.int32),
        seconds=np.zeros(2),
        cost=np.array([0.0, 10.0]),
    )
    for method in ("network", "highs", "columns"):
        plan = solve_routing(problem, method=method)
        assert plan.flow == pytest.approx([0.5, 0.5])
        assert plan.cost == pytest.approx(5.0)
        assert plan.energy_price == pytest.approx(10.0)
        assert plan.bound == pytest.approx(5.0)


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e7])
@pytest.mark.parametrize("what", ["energy", "work", "cost", "demand"])
@pytest.mark.parametrize("method", ["highs", "columns"])
def test_units_do_not_matter(method, what, scale):
    """Energies of requests are tiny numbers of Wh: a tolerance must not swallow them."""
    problem = _large()
    other = {
        "energy": {"energy": problem.energy * scale, "budget": problem.budget * scale},
        "work": {"work": problem.work * scale, "capacity": problem.capacity * scale},
        "cost": {"cost": problem.cost * scale},
        "demand": {
            "demand": problem.demand * scale,
            "capacity": problem.capacity * scale,
            "budget": problem.budget * scale,
        },
    }[what]
    factor = {"energy": 1.0, "work": 1.0, "cost": scale, "demand": scale}[what]
    plain = solve_routing(problem, method=method)
    scaled = solve_routing(problem.replace(**other), method=method)
    assert plain.energy_price > 0
    assert scaled.objective == pytest.approx(plain.objective * factor, rel=1e-8, abs=0)
    assert scaled.gap <= 1e-6


def _large(*, sites=12, seed=3, slot=0):
    """A slot in continuous numbers, the budget 5 % short of what would be used."""
    rng = np.random.default_rng(seed)
    types = 3
    fields = {
        "sites": sites,
        "types": types,
        "slots": 1,
        "capable": rng.random((sites, types)) < 0.6,
        "speed": rng.uniform(5, 20, sites),
        "request_work": np.array([0.5, 1.0, 2.0]),
        "request_size": np.array([1.0, 2.0, 1.0]),
        "request_energy": np.outer(rng.uniform(0.5, 1, sites), [0.5, 1.0, 2.0]),
        "capacity": rng.uniform(20, 60, sites),
        "energy_weight": 1.0,
        "delay_weight": 1.0,
    }
    at = np.random.default_rng((seed, slot))
    away = rng.uniform(0, 1, (sites, 2))
    travel = np.hypot(*(away[:, None] - away[None]).transpose(2, 0, 1)) * at.uniform(0.7, 1.3)
    shown = Conditions(
        at.uniform(0, 10, (sites, types)), travel, np.full(types, 1.5), np.full((sites,) * 2, 50.0)
    )
    problem = routing_problem(type("Static", (), fields), shown, price=0.1)
    return problem.replace(budget=0.95 * solve_routing(problem).energy)


def test_few_routes_are_enough_and_the_next_slot_starts_from_them():
    first, second = (_large(sites=60, slot=slot) for slot in range(2))
    solver = RoutingColumns()
    cold = solver.solve(first, first.penalties())
    assert cold.gap <= 1e-6
    assert solver._master.routes.size < first.routes / 3
    warm = solver.solve(second, second.penalties())
    again = RoutingColumns().solve(second, second.penalties(), cold)
    whole = solve_routing(second, method="highs")
    assert (warm.method, again.method) == ("columns, warm", "columns, cold")
    for plan in (warm, again):
        check_plan(plan)
        assert plan.objective == pytest.approx(whole.objective, rel=1e-6)
        assert plan.gap <= 1e-6


def test_prices_are_derivatives_of_the_optimum():
    problem = _large()
    plan = solve_routing(problem, method="highs")
    step = 1e-5
    value = solve_routing(problem, method="highs").objective
    more = problem.replace(budget=problem.budget + step)
    saved = (value - solve_routing(more, method="highs").objective) / step
    assert plan.energy_price == pytest.approx(saved, rel=1e-5)
    assert plan.energy_price > 0
    tight = int(plan.prices.site[0].argmax())
    capacity = problem.capacity.copy()
    capacity[0, tight] += step
    more = problem.replace(capacity=capacity)
    saved = (value - solve_routing(more, method="highs").objective) / step
    assert plan.prices.site[0, tight] == pytest.approx(saved, rel=1e-5)
    assert saved > 0


@settings(max_examples=draws(60))
@given(cases(), st.integers(0, 2**32))
def test_whatever_a_solver_returns_becomes_a_plan(case, seed):
    """Flows off by a tolerance, or by much more: nothing above demand, capacity or room."""
    problem, rng = case.problem, np.random.default_rng(seed)
    exact = solve_routing(problem)
    noise = rng.normal(size=problem.routes) * rng.choice([1e-9, 0.5])
    plan = plan_of(
        problem, exact.penalties, exact.flow + noise, exact.prices, seconds=0.0, method="noisy"
    )
    check_plan(plan)
    assert plan.objective >= exact.objective - 1e-9 * max(1.0, abs(exact.objective))
    clean = plan_of(problem, exact.penalties, exact.flow, exact.prices, seconds=0.0, method="same")
    np.testing.assert_allclose(clean.flow, exact.flow, rtol=1e-12)
    assert clean.bound == pytest.approx(exact.bound)


def test_own_prices_of_what_must_not_happen_are_taken():
    problem = alike_in_energy(0.0)
    for solver in (solve_whole, solve_by_columns):
        lost = solver(problem, Penalties(unserved=0.5, excess=2.0))
        assert (lost.unserved.sum(), lost.excess) == (1.0, 0.0)
        kept = solver(problem, Penalties(unserved=2.5, excess=2.0))
        assert (kept.unserved.sum(), kept.excess) == (0.0, 1.0)
