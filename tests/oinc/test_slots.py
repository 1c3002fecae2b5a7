"""Requests of a slot: relaxation, columns, every assignment and search, each above the last."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.models.oinc.programs import slot_misocp
from edgeopt.models.oinc.slot import assign, assignment_cost, evaluate, solve_slot
from edgeopt.models.oinc.slot.columns import slot_bound, solve_by_columns
from tests.draws import draws
from tests.oinc import draw
from tests.oracles.oinc import cones, slots

SEEDS = st.integers(0, 2**32 - 1)
SOLVED = 1e-6
TIGHT = 1e-8
EXACT = 1e-9


def least_of_sets(problem, prices, reduced, *, objectives):
    """Return by how much a set of requests on a site costs less than its prices say, at most."""
    worst = 0.0
    n = problem.requests
    for j in range(problem.sites):
        for chosen in range(1, 2**n):
            members = [i for i in range(n) if chosen >> i & 1]
            cost = slots.cost_of_set(problem, j, members, objectives=objectives)
            worst = max(worst, reduced[j] - (cost - sum(prices[i] for i in members)))
    return worst


def check_bound(problem, bound, *, objectives):
    """The prices prove the value: every set is dearer than they and the part of its site say."""
    assert (bound.prices >= 0).all()
    assert (bound.reduced <= 0).all()
    total = bound.prices.sum() + bound.reduced.sum()
    assert bound.value == pytest.approx(total, rel=1e-12, abs=1e-12)
    off = least_of_sets(
        problem, bound.prices.tolist(), bound.reduced.tolist(), objectives=objectives
    )
    assert off <= EXACT * max(1.0, bound.value)


@given(SEEDS)
def test_relaxation_columns_search_and_every_assignment_without_objectives(seed):
    problem = draw.slot(seed)
    best = slots.brute(problem, objectives=False)
    bound = slot_bound(problem, objectives=False, gap=TIGHT)
    plan = solve_slot(problem, objectives=False)
    assert cones.relaxation(problem, objectives=False) <= bound.value * (1 + SOLVED) + SOLVED
    assert bound.value <= best.cost * (1 + EXACT)
    assert best.cost <= plan.objective * (1 + EXACT)
    assert best.cost == pytest.approx(assignment_cost(problem, np.array(best.site)), rel=1e-12)
    check_bound(problem, bound, objectives=False)


@given(SEEDS)
def test_relaxation_columns_search_and_every_assignment_with_objectives(seed):
    """Columns cost the shares that keep objectives, and sets that cannot keep them are left out.

    The plan counts where it meets all objectives; then they can be met.
    """
    problem = draw.slot(seed)
    best = slots.brute(problem, objectives=True)
    bound = slot_bound(problem, objectives=True, gap=TIGHT)
    plan = solve_slot(problem)
    split = cones.relaxation(problem, objectives=True)
    assert split == bound.value == math.inf or split <= bound.value * (1 + SOLVED) + SOLVED
    if best.site is None:
        assert not plan.met.all()
        return
    assert bound.value <= best.cost * (1 + 1e-7)
    check_bound(problem, bound, objectives=True)
    if plan.met.all():
        assert best.cost <= plan.objective * (1 + 1e-7)


@given(SEEDS)
def test_columns_prove_which_assignment_is_best(seed):
    """The exact finish is the best of all assignments, and knows when there is none."""
    objectives = seed % 2 == 0
    problem = draw.slot(seed // 2, slack=None if objectives else 2.0)
    best = slots.brute(problem, objectives=objectives)
    proven = solve_by_columns(problem, objectives=objectives)
    if best.site is None:
        assert proven.plan is None
        assert proven.bound == math.inf
        return
    assert proven.objective == pytest.approx(best.cost, rel=1e-6)
    assert proven.bound <= best.cost * (1 + 1e-7)
    assert proven.bound >= best.cost * (1 - 2e-6)
    assert proven.plan.objective == pytest.approx(proven.objective, rel=1e-9)
    if objectives:
        assert proven.plan.met.all()


@settings(max_examples=draws(100))
@given(SEEDS)
def test_a_plan_that_keeps_all_objectives_is_near_the_best(seed):
    """It is at least as dear as the best one and, with so few requests, hardly dearer."""
    problem = draw.slot(seed, slack=2.5)
    plan = solve_slot(problem)
    best = slots.brute(problem, objectives=True)
    if best.site is None:
        assert not plan.met.all()
        return
    assert evaluate(problem, np.array(best.site)).met.all()
    assume(plan.met.all())
    assert best.cost * (1 - 1e-7) <= plan.objective <= best.cost * 1.05


@settings(max_examples=draws(40))
@given(SEEDS)
def test_the_program_of_the_package_is_the_relaxation(seed):
    problem = draw.slot(seed, requests=3, sites=2)
    objectives = seed % 2 == 0
    expected = cones.relaxation(problem, objectives=objectives)
    model = slot_misocp(problem, objectives=objectives, relax=True)
    value = model.solve(solver="CLARABEL")
    if expected == math.inf:
        assert value == math.inf
    else:
        assert value == pytest.approx(expected, rel=1e-5, abs=1e-6)


@settings(max_examples=draws(100))
@given(SEEDS)
def test_no_move_and_no_swap_helps(seed):
    """The search stops where no request alone, nor two together, could do better elsewhere."""
    problem = draw.slot(seed, requests=5)
    site = assign(problem)
    n, J = problem.requests, problem.sites
    cost = assignment_cost(problem, site)
    for i in range(n):
        for j in range(J):
            other = site.copy()
            other[i] = j
            assert assignment_cost(problem, other) >= cost * (1 - EXACT)
        for k in range(i):
            other = site.copy()
            other[i], other[k] = site[k], site[i]
            assert assignment_cost(problem, other) >= cost * (1 - EXACT)
