"""Lyapunov control: both queues by hand, what a frame maximises, and its options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.instances.edr import EdrInstance, falling_cap, never_trained
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Slot
from edgeopt.online.edr.policies.queues import Lyapunov
from tests.certified import linprog
from tests.draws import draws
from tests.online.edr.frames import drive
from tests.online.edr.lives import two_sites
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from edgeopt.online.edr.policies.policy import EdrState


def test_the_queue_of_a_task_by_hand():
    """Rate 3 and 1 Wh a round, price 1, weight 2: a round is worth its queue less 2."""
    instance = falling_cap()
    first, then = drive(Lyapunov(weight=2.0), instance)
    assert first.requested_rounds.tolist() == [0.0]
    assert first.settled.owed.tolist() == [3.0]
    # Worth 3 - 2 > 0: as much as the cap of 1 Wh allows.
    assert then.requested_rounds.tolist() == [1.0]
    assert then.settled.owed.tolist() == [5.0]
    assert drive(Lyapunov(weight=4.0), instance)[1].requested_rounds.tolist() == [0.0]


def test_the_weight_is_twice_the_typical_rate_by_cost():
    """Typical rate 3, cost 1: weight 6, so that a queue of 3 is not worth a cost of 1."""
    steps = drive(Lyapunov(), falling_cap())
    assert steps[0].wished.weight == 6.0
    assert steps[1].requested_rounds.tolist() == [0.0]
    cheaper = falling_cap().replace(price=np.full(2, 0.25), price_prior=0.25)
    assert drive(Lyapunov(), cheaper)[0].wished.weight == 24.0


@settings(max_examples=draws(60))
@given(edr_instances(frames=6, tasks=4))
def test_a_frame_maximises_queues_less_cost(instance: EdrInstance):
    """Against a linear program; whole rounds are next to it, on the safe side of a cap."""
    weight, catch_up = 0.5, 2.0
    owed = np.zeros(instance.tasks)
    for step in drive(Lyapunov(weight=weight, catch_up=catch_up), instance):
        frame, requested_rounds = step.frame, step.requested_rounds
        t, n = frame.frame, instance.tasks
        cost = instance.energy_weight * frame.price * frame.round_energy
        cost = cost + instance.delay_weight * frame.round_seconds
        worth = owed - weight * cost
        upper = np.minimum(catch_up * frame.even_rate, frame.remaining)
        if n:
            capped = np.isfinite(frame.cap)
            limited = {"A_ub": frame.round_energy[None], "b_ub": [frame.cap]} if capped else {}
            bounds = np.column_stack([np.zeros(n), upper])
            best = linprog(-worth, bounds=bounds, **limited)
            if capped:
                assert frame.round_energy @ requested_rounds <= frame.cap * (1 + 1e-9)
                # Rounding down loses less than a round of each task.
                assert worth @ requested_rounds <= -best.fun + 1e-9
                assert worth @ requested_rounds >= -best.fun - np.maximum(worth, 0).sum() - 1e-9
            else:
                np.testing.assert_array_equal(
                    requested_rounds, np.ceil(np.where(worth > 0, upper, 0.0))
                )
        rounds = np.minimum(np.ceil(requested_rounds - 1e-9), frame.remaining)
        alive = instance.active[t] & (frame.remaining > 0)
        owed = np.where(alive, np.maximum(owed + instance.even_rate - rounds, 0.0), 0.0)
        np.testing.assert_allclose(step.settled.owed, owed)


def test_the_price_of_energy_by_hand():
    """It grows where slots overspend, by 5 prices for an average plan, and ends with the cap."""
    instance = two_sites(cap=[6.0, 4.0, np.inf], arrival=[2, 2], deadline=[2, 2])
    policy, environment = Lyapunov(), EdrEnvironment(instance)
    rng = np.random.default_rng(0)
    [scenario] = environment.scenarios(rng, 1)
    episode, state = environment.episode(scenario), policy.start(environment.instance)
    queue, used, price = 0.0, [], 1.5
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, rng)
        if isinstance(seen, Slot):
            assert decision.problem.budget == np.inf
        feedback = episode.act(decision)
        state = policy.learn(state, seen, decision, feedback)
        if not isinstance(seen, Slot):
            price = seen.price
            continue
        plan = decision
        # Requests of type 0 take 1 or 2 Wh, those of type 1 take 4 at the only site.
        asked = seen.conditions.requests.sum(axis=0)
        usual = 1.5 * asked[0] + 4.0 * asked[1]
        if np.isfinite(seen.cap):
            step = 5.0 * 3.0 * price / usual
            queue = max(0.0, queue + step * (plan.energy - seen.cap / 2))
        else:
            queue = 0.0
        used.append(queue)
        assert memory(state).pressure == pytest.approx(queue)
    assert len(used) == 6
    assert used[0] > 0
    assert used[3] > used[0]
    assert used[4:] == [0.0, 0.0]


def test_requests_pay_the_queue_on_top_of_the_price():
    first = drive(Lyapunov(), two_sites())[0]
    for queue in (0.0, 7.0):
        terms = Lyapunov().terms(replace(first.wished, pressure=queue), first.frame)
        assert (terms.price, terms.energy_price, terms.capped) == (1.5, queue, False)


def memory(state: EdrState[Any]) -> Any:
    return state.memory


def test_all_is_trained_when_cost_has_no_weight():
    steps = drive(Lyapunov(weight=0.0), never_trained(10))
    assert sum(step.requested_rounds[0] for step in steps[1:]) >= 9
    assert steps[0].requested_rounds.tolist() == [0.0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"weight": -1.0}, "weight"),
        ({"weight": np.inf}, "weight"),
        ({"catch_up": 0.0}, "catch_up"),
        ({"elastic": "hard"}, "elastic"),
        ({"budget": "none"}, "budget"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], named: str):
    with pytest.raises(OptionError, match=named):
        Lyapunov(**options)
