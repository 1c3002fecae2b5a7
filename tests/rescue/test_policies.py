"""Policies of RESCUE: what each does by hand, and what durations show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Arrival,
    Cvs,
    PickConfigs,
    RandomPolicy,
    Rescue,
    RescueEnvironment,
    RescuePlus,
    Srs,
    Sumita,
)
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws
from tests.rescue.cases import Replay
from tests.rescue.plans import all_policies, plan_of, plan_with
from tests.rescue.safe_cases import everybody

PROFIT = {
    "one clear winner": [[3.0, 7.0], [4.0, 5.0]],
    "ties": [[2.0, 4.0], [2.0, 4.0]],
    "nothing to earn": [[0.0, 0.0], [0.0, 0.0]],
}


def market(profit, **changes):
    """One slot, one device; profiles last 1 and 2 slots; server 1 has half the capacity."""
    fields = {
        "arrival": np.ones((1, 1)),
        "duration": np.array([[1.0, 0.0], [0.0, 1.0]]),
        "capacity": np.array([[2.0], [1.0]]),
        "reserved": ReservedTasks.none(),
        "profit": np.array(profit).reshape(1, 1, 2, 2, 1),
    }
    return RescueInstance(**(fields | changes))


def ask(policy, instance, *, idle=(True, True), coin=0.0, slot=0, device=0):
    state = policy.start(instance)
    arrival = Arrival(slot, device, np.array(idle), instance.reserved.demand, coin)
    decision, after = policy.decide(state, arrival)
    assert after is state
    assert policy.learn(state, arrival, decision, ()) is state
    return decision


@pytest.mark.parametrize(
    ("policy", "case", "idle", "answer"),
    [
        (PickConfigs(), "one clear winner", (True, True), (0, 1)),
        (PickConfigs(), "one clear winner", (False, True), (1, 1)),
        (PickConfigs(), "one clear winner", (False, False), None),
        (PickConfigs(), "ties", (True, True), (0, 1)),
        (PickConfigs(), "nothing to earn", (True, True), None),
        (Srs(), "one clear winner", (True, True), (1, 0)),  # 3, 3.5, 4, 2.5 per slot
        (Srs(), "ties", (True, True), (0, 0)),
        (Srs(), "nothing to earn", (True, True), None),
        (Cvs(), "one clear winner", (True, True), (1, 0)),  # 1.5, 1.75, 4, 2.5 per TMAC
        (Cvs(), "one clear winner", (True, False), (0, 1)),
        (Cvs(), "ties", (True, True), (1, 0)),
    ],
)
def test_greedy_baselines(policy, case, idle, answer):
    assert ask(policy, market(PROFIT[case]), idle=idle) == answer


def planned(y):
    return plan_with(np.array(y).reshape(1, 1, 2, 2))


@pytest.mark.parametrize(
    ("coin", "answer"),
    [
        (0.0, (0, 0)),
        (0.19, (0, 0)),
        (0.21, None),  # server 1 is busy, and there is no second candidate
        (0.59, None),
        (0.61, None),  # what is left is rejected
    ],
)
def test_rescue_routes_by_its_plan(coin, answer):
    policy = Rescue(plan=planned([0.2, 0.0, 0.0, 0.4]))
    instance = market(PROFIT["one clear winner"])
    assert ask(policy, instance, coin=coin, idle=(True, False)) == answer


def test_rescue_divides_by_the_probability_of_the_arrival():
    instance = market(PROFIT["one clear winner"], arrival=np.array([[0.5, 0.0]]))
    policy = Rescue(plan=plan_with(np.array([0.0, 0.1, 0.3, 0.0, 0, 0, 0, 0]).reshape(1, 2, 2, 2)))
    answers = [ask(policy, instance, coin=coin) for coin in (0.19, 0.21, 0.79, 0.81)]
    assert answers == [(0, 1), (1, 0), (1, 0), None]
    assert ask(policy, instance, device=1) is None  # a device that is never expected


def test_rescue_rejects_what_is_worth_no_more_than_waiting():
    """A run of two slots now, or the same profit for certain one slot later: a tie rejects."""
    for first, answer in ((1.0, None), (1.001, (0, 0))):
        instance = RescueInstance(
            arrival=np.ones((2, 1)),
            duration=np.array([[0.0, 1.0]]),
            capacity=np.ones((1, 2)),
            reserved=ReservedTasks.none(),
            profit=np.array([first, 2.0]).reshape(2, 1, 1, 1, 1),
        )
        plan = plan_with(np.full((2, 1, 1, 1), 0.5))
        for policy in (Rescue(plan=plan), RescuePlus(plan=plan)):
            assert ask(policy, instance, idle=(True,)) == answer


def test_rescue_plus_considers_all_idle_servers():
    plan = planned([0.0, 0.0, 0.0, 0.0])
    instance = market(PROFIT["one clear winner"])
    assert ask(RescuePlus(plan=plan), instance, coin=0.99) == (0, 1)
    assert ask(RescuePlus(plan=plan), instance, idle=(False, True)) == (1, 1)
    assert ask(Rescue(plan=plan), instance) is None


@pytest.mark.parametrize(
    ("coin", "idle", "answer"),
    [
        (0.0, (True, True), (0, 1)),  # routed to profile 0, runs the most profitable one
        (0.59, (True, True), (0, 1)),
        (0.61, (True, True), (1, 1)),
        (0.61, (True, False), None),
        (0.91, (True, True), None),
    ],
)
def test_sumita_draws_a_server_and_takes_its_best_profile(coin, idle, answer):
    policy = Sumita(plan=planned([0.5, 0.1, 0.3, 0.0]))
    assert ask(policy, market(PROFIT["one clear winner"]), coin=coin, idle=idle) == answer


def test_sumita_has_no_threshold():
    assert ask(Sumita(plan=planned([0.5, 0.5, 0, 0])), market(PROFIT["nothing to earn"])) == (0, 0)


def test_random_takes_any_run_or_none():
    instance = market(PROFIT["ties"])
    answers = [ask(RandomPolicy(), instance, coin=c) for c in (0.06, 0.19, 0.31, 0.44, 0.5, 0.9)]
    assert answers == [(0, 0), (0, 1), (1, 0), (1, 1), None, None]
    assert ask(RandomPolicy(), instance, idle=(False, True), coin=0.24) == (1, 0)
    assert ask(RandomPolicy(), instance, idle=(False, False)) is None
    assert ask(RandomPolicy(), instance, coin=np.nextafter(0.5, 0)) == (1, 1)


def test_guarded_policies_choose_among_what_is_safe():
    """Server 0 has work due in slot 1 that leaves one slot: profile 1 is out of question there."""
    instance = market(
        PROFIT["one clear winner"],
        arrival=np.array([[1.0], [0.0]]),
        capacity=np.array([[2.0, 2.0], [1.0, 1.0]]),
        reserved=ReservedTasks([0], [0], [1], [2.0]),
    )
    y = np.zeros((2, 1, 2, 2))
    y[0, 0, 0] = 0.25, 0.75
    plan = plan_with(y)
    expected = {
        PickConfigs: ((0, 1), (1, 1)),
        Sumita: ((0, 1), (0, 0)),
        Rescue: ((0, 1), None),
        RescuePlus: ((0, 1), (1, 1)),
    }
    for kind, answers in expected.items():
        given = {"plan": plan} if kind is not PickConfigs else {}
        for guarded, answer in zip((False, True), answers, strict=True):
            assert ask(kind(guarded=guarded, **given), instance, coin=0.45) == answer, kind
    assert ask(RandomPolicy(guarded=True), instance, coin=0.2) == (1, 0)  # of three


def test_names_tell_policies_apart():
    instance = market(PROFIT["ties"])
    policies = [
        *all_policies(plan_of(instance), guarded=False),
        *all_policies(plan_of(instance), guarded=True),
    ]
    names = [policy.name for policy in policies]
    assert len(set(names)) == len(names)
    assert "RESCUE+, guarded" in names


@settings(max_examples=draws(50))
@given(rescue_instances(arrivals=None), st.integers(0, 2**32 - 1))
def test_durations_show_only_when_runs_end(instance, seed):
    """With other durations nothing differs until a run that was going on may have ended."""
    rng = np.random.default_rng(seed)
    scenario = rng.random((instance.horizon, RescueEnvironment(instance).steps, 3))
    other = scenario.copy()
    other[..., 2] = rng.random(other.shape[:2])
    for policy in everybody(instance, plan_of(instance)):
        pair = Replay(instance, np.array([scenario, other]))
        done = simulate(pair, policy, runs=2, keep_trace=True)
        differ = (done.device[0] != done.device[1]) | (done.profile[0] != done.profile[1])
        parted = np.flatnonzero(differ.any(axis=0) | (done.accepted[0] != done.accepted[1]))
        if parted.size:
            assert parted[0] > 0
            assert (done.device[:, :, parted[0] - 1] >= 0).any()
