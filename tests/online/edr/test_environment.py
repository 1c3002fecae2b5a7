"""The environment: what it shows and hides, and how it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Accepted, ClosedFrame, Frame, Served, Slot
from edgeopt.online.edr.policies.baselines import EvenRate
from tests.draws import draws
from tests.online.edr.lives import ALL, NOTHING, at_slot, live, two_sites
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance


def test_a_policy_is_shown_the_sites_and_nothing_of_the_future() -> None:
    truth = two_sites()
    shown = EdrEnvironment(truth).instance
    for name in ("capable", "capacity", "speed", "energy_per_work", "request_work", "power"):
        assert (getattr(shown, name) == getattr(truth, name)).all()
    assert shown.requests.shape == truth.requests.shape
    assert not shown.requests.any()
    assert not shown.propagation.any()
    assert (shown.price == 1.5).all()
    assert np.isinf(shown.cap).all()
    assert np.isinf(shown.rate).all()
    assert (shown.slo == truth.slot_seconds).all()
    assert shown.rounds.tolist() == [1, 1]
    assert shown.arrival.tolist() == [0, 0]
    assert shown.deadline.tolist() == [2, 2]
    assert not shown.round_energy.any()
    assert not shown.round_work.any()
    assert shown.energy_weight == truth.energy_weight
    assert shown.delay_weight == truth.delay_weight


def test_a_frame_shows_what_has_arrived_and_what_is_left() -> None:
    truth = two_sites()
    episode = EdrEnvironment(truth).episode(0)
    first = episode.observe()
    assert isinstance(first, Frame)
    assert (first.frame, first.cap, first.price, first.prices.size) == (0, np.inf, 1.5, 0)
    assert first.active.tolist() == [True, False]
    assert first.arrival.tolist() == [0, -1]
    assert first.deadline.tolist() == [1, -1]
    assert first.rounds.tolist() == first.remaining.tolist() == [4, 0]
    assert first.even_rate.tolist() == [2.0, 0.0]
    assert first.round_energy.tolist() == [3.0, 0.0]  # 1 GFLOP at 1 Wh and 1 GFLOP at 2 Wh
    assert first.round_work.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert first.forecast is None

    accepted = episode.act(np.array([3, 0]))
    assert isinstance(accepted, Accepted)
    assert accepted.rounds.tolist() == [3, 0]
    assert accepted.training.tolist() == [3.0, 3.0]
    assert accepted.energy == 9.0
    slot = episode.observe()
    assert isinstance(slot, Slot)
    assert (slot.frame, slot.slot, slot.spent, slot.training_energy) == (0, 0, 0.0, 9.0)
    assert slot.training.tolist() == [3.0, 3.0]
    assert slot.conditions.requests.tolist() == truth.requests[0, 0].tolist()
    assert slot.conditions.propagation.tolist() == truth.propagation[0, 0].tolist()

    served = episode.act(ALL)
    # Type 0 from site 0 at home, its type 1 and the type 0 of site 1 on site 1.
    assert isinstance(served, Served)
    assert served.energy == 2.0 * 1.0 + 1.0 * 4.0 + 3.0 * 2.0
    assert served.delay == 2.0 * 1.0 + 1.0 * 3.0 + 3.0 * 0.5
    assert served.load.tolist() == [2.0, 5.0]
    assert not served.unserved.any()
    second = episode.observe()
    assert isinstance(second, Slot)
    assert (second.slot, second.spent) == (1, 12.0)

    settled = episode.act(NOTHING)
    assert isinstance(settled, ClosedFrame)
    assert settled[:5] == (0, 1.0, 21.0, 9.0, 0.0)
    assert settled.unserved.tolist() == [5.0, 1.0]
    assert settled.served.unserved.tolist() == [[2.0, 1.0], [3.0, 0.0]]
    assert settled.requests.tolist() == truth.requests[0].tolist()
    assert not settled.missing.any()
    following = episode.observe()
    assert isinstance(following, Frame)
    assert following.price == 1.0
    assert following.prices.tolist() == [1.0]
    assert following.remaining.tolist() == [1, 3]
    assert following.deadline.tolist() == [1, 2]


def test_a_task_that_is_over_is_still_known_and_its_lack_is_told_once() -> None:
    episode = EdrEnvironment(two_sites()).episode(0)
    missing = []
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            assert (seen.remaining[~seen.active] == 0).all()
            if seen.frame == 2:
                assert seen.deadline.tolist() == [1, 2]
                assert seen.active.tolist() == [False, True]
        rounds = np.array([int(isinstance(seen, Frame) and seen.frame == 0), 0])
        feedback = episode.act(rounds if isinstance(seen, Frame) else NOTHING)
        if isinstance(feedback, ClosedFrame):
            missing.append(feedback.missing.tolist())
    assert missing == [[0, 0], [3, 0], [0, 3]]


def test_foresight_shows_the_requests_of_the_frame_and_no_other() -> None:
    truth = two_sites(requests=np.arange(24.0).reshape(3, 2, 2, 2))
    frames = [
        step.seen
        for step in live(EdrEnvironment(truth, foresight=True), EvenRate())
        if isinstance(step.seen, Frame)
    ]
    for t, frame in enumerate(frames):
        assert frame.forecast is not None
        assert frame.forecast.tolist() == truth.requests[t].tolist()


def test_observing_twice_changes_nothing_and_what_is_shown_cannot_be_changed() -> None:
    episode = at_slot(two_sites(), [1, 0])
    one, two = episode.observe(), episode.observe()
    assert isinstance(one, Slot)
    assert isinstance(two, Slot)
    assert (one.frame, one.slot) == (two.frame, two.slot)
    for array in one.conditions:
        with pytest.raises(ValueError, match="read-only"):
            array += 1.0
    one.training[:] = 99.0
    again = episode.observe()
    assert isinstance(again, Slot)
    assert again.training.tolist() == [1.0, 1.0]


def test_a_broken_cap_is_carried_out_and_counted() -> None:
    environment = EdrEnvironment(two_sites(cap=[21.0, 20.9, 0.0]))
    episode = environment.episode(0)
    while (seen := episode.observe()) is not None:
        if isinstance(seen, Frame):
            episode.act(np.array([3, 0]) if seen.frame == 0 else np.zeros(2, dtype=int))
        elif seen.frame == 0:
            episode.act(ALL if seen.slot == 0 else NOTHING)
        else:
            episode.act(ALL if seen.frame == 1 else NOTHING)
    trajectory = environment.trajectory("mine", [episode], seconds=0.0)
    assert trajectory.energy.tolist() == [[21.0, 24.0, 0.0]]
    assert trajectory.violations.tolist() == [[0, 1, 0]]
    assert trajectory.excess[0] == pytest.approx([0.0, 3.1, 0.0])
    assert trajectory.excess_share() == pytest.approx([3.1 / 41.9])
    assert trajectory.completion() == pytest.approx([3 / 7])
    assert trajectory.late().tolist() == [[True, True]]
    assert trajectory.served_share() == pytest.approx([3 * 6 / 36])


@settings(max_examples=draws(30))
@given(edr_instances())
def test_what_a_policy_is_shown_says_nothing_of_the_instance(instance: EdrInstance) -> None:
    shown = EdrEnvironment(instance).instance
    silent = instance.replace(
        requests=np.zeros_like(instance.requests),
        price=np.full(instance.frames, 7.0),
        price_prior=instance.price_prior,
        cap=np.zeros(instance.frames),
    )
    assert EdrEnvironment(silent).instance.fingerprint() == shown.fingerprint()
