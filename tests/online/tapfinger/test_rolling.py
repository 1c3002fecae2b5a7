"""Schedulers that plan: the rolling horizon and the rollout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import optimal_schedule, scheduling_problem
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.policies.estimates import free_ahead
from edgeopt.online.tapfinger.policies.reservation import PricedSpt, ReservationSpt
from edgeopt.online.tapfinger.policies.rolling import RollingHorizon
from edgeopt.online.tapfinger.policies.rollout import Rollout
from edgeopt.online.tapfinger.policies.uniform import RandomAllocation
from tests.draws import draws
from tests.online.tapfinger.scenarios import gpus, held, ran
from tests.strategies import tapfinger_instances

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger import OptimalSchedule, SchedulingProblem


@settings(max_examples=draws(15))
@given(tapfinger_instances(tasks=4))
def test_as_good_as_the_best_plan_where_all_tasks_are_known(instance: TapFingerInstance) -> None:
    """Every slot plans the rest of a best plan, next to what it has begun."""
    instance = instance.replace(arrival=np.zeros_like(instance.arrival), pending=10)
    best = optimal_schedule(scheduling_problem(instance)).objective
    trajectory = ran(instance, RollingHorizon())
    assert trajectory.complete.all()
    assert trajectory.weighted_flow_time()[0] == pytest.approx(best, abs=1e-9)


@settings(max_examples=draws(15))
@given(tapfinger_instances(tasks=5, noise=None), st.integers(1, 3), st.integers(0, 2))
def test_all_tasks_are_complete_whatever_it_overlooks(
    instance: TapFingerInstance, tasks: int, echo: int
) -> None:
    trajectory = ran(instance, RollingHorizon(tasks=tasks, echo=echo))
    assert trajectory.complete.all()
    if not instance.noise:
        best = optimal_schedule(scheduling_problem(instance)).objective
        assert trajectory.weighted_flow_time()[0] >= best - 1e-9


def test_only_the_oldest_are_planned() -> None:
    """A plan of both would give way to the short task: 1 + 3 instead of 2 + 3."""
    short = gpus(
        [0, 0], capacity=[[0, 1]], minimum=[[0, 1]] * 2, kind=[0, 1],
        speed=[[[0.0, 0.5]], [[0.0, 1.0]]],
    )  # fmt: skip
    assert held(ran(short, RollingHorizon()))[1] == (0, 1, 0, 1)
    assert held(ran(short, RollingHorizon(tasks=1)))[1] == (0, 1, 2, 3)


def test_an_echo_saves_for_those_to_come() -> None:
    """Two GPUs take 4 slots and one takes 5; another task in the next slot would wait for 3."""
    slow = gpus([0], capacity=[[0, 2]], speed=[[[0.0, 0.2, 0.25]]])
    assert held(ran(slow, RollingHorizon()))[0] == (0, 2, 0, 4)
    assert held(ran(slow, RollingHorizon(echo=1)))[0] == (0, 1, 0, 5)


def test_a_plan_that_idles_is_begun_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task 0 does not wait for the slot of its plan; task 1 does, since task 0 runs."""

    def late(problem: SchedulingProblem, **_: object) -> OptimalSchedule:
        best = optimal_schedule(problem)
        plan = replace(best.schedule, start=best.schedule.start + 1)
        return replace(best, schedule=plan)

    monkeypatch.setattr("edgeopt.models.tapfinger.exact.optimal_schedule", late)
    runs = held(ran(gpus([0, 1]), RollingHorizon()))
    assert runs == {0: (0, 3, 0, 2), 1: (0, 3, 2, 4)}


def test_a_cluster_that_has_started_a_task_starts_no_other_where_it_may_not() -> None:
    for single, expected in ((False, 0), (True, -1)):
        instance = gpus([0], single_start=single)
        seen = TapFingerEnvironment(instance).episode(0).observe()
        assert seen is not None
        policy = RollingHorizon()
        state = policy.start(instance)
        begun = seen._replace(started=np.ones(1, dtype=bool))
        decision, _ = policy.decide(state, begun, np.random.default_rng(0))
        assert decision.task.tolist() == [expected]


def test_tasks_without_weight_are_planned_as_well_if_there_are_no_others() -> None:
    alike, none = gpus([0] * 5), gpus([0] * 5, weight=[0.0] * 5)
    total = ran(alike, RollingHorizon()).total[0]
    assert ran(none, RollingHorizon()).total[0] == total


def test_a_task_is_planned_where_it_is_shown() -> None:
    """On cluster 0 task 1 would take one slot instead of four, but task 0 has the only place."""
    two = gpus(
        [0, 0], clusters=2, pending=1, eligible=[[1, 0], [1, 1]], capacity=[[0, 1], [0, 1]],
        minimum=[[0, 1]] * 2, kind=[0, 1],
        speed=[[[[0.0, 0.5]], [[0.0, 1.0]]], [[[0.0, 0.5]], [[0.0, 0.25]]]],
    )  # fmt: skip
    assert held(ran(two, RollingHorizon())) == {0: (0, 1, 0, 2), 1: (1, 1, 0, 4)}


def test_options_and_names() -> None:
    assert RollingHorizon().name == "RollingHorizon"
    assert RollingHorizon(tasks=8, echo=1).name == "RollingHorizon, tasks=8, echo=1"
    for option, value in (("tasks", 0), ("echo", -1), ("gap", -0.1), ("time_limit", -1.0)):
        with pytest.raises(OptionError, match=f"{option} = {value}"):
            RollingHorizon(**{option: value})


def test_what_running_tasks_hold_is_free_when_they_end() -> None:
    """Two tasks of half a slot's speed and a quarter's: 3 cores are free, then 5, then 6 and 1."""
    speed = np.zeros((1, 1, 4, 4))
    speed[0, 0, 2, 0], speed[0, 0, 1, 1] = 0.5, 0.25
    ahead = free_ahead(
        np.array([[3, 0]]), np.array([0, 0]), np.array([[2, 0], [1, 1]]), np.array([0.0, 0.0]),
        np.array([0, 1]), np.array([0, 0]), speed, np.array([False]), 6,
    )  # fmt: skip
    assert ahead[0].tolist() == [[3, 0], [3, 0], [5, 0], [5, 0], [6, 1], [6, 1]]


GENEROUS = PricedSpt(pressure=0.0)
STUCK = ReservationSpt(look=1)


@settings(max_examples=draws(25))
@given(tapfinger_instances(tasks=5, weighted=None), st.integers(1, 3))
def test_no_worse_than_the_best_where_all_tasks_are_known(
    instance: TapFingerInstance, every: int
) -> None:
    instance = instance.replace(arrival=np.zeros_like(instance.arrival))
    policies = (ReservationSpt(), PricedSpt(), GENEROUS)
    alone = [ran(instance, policy).weighted_flow_time()[0] for policy in policies]
    rollout = Rollout(policies=policies, every=every)
    environment = TapFingerEnvironment(instance, preemption=False)
    seen = environment.episode(0).observe()
    assert seen is not None
    state = rollout.start(environment.instance)
    _, state = rollout.decide(state, seen, np.random.default_rng(0))
    assert state.followed == int(np.argmin(alone))
    assert ran(instance, rollout).weighted_flow_time()[0] <= min(alone) + 1e-9


def test_the_one_that_would_be_best_is_followed_until_it_is_not() -> None:
    """Priced gives task 1 one GPU in slot 1, to be complete at 5; reserved, it is at 4."""
    two = gpus([0, 1])
    assert held(ran(two, Rollout()))[1] == (0, 3, 2, 4)
    other = Rollout(policies=(PricedSpt(), ReservationSpt()))
    assert held(ran(two, other))[1] == (0, 3, 2, 4)
    # In slot 0 both are alike, and the first one stays for two slots.
    late = Rollout(policies=(PricedSpt(), ReservationSpt()), every=2)
    assert held(ran(two, late))[1] == (0, 1, 1, 5)


def test_flow_times_count_by_weight() -> None:
    """Priced, tasks 1 and 2 are complete at 5 and 4; reserved, at 4 and 5."""
    heavy = gpus([0, 1, 1], weight=[1.0, 2.0, 1.0])
    either = Rollout(policies=(PricedSpt(), ReservationSpt()))
    assert held(ran(heavy, PricedSpt()))[1] == (0, 1, 1, 5)
    assert held(ran(heavy, either))[1] == (0, 3, 2, 4)


def test_who_leaves_tasks_behind_is_not_followed() -> None:
    assert ran(gpus([0]), Rollout(policies=(STUCK, PricedSpt()))).complete.all()


def test_options_and_names_of_rollout() -> None:
    assert Rollout().name == "Rollout"
    assert not Rollout().preemptive
    named = Rollout(policies=(PricedSpt(), GENEROUS), every=2, refill="round").name
    assert named == "Rollout of PricedSpt & PricedSpt, pressure=0.0, every=2, refill=round"
    with pytest.raises(OptionError, match="at least one"):
        Rollout(policies=())
    with pytest.raises(OptionError, match="tosses coins"):
        Rollout(policies=(RandomAllocation(),))
    with pytest.raises(OptionError, match="every = 0"):
        Rollout(every=0)
    with pytest.raises(OptionError, match="refill = 'never'"):
        Rollout(refill="never")  # type: ignore[arg-type]
