"""OASDR: its queue by hand, delay alone while it is empty, and its options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.instances.edr import EdrInstance, falling_cap
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Frame, Slot
from edgeopt.online.edr.policies.queues import Oasdr
from tests.draws import draws
from tests.online.edr.frames import drive
from tests.online.edr.lives import two_sites
from tests.strategies import edr_instances


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
    terms = policy.terms(last.wished, last.frame)
    assert last.wished.pressure > 0
    assert terms.energy_weight == 3.0 * last.wished.pressure
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
    late = steps[0].settled
    for queue, expected in ((1.0, 6.0), (2.0, 0.0)):
        # Worth 3 - 2 * Z.
        memory = replace(late, pressure=queue)
        requested_rounds, _ = policy.requested_rounds(
            memory, steps[1].frame, np.inf, np.random.default_rng(0)
        )
        assert requested_rounds.tolist() == [expected]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"spending": -1.0}, "spending"),
        ({"spending": np.nan}, "spending"),
        ({"weight": -1.0}, "weight"),
        ({"catch_up": -1.0}, "catch_up"),
    ],
)
def test_options_are_refused_by_name(options: dict[str, Any], named: str):
    with pytest.raises(OptionError, match=named):
        Oasdr(**options)
