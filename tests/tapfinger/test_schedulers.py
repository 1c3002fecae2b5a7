"""Schedulers that know durations: by hand, and against plain Python in every round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import generate
from edgeopt.online.tapfinger import PricedSpt, ReservationSpt, TapFingerEnvironment
from edgeopt.online.tapfinger.policies.efficient_bundles import estimates, free_ahead
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.plain_policies import bundle_lists, priced, reserved
from tests.tapfinger.scenarios import gpus, held, ran

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance


@settings(max_examples=draws(100))
@given(
    tapfinger_instances(tasks=6, noise=None),
    st.sampled_from([1.0, 0.0, 0.3, 4.0]),
    st.sampled_from(["priced", None, 12, 6]),
)
def test_like_the_reference(
    instance: TapFingerInstance, pressure: float, look: int | str | None
) -> None:
    hold_to_reference(instance, pressure, look)


@pytest.mark.parametrize("look", ["priced", None])
def test_so_they_are_in_a_crowd_of_several_weights(look: str | None) -> None:
    truth = generate(clusters=5, tasks=40, rate=8.0, rng=3)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 1.0, 5.0], truth.tasks)
    hold_to_reference(truth.replace(weight=weight), 1.0, look)


def hold_to_reference(instance: TapFingerInstance, pressure: float, look: int | str | None) -> None:
    """Compare every decision of a run with the reference's."""
    reserves = look != "priced"
    policy = (
        ReservationSpt(pressure=pressure, look=look) if reserves else PricedSpt(pressure=pressure)
    )
    environment = TapFingerEnvironment(instance, preemption=False)
    state = policy.start(environment.instance)
    episode, lists = environment.episode(0), bundle_lists(instance)
    while (seen := episode.observe()) is not None:
        # As if cluster 0 had started one already in every other slot: no environment shows that
        # with one round per slot, but a hand may.
        seen = seen._replace(started=seen.started | (np.arange(instance.clusters) < seen.slot % 2))
        decision, state = policy.decide(state, seen, np.random.default_rng(0))
        given = (environment.instance, seen, pressure)
        expected = reserved(*given, look, lists=lists) if reserves else priced(*given, lists=lists)
        assert decision.task.tolist() == expected.task.tolist()
        assert decision.bundle.tolist() == expected.bundle.tolist()
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


@pytest.mark.parametrize("kind", [PricedSpt, ReservationSpt])
def test_of_equals_the_one_with_less_choice_goes_first_to_the_cluster_with_more_room(
    kind: Any,
) -> None:
    choice = gpus([0, 0, 0], clusters=2, eligible=[[1, 1], [1, 0], [1, 1]])
    runs = held(ran(choice, kind(pressure=0.0)))
    assert runs[1][:3] == (0, 3, 0)
    assert runs[0][:3] == (1, 3, 0)
    room = gpus([0], clusters=2, capacity=[[0, 4], [1, 4]])
    assert held(ran(room, kind()))[0][0] == 1
    assert held(ran(gpus([0], clusters=2), kind()))[0][0] == 0


def test_the_heavier_task_goes_first() -> None:
    runs = held(ran(gpus([0, 0, 0], weight=[1.0, 0.0, 2.0]), PricedSpt(pressure=0.0)))
    assert runs[2] == (0, 3, 0, 2)
    assert runs[0] == (0, 1, 0, 4)
    assert runs[1] == (0, 3, 2, 4)
    runs = held(ran(gpus([0, 0, 0], weight=[1.0, 0.0, 2.0]), ReservationSpt(pressure=0.0)))
    assert runs[2] == (0, 3, 0, 2)
    # Three GPUs from slot 2 on are as good to task 0 as one now, and the faster bundle goes first.
    assert runs[0] == (0, 3, 2, 4)
    assert runs[1] == (0, 1, 0, 4)


@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e11])
@pytest.mark.parametrize("policy", [PricedSpt(), ReservationSpt()], ids=lambda policy: policy.name)
def test_the_unit_of_the_weights_does_not_matter(policy: Any, scale: float) -> None:
    weight = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    plain, scaled = (
        ran(gpus([0] * 6, clusters=2, weight=weight * factor), policy) for factor in (1.0, scale)
    )
    assert np.array_equal(plain.completion, scaled.completion)
    assert plain.flow_time[0, 3:].sum() < plain.flow_time[0, :3].sum()


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


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (PricedSpt(), "PricedSpt"),
        (PricedSpt(pressure=0.5), "PricedSpt, pressure=0.5"),
        (ReservationSpt(), "ReservationSpt"),
        (ReservationSpt(pressure=0.5, look=40), "ReservationSpt, pressure=0.5, look=40"),
    ],
)
def test_names(policy: Any, name: str) -> None:
    assert policy.name == name


@pytest.mark.parametrize("kind", [PricedSpt, ReservationSpt])
def test_options_are_checked(kind: Any) -> None:
    for pressure in (-1.0, float("nan"), float("inf")):
        with pytest.raises(OptionError, match=f"pressure = {pressure}"):
            kind(pressure=pressure)
    with pytest.raises(OptionError, match="look = 0"):
        ReservationSpt(look=0)


def test_what_running_tasks_hold_is_free_when_they_end() -> None:
    """Two tasks of half a slot's speed and a quarter's: 3 cores are free, then 5, then 6 and 1."""
    speed = np.zeros((1, 1, 4, 4))
    speed[0, 0, 2, 0], speed[0, 0, 1, 1] = 0.5, 0.25
    ahead = free_ahead(
        np.array([[3, 0]]), np.array([0, 0]), np.array([[2, 0], [1, 1]]), np.array([0.0, 0.0]),
        np.array([0, 1]), np.array([0, 0]), speed, np.array([False]), 6,
        np.array([[0, 0, 1]], dtype=bool), np.array([[9, 9]]),
    )  # fmt: skip
    assert ahead[0].tolist() == [[3, 0], [3, 0], [0, 0], [5, 0], [6, 1], [6, 1]]
