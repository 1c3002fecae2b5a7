"""A network that changes: links and nodes that are down, capacity by slot, and what is proven."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings

from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.instances.idn import IdnInstance, from_bundled, generate
from edgeopt.models.idn import solve_moving
from edgeopt.online import simulate
from edgeopt.online.idn import FixedPlacement, IdnEnvironment, Infida, Olag, StaticGreedy
from tests.draws import draws, some
from tests.idn.cases import cases
from tests.oracles.idn import plain, programs, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.idn.cases import Case

NETWORK = from_bundled(horizon=18, tasks=6)
BOOKS = ("reward", "violations", "cost", "latency", "inaccuracy", "fetched")


def busiest(instance: IdnInstance) -> tuple[tuple[int, int], int]:
    """Return the first link that can fail, by how many paths use it, and the busiest node."""
    steps = [
        tuple(sorted((u, v)))
        for row in instance.path.tolist()
        for u, v in itertools.pairwise([v for v in row if v >= 0])
    ]
    for link in sorted(set(steps), key=steps.count, reverse=True):
        try:
            instance.without(links=[link])
        except InstanceError:
            continue
        break
    passed = np.bincount(instance.path[instance.path >= 0], minlength=instance.nodes)
    return link, int(np.argmax(np.where(instance.pinned, 0, passed)))


LINK, NODE = busiest(NETWORK)
LESS = NETWORK.replace(
    budget=np.where(NETWORK.pinned, NETWORK.budget, 0.6 * NETWORK.budget),
    capacity=np.where(NETWORK.repository, NETWORK.capacity, np.floor(0.5 * NETWORK.capacity)),
)
CHANGES = [
    (4, NETWORK.without(links=[LINK])),
    (7, NETWORK.without(links=[LINK], nodes=[NODE])),
    (10, LESS),
    (14, NETWORK),
]
LARGE = ((NETWORK.size > np.median(NETWORK.size)) & ~NETWORK.pinned[:, None]).astype(float)
LICENCES = 0.9 * float((LARGE * Infida(residual="fill").start(NETWORK).fractional).sum())

POLICIES = {
    "infida": Infida(),
    "infida+": Infida.recommended(),
    "rare": Infida(residual="fill", coins="common", refresh=5),
    "leader": Infida(residual="drop", ascent="leader"),
    "theory": Infida(residual="reserve", step="theory", pairs="useful"),
    "rows": Infida(residual="fill", rows=[(LARGE, LICENCES)], keep="always"),
    "rows of the leader": Infida(residual="half", ascent="leader", rows=[(LARGE, LICENCES)]),
    "olag": Olag(),
    "forwarded": Olag(counters="forwarded"),
    "greedy": StaticGreedy.plan(NETWORK),
}
LEAN = "infida", "infida+", "rare", "rows", "forwarded", "greedy"


def steps(environment: IdnEnvironment, policy: Any, seed: int = 0) -> Iterator[tuple]:
    """Yield (network in force, slot, state, decision, outcome) by hand, with carried states."""
    arrivals, coins = np.random.default_rng(seed).spawn(2)
    episode = environment.episode(environment.scenarios(arrivals, 1)[0])
    state, at = policy.start(environment.instance), dict(environment.changes)
    network = environment.truth
    while (slot := episode.observe()) is not None:
        network = at.get(slot.index, network)
        if slot.network is not None:
            assert not slot.network.requests.any()
            state = policy.carry(state, slot.network)
        decision, state = policy.decide(state, slot, coins)
        outcome = episode.act(decision)
        yield network, slot.index, state, decision, outcome
        state = policy.learn(state, slot, decision, outcome)


# --- links and nodes that are down -----------------------------------------------------------


@settings(max_examples=draws(100), deadline=None)
@given(cases(nodes=5))
def test_broken_paths_become_the_shortest_and_others_stay(case: Case) -> None:
    instance, rng = case.instance, case.rng
    assume(instance.edges.shape[0] and instance.cost is None)
    links = rng.permutation(instance.edges)[: int(rng.integers(1, 3))]
    node = [] if rng.random() < 0.5 else [int(rng.integers(instance.nodes))]
    graph = nx.Graph()
    graph.add_nodes_from(range(instance.nodes))
    for (u, v), w in zip(instance.edges.tolist(), instance.latency.tolist(), strict=True):
        if not any({u, v} == set(link) for link in links.tolist()):
            graph.add_edge(u, v, weight=w)
    expected = []
    for row, task in zip(instance.path.tolist(), instance.request_task.tolist(), strict=True):
        route = [v for v in row if v >= 0]
        homes = {
            v
            for v in range(instance.nodes)
            if instance.repository[v, instance.task == task].any() and v not in node
        }
        whole = all(graph.has_edge(u, v) for u, v in itertools.pairwise(route))
        if not (whole and route[-1] in homes):
            away = nx.single_source_dijkstra_path_length(graph, route[0])
            expected.append(min((away[v] for v in homes if v in away), default=None))
        else:
            expected.append(route)
    if None in expected:
        with pytest.raises(InstanceError, match="can reach no repository of task"):
            instance.without(links=links, nodes=node)
        return
    found = instance.without(links=links, nodes=node)
    for row, wanted in zip(found.path.tolist(), expected, strict=True):
        route = [v for v in row if v >= 0]
        assert all(graph.has_edge(u, v) for u, v in itertools.pairwise(route))
        if isinstance(wanted, list):
            assert route == wanted
        else:
            taken = sum(graph.edges[u, v]["weight"] for u, v in itertools.pairwise(route))
            assert taken == pytest.approx(wanted)
    assert not found.active[node].any()
    assert not found.capacity[node].any()
    assert (found.fingerprint() == instance.fingerprint()) == (found == instance)


def test_what_is_down_is_refused_by_name() -> None:
    tree = generate(topology=2, rng=0, horizon=3)
    alone = r"path\[0\]: node 3 can reach no repository of task 0 any more; keep a link"
    for wrong, says in [
        ({"links": [(1, 0)]}, alone),
        ({"nodes": [0]}, alone),
        ({"links": [(3, 4)]}, "links: there is none between nodes 3 and 4"),
        ({"links": [3]}, "links = 3: must be several"),
        ({"links": [(1, 2, 3)]}, r"links = \(1, 2, 3\): must be pairs of nodes"),
        ({"nodes": [5]}, "nodes = 5: must be at most 4"),
    ]:
        with pytest.raises((InstanceError, OptionError), match=says):
            tree.without(**wrong)
    ring = tree.replace(
        edges=[*tree.edges.tolist(), [1, 3]], latency=[*tree.latency, 9.0],
        cost=np.ones((*tree.path.shape, tree.models)),
    ).with_labels({"edge": list("abcde")})  # fmt: skip
    with pytest.raises(InstanceError, match=r"cost.*: stands for the costs of paths that change"):
        ring.without(links=[(2, 1)])
    assert ring.without(links=[(3, 1)]).labels["edge"] == tuple("abcd")


def test_environments_refuse_other_networks_and_slots() -> None:
    for changes, says in [
        ([(0, NETWORK)], r"changes\[0\]: slot = 0: must be at least 1"),
        ([(2, NETWORK), (2, NETWORK)], r"changes\[1\]: slot = 2: must be at least 3"),
        ([(18, NETWORK)], r"changes\[0\]: slot = 18: must be at most 17"),
        ([3], r"changes\[0\]: must be \(slot, network\)"),
        ([(3, from_bundled(horizon=18, tasks=5))], r"changes\[0\]: task: must be those of"),
        ([(3, NETWORK.replace(requests=NETWORK.requests + 1))], r"changes\[0\]: requests: must be"),
    ]:
        with pytest.raises((InputError, OptionError), match=says):
            IdnEnvironment(NETWORK, changes=changes)


# --- policies in a network that changes --------------------------------------------------------


@pytest.mark.parametrize("name", some(POLICIES, *LEAN))
def test_a_network_that_is_as_before_changes_nothing(name: str) -> None:
    same = [(slot, pickle.loads(pickle.dumps(NETWORK))) for slot in (1, 5, 6)]
    one = simulate(IdnEnvironment(NETWORK), POLICIES[name], runs=2, compiled=False)
    two = simulate(IdnEnvironment(NETWORK, changes=same), POLICIES[name], runs=2)
    for book in BOOKS:
        assert np.array_equal(getattr(one, book), getattr(two, book), equal_nan=True)


@pytest.mark.parametrize("name", some(POLICIES, *LEAN))
def test_after_a_change_nothing_uses_what_is_down(name: str) -> None:
    policy, environment = POLICIES[name], IdnEnvironment(NETWORK, changes=CHANGES)
    rewards = []
    for network, slot, state, decision, outcome in steps(environment, policy):
        ranking, size = network.ranking, network.size
        assert outcome.cost == pytest.approx(ranking.cost @ outcome.load, rel=1e-9)
        assert np.array_equal(outcome.requests, network.requests[slot])
        used = np.where(decision, size, 0.0).sum(axis=1)
        if isinstance(policy, Infida | Olag) and name != "infida":
            assert (used <= network.budget * (1 + 1e-9)).all()
        for o in np.flatnonzero(outcome.load):
            route = network.path[ranking.type[o], : ranking.position[o] + 1].tolist()
            if slot < 10 and slot >= 4:
                assert not any({u, v} == set(LINK) for u, v in itertools.pairwise(route))
            assert not (slot in (7, 8, 9) and route[-1] == NODE)
        if slot in (7, 8, 9):
            assert not decision[NODE].any()
        if isinstance(policy, Infida):
            share = state.fractional
            held = (share * size).sum(axis=1)
            free = state.constants.free
            assert held[free] == pytest.approx(state.constants.budget[free], rel=1e-9)
            assert (held <= network.budget * (1 + 1e-9)).all()
            assert ((share >= 0) & (share <= 1)).all()
            for entries, limit in policy.rows:
                assert (np.array(entries) * share).sum() <= limit * (1 + 1e-8)
        rewards.append((network.ranking.repository_cost @ outcome.requests) - outcome.cost)
    books = simulate(environment, policy, rng=0, runs=1, keep_trace=True)
    assert np.allclose(books.total, books.reward.sum())
    assert len(rewards) == books.horizon
    if name in ("olag", "forwarded", "greedy"):  # the arrivals alone are drawn
        assert books.reward.shape == (1, 18)
    assert not books.hosted[7:10, NODE].any()


def test_shares_are_carried_over_to_the_nearest() -> None:
    """The projection of what was there is checked against its optimality conditions."""
    environment = IdnEnvironment(NETWORK, changes=[(10, LESS)])
    seen = list(steps(environment, Infida()))
    policy = Infida()
    before = policy.learn(seen[9][2], None, seen[9][3], seen[9][4])
    after = seen[10][2]
    free = after.constants.free
    assert free.sum() > 5
    for v in np.flatnonzero(free):
        old, new = before.fractional[v], after.fractional[v]
        inside = (new > 0) & (new < 1)
        ratio = new[inside] / old[inside]
        # min(1, mu y) with one mu: weighted entropy under a budget that binds.
        assert ratio == pytest.approx(np.full(ratio.size, ratio[0]), rel=1e-9)
        assert (old[new == 1] * ratio[0] >= 1 - 1e-9).all()


def test_a_fixed_placement_is_there_again_when_its_node_is() -> None:
    policy = StaticGreedy.plan(NETWORK)
    down = NETWORK.without(nodes=[NODE])
    environment = IdnEnvironment(NETWORK, changes=[(3, down), (6, NETWORK)])
    books = simulate(environment, policy, runs=1, keep_trace=True)
    assert not books.hosted[3:6, NODE].any()
    assert policy.allocation[NODE].any()
    assert (books.hosted[6] == policy.allocation).all()
    back = (NETWORK.size * policy.allocation)[NODE].sum()
    assert books.fetched[0] == pytest.approx(np.where(np.arange(18) == 6, back, 0.0))
    assert not books.violations.any()


class Counting(FixedPlacement):
    """It cannot carry anything over."""

    carry = None
    started: list[IdnInstance]

    def start(self, instance: IdnInstance) -> Any:
        self.started.append(instance)
        return instance.empty


def test_a_policy_that_carries_nothing_over_starts_anew() -> None:
    policy = Counting(NETWORK.empty)
    object.__setattr__(policy, "started", [])
    simulate(IdnEnvironment(NETWORK, changes=CHANGES[:2]), policy, runs=2)
    networks = [NETWORK, *(network for _, network in CHANGES[:2] * 2)]
    silent = [one.replace(requests=np.zeros_like(one.requests)) for one in networks]
    assert policy.started == silent


# --- the bound -----------------------------------------------------------------------------------


@settings(max_examples=draws(60), deadline=None)
@given(cases(nodes=3, models=4, slots=3))
def test_the_bound_holds_for_the_best_moving_placements(case: Case) -> None:
    instance, rng = case.instance, case.rng
    least = np.where(instance.repository, instance.size, 0.0).sum(axis=1)
    poorer = instance.replace(
        capacity=np.where(
            instance.repository, instance.capacity, np.floor(instance.capacity * rng.random())
        ),
        budget=np.where(instance.pinned, least, instance.budget * rng.random()),
    )
    first, second = (instance, poorer) if rng.random() < 0.5 else (poorer, instance)
    environment = IdnEnvironment(first, changes=[(int(rng.integers(1, 3)), second)])
    best, slot = [], 0
    for epoch in environment.epochs:
        network = plain(epoch)
        for requests in network.requests:
            assert requests == tuple(instance.requests[slot].tolist())
            slot += 1
            base = sum(r * network.repository_cost(n) for n, r in enumerate(requests))
            gains = [
                base - cost_of(network, serving.sequential(network, requests, x, order))
                for x in programs.allocations(network)
                for order in itertools.permutations(range(network.R))
            ]
            best.append(max(gains) / sum(requests) if sum(requests) else Fraction(0))
    found = solve_moving(environment.epochs)
    assert float(sum(best)) / len(best) <= found.bound + 1e-9 * max(1.0, found.bound)
    assert found.objective <= found.bound + 1e-9
    with pytest.raises(OptionError, match="instances: there is none"):
        solve_moving([])


def cost_of(network: Any, load: Any) -> Any:
    return sum(
        o.cost * amount
        for n, row in enumerate(load)
        for o, amount in zip(network.options(n), row, strict=True)
    )


def test_environments_with_changes_are_copied_and_stay_below_their_bound() -> None:
    environment = IdnEnvironment(NETWORK, changes=CHANGES)
    again = pickle.loads(pickle.dumps(environment))
    assert [one.fingerprint() for one in again.epochs] == [
        one.fingerprint() for one in environment.epochs
    ]
    bound = solve_moving(environment.epochs).bound
    one, two = (simulate(each, Infida.recommended(), runs=2) for each in (environment, again))
    assert np.array_equal(one.reward, two.reward)
    assert 0.9 * bound < one.time_averaged_gain().mean() <= bound
