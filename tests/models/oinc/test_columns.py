"""The proven bound of a slot, against all sets and all assignments of tiny problems."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.oinc import generate
from edgeopt.models.oinc.slot import (
    SlotProblem,
    assign,
    assignment_cost,
    slot_problem,
    solve_slot,
)
from edgeopt.models.oinc.slot.columns import branch_and_bound as exact_module
from edgeopt.models.oinc.slot.columns import master, slot_bound, solve_by_columns
from edgeopt.models.oinc.slot.columns.master import roots_of
from edgeopt.models.oinc.slot.columns.pricing import column_cost, search
from tests.certified import linprog
from tests.draws import LEAN, draws, every
from tests.oinc.strategies import slot_problems
from tests.oracles.oinc.slots import brute, cost_of_set


def all_columns(problem, objectives):
    """Cost of every set of requests on every site, infinite where objectives cannot be met."""
    requests = range(problem.requests)
    return {
        (j, members): cost_of_set(problem, j, list(members), objectives=objectives)
        for j in range(problem.sites)
        for size in range(1, problem.requests + 1)
        for members in combinations(requests, size)
    }


def least_mix(problem, cost):
    """Value of the linear program over all columns."""
    columns = [c for c, value in cost.items() if np.isfinite(value)]
    if not columns:
        return np.inf
    cover = np.array([[-1.0 * (i in m) for _, m in columns] for i in range(problem.requests)])
    once = np.array([[1.0 * (j == k) for k, _ in columns] for j in range(problem.sites)])
    sides = np.concatenate([-np.ones(problem.requests), np.ones(problem.sites)])
    answer = linprog([cost[c] for c in columns], np.vstack([cover, once]), sides)
    return answer.fun if answer.status == 0 else np.inf


def proven(problem, cost, prices):
    """Recompute from all sets what prices prove."""
    total = prices.sum()
    for j in range(problem.sites):
        values = [c - prices[list(m)].sum() for (k, m), c in cost.items() if k == j]
        total += min(0.0, *values)
    return total


@pytest.mark.parametrize("objectives", [False, True])
@given(problem=slot_problems(requests=5, sites=3, weighted=None))
@settings(max_examples=draws(80))
def test_the_bound_is_the_best_that_prices_prove(problem, objectives):
    cost = all_columns(problem, objectives)
    optimum, mix = brute(problem, objectives=objectives).cost, least_mix(problem, cost)
    bound = slot_bound(problem, objectives=objectives, gap=1e-7)
    assert bound.value <= optimum * (1 + 1e-9) + 1e-9
    assert bound.certified
    if np.isfinite(mix) or np.isfinite(bound.value):
        assert bound.value == pytest.approx(mix, rel=1e-6)
        assert bound.upper == pytest.approx(mix, rel=1e-6)
        assert bound.gap <= 1e-7
    assert (bound.prices >= 0).all()
    if np.isfinite(bound.value):
        assert bound.value == pytest.approx(bound.prices.sum() + bound.reduced.sum(), rel=1e-12)
        # The search for it left out nothing: all sets prove the same.
        assert proven(problem, cost, bound.prices) == pytest.approx(bound.value, rel=1e-7)
    ascent = slot_bound(problem, objectives=objectives, gap=3e-4, time_limit=0.0)
    assert ascent.value <= mix * (1 + 1e-9)
    if np.isfinite(ascent.value):
        assert proven(problem, cost, ascent.prices) == pytest.approx(ascent.value, rel=1e-7)


@pytest.mark.parametrize("objectives", [False, True])
@given(problem=slot_problems(requests=5, sites=3, weighted=None))
@settings(max_examples=draws(60))
def test_the_plan_is_the_best_of_all(problem, objectives):
    optimum = brute(problem, objectives=objectives).cost
    found = solve_by_columns(problem, objectives=objectives)
    assert found.gap <= 1e-6
    if optimum == np.inf:
        assert found.plan is None
        assert found.objective == found.bound == np.inf
        return
    assert found.objective == pytest.approx(optimum, rel=1e-6)
    assert found.bound == pytest.approx(optimum, rel=2e-6)
    assert found.lagrangian <= optimum * (1 + 1e-9)
    assert found.plan.objective == pytest.approx(found.objective, rel=1e-7)
    assert (found.plan.site >= 0).all()
    if objectives:
        assert found.plan.met.all()


def test_the_plan_is_found_from_a_bad_one_and_rough_prices(monkeypatch):
    monkeypatch.setattr(master, "_generate", lambda *_: False)
    monkeypatch.setattr(master, "ROUNDS", 2)
    monkeypatch.setattr(master, "assign", lambda problem: np.zeros(problem.requests, np.int64))
    rng, n, J = np.random.default_rng(3), 7, 3
    every = np.array(list(product(range(J), repeat=n)))
    picked = 0
    for _ in range(15 if LEAN else 60):
        sending, computing = rng.uniform(0.05, 0.4, (2, n, J))
        problem = SlotProblem(sending, computing, np.full(n, np.inf), rng.uniform(0.3, 1.0, J))
        cost = np.zeros(len(every))
        for j in range(J):
            cost += ((every == j) @ np.sqrt(sending[:, j])) ** 2
            cost += ((every == j) @ np.sqrt(computing[:, j])) ** 2 / problem.room[j]
        found = solve_by_columns(problem)
        assert found.objective == pytest.approx(cost.min(), rel=1e-6)
        assert found.bound == pytest.approx(cost.min(), rel=2e-6)
        picked += found.lagrangian < cost.min() * (1 - 1e-4)
    # Where prices prove less, columns that cost more have to be looked at.
    assert picked > (2 if LEAN else 10)


@given(
    problem=slot_problems(requests=4, sites=3, weighted=None), exponent=st.sampled_from([-20, 40])
)
@settings(max_examples=draws(40))
def test_units_do_not_matter(problem, exponent):
    scale = 2.0**exponent
    other = replace(
        problem,
        transmission=scale * problem.transmission,
        computation=scale * problem.computation,
        slo=scale * problem.slo,
    )
    for objectives in (False, True):
        bound = slot_bound(problem, objectives=objectives)
        scaled = slot_bound(other, objectives=objectives)
        assert scaled.value == pytest.approx(scale * bound.value, rel=1e-9)
        assert scaled.certified == bound.certified


@pytest.mark.parametrize("objectives", [False, True])
@given(problem=slot_problems(requests=5, sites=1, weighted=None))
@settings(max_examples=draws(60))
def test_sets_below_a_cutoff(problem, objectives):
    cost = all_columns(problem, objectives)
    (a, e, s), unit = roots_of(problem, objectives)
    cost = {column: c / unit for column, c in cost.items()}
    n = problem.requests
    for scale, cutoff in ((1.0, 0.0), (0.5, 0.0), (2.0, -1.03)):
        prices = scale * problem.weight * (problem.transmission + problem.computation)[:, 0]
        value = {m: c - prices[list(m)].sum() for (_, m), c in cost.items()}
        if any(abs(v - cutoff) < 1e-9 for v in value.values()):
            continue
        members, none = np.empty(n, np.int64), np.empty((0, n + 1), np.int64)
        least = min(cutoff, *value.values())
        best, size, bound, _ = search(a[0], e[0], s, prices, 0.0, 0.0, cutoff, 10**6, members, none)
        assert best == bound == pytest.approx(least, abs=1e-9)
        if size:
            assert value[tuple(sorted(members[:size]))] == pytest.approx(best, abs=1e-9)
        found = np.empty((2**n, n + 1), np.int64)
        _, count, _, _ = search(a[0], e[0], s, prices, 0.0, 0.0, cutoff, 10**6, members, found)
        sets = {tuple(sorted(row[1 : row[0] + 1])) for row in found[:count]}
        assert sets == {m for m, v in value.items() if v < cutoff}
        for limit in range(4):
            worse, _, bound, _ = search(
                a[0], e[0], s, prices, 0.0, 0.0, cutoff, limit, members, none
            )
            assert bound <= least + 1e-9 <= worse + 2e-9


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
def test_large_sets_are_searched_to_the_end(spread):
    rng, n = np.random.default_rng(7), 11
    every = (np.arange(2**n)[:, np.newaxis] >> np.arange(n)) % 2
    members, none = np.empty(n, np.int64), np.empty((0, n + 1), np.int64)
    sizes = set()
    for _ in range(150):
        a, e = np.exp(spread * rng.standard_normal((2, n)))
        fill = rng.uniform(0.1, 0.9) * np.array([a.sum(), e.sum()])
        prices = 2 * (fill[0] * a + fill[1] * e) * rng.uniform(0.7, 1.3, n)
        value = (every @ a) ** 2 + (every @ e) ** 2 - every @ prices
        found, size, *_ = search(
            a, e, np.full(n, np.inf), prices, 0.0, 0.0, 0.0, 10**6, members, none
        )
        assert found == pytest.approx(value.min(), rel=1e-9, abs=1e-9)
        sizes.add(size)
    assert max(sizes) > n // 2


def test_large_sets_with_objectives_are_searched_to_the_end():
    rng, n = np.random.default_rng(8), 8
    every = [np.flatnonzero((k >> np.arange(n)) % 2) for k in range(1, 2**n)]
    members, none = np.empty(n, np.int64), np.empty((0, n + 1), np.int64)
    bound = 0
    for _ in range(30):
        a, e = rng.uniform(0.2, 1.0, (2, n))
        s = rng.uniform(2.0, 5.0, n)
        costs = [column_cost(a, e, s, m, m.size)[0] for m in every]
        prices = rng.uniform(1.0, 20.0) * rng.uniform(0.7, 1.3, n)
        values = [c - prices[m].sum() for c, m in zip(costs, every, strict=True)]
        found, size, *_ = search(a, e, s, prices, 0.0, 0.0, 0.0, 10**6, members, none)
        assert found == pytest.approx(min(0.0, *values), rel=1e-9, abs=1e-9)
        best = members[:size]
        bound += size > 0 and found + prices[best].sum() > a[best].sum() ** 2 + e[best].sum() ** 2
    assert bound > 10


def test_objectives_that_bind_are_in_the_bound():
    rng, bind = np.random.default_rng(0), 0
    for _ in range(4 if LEAN else 8):
        sending, computing = rng.uniform(0.05, 0.25, (2, 6, 3))
        free = SlotProblem(sending, computing, np.full(6, np.inf), rng.uniform(0.6, 1.0, 3))
        slo = solve_slot(free).latency * rng.choice([0.93, 1.3], 6)
        problem = replace(free, slo=slo)
        optimum = brute(problem, objectives=True).cost
        bound = slot_bound(problem, objectives=True, gap=1e-7)
        assert bound.certified
        assert bound.value <= optimum * (1 + 1e-9)
        mix = least_mix(problem, all_columns(problem, True))
        assert bound.value == pytest.approx(mix, rel=1e-6)
        bind += slot_bound(problem).value * (1 + 1e-4) < bound.value < np.inf
    assert bind >= (1 if LEAN else 2)


def test_the_bound_of_an_overloaded_slot_needs_few_sets():
    whole = slot_problem(generate(devices=40, sites=12, slots=1, jobs=0, duty=1.0, rng=703), 0, 0.2)
    plan = solve_slot(whole)
    assert not plan.met.all()
    met = replace(whole, slo=np.where(plan.met, whole.slo * (1 + 2e-9), np.inf))
    evidence = master.gather(met, objectives=True, gap=1e-3, site=plan.site, time_limit=None)
    assert evidence.gap <= 1e-3
    assert evidence.pool.examined < 10**6


@pytest.mark.parametrize("reserved", every(2, [0.6, 0.0]))
def test_the_search_of_a_slot_is_close_to_its_bound(reserved):
    instance = generate(rng=1, slots=4)
    for slot in range(4):
        problem = slot_problem(instance, slot, reserved)
        cost = assignment_cost(problem, assign(problem))
        bound = slot_bound(problem)
        assert bound.value <= cost
        assert bound.certified
        assert bound.gap <= 1e-4
        assert bound.value >= cost * (1 - 5e-3)
        plan = solve_slot(problem)
        with_objectives = slot_bound(problem, objectives=True)
        assert with_objectives.value >= bound.value * (1 - 1e-4)
        if plan.met.all():
            assert with_objectives.value <= plan.objective * (1 + 1e-9)
            best = solve_by_columns(problem, objectives=True)
            assert best.gap <= 1e-6
            assert with_objectives.value <= best.objective <= plan.objective * (1 + 1e-9)


@pytest.mark.parametrize("duty", every(2, [0.6, 1.0]))
def test_the_ascent_alone_proves_nearly_as_much_as_the_linear_program(duty):
    instance, shares = generate(rng=5, slots=6, duty=duty), []
    for slot in range(instance.slots):
        problem = slot_problem(instance, slot)
        ascent, best = (slot_bound(problem, gap=3e-4, time_limit=one) for one in (0.0, None))
        assert best.certified
        assert ascent.value <= best.upper * (1 + 1e-9)
        assert ascent.value == pytest.approx(ascent.prices.sum() + ascent.reduced.sum(), rel=1e-12)
        for size in (1, 2, 3):
            sets = np.array(list(combinations(range(problem.requests), size)))
            cost = np.sqrt(problem.transmission)[sets].sum(axis=1) ** 2
            cost += np.sqrt(problem.computation)[sets].sum(axis=1) ** 2
            less = cost - ascent.prices[sets].sum(axis=1)[:, np.newaxis]
            assert (less >= ascent.reduced - 1e-9).all()
        shares.append(ascent.value / best.value)
    assert min(shares) >= 1 - 5e-3
    assert np.mean(shares) >= 1 - 1e-3


def test_objectives_that_cannot_be_met():
    times = np.full((2, 1), 0.1)
    problem = SlotProblem(times, times, np.full(2, 0.39), np.ones(1))
    bound = slot_bound(problem, objectives=True)
    assert bound.value == np.inf
    assert bound.certified
    assert bound.gap == 0.0
    assert slot_bound(problem).value == pytest.approx(0.8)


def test_no_requests():
    nothing = np.empty((0, 2))
    problem = SlotProblem(nothing, nothing, np.empty(0), np.ones(2))
    for objectives in (False, True):
        bound = slot_bound(problem, objectives=objectives)
        assert bound.value == 0.0
        assert bound.certified
        assert solve_by_columns(problem, objectives=objectives).objective == 0.0


def test_a_stopped_bound_is_a_bound():
    problem = slot_problem(generate(rng=2, slots=1, duty=1.0), 0)
    bound = slot_bound(problem, time_limit=0.0, gap=1e-9)
    assert bound.value <= assignment_cost(problem, assign(problem))
    assert not bound.certified
    best = solve_by_columns(problem, time_limit=0.0, gap=1e-9)
    assert bound.value == best.bound <= best.objective
    assert best.gap > 1e-9


def test_bad_options():
    problem = slot_problem(generate(rng=2, slots=1), 0)
    for bounds in (slot_bound, solve_by_columns):
        with pytest.raises(OptionError, match="gap"):
            bounds(problem, gap=0.0)
    with pytest.raises(InputError, match=r"site\[1\]"):
        slot_bound(problem, site=np.where(np.arange(problem.requests) == 1, -1, 0))


@pytest.mark.parametrize(
    "options",
    [{"time_limit": np.nan}, {"time_limit": -1}, {"gap": np.ones(4)}, {"gap": 0}, {"gap": None}],
)
def test_limits_are_numbers(options):
    problem = slot_problem(generate(rng=1, sites=2, devices=3, slots=2), 0, 0.0)
    for bound in (slot_bound, solve_by_columns):
        with pytest.raises(OptionError, match=rf"^{next(iter(options))} = "):
            bound(problem, **options)


def test_columns_that_make_up_no_assignment_cost_more_than_any():
    # Each of three sites may take two of three requests: by halves they do, by whole columns not,
    # which the search of a solver alone can tell.
    pairs = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    pool = SimpleNamespace(
        count=3,
        roots=SimpleNamespace(a=np.ones((3, 3))),
        cost=np.ones(3),
        matrix=lambda: np.vstack([pairs, np.eye(3)]),
    )
    assert exact_module._pick(SimpleNamespace(known=np.inf), pool, 1e-6, None) == np.inf
