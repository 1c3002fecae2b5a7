"""Placements that never change: given, greedy, and learnt offline by INFIDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance, generate
from edgeopt.models.idn import Demand, average_gain, greedy
from edgeopt.models.idn.solve import picks
from edgeopt.online import simulate
from edgeopt.online.idn import (
    FixedPlacement,
    IdnEnvironment,
    Infida,
    Slot,
    StaticGreedy,
    node_constants,
    offline_infida,
    serve,
)
from edgeopt.online.idn.environment import ORDERS
from edgeopt.testing.strategies import idn_instances
from tests.certified import linprog
from tests.draws import draws
from tests.models.idn.cases import plain_picks


@given(idn_instances())
def test_every_slot_is_served_by_the_placement(instance: IdnInstance) -> None:
    everything = np.where(instance.pinned[:, np.newaxis], instance.repository, True)
    environment = IdnEnvironment(instance, "fluid")
    trajectory = simulate(environment, FixedPlacement(everything, "All"), runs=1, keep_trace=True)
    assert trajectory.name == "All"
    expected = [serve(instance, r, everything, order="fluid").cost for r in instance.requests]
    np.testing.assert_array_equal(trajectory.cost[0], expected)
    assert (trajectory.hosted == everything).all()
    assert trajectory.fetched.sum() == 0


@given(idn_instances())
def test_static_greedy_deploys_what_greedy_chose(instance: IdnInstance) -> None:
    policy = StaticGreedy.plan(instance)
    expected = greedy(instance, Demand.of(instance, normalised=True))
    np.testing.assert_array_equal(policy.allocation, expected)
    trajectory = simulate(IdnEnvironment(instance), policy, runs=1)
    assert trajectory.name == "Static greedy"
    assert (trajectory.violations == 0).all()


@given(idn_instances(horizon=3))
def test_static_greedy_plans_for_the_demand_that_it_is_given(instance: IdnInstance) -> None:
    weight = np.zeros(instance.horizon)
    weight[0] = 1.0
    first = Demand.of(instance, weight=weight)
    np.testing.assert_array_equal(
        StaticGreedy.plan(instance, first).allocation, greedy(instance, first)
    )


EDGE_AND_CLOUD = IdnInstance(
    edges=[[0, 1]],
    latency=[10.0],
    size=[[1.0, 1.0], [1.0, 1.0]],
    delay=[[1.0, 1.0], [1.0, 1.0]],
    capacity=[[5.0, 5.0], [np.inf, np.inf]],
    accuracy=[90.0, 80.0],
    task=[0, 0],
    budget=[1.0, 2.0],
    repository=[[False, False], [True, False]],
    request_task=[0],
    path=[[0, 1]],
    requests=[[3]],
)


@given(idn_instances(), st.sampled_from(["slots", "mean"]))
def test_the_published_static_greedy_stops_once_no_repository_is_needed(
    instance: IdnInstance, plan: Any
) -> None:
    """Checked pick by pick, each allocation by serving every slot that is planned for."""
    if plan == "mean":
        slots = instance.requests.mean(axis=0, keepdims=True)
        demand = Demand(slots, instance.ranking.potential(slots), np.ones(1))
    else:
        demand = Demand.of(instance, normalised=True)
    planned = [np.rint(slot).astype(int) for slot in demand.requests]
    permanent = instance.ranking.permanent
    expected = np.array(instance.empty)

    def is_served() -> bool:
        return not any(serve(instance, r, expected).load[permanent].any() for r in planned)

    for pair in picks(instance, demand):
        if is_served():
            break
        expected.flat[pair] = True
    found = StaticGreedy.plan(instance, plan=plan, stop="served")
    assert (found.allocation == expected).all()
    full = StaticGreedy.plan(instance, demand)
    assert (full.allocation >= found.allocation).all()


@pytest.mark.parametrize("plan", ["slots", "mean"])
def test_the_published_static_greedy_leaves_budgets_unused(plan: Any) -> None:
    """After the last pick no repository serves anything, before it some does."""
    instance = generate(topology=2, tasks=4, replicas=2, horizon=3, rate=2.0)
    found = StaticGreedy.plan(instance, plan=plan, stop="served").allocation
    order = picks(instance, Demand.of(instance, normalised=True))
    count = int(found.sum() - instance.empty.sum())
    assert 0 < count < order.size
    slot = np.rint(instance.requests.mean(axis=0)).astype(int)
    permanent = instance.ranking.permanent
    assert not serve(instance, slot, found).load[permanent].any()
    before = found.copy()
    before.flat[order[count - 1]] = False
    assert serve(instance, slot, before).load[permanent].any()


def test_picks_are_the_greedy_placement_in_its_order() -> None:
    instance = generate(topology=2, tasks=4, replicas=2, horizon=3)
    demand = Demand.of(instance, normalised=True)
    order = picks(instance, demand)
    assert order.tolist() == plain_picks(instance, demand)
    gains = []
    chosen = np.array(instance.empty)
    for pair in order:
        before = average_gain(instance, demand, chosen)
        chosen.flat[pair] = True
        gains.append((average_gain(instance, demand, chosen) - before) / instance.size.flat[pair])
    # The gain is submodular while capacities are fixed, so that gains per MB only fall: but for
    # models that no longer fit, which make room for nobody.
    assert (chosen == greedy(instance, demand)).all()
    assert min(gains) > 0


def test_the_mean_plan_learns_from_a_single_slot() -> None:
    instance = generate(topology=2, tasks=4, replicas=2, horizon=6, popularity="sliding")
    mean = np.rint(instance.requests.mean(axis=0, keepdims=True)).astype(int)
    alone = instance.replace(requests=mean)
    found = offline_infida(instance, iterations=4, plan="mean", rng=1)
    expected = offline_infida(alone, iterations=4, rng=1)
    assert (found.allocation == expected.allocation).all()
    np.testing.assert_array_equal(found.fractional, expected.fractional)


@pytest.mark.parametrize(
    ("allocation", "named"),
    [
        ([[True, False]], "shape"),
        ([[1, 0], [1, 0]], "bool"),
        ([[True, False], [True, True]], "node 1"),
        ([[True, False], [False, False]], "node 1"),
    ],
)
def test_impossible_placements_are_named(allocation: list[list[bool]], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        FixedPlacement(np.array(allocation)).start(EDGE_AND_CLOUD)


def test_the_placement_cannot_be_changed_afterwards() -> None:
    allocation = np.array([[True, False], [True, False]])
    policy = FixedPlacement(allocation)
    state = policy.start(EDGE_AND_CLOUD)
    allocation[0] = False
    decision, _ = policy.decide(state, Slot(0), np.random.default_rng(0))
    assert decision[0].tolist() == [True, False]
    with pytest.raises(ValueError, match="read-only"):
        decision[0, 0] = False


@given(idn_instances(horizon=3), st.sampled_from(["bernoulli", "half", "fill"]), st.integers(0, 9))
def test_placements_are_feasible(instance: IdnInstance, residual: Any, seed: int) -> None:
    found = offline_infida(instance, Infida(residual=residual), iterations=5, rng=seed)
    y, x = found.fractional, found.allocation
    assert ((y >= 0) & (y <= 1)).all()
    free = ~instance.pinned
    used = (instance.size * y).sum(axis=1)
    assert (used <= instance.budget * (1 + 1e-9))[free].all()
    for one in (x, y):
        np.testing.assert_array_equal(one[instance.pinned], instance.repository[instance.pinned])
    # Whole entries are never rounded to the other side.
    assert x[y > 1 - 1e-9].all()
    assert not x[y < 1e-9].any() or residual == "fill"
    assert simulate(IdnEnvironment(instance), found, runs=1).name == "INFIDA offline"
    if residual != "bernoulli":
        assert ((instance.size * x).sum(axis=1) <= instance.budget * (1 + 1e-9))[free].all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("step", ["adaptive", "theory"])
def test_equal_slots_count_once(order: Any, step: Any) -> None:
    one = generate(horizon=1, tasks=4, replicas=1, rate=50.0)
    many = one.replace(requests=np.repeat(one.requests, 300, axis=0))
    found = [
        offline_infida(i, Infida(step), iterations=20, order=order, rng=3) for i in (one, many)
    ]
    np.testing.assert_array_equal(found[0].fractional, found[1].fractional)
    np.testing.assert_array_equal(found[0].allocation, found[1].allocation)


def test_slots_weigh_by_how_often_they_occur() -> None:
    """Nine slots of one task and one of the other: room for one model, which goes to the first."""
    requests = np.array([[8, 0]] * 9 + [[0, 8]])
    instance = private(capacity=8.0, requests=requests)
    found = offline_infida(instance, iterations=100)
    assert found.fractional[0, 0] > 0.9
    swapped = instance.replace(requests=requests[:, ::-1])
    assert offline_infida(swapped, iterations=100).fractional[0, 1] > 0.9


def private(capacity: float, requests: Any, budget: float = 1.0) -> IdnInstance:
    """Two tasks with a model each, whose only type has it for itself."""
    return IdnInstance(
        edges=[[0, 1]],
        latency=[100.0],
        size=np.ones((2, 2)),
        delay=np.full((2, 2), 10.0),
        capacity=[[capacity] * 2, [np.inf] * 2],
        accuracy=[90.0, 90.0],
        task=[0, 1],
        budget=[budget, 5.0],
        repository=[[False] * 2, [True] * 2],
        request_task=[0, 1],
        path=[[0, 1], [0, 1]],
        requests=requests,
    )


def best_fraction(instance: IdnInstance) -> float:
    """Largest average gain of a fractional allocation, by a linear program."""
    ranking, T = instance.ranking, instance.horizon
    P, pairs = len(ranking), instance.size.size
    demand = instance.requests.astype(float)
    potential = ranking.potential(instance.requests)
    cost = np.concatenate([np.zeros(pairs), np.tile(ranking.cost, T) / T])
    budget = sparse.lil_matrix((instance.nodes, pairs + T * P))
    for v in range(instance.nodes):
        budget[v, v * instance.models : (v + 1) * instance.models] = instance.size[v]
    offered = sparse.lil_matrix((T * P, pairs))
    served = sparse.lil_matrix((T * instance.types, T * P))
    for t in range(T):
        for o in range(P):
            offered[t * P + o, ranking.pair[o]] = -potential[t, o]
            served[t * instance.types + ranking.type[o], t * P + o] = 1.0
    rows = [sparse.hstack([offered, sparse.eye(T * P)]), budget]
    limit = np.concatenate([np.zeros(T * P), instance.budget])
    pinned = np.repeat(instance.pinned, instance.models)
    fixed = instance.repository.ravel()
    bounds = [(float(f), float(f)) if p else (0.0, 1.0) for p, f in zip(pinned, fixed, strict=True)]
    found = linprog(
        cost,
        sparse.vstack(rows),
        limit,
        sparse.hstack([sparse.csr_matrix((served.shape[0], pairs)), served]),
        demand.ravel(),
        bounds=bounds + [(0.0, None)] * (T * P),
    )
    return float(demand.sum(axis=0) @ ranking.repository_cost / T - found.fun)


@settings(max_examples=draws(40))
@given(st.integers(0, 2**32 - 1))
def test_mean_allocation_keeps_the_bound_of_the_proposition(seed: int) -> None:
    """Types that share no model: potential capacities do not depend on what is deployed."""
    rng = np.random.default_rng(seed)
    models = int(rng.integers(2, 6))
    instance = IdnInstance(
        edges=[[0, 1], [1, 2]],
        latency=rng.uniform(5, 50, 2),
        size=rng.uniform(1, 4, (3, models)),
        delay=rng.uniform(1, 30, (3, models)),
        capacity=np.vstack([rng.integers(1, 9, (2, models)), np.full((1, models), np.inf)]),
        accuracy=rng.uniform(50, 100, models),
        task=np.sort(np.append([0, 1], rng.integers(0, 2, models - 2))),
        budget=[2.5, 3.5, 100.0],
        repository=np.repeat([[False], [False], [True]], models, axis=1),
        request_task=[0, 1],
        path=[[0, 1, 2], [0, 1, 2]],
        requests=rng.integers(0, 9, (3, 2)),
    )
    iterations = 60
    found = offline_infida(instance, Infida(step="theory"), iterations=iterations, rng=seed)
    reached = average_gain(instance, Demand.of(instance), found.fractional)
    constants = node_constants(instance)
    free = constants.free
    whole = instance.size.sum(axis=1)[free]
    lost = constants.reach[free] * instance.budget[free]
    lost = (lost * np.sqrt(np.log(whole / instance.budget[free]) / 2)).sum() / np.sqrt(iterations)
    best = best_fraction(instance)
    assert best - lost - 1e-9 <= reached <= best + 1e-7 * max(1.0, best)


def test_many_iterations_come_close() -> None:
    instance = generate(horizon=2, tasks=3, replicas=1, rate=20.0, topology=2)
    found = offline_infida(instance, Infida(), iterations=2000, order="fluid")
    simulated = simulate(IdnEnvironment(instance, "fluid"), found, runs=1)
    short = offline_infida(instance, Infida(), iterations=1, order="fluid")
    first = simulate(IdnEnvironment(instance, "fluid"), short, runs=1)
    assert simulated.time_averaged_gain()[0] > first.time_averaged_gain()[0]


@pytest.mark.parametrize("order", ORDERS)
def test_same_seed_same_placement(order: Any) -> None:
    instance = generate(horizon=2, tasks=3, replicas=1, rate=20.0, topology=2)
    found = [offline_infida(instance, iterations=5, order=order, rng=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(found[0].allocation, found[1].allocation)
    assert (found[0].allocation != found[2].allocation).any()


def test_bad_options_are_named() -> None:
    instance = private(8.0, [[3, 3]])
    with pytest.raises(OptionError, match="iterations"):
        offline_infida(instance, iterations=0)
    with pytest.raises(OptionError, match="order"):
        offline_infida(instance, order="sorted")  # type: ignore[arg-type]
