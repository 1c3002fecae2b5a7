"""The rolling horizon: plans of the waiting tasks."""

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
from edgeopt.online.tapfinger.policies.efficient_bundles import free_ahead
from edgeopt.online.tapfinger.policies.receding_horizon import RollingHorizon
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.scenarios import gpus, held, ran

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

    monkeypatch.setattr("edgeopt.models.tapfinger.branch_and_bound.optimal_schedule", late)
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
