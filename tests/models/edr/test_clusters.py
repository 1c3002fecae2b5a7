"""Clusters of sites: how they are formed, what they cost, and one price of energy for all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from edgeopt.errors import InputError, OptionError
from edgeopt.models.edr.clusters import (
    Offer,
    cluster_sites,
    common_price,
    merge_clusters,
    site_distance,
    solve_clusters,
)
from edgeopt.models.edr.routing import RoutingProblem, solve_routing
from edgeopt.models.edr.routing.highs import solve_whole
from edgeopt.models.edr.routing.network import solve_by_network
from tests.draws import draws
from tests.models.edr.routing_cases import cases, check_plan
from tests.strategies import edr_instances

ELASTIC = st.sampled_from(["soft", "shed"])
BUDGETS = st.sampled_from(["even", "proportional", "price"])


def labels(data, sites):
    return np.array(data.draw(st.lists(st.integers(0, 2), min_size=sites, max_size=sites)))


def within(problem, label):
    """Keep the routes that do not leave a cluster."""
    kept = np.flatnonzero(label[problem.origin] == label[problem.site])
    return problem.restricted(kept)


# --- forming -----------------------------------------------------------------------------


@settings(max_examples=draws(100))
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**32))
def test_clusters_are_few_and_not_too_large(sites, size, seed):
    at = np.random.default_rng(seed).integers(0, 4, (sites, 2)).astype(float)
    label = cluster_sites(np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)), size=size)
    assert label.shape == (sites,)
    counts = np.bincount(label)
    assert counts.max() <= size
    assert counts.min() >= 1
    assert counts.size == -(-sites // size)
    firsts = [int(np.flatnonzero(label == c)[0]) for c in range(counts.size)]
    assert firsts == sorted(firsts)


def test_towns_apart_are_told_apart():
    rng = np.random.default_rng(1)
    town = rng.permutation(np.repeat(np.arange(4), 10))
    at = 100.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[town] + rng.normal(size=(40, 2))
    label = cluster_sites(np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)), size=12)
    assert len(set(zip(town, label, strict=True))) == 4


def test_most_clusters_are_the_best_ones():
    """Turns of assigning and moving end where neither helps: of 40 draws at the best in 25."""
    best = 0
    for seed in range(40):
        at = np.random.default_rng(seed).normal(size=(8, 2))
        apart = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
        fits = (c for c in product(range(2), repeat=8) if 3 <= sum(c) <= 5)
        least = min(spread(apart, chosen) for chosen in fits)
        reached = spread(apart, cluster_sites(apart, size=5).tolist())
        assert least - 1e-9 <= reached <= 1.5 * least
        best += reached <= least + 1e-9
    assert best >= 22


def spread(apart, chosen):
    """Return the distances to the medoids of some clusters."""
    total = 0.0
    for cluster in set(chosen):
        inside = [j for j, c in enumerate(chosen) if c == cluster]
        total += apart[np.ix_(inside, inside)].sum(axis=0).min()
    return total


@settings(max_examples=draws(60))
@given(cases(), st.data())
def test_joined_clusters_leave_nobody_without_a_route(case, data):
    problem = case.problem
    label = labels(data, problem.sites)
    merged = merge_clusters(label, problem)
    # Clusters are only joined, never split.
    assert len(set(zip(label, merged, strict=True))) == len(set(label))
    inside = within(problem, merged)
    asked = (problem.demand.ravel() > 0) & (np.diff(problem.first) > 0)
    assert (np.diff(inside.first)[asked] > 0).all()
    needless = np.diff(within(problem, label).first)[asked]
    if (needless > 0).all():
        assert len(set(merged)) == len(set(label))


def test_an_origin_in_need_joins_the_cluster_of_its_fastest_route():
    problem = one_slot(
        demand=[[1.0], [0.0], [0.0], [0.0]], ends=[(0, 1), (0, 3)], seconds=[2.0, 1.0]
    )
    assert merge_clusters([0, 1, 2, 2], problem).tolist() == [0, 1, 0, 0]
    # Once the first origin has joined the third site, the second one needs nobody else.
    problem = one_slot(
        [[1.0], [1.0], [0.0], [0.0]], [(0, 2), (1, 2), (1, 3)], seconds=[1.0, 2.0, 1.0]
    )
    assert merge_clusters([0, 0, 1, 2], problem).tolist() == [0, 0, 0, 1]
    with pytest.raises(InputError, match="label"):
        merge_clusters([0, 1], problem)


def test_bad_distances_are_named():
    for bad, what in (
        ([[0.0, 1.0]], "square"),
        ([[0.0, -1.0], [1.0, 0.0]], r"distance\[0, 1\]"),
        ([[0.0, np.nan], [1.0, 0.0]], r"distance\[0, 1\]"),
    ):
        with pytest.raises(InputError, match=what):
            cluster_sites(bad)
    with pytest.raises(OptionError, match="size"):
        cluster_sites([[0.0]], size=0)


@settings(max_examples=draws(25))
@given(edr_instances(frames=2, tasks=0))
def test_sites_are_as_far_apart_as_signals_take(instance):
    apart = site_distance(instance)
    assert (apart == apart.T).all()
    for j, k in np.ndindex(apart.shape):
        both = instance.propagation[:, :, j, k] + instance.propagation[:, :, k, j]
        assert apart[j, k] == pytest.approx(both.mean())


# --- routing within ------------------------------------------------------------------------


@settings(max_examples=draws(60))
@given(cases(), ELASTIC, BUDGETS, st.data())
def test_clusters_cost_no_less_than_the_whole_and_say_so(case, elastic, budget, data):
    problem = case.problem
    label = merge_clusters(labels(data, problem.sites), problem)
    plan = solve_clusters(problem, label, elastic=elastic, budget=budget)
    check_plan(plan)
    assert (label[problem.origin] == label[problem.site])[plan.flow > 0].all()
    whole = solve_routing(problem, elastic=elastic)
    close = 1e-9 * max(1.0, abs(whole.objective))
    assert plan.objective >= whole.objective - close
    assert plan.bound <= whole.objective + close


@settings(max_examples=draws(50))
@given(cases(), ELASTIC, st.data())
def test_one_price_is_optimal_within_clusters(case, elastic, data):
    problem = case.problem
    label = merge_clusters(labels(data, problem.sites), problem)
    inside = within(problem, label)
    plan = solve_clusters(problem, label, elastic=elastic, gap=1e-12)
    # The penalties are those of the whole problem.
    best = solve_whole(inside, problem.penalties(elastic))
    assert plan.objective == pytest.approx(best.objective, rel=1e-7, abs=1e-7)


@settings(max_examples=draws(50))
@given(cases(), ELASTIC)
def test_clusters_that_no_flow_would_leave_cost_nothing(case, elastic):
    problem = case.problem
    whole = solve_routing(problem, elastic=elastic)
    used = np.flatnonzero(whole.flow)
    ends = (problem.origin[used], problem.site[used])
    links = coo_array((np.ones(used.size), ends), shape=(problem.sites,) * 2)
    label = connected_components(links, directed=False)[1]
    plan = solve_clusters(problem, label, elastic=elastic, gap=1e-12)
    close = 1e-8 * max(1.0, abs(whole.objective))
    assert plan.objective == pytest.approx(whole.objective, abs=close)
    assert plan.bound <= whole.objective + close


def test_clusters_prove_that_they_cost_nothing_where_prices_are_unique():
    """Two towns, five seconds apart: no plan sends anything across, whatever is full."""
    rng = np.random.default_rng(5)
    sites = 10
    town = np.arange(sites) % 2
    ends = [(j, k) for j in range(sites) for k in range(sites)]
    seconds = rng.uniform(0, 1, len(ends)) + [5.0 * (town[j] != town[k]) for j, k in ends]
    problem = one_slot(
        rng.uniform(1, 9, (sites, 1)), ends, seconds, energy=rng.uniform(0.5, 1, sites)
    )
    problem = problem.replace(capacity=np.full((1, sites), 6.5))
    problem = problem.replace(budget=0.97 * solve_routing(problem).energy)
    plan = solve_clusters(problem, town, gap=1e-12)
    assert (plan.prices.site > 0).sum() > 2
    assert plan.energy_price > 0
    assert plan.objective == pytest.approx(solve_routing(problem).objective, rel=1e-9)
    assert plan.gap <= 1e-9
    # Drawn at random, clusters are told by the same bound how much they cost.
    other = solve_clusters(problem, np.arange(sites) // 5, gap=1e-12)
    assert other.objective > plan.objective * 1.01
    assert other.bound <= plan.objective * (1 + 1e-9)


def one_slot(demand, ends, seconds, *, cost=None, energy=None, budget=np.inf):
    """One slot of sites with capacity for all; routes (origin, site) of one type, in order."""
    demand = np.array([demand])
    sites = demand.shape[1]
    origin = np.array([j for j, _ in ends])
    return RoutingProblem(
        demand=demand,
        capacity=np.full((1, sites), 100.0),
        room=np.full(sites, np.inf),
        budget=budget,
        work=np.ones(1),
        energy=np.ones((sites, 1)) if energy is None else np.array(energy)[:, None],
        first=np.searchsorted(origin, np.arange(sites + 1)),
        site=np.array([k for _, k in ends], dtype=np.int32),
        seconds=np.array(seconds),
        cost=np.array(seconds if cost is None else cost),
    )


def test_clusters_exchange_energy_at_one_price(monkeypatch):
    """Energy is worth 10 per Wh in the first cluster and 1 in the second: it goes to the first."""
    problem = one_slot(
        [[1.0], [0.0], [1.0], [0.0]],
        [(0, 0), (0, 1), (2, 2), (2, 3)],
        [0.0] * 4,
        cost=[0.0, 10.0, 0.0, 1.0],
        energy=[2.0, 1.0, 2.0, 1.0],
        budget=3.0,
    )
    label = [0, 0, 1, 1]
    shared = solve_clusters(problem, label)
    parted = solve_clusters(problem, label, budget="proportional")
    assert shared.cost == pytest.approx(1.0)
    assert parted.cost == pytest.approx(5.5)
    assert 1.0 <= shared.energy_price <= 10.0
    assert shared.bound == pytest.approx(1.0)
    # The mix of both sides of the price: the expensive cluster gives up a quarter of a Wh.
    solved = []
    monkeypatch.setattr(
        "edgeopt.models.edr.clusters.solve.solve_by_network",
        lambda *given: solved.append(given) or solve_by_network(*given),
    )
    less = solve_clusters(problem.replace(budget=2.75), label)
    assert len(solved) <= 2 * 5
    assert less.cost == pytest.approx(3.5)
    assert less.energy == pytest.approx(2.75)
    assert less.energy_price == pytest.approx(10.0)
    assert less.flow == pytest.approx([0.75, 0.25, 0.0, 1.0])


def test_processes_find_the_same_plan():
    rng = np.random.default_rng(4)
    ends = [(j, k) for j in range(8) for k in range(8)]
    problem = one_slot(
        rng.uniform(1, 9, (8, 1)),
        ends,
        rng.uniform(0, 1, 64),
        energy=rng.uniform(0.5, 1, 8),
        budget=28.0,
    )
    label = [0, 0, 1, 1, 2, 2, 3, 3]
    alone, together = (solve_clusters(problem, label, workers=n) for n in (1, 2))
    assert alone.energy_price > 0
    np.testing.assert_array_equal(alone.flow, together.flow)
    assert alone.bound == together.bound


def test_unknown_ways_to_share_are_named():
    problem = one_slot([[1.0]], [(0, 0)], [0.0])
    with pytest.raises(OptionError, match="budget = 'all'"):
        solve_clusters(problem, [0], budget="all")


# --- the common price ----------------------------------------------------------------------


@settings(max_examples=draws(150))
@given(st.integers(0, 2**32), st.integers(1, 6), st.floats(0.0, 1.2), st.floats(0.0, 30.0))
def test_the_common_price_is_the_dual_optimum(seed, parts, tightness, start):
    """Parts that choose among some (energy, cost): the optimum over mixtures is a tiny LP."""
    from tests.certified import linprog

    rng = np.random.default_rng(seed)
    energy = rng.integers(0, 8, (parts, 4)).astype(float)
    cost = rng.integers(-5, 20, (parts, 4)).astype(float)
    least, most = energy.min(axis=1).sum(), energy.max(axis=1).sum()
    budget = float(least + tightness * (most - least))
    asked = []

    def offer(price, near):
        asked.append(price)
        value = cost + price * energy
        choice = value.argmin(axis=1)
        at = (np.arange(parts), choice)
        return Offer(price, energy[at].sum(), cost[at].sum(), value.min(axis=1).sum(), choice)

    mix = common_price(offer, budget, 25.0, gap=1e-12, start=start)
    cells = np.kron(np.eye(parts), np.ones(4))
    best = linprog(
        np.append(cost.ravel(), 25.0),
        np.append(energy.ravel(), -1.0)[None, :],
        [budget],
        np.column_stack([cells, np.zeros(parts)]),
        np.ones(parts),
    )
    reached = mix.weight * mix.low.cost + (1 - mix.weight) * mix.high.cost
    reached += 25.0 * max(mix.energy - budget, 0.0)
    assert reached == pytest.approx(best.fun, abs=1e-8)
    assert mix.bound == pytest.approx(best.fun, abs=1e-8)
    assert 0.0 <= mix.weight <= 1.0
    assert 0.0 <= mix.best.price <= 25.0
    assert len(asked) <= 4 * parts + 6
