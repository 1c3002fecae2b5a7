"""Routing in Pyomo and as arrays: the same rows, the same optimum, with and without z."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.edr.routing import Penalties, Prices, dual_bound
from edgeopt.models.edr.routing.matrix import routing_matrix
from edgeopt.solvers import solve
from tests.draws import draws
from tests.models.edr.declared_routing import routing_lp
from tests.models.edr.routing_cases import cases
from tests.models.matrix_forms import assert_same_program

AXES = {
    "y": ("slot", "origin", "site", "type"),
    "u": ("slot", "origin", "type"),
    "z": ("slot", "site"),
    "excess": (),
    "eq_1d": ("slot", "origin", "type"),
    "eq_1h": ("slot", "site"),
    "eq_3a": (),
    "room": ("site",),
}
ORDERS = st.sampled_from(["soft", "shed", Penalties(7.0, 3.0)])


@settings(max_examples=draws(60))
@given(cases(), ORDERS)
def test_the_matrix_form_holds_the_declared_rows(case, elastic):
    problem = case.problem
    model, program = routing_lp(problem, elastic=elastic), routing_matrix(problem, elastic=elastic)
    assert_same_program(model, program, AXES)


@settings(max_examples=draws(50))
@given(cases(), st.sampled_from(["soft", "shed"]))
def test_duals_become_prices_that_prove_the_optimum(case, elastic):
    problem = case.problem
    solution = solve(routing_matrix(problem, elastic=elastic))
    prices = prices_of(problem, solution.duals)
    bound = dual_bound(problem, prices, elastic)
    assert bound == pytest.approx(solution.objective, rel=1e-7, abs=1e-7)


def prices_of(problem, duals):
    """Return the prices that the duals of the rows stand for: they are derivatives of the value."""
    count, pairs = problem.demand.size, problem.capacity.size
    limited = np.isfinite(problem.room)
    room = np.zeros(problem.sites)
    room[limited] = -duals[count + pairs :][: int(limited.sum())]
    return Prices(
        energy=max(0.0, -float(duals[-1])) if np.isfinite(problem.budget) else 0.0,
        site=np.maximum(-duals[count : count + pairs].reshape(problem.capacity.shape), 0.0),
        room=np.maximum(room, 0.0),
    )
