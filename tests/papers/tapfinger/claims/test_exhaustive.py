"""Best plans and runs by looking at everything, against loops that look at even more."""

import itertools

import numpy as np
import pytest
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims import lower as preempted
from edgeopt_papers.tapfinger.claims import plan as exhaustive
from edgeopt_papers.tapfinger.claims.lower import least_preempted_flow
from edgeopt_papers.tapfinger.claims.plan import Plan, Restless, best_plan, least_flow
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds import NotApplicableError
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations, generate
from edgeopt.models.tapfinger import Schedule, horizon, scheduling_problem
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import Decision, TapFingerEnvironment
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.strategies import scheduling_problems


def every_plan(problem):
    """List every cluster, bundle and start for every task, whatever the others do."""
    end = horizon(problem)
    for choice in itertools.product(*(options(problem, j, end) for j in range(problem.tasks))):
        cluster, cpu, gpu, start = (np.array(part, dtype=int) for part in zip(*choice, strict=True))
        yield Plan(problem, Schedule(cluster, np.stack([cpu, gpu], axis=1), start))


def options(problem, j, end):
    duration = problem.duration[:, problem.kind[j]]
    return [
        (n, cpu, gpu, start)
        for n, cpu, gpu in np.argwhere(duration > 0).tolist()
        if problem.eligible[j, n]
        for start in range(problem.arrival[j], end - duration[n, cpu, gpu] + 1)
    ]


@settings(max_examples=draws(40))
@given(scheduling_problems(tasks=3, capacity=2, longest=3, combinations=300))
def test_no_plan_is_better(problem):
    plans = [plan for plan in every_plan(problem) if plan.carried_out] if problem.tasks else []
    found = best_plan(problem)
    assert found.carried_out
    if plans:
        assert found.schedule.flow_time(problem) == pytest.approx(
            min(plan.schedule.flow_time(problem) for plan in plans)
        )


def every_run(instance, slots):
    """List the flow times of all runs of a single task on one cluster, pauses included."""
    x = [(0, 0), *((c, g) for c, g in np.argwhere(instance.duration[0, 0] > 0).tolist())]
    for held in itertools.product(x, repeat=slots):
        progress, before = 0.0, None
        for t, bundle in enumerate(held):
            if before is not None or bundle != (0, 0):
                speed = instance.speed[0, 0][bundle]
                gain = speed * (np.sqrt(1.2 - progress) if instance.slowing[0] else 1.0)
                progress += gain * (1.0 if before in (None, bundle) else instance.switching)
                before = bundle
            if progress >= 1 - 1e-9:
                yield t + 1, sum(c for c, _ in held[: t + 1]), sum(g for _, g in held[: t + 1])
                break


@settings(max_examples=draws(15))
@given(tapfinger_instances(tasks=1, clusters=1, kinds=1, capacity=2, weighted=False))
def test_no_run_of_a_single_task_is_better(instance):
    alone = instance.replace(arrival=np.array([0]))
    flows = [flow for flow, _, _ in every_run(alone, 5)]
    found = least_preempted_flow(alone)
    assert found == min(flows) if flows else found == 6


@settings(max_examples=draws(30))
@given(tapfinger_instances(tasks=3, clusters=2, capacity=3), st.integers(0, 99))
def test_changes_never_hurt_and_no_drawn_run_is_better(instance, seed):
    try:
        found = least_preempted_flow(instance)
    except NotApplicableError:
        return
    assert found <= least_flow(scheduling_problem(instance)) + 1e-9
    environment = TapFingerEnvironment(instance, patience=60)
    for change in (0.3, 1.0):
        run = simulate(environment, Restless(change, hurry=1.0), rng=seed, runs=3)
        assert run.weighted_flow_time().min() >= found - 1e-9


@pytest.mark.parametrize(
    ("slots", "switching", "least"),
    [(3, 1.0, 5), (3, 0.5, 6), (6, 1.0, 8), (6, 0.5, 9), (6, 0.0, 9)],
)
def test_overtaken_by_hand(slots, switching, least):
    """The pause costs the longer task a slot, and a change half of one, or all of it."""
    instance = named.overtaken(slots).replace(switching=switching)
    assert least_preempted_flow(instance) == least
    assert least_flow(scheduling_problem(instance)) == slots + 3


def test_a_start_that_is_kept_for_later_may_pay():
    """The second task is placed while the first holds all, and waits there until it is gone.

    So the cluster has a start left for the third one, when both fit.
    """
    instance = TapFingerInstance(
        capacity=[[2, 2]], minimum=[[2, 2], [1, 1]],
        speed=np.broadcast_to(np.array([0.5, 1.0])[:, None, None], (2, 3, 3)),
        arrival=[0, 1, 2], kind=[0, 1, 1], eligible=np.ones((3, 1), dtype=bool),
        switching=1.0, single_start=True,
    )  # fmt: skip
    assert least_flow(scheduling_problem(instance)) == 2 + 2 + 2
    assert least_preempted_flow(instance) == 2 + 2 + 1
    episode = TapFingerEnvironment(instance).episode(0)
    ones, nothing = np.ones((1, 2), dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    episode.act(Decision(np.array([0]), 2 * ones))
    episode.act(Decision(np.array([1]), nothing, place=np.array([True])))
    episode.act(Decision(np.array([2]), ones, changed=np.array([1]), other=ones))
    assert episode.over
    assert (episode.task["completion"] - instance.arrival).sum() == 5


@pytest.mark.parametrize(("single_start", "least"), [(True, 1 + 2), (False, 1 + 1)])
def test_one_start_per_slot_holds_beside_changes_too(single_start, least):
    instance = from_durations(
        np.ones((1, 3, 3)), minimum=[[1, 1]], capacity=[[2, 2]], arrival=[0, 0], kind=[0, 0],
        single_start=single_start,
    )  # fmt: skip
    assert least_preempted_flow(instance) == least


def test_large_problems_are_left_alone(monkeypatch):
    many = generate(tasks=12)
    with pytest.raises(NotApplicableError, match="too many tasks"):
        best_plan(scheduling_problem(many))
    with pytest.raises(NotApplicableError, match="too many tasks"):
        least_preempted_flow(many)
    with pytest.raises(NotApplicableError, match="noise"):
        least_preempted_flow(named.one_gpu())
    monkeypatch.setattr(exhaustive, "MOST", 1)
    with pytest.raises(NotApplicableError, match="too many tasks"):
        best_plan(named.both_or_halves())
    monkeypatch.undo()
    monkeypatch.setattr(preempted, "MOST", 1)
    with pytest.raises(NotApplicableError, match="too many runs"):
        least_preempted_flow(named.overtaken())
