"""A frame slot by slot, with one price or with shares of the budget, against enumeration."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from edgeopt.models.edr.routing import solve_frame, solve_routing
from tests.draws import draws
from tests.edr.queries import queries


def near(query, *values):
    """Return a tolerance: parts are settled to 1e-6 at the price of what must not happen."""
    penalties = query.problem.penalties(query.elastic)
    return 2e-6 * max(1.0, *map(abs, values)) + 1e-8 * max(penalties)


@settings(max_examples=draws(80))
@given(queries(whole=True))
def test_slots_at_one_price_cost_what_the_frame_costs(query):
    whole = solve_routing(query.problem, elastic=query.elastic).objective
    limit = near(query, whole)
    plan = solve_frame(query.problem, elastic=query.elastic)
    assert plan.objective == pytest.approx(whole, rel=0, abs=limit)
    assert plan.bound <= whole + limit
    for budget in ("even", "proportional"):
        parts = solve_frame(query.problem, elastic=query.elastic, budget=budget)
        assert parts.objective >= whole - limit
