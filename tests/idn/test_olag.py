"""OLAG: by hand, against a plain reference in fractions, and from what nodes see alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn import IdnEnvironment, Olag, Outcome, Slot
from edgeopt.testing.strategies import idn_instances

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
