"""The static problem: brute force, mixed-integer programs, relaxation and concave program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from edgeopt.models.idn import (
    Demand,
    average_gain,
    cooperative_matrix,
    cooperative_placement,
    placement,
    placement_concave,
    placement_matrix,
    solve_placement,
)
from edgeopt.solvers import solve
from tests.idn.cases import array, cases
from tests.oracles.idn import programs

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
def test_relaxation_and_concave_program_are_one(case):
    slots = case.slots(case.rng)
    demand = demand_of(case, slots)
    dense = programs.static_program(case.plain, slots)
    for aggregate in (False, True):
        program = placement_matrix(case.instance, demand, relax=True, aggregate=aggregate)
        assert solve(program).objective == pytest.approx(dense.gain, **CLOSE)
    found = solve_placement(case.instance, demand, relax=True)
    assert found.objective == pytest.approx(dense.gain, **CLOSE)
    assert average_gain(case.instance, demand, found.allocation) == pytest.approx(
        found.objective, **CLOSE
    )
    concave = placement_concave(case.instance, demand)
    concave.solve(solver="CLARABEL")
    assert concave.value == pytest.approx(dense.gain, rel=1e-6, abs=1e-5)


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
