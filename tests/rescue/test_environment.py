"""The environment: the order of events in a slot, what is booked, what is told, what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    FinishedRun,
    PickConfigs,
    Placement,
    RandomPolicy,
    RescueEnvironment,
)
from edgeopt.testing.strategies import rescue_instances


def certain(**changes):
    """A task of device 0 in every slot, runs of two slots, two servers; profit names the pair."""
    T, D = 4, 2
    profit = 100.0 * np.arange(T).reshape(T, 1, 1, 1, 1) + 10.0 * np.arange(1, 3).reshape(2, 1, 1)
    fields = {
        "arrival": np.ones((T, 1)),
        "duration": np.array([[0.0, 1.0]]),
        "capacity": np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]),
        "reserved": ReservedTasks([0, 0, 1], [0, 0, 2], [3, 1, 3], [1.5, 1.0, 20.0 - 5.0]),
        "profit": profit + np.arange(D),
    }
    return RescueInstance(**(fields | changes))


SCENARIO = np.full((4, 1, 3), 0.5)


def test_a_slot_by_hand():
    episode = RescueEnvironment(certain()).episode(SCENARIO, keep_trace=True)

    arrival = episode.observe()
    assert (arrival.slot, arrival.device, arrival.coin) == (0, 0, 0.5)
    assert arrival.idle.tolist() == [True, True]
    assert arrival.remaining.tolist() == [1.5, 1.0, 15.0]
    assert episode.act(Placement(1, 0)) == ()

    arrival = episode.observe()
    assert arrival.slot == 1
    assert arrival.idle.tolist() == [True, False]
    # Server 0 has served the task that is due first although its index is higher.
    assert arrival.remaining.tolist() == [1.5, 0.0, 15.0]
    assert episode.act(None) == (FinishedRun(0, 0, 1, 0, 2, 21.0),)

    arrival = episode.observe()
    assert arrival.slot == 2
    assert arrival.remaining.tolist() == [0.0, 0.0, 15.0]
    assert episode.act((0, 0)) == ()

    assert episode.observe().remaining.tolist() == [0.0, 0.0, 8.0]
    assert episode.act((1, 0)) == (FinishedRun(2, 0, 0, 0, 2, 211.0),)  # the other outlasts time

    assert episode.observe() is None
    log = episode.log
    assert log.reward.tolist() == [21, 0, 211, 321]
    assert log.decisions.tolist() == [1, 1, 1, 1]
    assert log.accepted.tolist() == [1, 0, 1, 1]
    assert log.retraining_work.tolist() == [5, 6, 3, 4 + 8]
    assert log.reserved_work.tolist() == [1, 1.5, 7, 0]
    assert log.violations.tolist() == [0, 0, 0, 1]
    assert log.device.tolist() == [[-1, -1, 0, 0], [0, 0, -1, 0]]
    assert log.profile.tolist() == [[-1, -1, 0, 0], [0, 0, -1, 0]]
    assert log.served.tolist() == [[0, 1.5, 0, 0], [1, 0, 0, 0], [0, 0, 7, 0]]


def test_runs_that_outlast_the_horizon_earn_by_the_rule_of_the_instance():
    for beyond, last in (("hold", 311.0), ("drop", 0.0)):
        environment = RescueEnvironment(certain(beyond=beyond))
        reward = simulate(environment, PickConfigs(), runs=1).reward[0]
        assert reward.tolist()[:3] == [21, 111, 221] or beyond == "drop"
        episode = environment.episode(SCENARIO)
        for decision in (None, None, None, Placement(0, 0)):
            episode.act(decision)
        assert episode.log.reward.tolist() == [0, 0, 0, last]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Placement(0, 0), r"^Placement\(server=0, profile=0\): server 0 is busy$"),
        (Placement(2, 0), r"^Placement\(server=2, profile=0\): there are 2 servers$"),
        (Placement(-1, 0), "there are 2 servers"),
        (Placement(1, 1), "there is 1 profile$"),
    ],
)
def test_refuses_decisions_that_cannot_be_carried_out(decision, message):
    episode = RescueEnvironment(certain()).episode(SCENARIO)
    episode.act(Placement(0, 0))
    with pytest.raises(OptionError, match=message):
        episode.act(decision)


def test_observations_are_read_only():
    arrival = RescueEnvironment(certain()).episode(SCENARIO).observe()
    for array in (arrival.idle, arrival.remaining):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_independent_devices_come_in_the_order_of_their_index():
    arrival = np.array([[0.6, 0.0, 0.6]] * 4)
    instance = certain(arrival=arrival, arrivals="independent")
    environment = RescueEnvironment(instance)
    assert environment.steps == 3
    episode = environment.episode(np.full((4, 3, 3), 0.5))
    first = episode.observe()
    episode.act(Placement(1, 0))
    second = episode.observe()
    assert [(a.slot, a.device, a.idle.tolist()) for a in (first, second)] == [
        (0, 0, [True, True]),
        (0, 2, [True, False]),
    ]
    episode.act(None)
    assert episode.observe().slot == 1
    assert episode.log.decisions.tolist() == [2, 0, 0, 0]


def test_arrivals_follow_their_law():
    """Frequencies by Hoeffding's inequality; the test fails by chance with probability 1e-6."""
    instance = generate(servers=30, devices=3, profiles=2, horizon=60, reserved=0, rng=4)
    instance = instance.replace(arrival=np.tile([0.5, 0.2, 0.1], (60, 1)))
    independent = instance.replace(arrivals="independent")
    for given_, rate in ((instance, 0.8), (independent, 0.8 / 3)):
        trajectory = simulate(RescueEnvironment(given_), RandomPolicy(), rng=0, runs=300)
        asked = trajectory.decisions.sum()
        coins = 300 * 60 * RescueEnvironment(given_).steps
        assert abs(asked / coins - rate) < np.sqrt(np.log(8e6) / (2 * coins))
        # There is always an idle server among so many: only the policy's own coin rejects.
        assert abs(trajectory.accepted.sum() / asked - 0.5) < np.sqrt(np.log(8e6) / (2 * asked))


def test_the_last_duration_absorbs_rounding():
    """Whatever the coin, a run lasts as long as it can with positive probability."""
    instance = certain(
        duration=np.array([[0.1] * 3 + [0.7 - 1e-10, 0.0]]), profit=np.ones((1,) * 5)
    )
    table = RescueEnvironment(instance).duration_cumulative
    assert table[0, 3:].tolist() == [1.0, 1.0]
    scenario = np.full((4, 1, 3), np.nextafter(1.0, 0.0))
    scenario[..., 0] = 0.0
    episode = RescueEnvironment(instance).episode(scenario, keep_trace=True)
    episode.act(Placement(0, 0))
    assert (episode.log.device[0] == 0).all()


@given(rescue_instances(arrivals=None), st.integers(0, 2**32 - 1))
def test_finished_runs_explain_the_reward(instance, seed):
    environment = RescueEnvironment(instance)
    episode = environment.episode(environment.scenarios(np.random.default_rng(seed), 1)[0])
    policy = RandomPolicy()
    rule = policy.start(instance)
    told, placed = [], []
    while (arrival := episode.observe()) is not None:
        decision = rule.choose(arrival)
        if decision is not None:
            placed.append((arrival.slot, arrival.device, *decision))
        told.extend(episode.act(decision))
    reward = np.zeros(instance.horizon)
    for run in told:
        assert run[:4] in placed
        assert run.slot + run.duration <= instance.horizon
        assert instance.duration[run.profile, run.duration - 1] > 0
        profit = np.broadcast_to(instance.realised_profit, instance.shape)
        assert run.profit == profit[(*run[:4], run.duration - 1)]
        reward[run.slot] += run.profit
    assert (reward <= episode.log.reward + 1e-9).all()
    for one, two in pairwise(told):
        assert one.slot + one.duration <= two.slot + two.duration
    unheard = len(placed) - len(told)
    assert 0 <= unheard <= instance.servers


@pytest.mark.parametrize("compiled", [True, False])
def test_a_run_says_how_long_it_took(compiled):
    environment = RescueEnvironment(generate(rng=1, horizon=30))
    run = simulate(environment, RandomPolicy(), runs=3, rng=0, compiled=compiled)
    assert run.compiled is compiled
    assert 0 < run.seconds < 3600
