"""Frames and slots of EDR: what they show, what is carried out, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edr import generate
from edgeopt.models.edr.routing import Conditions, conditions, routing_problem, solve_routing
from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Accepted, ClosedFrame, Flows, Frame, Served, Slot
from edgeopt.online.edr.policies.baselines import EvenRate, Greedy
from edgeopt.online.edr.training import Replay
from edgeopt.studies.edr.tables import efficiency
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.edr.scenarios import ALL, NOTHING, at_slot, show, step_through, table, two_sites

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


def test_powers_that_change_are_not_shown_in_advance() -> None:
    truth = two_sites(power=[[1.0, 1.0], [1.0, 2.0], [1.0, 1.0]])
    assert EdrEnvironment(truth).instance.power.tolist() == [[0.0, 0.0]]


def test_past_rounds_are_replayed_at_the_power_of_their_frame() -> None:
    truth = generate(rng=2, sites=4, tasks=8, frames=6, slots=2, power="frame", history="channel")
    assert truth.power.shape == (6, 4)
    environment = EdrEnvironment(truth)
    replay = Replay.of(environment.instance, history=True)
    for step in step_through(environment, EvenRate()):
        if isinstance(step.seen, Frame):
            replay = replay.with_frame(step.seen)
    # A task that has just arrived is told all frames before; where it is over, nothing more.
    seen = truth.arrival[None, :] + truth.window > np.arange(6)[:, None]
    energy = replay.energy[24:]
    assert (truth.arrival > 0).any()
    np.testing.assert_allclose(energy[seen], truth.round_energy[seen], rtol=1e-12)
    # Hours of the day before count at the powers of the first frame.
    assert truth.history is not None
    past = truth.replace(rate=truth.history.rate[:6], power=truth.power[0])
    np.testing.assert_allclose(replay.energy[:6], past.round_energy, rtol=1e-12)


def test_accuracy_counts_in_the_efficiency_and_nowhere_else() -> None:
    truth = two_sites()
    plain = simulate(EdrEnvironment(truth), Greedy(), runs=1)
    rough = truth.replace(accuracy=[[0.5, 1.0], [1.0, 0.25]])
    weighed = simulate(EdrEnvironment(rough), Greedy(), runs=1)
    assert plain.accurate == pytest.approx(plain.asked - plain.unserved)
    for name in ("reward", "energy", "delay_cost", "unserved", "rounds", "quality"):
        assert (getattr(plain, name) == getattr(weighed, name)).all(), name
    episode = at_slot(rough, [0, 0])
    episode.act(ALL)
    # Two requests on site 0 at 0.5, three of the same type on site 1, one of the other at 0.25.
    assert episode.accurate.tolist() == [2 * 0.5 + 3 * 1.0 + 1 * 0.25, 0.0, 0.0]
    paid = (weighed.energy_cost + weighed.delay_cost).sum()
    paid -= 3.0 * (weighed.training_energy @ truth.price).sum()
    assert efficiency(rough, weighed) == pytest.approx(weighed.accurate.sum() / paid)
    assert (efficiency(rough, weighed) < efficiency(truth, plain)).all()


def test_a_frame_shows_what_has_arrived_and_what_is_left() -> None:
    truth = two_sites(model_size=[8.0, 9.0], power=[0.0, 0.0])
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
    assert first.client.tolist() == [[True, True], [False, False]]
    assert first.server.tolist() == [0, -1]
    assert first.model_size.tolist() == [8.0, 0.0]
    assert (first.rate == truth.rate[0]).all()

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

    closed = episode.act(NOTHING)
    assert isinstance(closed, ClosedFrame)
    assert closed[:5] == (0, 1.0, 21.0, 9.0, 0.0)
    assert closed.unserved.tolist() == [5.0, 1.0]
    assert closed.served.unserved.tolist() == [[2.0, 1.0], [3.0, 0.0]]
    assert closed.requests.tolist() == truth.requests[0].tolist()
    assert not closed.missing.any()
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


def flows(*rows: tuple[int, int, int, float]) -> Flows:
    """Write flows as rows: origin, site, type, amount."""
    origin, site, kind, amount = zip(*rows, strict=True)
    return Flows(np.array(origin), np.array(site), np.array(kind), np.array(amount))


@pytest.mark.parametrize(
    ("rounds", "why"),
    [
        ([1, 1], "task 1 cannot train 1 rounds in frame 0: it is not active"),
        ([5, 0], "task 0 cannot train 5 rounds in frame 0: 4 are left"),
        ([-1, 0], "task 0 cannot train -1 rounds"),
        ([1.0, 0.0], "whole"),
        ([1.5, 0.0], "whole"),
        ([True, False], "whole"),
        ([1], "shape"),
        ([[1, 0]], "shape"),
    ],
)
def test_rounds_that_cannot_be_trained_are_refused(rounds: Any, why: str) -> None:
    episode = EdrEnvironment(two_sites()).episode(0)
    with pytest.raises(OptionError, match=why):
        episode.act(np.array(rounds))
    assert isinstance(episode.observe(), Frame)
    episode.act(np.array([4, 0]))


def test_rounds_beyond_what_is_left_are_refused_in_later_frames_too() -> None:
    episode = at_slot(two_sites(), [3, 0])
    episode.act(NOTHING)
    episode.act(NOTHING)
    with pytest.raises(OptionError, match="task 0 cannot train 2 rounds in frame 1: 1 are left"):
        episode.act(np.array([2, 0]))
    episode.act(np.array([1, 0]))
    episode.act(NOTHING)
    episode.act(NOTHING)
    with pytest.raises(OptionError, match=r"task 0 .* not active"):
        episode.act(np.array([1, 0]))


def test_training_beyond_a_site_is_refused() -> None:
    truth = two_sites(capacity=[1.5, 8.0], requests=np.zeros((3, 2, 2, 2)))
    with pytest.raises(OptionError, match=r"site 0 cannot train 4.0 GFLOP: it does 3.0"):
        EdrEnvironment(truth).episode(0).act(np.array([4, 0]))
    EdrEnvironment(truth).episode(0).act(np.array([3, 0]))


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (flows((0, 0, 1, 1.0)), "cannot serve the type"),
        (flows((0, 0, 0, -0.1)), "must be a number >= 0"),
        (flows((0, 0, 0, np.nan)), "must be a number >= 0"),
        (flows((0, 0, 0, np.inf)), "must be a number >= 0"),
        (flows((0, 2, 0, 1.0)), "no such site or type"),
        (flows((-1, 0, 0, 1.0)), "no such site or type"),
        (flows((0, 0, 2, 1.0)), "no such site or type"),
        (flows((0, 0, 0, 2.1)), "2.1 requests of type 0 from site 0 are served, 2.0 arrived"),
        (flows((0, 0, 0, 1.0), (0, 1, 0, 1.1)), "requests of type 0 from site 0 are served"),
        (flows((1, 1, 1, 0.1)), "0.1 requests of type 1 from site 1 are served, 0.0 arrived"),
        (flows((0, 0, 0, 2.0), (1, 0, 0, 2.5)), "site 0 cannot serve 4.5 GFLOP: it does 4.0"),
        (Flows(*np.zeros((3, 1)), np.ones(1)), "whole numbers"),  # type: ignore[arg-type]
        (Flows(*np.zeros((3, 2), dtype=int), np.ones(1)), "equal length"),
        (np.array([1, 0]), "RoutingPlan or Flows"),
        (None, "RoutingPlan or Flows"),
    ],
)
def test_flows_that_cannot_be_carried_out_are_refused(decision: Any, why: str) -> None:
    episode = at_slot(two_sites(), [0, 0])
    with pytest.raises(OptionError, match=why):
        episode.act(decision)
    # Nothing has happened.
    seen = episode.observe()
    assert isinstance(seen, Slot)
    assert (seen.slot, seen.spent) == (0, 0.0)
    assert not episode.quality.any()
    assert not episode.flows.any()
    assert isinstance(episode.act(ALL), Served)
    assert episode.flows.tolist() == [[2.0, 1.0], [0.0, 3.0]]


def test_requests_that_would_come_too_late_are_refused() -> None:
    slo = np.full((3, 2, 2), 5.0)
    slo[0, 0] = [2.9, 3.0]
    episode = at_slot(two_sites(slo=slo), [0, 0])
    with pytest.raises(OptionError, match=r"site 1 to site 0: takes longer than the objective"):
        episode.act(flows((1, 0, 0, 1.0)))  # 1 s there, 1 s back, 1 s of work: 3 s
    episode.act(flows((0, 1, 1, 1.0)))  # 3 s are allowed
    episode.act(flows((1, 0, 0, 1.0)))


def test_slow_links_count() -> None:
    truth = two_sites(request_size=[2.5, 0.0])
    with pytest.raises(OptionError, match="takes longer"):
        at_slot(truth, [0, 0]).act(flows((1, 0, 0, 1.0)))  # 2.5 s more on the link: 5.5 s
    at_slot(truth, [0, 0]).act(flows((0, 0, 0, 1.0)))  # no link at home


def test_training_and_requests_share_a_site_over_the_frame() -> None:
    truth = two_sites()  # site 0: 8 GFLOP in the frame
    asked = two_sites(requests=np.broadcast_to([[4.0, 0.0], [0.0, 0.0]], (3, 2, 2, 2)))
    episode = at_slot(asked, [1, 0])
    episode.act(flows((0, 0, 0, 4.0)))
    with pytest.raises(OptionError, match=r"site 0 cannot do 9.0 GFLOP of training and requests"):
        episode.act(flows((0, 0, 0, 4.0)))
    episode.act(flows((0, 0, 0, 3.0)))
    assert truth.requests.shape == asked.requests.shape


def test_a_plan_of_several_slots_is_no_decision() -> None:
    truth = two_sites()
    seen = [conditions(truth, 0, slot) for slot in (0, 1)]
    plan = solve_routing(routing_problem(truth, seen, price=1.0))
    with pytest.raises(OptionError, match="a plan must be of one slot"):
        at_slot(truth, [0, 0]).act(plan)


def test_a_plan_made_for_other_delays_is_refused() -> None:
    truth = two_sites(slo=np.broadcast_to([2.5, 5.0], (3, 2, 2)))
    near = two_sites(propagation=np.zeros((3, 2, 2, 2)))
    plan = solve_routing(routing_problem(near, conditions(near, 0, 0), price=1.0))
    with pytest.raises(OptionError, match="takes longer"):
        at_slot(truth, [0, 0]).act(plan)


def test_scenarios_are_numbered_and_alike() -> None:
    environment = EdrEnvironment(two_sites())
    assert environment.scenarios(np.random.default_rng(0), 3).tolist() == [0, 1, 2]
    assert simulate(environment, EvenRate(), runs=1).flows is None


def test_a_slot_without_its_frame_is_refused() -> None:
    instance = two_sites()
    policy = EvenRate()
    [_, step, *_] = step_through(EdrEnvironment(instance), policy)
    state = policy.start(EdrEnvironment(instance).instance)
    with pytest.raises(OptionError, match="frame 0 must be shown before its slots"):
        policy.decide(state, step.seen, np.random.default_rng(0))


@settings(max_examples=draws(60))
@given(edr_instances(), st.sampled_from([EvenRate(), Greedy(elastic="shed")]))
def test_what_is_shown_is_what_the_data_say(instance: EdrInstance, policy: Any) -> None:
    """Frames and slots from the raw data alone, to the rounding of a sum."""
    left, spent, energy, training = instance.rounds.copy(), 0.0, 0.0, np.zeros(instance.sites)
    for seen, decision, feedback in step_through(EdrEnvironment(instance), policy):
        t = seen.frame
        if isinstance(seen, Frame):
            expected: Any = show(instance, t, left)
            left, spent = left - decision, 0.0  # type: ignore[operator]
            training = decision @ instance.round_work  # type: ignore[operator]
            energy = float(decision @ instance.round_energy[t])  # type: ignore[operator]
        else:
            names = ("requests", "propagation", "slo")
            now = Conditions(*(getattr(instance, name)[t, seen.slot] for name in names),
                             instance.rate[t])  # fmt: skip
            expected = Slot(t, seen.slot, now, float(instance.cap[t]), training, energy, spent)
            for one, two in zip(seen.conditions, now, strict=True):
                np.testing.assert_array_equal(one, two)
            flows = table(instance, decision)  # type: ignore[arg-type]
            spent += float((flows.sum(axis=0) * instance.request_energy).sum())
        for name in (one.name for one in fields(expected) if one.name != "conditions"):
            found, wanted = getattr(seen, name), getattr(expected, name)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, err_msg=name)
        if isinstance(feedback, ClosedFrame):
            assert feedback.price == instance.price[t]
            assert (feedback.energy, feedback.training_energy) == pytest.approx(
                (energy + spent, energy)
            )
            lacking = (left * (instance.deadline == t)).tolist()
            assert feedback.missing.tolist() == lacking
