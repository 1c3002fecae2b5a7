"""Routing in parts, by clusters and by slots, with one price or with shares of the budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.edr.clusters import cluster_sites, merge_clusters, solve_clusters, solve_frame
from edgeopt.models.edr.routing import solve_routing
from tests.draws import draws
from tests.edr.queries import queries

SEEDS = st.integers(0, 2**32 - 1)


def near(query, *values):
    """Return a tolerance: parts are settled to 1e-6 at the price of what must not happen."""
    penalties = query.problem.penalties(query.elastic)
    return 2e-6 * max(1.0, *map(abs, values)) + 1e-8 * max(penalties)


@settings(max_examples=draws(80))
@given(queries(), SEEDS)
def test_clusters_at_one_price_cost_what_routes_within_them_cost(query, seed):
    rng = np.random.default_rng(seed)
    plain, problem = query.case.plain, query.problem
    label = rng.integers(0, rng.integers(1, plain.J + 1), plain.J)
    merged = merge_clusters(label, problem).tolist()
    assert set(merged) == set(range(len(set(merged))))
    for tau in query.slots:
        routes = plain.routes(query.frame, tau)
        for j, _, n in routes:
            if plain.requests[query.frame][tau][j][n] > 0:
                assert any(merged[k] == merged[j] for i, k, m in routes if (i, m) == (j, n))
    for j in range(plain.J):
        for k in range(plain.J):
            assert merged[j] == merged[k] or label[j] != label[k]
    plan = solve_clusters(problem, label, elastic=query.elastic)
    inside = query.penalised(label=merged).objective
    whole = query.penalised().objective
    limit = near(query, inside)
    assert plan.objective == pytest.approx(inside, rel=0, abs=limit)
    assert plan.bound <= whole + limit
    for j, k, amount in zip(problem.origin, problem.site, plan.flow, strict=True):
        assert amount == 0 or merged[j] == merged[k]
    together = solve_clusters(problem, np.zeros(plain.J, dtype=int), elastic=query.elastic)
    assert together.objective == pytest.approx(whole, rel=0, abs=limit)


@settings(max_examples=draws(80))
@given(queries(), SEEDS)
def test_shares_of_the_budget_cost_at_least_as_much(query, seed):
    plain = query.case.plain
    label = np.random.default_rng(seed).integers(0, 2, plain.J)
    best = solve_clusters(query.problem, label, elastic=query.elastic).objective
    for budget in ("even", "proportional"):
        plan = solve_clusters(query.problem, label, elastic=query.elastic, budget=budget)
        assert plan.objective >= best - near(query, best)
        assert plan.bound <= plan.objective + near(query, best)


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


@given(st.integers(1, 12), st.integers(1, 12), SEEDS)
def test_clusters_are_no_larger_than_asked(sites, size, seed):
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 5, (sites, 2))
    apart = np.abs(place[:, None, :] - place[None, :, :]).sum(axis=2)
    label = cluster_sites(apart, size=size)
    counts = np.bincount(label)
    assert counts.max() <= size
    assert counts.size == -(-sites // size)
    assert counts.min() >= 1
