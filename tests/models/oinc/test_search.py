"""Searches of a slot: against full scans in plain loops, and against every set of objectives."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.oinc import generate
from edgeopt.models.oinc.slot import (
    SlotProblem,
    allocate,
    evaluate,
    fits,
    most_met,
    slot_problem,
    solve_slot,
)
from edgeopt.models.oinc.slot.local_search import (
    LEAST,
    TERMS,
    descend,
    measure,
    no_tables,
    restore,
    sums_cost,
)
from edgeopt.models.oinc.slot.polish import FEW, improve_exactly, site_cost
from tests.draws import LEAN, draws

SEEDS = st.integers(0, 10**6)


def drawn(seed: int, requests: int = 6, sites: int = 3, ties: bool = False) -> SlotProblem:
    """Requests that often do not all fit; with ties, most of them are the same."""
    rng = np.random.default_rng(seed)
    n, J = int(rng.integers(2, requests + 1)), int(rng.integers(1, sites + 1))
    load = rng.uniform(0.5, 2.5)

    def times() -> np.ndarray:
        if ties:
            return load * rng.choice([0.1, 0.2], (n, J))
        return load * rng.uniform(0.02, 0.3, (n, 1)) * rng.uniform(0.5, 2.0, (n, J))

    slo = rng.choice([0.4, 0.8], n) if ties else rng.uniform(0.2, 1.0, n)
    return SlotProblem(times(), times(), slo, rng.uniform(0.5, 1.0, J))


def fitting(problem: SlotProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Terms, limits and an assignment that keeps all objectives, if it is found."""
    plan = solve_slot(problem, unfit="refuse", tolerance=0.5)
    if not plan.met.any():
        return None
    slo = np.where(plan.met, problem.slo, np.inf)
    terms = measure(problem.transmission, problem.computation, slo, problem.weight, problem.room)
    return terms, problem.weight * slo, np.maximum(plan.site, 0)


def full_scan(
    terms: np.ndarray, limit: np.ndarray, site: list[int], tolerance: float
) -> tuple[list[int], int]:
    """The same search without bounds: each change is weighed exactly."""
    n, sites, _ = terms.shape
    flags, prices = np.empty(n + 1, dtype=bool), np.empty(2)

    def cost(j: int, members: list[int]) -> float:
        mine = np.array(members, dtype=np.int64)
        return site_cost(terms, limit, mine, mine.size, j, flags, prices)

    for step in range(1000):
        sets = [[i for i in range(n) if site[i] == j] for j in range(sites)]
        costs = [cost(j, sets[j]) for j in range(sites)]
        best, chosen = -tolerance * sum(costs), None
        for i in range(n):
            here = site[i]
            less = cost(here, [o for o in sets[here] if o != i]) - costs[here]
            for j in range(sites):
                if j != here and less + cost(j, [*sets[j], i]) - costs[j] < best:
                    best, chosen = less + cost(j, [*sets[j], i]) - costs[j], [(i, j)]
        for here in range(sites):
            for there in range(here):
                for i in sets[here] if chosen is None or len(chosen) > 2 else []:
                    for k in sets[there]:
                        one = cost(here, [*(o for o in sets[here] if o != i), k]) - costs[here]
                        other = cost(there, [*(o for o in sets[there] if o != k), i])
                        if one + other - costs[there] < best:
                            best = one + other - costs[there]
                            chosen = [(i, there), (k, here), (-1, -1)]
                if chosen is not None and len(chosen) > 2:
                    chosen = chosen[:2]
        if chosen is None:
            return site, step
        for i, j in chosen:
            site[i] = j
    raise AssertionError("the search goes in circles")


@settings(max_examples=draws(200))
@given(SEEDS, st.booleans(), st.sampled_from([1e-9, 1e-4]))
def test_bounds_change_no_step_of_the_search(seed, ties, tolerance):
    found = fitting(drawn(seed, requests=7 if LEAN else 9, sites=4, ties=ties))
    if found is None:
        return
    terms, limit, site = found
    expected, steps = full_scan(terms, limit, site.tolist(), tolerance)
    assert improve_exactly(terms, limit, site, 1000, tolerance) == steps
    assert site.tolist() == expected


def scanned(terms: np.ndarray, site: list[int], penalty: float) -> tuple[list[int], int]:
    """The descent without tables or bounds: each change is weighed in every step."""
    n, sites, _ = terms.shape

    def cost(j: int, come: int = -1, gone: int = -1) -> float:
        total = sums[j].copy()
        total += terms[come, j] if come >= 0 else 0.0
        total -= terms[gone, j] if gone >= 0 else 0.0
        return float(sums_cost(*total, penalty))

    for step in range(1000):
        sums = np.zeros((sites, 5))
        for i in range(n):
            sums[site[i]] += terms[i, site[i]]
        costs = [cost(j) for j in range(sites)]
        best, chosen = -LEAST * sum(costs), []
        for i in range(n):
            less = cost(site[i], gone=i) - costs[site[i]]
            for j in range(sites):
                if j != site[i] and less + cost(j, come=i) - costs[j] < best:
                    best, chosen = less + cost(j, come=i) - costs[j], [(i, j)]
        for i in range(n):
            for k in range(i):
                here, there = site[i], site[k]
                change = cost(here, k, i) - costs[here] + cost(there, i, k) - costs[there]
                if here != there and change < best:
                    best, chosen = change, [(i, there), (k, here)]
        if not chosen:
            return site, step
        for i, j in chosen:
            site[i] = j
    raise AssertionError("the descent goes in circles")


@settings(max_examples=draws(100))
@given(SEEDS, st.booleans(), st.sampled_from([0.0, 0.1, 1.0]))
def test_what_is_kept_of_other_sites_changes_no_step_of_the_descent(seed, ties, urgency):
    problem, rng = drawn(seed, requests=14, sites=5, ties=ties), np.random.default_rng(seed)
    terms = measure(
        problem.transmission, problem.computation, problem.slo, problem.weight, problem.room
    )
    penalty, tables = urgency * terms[..., :2].min(axis=1).sum() ** 2, no_tables(terms)
    # Tables may be of another assignment: the second start is near what the first one led to.
    site = rng.integers(problem.sites, size=problem.requests)
    for _ in range(2):
        expected, steps = scanned(terms, site.tolist(), penalty)
        assert descend(tables, site, penalty, 1000) == steps
        assert site.tolist() == expected
        site[rng.integers(site.size)] = rng.integers(problem.sites)


def most(problem: SlotProblem) -> int:
    """Most objectives that can be met, by all sets that each site can keep."""
    n = problem.requests
    reached = {0}
    for j in range(problem.sites):
        kept = [
            sum(1 << i for i in members)
            for size in range(n + 1)
            for members in combinations(range(n), size)
            if fits(
                problem.transmission[list(members), j],
                problem.computation[list(members), j],
                problem.slo[list(members)],
                float(problem.room[j]),
            ).feasible
        ]
        reached = {old | new for old in reached for new in kept}
    return max(found.bit_count() for found in reached)


@settings(max_examples=draws(300))
@given(SEEDS, st.booleans())
def test_as_many_objectives_are_met_as_can_be(seed, ties):
    problem = drawn(seed, ties=ties)
    expected = most(problem)
    found = most_met(problem, exact=True)
    assert found.bound == expected
    plan = evaluate(problem, found.site, unfit="refuse")
    assert plan.met.sum() == (found.site >= 0).sum() == expected
    assert most_met(problem).bound >= expected
    assert solve_slot(problem, unfit="refuse").met.sum() == expected
    assert solve_slot(problem).met.sum() <= expected


def most_in_time(problem: SlotProblem, late: float) -> int:
    """Most objectives met when every request is answered, by all assignments."""
    plans = (
        evaluate(problem, np.array(site), late=late)
        for site in product(range(problem.sites), repeat=problem.requests)
    )
    return max(int(plan.met.sum()) for plan in plans)


@settings(max_examples=draws(100))
@given(SEEDS, st.booleans(), st.sampled_from([1.1, 3.0]))
def test_late_plans_meet_at_most_what_the_best_assignment_does(seed, ties, late):
    problem = drawn(seed, requests=4, ties=ties)
    found = int(solve_slot(problem, late=late).met.sum())
    assert found <= most_in_time(problem, late) <= most(problem)


@settings(max_examples=draws(100))
@given(SEEDS)
def test_what_is_restored_keeps_what_others_are_promised(seed):
    rng = np.random.default_rng(seed)
    problem = drawn(seed, requests=12)
    late = 1.1
    site = rng.integers(problem.sites, size=problem.requests)
    plan = evaluate(problem, site, late=late)
    own = np.where(plan.met, problem.slo, np.where(plan.latency <= late, late, np.inf))
    before = own.copy()
    terms = measure(
        problem.transmission, problem.computation, problem.slo, problem.weight, problem.room
    )
    restore(terms, problem.slo, late, rng.permutation(problem.requests), own, site)
    assert (own <= problem.slo).sum() >= plan.met.sum()
    assert np.isfinite(own).sum() >= np.isfinite(before).sum()
    for j in range(problem.sites):
        mine = np.flatnonzero((site == j) & np.isfinite(own))
        room = float(problem.room[j])
        assert fits(
            problem.transmission[mine, j], problem.computation[mine, j], own[mine], room
        ).stretch <= 1.0 + 1e-9  # fmt: skip


def test_overloaded_slots_meet_nearly_as_many_as_can_be():
    met = bound = 0
    for seed in range(3):
        instance = generate(devices=40, sites=12, slots=1, jobs=0, duty=1.0, rng=seed)
        problem = slot_problem(instance, 0, 0.2)
        met += int(solve_slot(problem, unfit="refuse").met.sum())
        bound += most_met(problem).bound
    assert 0.96 * bound <= met <= bound < 120


def test_without_objectives_all_are_met():
    problem = replace(drawn(3), slo=np.full(drawn(3).requests, np.inf))
    assert most_met(problem).bound == problem.requests
    assert solve_slot(problem).met.all()
    with pytest.raises(Exception, match="tolerance"):
        solve_slot(problem, tolerance=2.0)


def test_a_slot_without_requests_reads_no_table() -> None:
    tables = no_tables(np.empty((0, 3, TERMS)))
    tables.worth[:], tables.chosen[:] = -1.0, 0
    assert descend(tables, np.empty(0, dtype=np.int64), 1.0, 9) == 0


def fewest_refused(problem: SlotProblem) -> tuple[int, float]:
    """Try every plan: fewest requests refused, then the least sum of latencies."""

    @cache
    def cost(site: int, members: tuple[int, ...]) -> float:
        those = list(members)
        return allocate(
            problem.transmission[those, site], problem.computation[those, site],
            problem.slo[those], weight=problem.weight[those], room=float(problem.room[site]),
        ).objective  # fmt: skip

    best = problem.requests + 1, np.inf
    for site in product(range(-1, problem.sites), repeat=problem.requests):
        if site.count(-1) <= best[0]:
            each = [
                cost(j, tuple(i for i, at in enumerate(site) if at == j)) for j in set(site) - {-1}
            ]
            best = min(best, (site.count(-1) if np.inf not in each else np.inf, sum(each)))
    return best


@settings(max_examples=draws(100))
@given(SEEDS, st.booleans())
def test_fewest_are_refused_and_the_others_answered_soonest(seed: int, ties: bool) -> None:
    problem = drawn(seed, ties=ties)
    weighed = replace(
        problem, weight=np.random.default_rng(seed).uniform(0.5, 2.0, problem.requests)
    )
    for one in (problem, weighed):
        plan = solve_slot(one, unfit="refuse")
        refused, latency = fewest_refused(one)
        assert plan.met[plan.site >= 0].all()
        assert (plan.site < 0).sum() == refused
        if refused:
            assert plan.objective == pytest.approx(latency, rel=1e-6)


@pytest.mark.parametrize("seed", range(draws(40)))
def test_nobody_refused_could_take_the_place_of_another_at_less_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, J = int(rng.integers(FEW + 1, 16)), int(rng.integers(1, 4))
    size = rng.uniform(0.2, 1.0, (n, 1)) * J / n
    problem = SlotProblem(
        size * rng.uniform(0.5, 2.0, (n, J)),
        size * rng.uniform(0.5, 2.0, (n, J)),
        rng.uniform(0.2, 0.8, n),
        rng.uniform(0.5, 1.0, J),
    )
    plan = solve_slot(problem, unfit="refuse")
    for i, k in product(np.flatnonzero(plan.site < 0), np.flatnonzero(plan.site >= 0)):
        for j in range(J):
            site = plan.site.copy()
            site[k], site[i] = -1, j
            other = evaluate(problem, site, unfit="refuse")
            if (other.site >= 0).sum() == (plan.site >= 0).sum():
                assert other.objective >= plan.objective * (1.0 - 2e-4)
