"""Policies with queues or a history of costs: Lyapunov, OASDR and the quantile threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from edgeopt_papers.edr.claims.counterexamples import never_trained
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Frame, Slot
from edgeopt.online.edr.policies.virtual_queues import Lyapunov, Oasdr
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.edr.scenarios import drive, two_sites
from tests.edr.tiny import falling_cap

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrState


def test_the_queue_of_a_task_by_hand():
    """Rate 3 and 1 Wh a round, price 1, weight 2: a round is worth its queue less 2."""
    instance = falling_cap()
    first, then = drive(Lyapunov(weight=2.0), instance)
    assert first.requested_rounds.tolist() == [0.0]
    assert first.closed.owed.tolist() == [3.0]
    # Worth 3 - 2 > 0: as much as the cap of 1 Wh allows.
    assert then.requested_rounds.tolist() == [1.0]
    assert then.closed.owed.tolist() == [5.0]
    assert drive(Lyapunov(weight=4.0), instance)[1].requested_rounds.tolist() == [0.0]


def test_the_weight_is_twice_the_typical_rate_by_cost():
    """Typical rate 3, cost 1: weight 6, so that a queue of 3 is not worth a cost of 1."""
    steps = drive(Lyapunov(), falling_cap())
    assert steps[0].planned.weight == 6.0
    assert steps[1].requested_rounds.tolist() == [0.0]
    cheaper = falling_cap().replace(price=np.full(2, 0.25), price_prior=0.25)
    assert drive(Lyapunov(), cheaper)[0].planned.weight == 24.0
    for kind in (Lyapunov, Oasdr):
        assert drive(kind(weight0=0.5), cheaper)[0].planned.weight == 6.0
        assert drive(kind(weight0=0.5, weight=7.0), cheaper)[0].planned.weight == 7.0


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
        terms = Lyapunov().terms(replace(first.planned, pressure=queue), first.frame)
        assert (terms.price, terms.energy_price, terms.capped) == (1.5, queue, False)


def memory(state: EdrState[Any]) -> Any:
    return state.memory


def test_all_is_trained_when_cost_has_no_weight():
    steps = drive(Lyapunov(weight=0.0), never_trained(10))
    assert sum(step.requested_rounds[0] for step in steps[1:]) >= 9
    assert steps[0].requested_rounds.tolist() == [0.0]


@settings(max_examples=draws(40))
@given(edr_instances())
def test_the_queue_follows_the_energy_cost(instance: EdrInstance):
    """By default the budget is the mean cost of an average plan over the frames so far."""
    for spending in (None, 1.5):
        policy, environment = Oasdr(spending=spending), EdrEnvironment(instance)
        rng = np.random.default_rng(0)
        [scenario] = environment.scenarios(rng, 1)
        episode, state = environment.episode(scenario), policy.start(environment.instance)
        queue, reference, shown = 0.0, [], None
        while (seen := episode.observe()) is not None:
            decision, state = policy.decide(state, seen, rng)
            if isinstance(seen, Frame):
                shown = seen
            feedback = episode.act(decision)
            state = policy.learn(state, seen, decision, feedback)
            if not isinstance(feedback, ClosedFrame):
                assert state.memory.pressure == pytest.approx(queue)
                continue
            assert shown is not None
            t = shown.frame
            usual = sum(
                instance.even_rate[i] * instance.round_energy[t, i]
                for i in np.flatnonzero(instance.active[t])
            )
            for n in range(instance.types):
                sites = np.flatnonzero(instance.capable[:, n])
                mean = np.mean([instance.request_energy[k, n] for k in sites])
                usual += mean * instance.requests[t, :, :, n].sum()
            dollar = instance.energy_weight * instance.price[t]
            reference.append(dollar * usual)
            allowed = np.mean(reference) if spending is None else spending
            queue = max(0.0, queue + dollar * feedback.energy - allowed)
            assert state.memory.pressure == pytest.approx(queue)


def test_an_empty_queue_counts_delay_alone():
    """Requests stay home, where they are served without a way, whatever energy costs there."""
    instance = two_sites(cap=[np.inf] * 3, price=[9.0] * 3, price_prior=9.0)
    environment, policy = EdrEnvironment(instance), Oasdr(spending=1e9)
    rng = np.random.default_rng(0)
    [scenario] = environment.scenarios(rng, 1)
    episode, state = environment.episode(scenario), policy.start(environment.instance)
    weights = set()
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, rng)
        if isinstance(seen, Slot):
            problem = decision.problem
            np.testing.assert_allclose(problem.cost, 0.5 * problem.seconds)
            weights.add(state.memory.pressure)
        state = policy.learn(state, seen, decision, episode.act(decision))
    assert weights == {0.0}


def test_a_long_queue_weighs_energy():
    instance = two_sites(cap=[np.inf] * 3)
    policy = Oasdr(spending=0.0)
    steps = drive(policy, instance)
    last = steps[-1]
    terms = policy.terms(last.planned, last.frame)
    assert last.planned.pressure > 0
    assert terms.energy_weight == 3.0 * last.planned.pressure
    assert (terms.price, terms.capped) == (2.0, True)


def test_training_minimises_delay_and_dear_energy():
    """A round costs no delay: at first its queue alone counts, then energy as the queue says."""
    instance = falling_cap().replace(cap=np.full(2, np.inf))
    # Frame 0: nothing is owed yet. Frame 1: 3 rounds are owed, a round costs Z * 1 * 1 = 0.
    assert [step.requested_rounds.tolist() for step in drive(Oasdr(weight=2.0), instance)] == [
        [0.0],
        [6.0],
    ]
    policy = Oasdr(weight=2.0, guard=None)
    steps = drive(policy, instance)
    late = steps[0].closed
    for queue, expected in ((1.0, 6.0), (2.0, 0.0)):
        # Worth 3 - 2 * Z.
        memory = replace(late, pressure=queue)
        requested_rounds, _ = policy.requested_rounds(
            memory, steps[1].frame, np.inf, np.random.default_rng(0)
        )
        assert requested_rounds.tolist() == [expected]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((Lyapunov, {name: value}) for name, value in (
            ("weight", -1.0), ("weight", np.inf), ("weight0", -1.0), ("catch_up", 0.0),
            ("elastic", "hard"),
        )),
        *((Oasdr, {name: value}) for name, value in (
            ("spending", -1.0), ("spending", np.nan), ("weight", -1.0), ("catch_up", -1.0),
        )),
        (Lyapunov, {"reserve": "first"}),
    ],
)  # fmt: skip
def test_options_are_refused_by_name(kind: Any, options: dict[str, Any]):
    [named] = options
    with pytest.raises(OptionError, match=named):
        kind(**options)
