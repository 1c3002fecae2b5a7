"""Priced shortest task: by hand, and like its plain twin in every round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.reservation import PricedSpt
from tests.draws import draws
from tests.online.tapfinger.plain_schedulers import bundle_lists, priced
from tests.online.tapfinger.served import gpus, held, ran
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance


@settings(max_examples=draws(60))
@given(tapfinger_instances(tasks=6, noise=None), st.sampled_from([1.0, 0.0, 0.3, 4.0]))
def test_like_its_plain_twin(instance: TapFingerInstance, pressure: float) -> None:
    policy = PricedSpt(pressure=pressure)
    environment = TapFingerEnvironment(instance, preemption=False)
    state = policy.start(environment.instance)
    episode, lists = environment.episode(0), bundle_lists(instance)
    while (seen := episode.observe()) is not None:
        # As if cluster 0 had started one already in every other slot: no environment shows that
        # with one round per slot, but a hand may.
        seen = seen._replace(started=seen.started | (np.arange(instance.clusters) < seen.slot % 2))
        decision, state = policy.decide(state, seen, np.random.default_rng(0))
        twin = priced(environment.instance, seen, pressure, lists=lists)
        assert decision.task.tolist() == twin.task.tolist()
        assert decision.bundle.tolist() == twin.bundle.tolist()
        episode.act(decision)


def first_bundle(tasks: int, pressure: float = 1.0) -> int:
    return held(ran(gpus([0] * tasks), PricedSpt(pressure=pressure)))[0][1]


def test_the_more_wait_the_less_a_task_is_given() -> None:
    """With q others d (1 + q g / 4) is 4 + q, 3 + 1.5 q and 2 + 1.5 q: equal from q = 4 on."""
    assert [first_bundle(tasks) for tasks in (1, 4, 5, 6)] == [3, 3, 3, 1]
    assert first_bundle(6, pressure=0.5) == 3
    assert first_bundle(8, pressure=0.0) == 3


def test_what_fits_is_started_at_once() -> None:
    """In slot 1 there is one GPU, and three in slot 2, with which task 1 would be complete at 4."""
    assert held(ran(gpus([0, 1]), PricedSpt())) == {0: (0, 3, 0, 2), 1: (0, 1, 1, 5)}


def test_of_equals_the_one_with_less_choice_goes_first_to_the_cluster_with_more_room() -> None:
    choice = gpus([0, 0, 0], clusters=2, eligible=[[1, 1], [1, 0], [1, 1]])
    runs = held(ran(choice, PricedSpt(pressure=0.0)))
    assert runs[1][:3] == (0, 3, 0)
    assert runs[0][:3] == (1, 3, 0)
    room = gpus([0], clusters=2, capacity=[[0, 4], [1, 4]])
    assert held(ran(room, PricedSpt()))[0][0] == 1
    assert held(ran(gpus([0], clusters=2), PricedSpt()))[0][0] == 0


def test_the_heavier_task_goes_first() -> None:
    runs = held(ran(gpus([0, 0, 0], weight=[1.0, 0.0, 2.0]), PricedSpt(pressure=0.0)))
    assert runs[2] == (0, 3, 0, 2)
    assert runs[0] == (0, 1, 0, 4)
    assert runs[1] == (0, 3, 2, 4)


def test_options_and_names() -> None:
    assert PricedSpt().name == "PricedSpt"
    assert PricedSpt(pressure=0.5).name == "PricedSpt, pressure=0.5"
    for pressure in (-1.0, float("nan"), float("inf")):
        with pytest.raises(OptionError, match=f"pressure = {pressure}"):
            PricedSpt(pressure=pressure)
