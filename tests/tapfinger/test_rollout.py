"""The rollout: decisions compared by plans of what waits and what may come."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import generate
from edgeopt.models.tapfinger import SchedulingProblem, list_schedule
from edgeopt.models.tapfinger.list_scheduling import _arrays, least_flow
from edgeopt.models.tapfinger.programs import efficient
from edgeopt.online.tapfinger import (
    Decision,
    FutureRollout,
    ReservationSpt,
    TapFingerEnvironment,
)
from edgeopt.online.tapfinger.policies import rollout as rollout_module
from edgeopt.online.tapfinger.policies.efficient_bundles import free_ahead
from edgeopt.online.tapfinger.policies.rollout import PLANNED
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.scenarios import ran
from tests.tapfinger.strategies import scheduling_problems

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance

FEW = {"samples": 2, "reach": 4, "moves": 5}


@given(tapfinger_instances(tasks=5, noise=None, weighted=None), st.integers(0, 9))
@settings(max_examples=draws(25))
def test_all_tasks_are_complete(instance: TapFingerInstance, seed: int) -> None:
    run = ran(instance, FutureRollout(seed=seed, **FEW))
    assert run.complete.all()
    assert not run.preemptions.any()


@given(tapfinger_instances(tasks=5, noise=None))
@settings(max_examples=draws(15))
def test_with_one_candidate_it_is_that_one(instance: TapFingerInstance) -> None:
    alone = FutureRollout(pressures=(2.0,), moves=None)
    one, other = ran(instance, alone), ran(instance, ReservationSpt(pressure=2.0))
    assert one.completion.tolist() == other.completion.tolist()
    assert one.cluster.tolist() == other.cluster.tolist()


@given(scheduling_problems(tasks=5))
@settings(max_examples=draws(25))
def test_least_flow_is_that_of_lists(problem: SchedulingProblem) -> None:
    plans = [list_schedule(problem, pressure=pressure) for pressure in PLANNED]
    least = least_flow(PLANNED, *_arrays(problem, efficient(problem.duration)))
    assert least == pytest.approx(min(plan.flow_time(problem) for plan in plans))


def rounds(instance: TapFingerInstance) -> list:
    """Return all rounds of a run."""
    episode, policy = TapFingerEnvironment(instance).episode(3), ReservationSpt()
    seen, state = [], policy.start(instance)
    while (shown := episode.observe()) is not None:
        seen.append(shown)
        episode.act(policy.decide(state, shown, np.random.default_rng(0))[0])
    return seen


def test_futures_are_drawn_from_what_has_come() -> None:
    instance = generate(tasks=40, rng=3)
    policy = FutureRollout(samples=200, reach=10)
    state = policy.start(instance)
    for seen in rounds(instance)[5:40:9]:
        waiting = np.flatnonzero(seen.tasks.waits)
        futures = policy._futures(state, seen)
        later = np.array([future.arrival.size - waiting.size for future in futures])
        mean = 10 * seen.tasks.arrival.size / (seen.slot + 1)
        # Chances of less than one in a million to fail.
        assert abs(later.mean() - mean) < 5 * np.sqrt(mean / 200)
        assert later.std() > 0
        for future in futures[:3]:
            assert (future.arrival[: waiting.size] == 0).all()
            assert (future.kind[: waiting.size] == seen.tasks.kind[waiting]).all()
            new = future.arrival[waiting.size :]
            assert new.min() >= 1
            assert new.max() <= 10
            assert all(a <= b for a, b in pairwise(new))
            known = {tuple(row) for row in seen.tasks.eligible.tolist()}
            assert {tuple(row) for row in future.eligible.tolist()} <= known
        assert (policy._futures(state, seen)[7].kind == futures[7].kind).all()


@pytest.mark.long
def test_noisy_durations_are_right_on_average() -> None:
    instance = generate(tasks=9, rng=3, single_start=True)
    policy = FutureRollout(samples=50)
    state = policy.start(instance)
    seen = rounds(instance)[0]
    mean = np.mean([future.slots for future in policy._futures(state, seen)], axis=0)
    assert np.abs(mean - np.maximum(1, state.duration)).max() <= 0.51 / 50


@pytest.mark.parametrize("single", [False, True])
def test_cost_is_that_of_the_plan_after_the_decision(single: bool) -> None:
    instance = generate(tasks=30, rng=5, rate=4.0, single_start=single, noise=0.0)
    policy = FutureRollout(samples=2, reach=5)
    state = policy.start(instance)
    other = 0
    for seen in rounds(instance)[::4]:
        futures, running = policy._futures(state, seen), seen.running
        ahead = free_ahead(
            seen.free, running.cluster, running.bundle, running.progress, running.task,
            seen.tasks.kind, instance.speed, instance.slowing, state.ahead,
            np.zeros((instance.clusters, 0), bool), instance.capacity,
        )  # fmt: skip
        busy = (instance.capacity[:, None] - ahead).swapaxes(0, 1)
        usual, _ = ReservationSpt().decide(state, seen, np.random.default_rng(0))
        for decision in (usual, Decision.void(instance.clusters)):
            expected = 0.0
            for future in futures:
                occupied, started, own, gone = busy.copy(), seen.started.copy(), 0.0, set()
                for n, j in enumerate(decision.task.tolist()):
                    if j >= 0:
                        cpu, gpu = decision.bundle[n]
                        slots = instance.duration[n, seen.tasks.kind[j], cpu, gpu]
                        occupied[:slots, n] += decision.bundle[n]
                        started[n], own = True, own + slots
                        gone.add(j)
                soonest = 1 if single or not gone else 0
                waiting = np.flatnonzero(seen.tasks.waits).tolist()
                left = [i for i in range(future.kind.size) if i >= len(waiting) or
                        waiting[i] not in gone]  # fmt: skip
                arrival = np.maximum(future.arrival[left], soonest)
                problem = SchedulingProblem(
                    capacity=instance.capacity, duration=instance.duration, arrival=arrival,
                    kind=future.kind[left], eligible=future.eligible[left], occupied=occupied,
                    single_start=single, started=started,
                )  # fmt: skip
                plans = [list_schedule(problem, pressure=pressure) for pressure in PLANNED]
                expected += own + min(plan.flow_time(problem) for plan in plans)
                expected += (arrival - future.arrival[left]).sum()
            found = rollout_module._cost(state, seen, busy, decision, futures)
            assert found == pytest.approx(expected)
            other += 1
    assert other > 6


@pytest.mark.long
def test_plans_of_futures_are_candidates() -> None:
    several = generate(rng=72)
    usual, without, best = (
        ran(several, policy).weighted_flow_time()[0]
        for policy in (ReservationSpt(), FutureRollout(moves=None), FutureRollout())
    )
    assert best < without < usual


def test_options_and_names() -> None:
    assert FutureRollout().name == "FutureRollout"
    assert not FutureRollout().preemptive
    assert FutureRollout(samples=2, moves=None).name == "FutureRollout, samples=2, moves=None"
    for option, value in (("samples", 0), ("reach", -1), ("moves", -1), ("seed", -1)):
        with pytest.raises(OptionError, match=f"{option} = {value}"):
            FutureRollout(**{option: value})
    with pytest.raises(OptionError, match="at least one"):
        FutureRollout(pressures=())
    with pytest.raises(OptionError, match=r"pressures\[1\] = -1"):
        FutureRollout(pressures=(1.0, -1.0))
