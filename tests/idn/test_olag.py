"""OLAG: what nodes see alone, its names and its options."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.idn import Olag, Outcome, Slot
from edgeopt.testing.strategies import idn_instances

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance

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
