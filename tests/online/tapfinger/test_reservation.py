"""Reservation shortest task: by hand, and like its plain twin in every round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.estimates import estimates
from edgeopt.online.tapfinger.policies.reservation import ReservationSpt
from tests.draws import draws
from tests.online.tapfinger.plain_schedulers import bundle_lists, reserved
from tests.online.tapfinger.served import gpus, held, ran
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance


@settings(max_examples=draws(60))
@given(
    tapfinger_instances(tasks=6, noise=None),
    st.sampled_from([1.0, 0.0, 0.3, 4.0]),
    st.sampled_from([None, 12, 6]),
)
def test_like_its_plain_twin(
    instance: TapFingerInstance, pressure: float, look: int | None
) -> None:
    policy = ReservationSpt(pressure=pressure, look=look)
    environment = TapFingerEnvironment(instance, preemption=False)
    state = policy.start(environment.instance)
    episode, lists = environment.episode(0), bundle_lists(instance)
    while (seen := episode.observe()) is not None:
        # As if cluster 0 had started one already in every other slot: no environment shows that
        # with one round per slot, but a hand may.
        seen = seen._replace(started=seen.started | (np.arange(instance.clusters) < seen.slot % 2))
        decision, state = policy.decide(state, seen, np.random.default_rng(0))
        twin = reserved(environment.instance, seen, pressure, look, lists=lists)
        assert decision.task.tolist() == twin.task.tolist()
        assert decision.bundle.tolist() == twin.bundle.tolist()
        episode.act(decision)


def test_a_task_waits_where_that_makes_it_complete_sooner() -> None:
    """In slot 1 there is one GPU, four are in slot 2: complete at 4 with three, not at 5."""
    assert held(ran(gpus([0, 1]), ReservationSpt())) == {0: (0, 3, 0, 2), 1: (0, 3, 2, 4)}


def test_what_is_reserved_for_later_is_kept_free() -> None:
    """Task 0 waits for three GPUs at 2; task 1 behind it would need the fourth from 1 to 5."""
    runs = held(ran(gpus([0, 1, 1]), ReservationSpt(pressure=0.0)))
    assert runs == {0: (0, 3, 0, 2), 1: (0, 3, 2, 4), 2: (0, 1, 1, 5)}


def test_one_start_per_slot_makes_the_next_task_wait() -> None:
    two = gpus([0, 0], capacity=[[0, 6]])
    assert held(ran(two, ReservationSpt())) == {0: (0, 3, 0, 2), 1: (0, 3, 0, 2)}
    apart = gpus([0, 0], capacity=[[0, 6]], single_start=True)
    assert held(ran(apart, ReservationSpt())) == {0: (0, 3, 0, 2), 1: (0, 3, 1, 3)}


def test_a_plan_that_ends_too_soon_starts_nothing() -> None:
    """Within two slots only three GPUs complete a task, which are free from slot 2 on."""
    assert held(ran(gpus([0, 1]), ReservationSpt(look=2)))[1] == (0, 3, 2, 4)
    environment = TapFingerEnvironment(gpus([0]))
    seen = environment.episode(0).observe()
    assert seen is not None
    policy = ReservationSpt(look=1)
    decision, _ = policy.decide(policy.start(environment.instance), seen, np.random.default_rng(0))
    assert decision.task.tolist() == [-1]


def test_slots_planned_ahead_are_twice_the_longest_duration_and_no_fewer_than_30() -> None:
    assert estimates(gpus([0])).ahead == 30
    assert estimates(gpus([0], speed=[[[0.0, 0.05, 0.5]]])).ahead == 40


def test_options_and_names() -> None:
    assert ReservationSpt().name == "ReservationSpt"
    assert ReservationSpt(pressure=0.5, look=40).name == "ReservationSpt, pressure=0.5, look=40"
    with pytest.raises(OptionError, match="pressure = -1"):
        ReservationSpt(pressure=-1.0)
    with pytest.raises(OptionError, match="look = 0"):
        ReservationSpt(look=0)
