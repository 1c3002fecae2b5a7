"""Static placements: the cooperative bound, the greedy algorithm, and the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from edgeopt.models.idn import (
    Demand,
    average_gain,
    cooperative_matrix,
    cooperative_placement,
    marginal_gains,
    placement,
    placement_matrix,
    solve_placement,
)
from edgeopt.models.idn.bounds import solve_cooperative
from edgeopt.solvers import solve
from tests.draws import LEAN
from tests.idn.cases import array, cases, draw_allocation, draw_network
from tests.models.idn.cases import within_budgets
from tests.oracles.idn import gains, programs, serving, submodular

CLOSE = {"rel": 1e-7, "abs": 1e-6}


def demand_of(case, slots):
    return Demand.of(
        case.instance, potential=np.array([case.per_option(s.potential) for s in slots])
    )


@given(cases(nodes=3))
def test_brute_force_is_the_optimum_of_the_compiled_program(case):
    slots = case.slots(case.rng)
    demand = demand_of(case, slots)
    best, _ = programs.best_static(case.plain, slots)
    found = solve_placement(case.instance, demand, gap=1e-9)
    assert found.allocation.dtype == bool
    x = [list(map(int, row)) for row in found.allocation.tolist()]
    value = programs.average_gain(case.plain, slots, x)
    assert found.objective == pytest.approx(float(value), abs=1e-9)
    assert found.objective == pytest.approx(float(best), **CLOSE)
    assert found.bound >= float(best) - 1e-6
    for v in range(case.plain.V):
        if case.plain.pinned(v):
            assert found.allocation[v].tolist() == list(case.plain.repository[v])
        else:
            assert (
                sum(s for s, k in zip(case.plain.size[v], x[v], strict=True) if k)
                <= (case.plain.budget[v])
            )
    for aggregate in (False, True):
        program = placement_matrix(case.instance, demand, aggregate=aggregate)
        assert solve(program, gap=1e-9).objective == pytest.approx(float(best), **CLOSE)


@given(cases(nodes=3, models=4))
def test_brute_force_is_the_optimum_of_the_declared_program(case):
    slots = case.slots(case.rng)
    best, _ = programs.best_static(case.plain, slots)
    found = solve(placement(case.instance, demand_of(case, slots)), gap=1e-9)
    assert found.objective == pytest.approx(float(best), **CLOSE)


@given(cases(nodes=3))
def test_relaxation_is_that_of_a_dense_program(case):
    slots = case.slots(case.rng)
    demand = demand_of(case, slots)
    dense = programs.static_program(case.plain, slots)
    for aggregate in (False, True):
        program = placement_matrix(case.instance, demand, relax=True, aggregate=aggregate)
        assert solve(program).objective == pytest.approx(dense.gain, **CLOSE)
    found = solve_placement(case.instance, demand, relax=True)
    assert within_budgets(case.instance, found.allocation)
    assert found.objective == pytest.approx(dense.gain, **CLOSE)
    assert average_gain(case.instance, demand, found.allocation) == pytest.approx(
        found.objective, **CLOSE
    )


@given(cases(nodes=3, models=4))
def test_cooperative_programs_are_those_written_row_by_row(case):
    slots = programs.slots_of(case.plain)
    demand = Demand.of(case.instance)
    whole = programs.cooperative_program(case.plain, slots, relax=False).gain
    shares = programs.cooperative_program(case.plain, slots).gain
    for relax, value in ((False, whole), (True, shares)):
        for aggregate in (False, True):
            program = cooperative_matrix(case.instance, demand, relax=relax, aggregate=aggregate)
            assert solve(program, gap=1e-9).objective == pytest.approx(value, **CLOSE)
        declared = cooperative_placement(case.instance, demand, relax=relax)
        assert solve(declared, gap=1e-9).objective == pytest.approx(value, **CLOSE)


@given(cases(nodes=3))
def test_every_allocation_is_worth_what_the_oracle_says(case):
    slots = case.slots(case.rng)
    demand = demand_of(case, slots)
    for x in programs.allocations(case.plain):
        value = programs.average_gain(case.plain, slots, x)
        found = average_gain(case.instance, demand, array(x))
        assert found == pytest.approx(float(value), abs=1e-9)


@given(cases())
def test_marginal_gains_are_differences_of_gains(case):
    rng = case.rng
    slots = case.slots(rng)
    x = tuple(tuple(map(int, row)) for row in draw_allocation(case.plain, rng))
    found = marginal_gains(case.instance, demand_of(case, slots), np.array(x, dtype=bool))
    for v in range(case.plain.V):
        for m in range(case.plain.M):
            exact = 0
            if not case.plain.pinned(v) and not x[v][m]:
                exact = submodular.marginal(case.plain, slots, x, v, m)
                assert submodular.marginal_by_formula(case.plain, slots, x, v, m) == exact
            assert found[v, m] == pytest.approx(float(exact), abs=1e-9)


def best_at_run_time(plain, x):
    """Return the average gain of an allocation in the kindest order of arrivals of each slot."""
    total = plain.number(0)
    for requests in plain.requests:
        alone = gains.serving_cost(plain, requests, plain.potential(requests), plain.repository)
        orders = serving.every_order(plain, requests, x)
        total += alone - min(serving.cost_of(plain, load) for load in orders)
    return total / plain.T


@given(cases(nodes=3))
def test_no_static_placement_gains_more_at_run_time(case):
    slots = programs.slots_of(case.plain)
    bound = solve_cooperative(case.instance, gap=1e-6).bound
    whole = programs.cooperative_program(case.plain, slots, relax=False)
    assert whole.gain <= bound + 1e-6
    best = max(float(best_at_run_time(case.plain, x)) for x in programs.allocations(case.plain))
    assert best <= bound + 1e-9
    assert best <= whole.gain + 1e-6


def test_the_bound_is_met_where_nobody_shares():
    """A network in which one type has every model to itself: cooperation gains nothing."""
    met, seeds = 0, 20 if LEAN else 60
    for seed in range(seeds):
        network = draw_network(seed, nodes=3, slots=1)
        network = replace(
            network, types=network.types[:1], requests=tuple(r[:1] for r in network.requests)
        )
        slots = programs.slots_of(network)
        best, _ = programs.best_static(network, slots)
        whole = programs.cooperative_program(network, slots, relax=False)
        assert whole.gain == pytest.approx(float(best), abs=1e-6)
        met += best > 0
    assert met > seeds / 3
