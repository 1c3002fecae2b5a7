"""OLAG: what nodes see alone, its names and its options."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Olag, Outcome, Slot
from edgeopt.studies import find_system, systems
from edgeopt.testing.strategies import idn_instances

OPTIONS = list(itertools.product(["seen", "forwarded"], ["shared", "literal"]))


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


def test_only_what_follows_the_text_to_the_letter_is_called_printed() -> None:
    """OLAG takes requests off the counters of models of *lower* gain, and copies gain the same."""
    called = [
        (system, entry)
        for system in systems()
        for entry in find_system(system).policies.entries
        if "printed" in f"{entry.name} {entry.title}"
    ]
    [(system, entry)] = called
    instance = small(5.0, [5, 5, 5])
    policy = entry.make(instance, {})
    assert (system, policy) == ("idn", Olag(counters="forwarded", ties="literal"))
    # Both copies of the best model are bought, although one would serve all requests.
    run = simulate(IdnEnvironment(instance), policy, runs=1, keep_trace=True)
    found = [np.flatnonzero(slot[0]).tolist() for slot in run.hosted]
    assert found == [[], [0, 1], [0, 1]]


def test_names_tell_the_interpretation() -> None:
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
