"""OLAG: by hand, against a plain reference in fractions, and from what nodes see alone."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.online import simulate
from edgeopt.online.idn import ORDERS, IdnEnvironment, Olag, Outcome, Slot
from tests.strategies import idn_instances

OPTIONS = list(itertools.product(["seen", "forwarded"], ["shared", "literal"]))


def ran(instance: IdnInstance, policy: Olag, order: Any = "sequential") -> list[Any]:
    """Pairs of decision and outcome of every slot."""
    environment = IdnEnvironment(instance, order)
    rng = np.random.default_rng(5)
    [scenario] = environment.scenarios(rng, 1)
    episode = environment.episode(scenario)
    state, steps = policy.start(environment.instance), []
    while (observation := episode.observe()) is not None:
        decision, state = policy.decide(state, observation, rng)
        outcome = episode.act(decision)
        state = policy.learn(state, observation, decision, outcome)
        steps.append((decision, outcome))
    return steps


class Node:
    """One node of the reference: it is handed the requests that pass, by type."""

    def __init__(self, instance: IdnInstance, v: int, options: tuple[str, str]) -> None:
        self.instance, self.v = instance, v
        self.cumulative, self.shared = options[0] == "forwarded", options[1] == "shared"
        self.quality: dict[tuple[int, int], Fraction] = {}
        ranking = instance.ranking
        for o in np.flatnonzero(ranking.node == v):
            rho = int(ranking.type[o])
            saved = Fraction(ranking.repository_cost[rho]) - Fraction(ranking.cost[o])
            if saved > 0:
                self.quality[int(ranking.model[o]), rho] = saved
        self.counters: dict[tuple[int, int], Fraction] = defaultdict(Fraction)

    def learn(self, passing: dict[int, Fraction]) -> set[int]:
        if not self.cumulative:
            self.counters.clear()
        for m, rho in self.quality:
            self.counters[m, rho] += passing[rho]
        left, chosen = dict(self.counters), set[int]()
        instance, v = self.instance, self.v
        room = instance.budget[v]
        while True:
            weight = {}
            for m in range(instance.models):
                if m not in chosen and instance.size[v, m] <= room:
                    worth = sum(
                        (q * self.served(left, k, rho) for (k, rho), q in self.quality.items()
                         if k == m),
                        Fraction(0),
                    )  # fmt: skip
                    weight[m] = worth / Fraction(instance.size[v, m]) / instance.types
            best = max(weight, key=lambda m: (weight[m], -m), default=None)
            if best is None or weight[best] == 0:
                return chosen
            chosen.add(best)
            room -= instance.size[v, best]
            for rho in range(instance.types):
                if (best, rho) not in self.quality:
                    continue
                taken, top = self.served(left, best, rho), self.quality[best, rho]
                for (m, other), q in self.quality.items():
                    if other == rho and (m == best or q < top or (self.shared and q == top)):
                        left[m, rho] -= min(taken, left[m, rho])

    def served(self, left: dict[tuple[int, int], Fraction], m: int, rho: int) -> Fraction:
        capacity = self.instance.capacity[self.v, m]
        return left[m, rho] if np.isinf(capacity) else min(left[m, rho], Fraction(capacity))


def passing(instance: IdnInstance, v: int, load: Any, *, on: bool) -> dict[int, Fraction]:
    """Requests of each type that reached node v, or that it sent on."""
    ranking, counts = instance.ranking, {}
    for rho in range(instance.types):
        path = [int(u) for u in instance.path[rho] if u >= 0]
        here = path.index(v) + on if v in path else len(path)
        options = range(*ranking.options(rho).indices(len(ranking)))
        counts[rho] = sum(
            (Fraction(load[o]) for o in options if ranking.position[o] >= here), Fraction(0)
        )
    return counts


@st.composite
def crowded(draw: st.DrawFn) -> IdnInstance:
    """Draw two edge nodes with room for some of many models of two tasks, below a cloud."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    models, shape = 8, (3, 8)
    capacity = rng.integers(1, 12, shape).astype(float)
    capacity[2] = np.inf
    return IdnInstance(
        edges=[[0, 1], [1, 2]],
        latency=[8.0, 16.0],
        size=rng.integers(1, 6, shape) / 2.0,
        delay=rng.integers(0, 40, shape) / 2.0,
        capacity=capacity,
        accuracy=100.0 - rng.integers(0, 20, models),
        task=[0, 0, 0, 0, 0, 1, 1, 1],
        budget=[4.0, 5.0, 100.0],
        repository=[[False] * models, [False] * models, [True] * models],
        request_task=[0, 1, 0],
        path=[[0, 1, 2], [0, 1, 2], [1, 2]],
        requests=rng.integers(0, 20, (4, 3)),
    )


@given(
    st.one_of(idn_instances(cost=None), crowded()),
    st.sampled_from(OPTIONS),
    st.sampled_from(ORDERS[:2]),
)
def test_plain_twin_chooses_the_same(
    instance: IdnInstance, options: tuple[Any, Any], order: Any
) -> None:
    steps = ran(instance, Olag(*options), order)
    np.testing.assert_array_equal(steps[0][0], instance.repository)
    nodes = [Node(instance, v, options) for v in np.flatnonzero(~instance.pinned)]
    for (_, outcome), (decision, _) in itertools.pairwise(steps):
        for node in nodes:
            counts = passing(instance, node.v, outcome.load, on=options[0] == "forwarded")
            chosen = node.learn(counts)
            assert set(np.flatnonzero(decision[node.v])) == chosen


@given(idn_instances(), st.sampled_from(OPTIONS), st.sampled_from(ORDERS))
def test_budgets_are_kept(instance: IdnInstance, options: tuple[Any, Any], order: Any) -> None:
    environment = IdnEnvironment(instance, order)
    trajectory = simulate(environment, Olag(*options), runs=2)
    assert (trajectory.violations == 0).all()


@given(idn_instances(), st.sampled_from(OPTIONS))
def test_nodes_know_what_passes_them_and_nothing_else(
    instance: IdnInstance, options: tuple[Any, Any]
) -> None:
    """Another outcome elsewhere does not change what a node chooses."""
    policy, rng = Olag(*options), np.random.default_rng(1)
    ranking = instance.ranking
    for v in np.flatnonzero(~instance.pinned):
        touched = np.array([v in path for path in instance.path])
        loads = []
        for _ in range(2):
            load = rng.integers(0, 5, len(ranking)).astype(float)
            if loads:
                # The same at the node and beyond it; below it anything, and elsewhere too.
                for rho in np.flatnonzero(touched):
                    here = int(np.flatnonzero(instance.path[rho] == v)[0])
                    options_of = ranking.options(rho)
                    beyond = ranking.position[options_of] >= here
                    load[options_of][beyond] = loads[0][options_of][beyond]
            loads.append(load)
        rows = []
        for load in loads:
            state = policy.start(instance)
            outcome = Outcome(instance.requests[0], load, rng.random(len(ranking)), rng.random())
            state = policy.learn(state, Slot(0), instance.empty, outcome)
            rows.append(state.allocation[v])
        np.testing.assert_array_equal(*rows)


def small(capacity: float, requests: list[int], size: float = 1.0) -> IdnInstance:
    """Two equal replicas, and a poorer model, below a cloud that is 100 ms away."""
    return IdnInstance(
        edges=[[0, 1]],
        latency=[100.0],
        size=[[size, size, 1.0], [1.0, 1.0, 1.0]],
        delay=[[10.0, 10.0, 10.0], [10.0, 10.0, 10.0]],
        capacity=[[capacity, capacity, 50.0], [np.inf] * 3],
        accuracy=[90.0, 90.0, 50.0],
        task=[0, 0, 0],
        budget=[2.0 * size, 10.0],
        repository=[[False] * 3, [True] * 3],
        request_task=[0],
        path=[[0, 1]],
        requests=[[r] for r in requests],
        alpha=1.0,
    )


def hosted(instance: IdnInstance, **options: Any) -> list[list[int]]:
    """Models at node 0 in every slot."""
    return [np.flatnonzero(d[0]).tolist() for d, _ in ran(instance, Olag(**options))]


def test_one_copy_suffices_where_ties_are_shared() -> None:
    instance = small(5.0, [5, 5, 5])
    assert hosted(instance) == [[], [0], [0]]
    assert hosted(instance, ties="literal") == [[], [0, 1], [0, 1]]


def test_a_second_copy_serves_the_rest() -> None:
    assert hosted(small(3.0, [5, 5])) == [[], [0, 1]]
    # The replicas take 6 of 8 requests; 2 are left for the poorer model, which is cheap in MB.
    assert hosted(small(3.0, [8, 8], size=2.0)) == [[], [0, 2]]


def test_forwarded_requests_add_up_and_served_ones_do_not_count() -> None:
    instance = small(5.0, [5, 5, 9, 9])
    policy = Olag(counters="forwarded")
    environment = IdnEnvironment(instance)
    episode = environment.episode(environment.scenarios(np.random.default_rng(0), 1)[0])
    state, seen = policy.start(environment.instance), []
    while (observation := episode.observe()) is not None:
        decision, state = policy.decide(state, observation, np.random.default_rng(0))
        state = policy.learn(state, observation, decision, episode.act(decision))
        seen.append(state.counters.tolist())
    # One copy serves 5 of 9: 4 more forwarded, then a second copy serves them.
    assert seen == [[5.0] * 3, [5.0] * 3, [9.0] * 3, [9.0] * 3]


def test_names_tell_the_reading() -> None:
    assert [Olag(*options).name for options in OPTIONS] == [
        "OLAG",
        "OLAG, literal ties",
        "OLAG, forwarded",
        "OLAG, forwarded, literal ties",
    ]


@pytest.mark.parametrize("options", [{"counters": "served"}, {"ties": "<"}])
def test_unknown_options_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Olag(**options)


def test_the_future_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    one = small(5.0, rng.integers(0, 9, 6).tolist())
    two = one.replace(requests=np.vstack([one.requests[:4], 9 - one.requests[4:]]))
    assert hosted(one)[:5] == hosted(two)[:5]
