"""Outages: no run meets one, plans and bounds know it, and nothing changes without one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edgeopt
from edgeopt.errors import CertificateError, InstanceError, OptionError
from edgeopt.instances.tapfinger import TapFingerInstance, generate
from edgeopt.instances.tapfinger.durations import (
    longest_durations,
    scenario_durations,
    shortest_durations,
)
from edgeopt.learning.tapfinger.adapters.session import Session
from edgeopt.models.tapfinger import (
    best_list,
    flow_bound,
    optimal_schedule,
    pooled_bound,
    scenario_bound,
    scenario_problem,
    scheduling_problem,
    start_matrix,
    start_program,
    verify,
)
from edgeopt.online import simulate
from edgeopt.online.simulate import run_policy
from edgeopt.online.tapfinger import Min, RandomAllocation, ReservationSpt, TapFingerEnvironment
from edgeopt.online.tapfinger.kernels import until_outages
from edgeopt.solvers import solve
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.oracles.tapfinger.plans import best_plans
from tests.tapfinger.run_policy import CHANGING, STEADY
from tests.tapfinger.scenarios import Wild, named, two_clusters

METHODS = ("trivial", "volume", "pooled", "relaxation")


def with_outages(instance: TapFingerInstance, seed: int, slots: int = 9) -> TapFingerInstance:
    """Take clusters down at the start, in the end, or for stretches that may touch."""
    draw = np.random.default_rng(seed)
    for _ in range(int(draw.integers(1, 4))):
        first = int(draw.choice([0, draw.integers(slots)]))
        last = int(draw.integers(first, slots))
        instance = instance.down(int(draw.integers(instance.clusters)), first, last)
    return instance


def met(instance: TapFingerInstance, cluster: int, begin: int, end: int) -> bool:
    """Tell whether slots from `begin` to before `end` meet an outage."""
    return bool(instance.outage[cluster, begin:end].any())


@settings(max_examples=draws(40), deadline=None)
@given(tapfinger_instances(tasks=3, clusters=2, combinations=2e4), st.integers(0, 2**32 - 1))
def test_plans_and_bounds_are_those_of_enumeration(instance, seed):
    instance = with_outages(instance, seed, slots=6)
    problem = scheduling_problem(instance)
    least, plans = best_plans(problem)
    for plan in plans:
        assert not any(met(instance, n, begin, end) for _, n, _, begin, end in plan)
    found = optimal_schedule(problem)
    verify(problem, found.schedule)
    assert found.objective == pytest.approx(least)
    assert found.bound == pytest.approx(least)
    assert solve(start_program(problem)).objective == pytest.approx(least)
    assert solve(start_matrix(problem)).objective == pytest.approx(least)
    assert best_list(problem).flow_time(problem) >= least - 1e-9
    for method in METHODS:
        for preemptive in (False, True):
            bound = flow_bound(instance, method=method, preemptive=preemptive)
            assert bound.value <= least * (1 + 1e-9) + 1e-9
    cluster, start = found.schedule.cluster, found.schedule.start
    for n, begin, end in zip(cluster, start, found.schedule.completion(problem), strict=True):
        assert not met(instance, n, begin, end)


@settings(max_examples=draws(25), deadline=None)
@given(tapfinger_instances(noise=None), st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("policy", [*STEADY, *CHANGING, Wild(), Wild(preemption=False)], ids=repr)
def test_no_run_meets_an_outage(policy, instance, seed):
    instance = with_outages(instance, seed)
    environment = TapFingerEnvironment(instance, preemption=getattr(policy, "preemption", True))
    scenario = int(environment.scenarios(np.random.default_rng(seed), 1)[0])
    episode = environment.episode(scenario, keep_trace=True)
    run_policy(episode, policy, policy.start(environment.instance), np.random.default_rng(seed))
    ran = environment.trajectory(policy.name, [episode], seconds=0.0, keep_trace=True)
    held = ran.held
    steady = not getattr(policy, "preemptive", getattr(policy, "preemption", True))
    for n, bundle, begin, end in zip(held.cluster, held.bundle, held.begin, held.end, strict=True):
        assert not bundle.any() or not met(instance, n, begin, end)
    down = instance.outage.T[: ran.used.shape[1]]
    assert not ran.used[0, : down.shape[0]][down].any()
    assert (ran.used[0] <= instance.capacity).all()
    if steady:
        assert ran.complete.all()
        assert not ran.preemptions.any()
        bound = scenario_bound(instance, [scenario]).value
        assert bound <= ran.weighted_flow_time()[0] + 1e-6
    elif ran.complete.all():
        bound = flow_bound(instance, preemptive=True).value
        assert bound <= ran.weighted_flow_time()[0] + 1e-6


def solo(policy, *outages, tasks=1, **changes):
    """Return when tasks of three slots, each of which needs the one cluster, are complete."""
    instance = TapFingerInstance(
        capacity=[[1, 1]], minimum=[[1, 1]], speed=[[[0, 0], [0, 0.34]]], arrival=[0] * tasks,
        kind=[0] * tasks, eligible=[[1]] * tasks, **changes,
    )  # fmt: skip
    for first, last in outages:
        instance = instance.down(0, first, last)
    ran = simulate(TapFingerEnvironment(instance), policy, runs=1)
    problem = scheduling_problem(instance)
    best = optimal_schedule(problem)
    assert flow_bound(instance).value <= best.objective <= ran.flow_time.sum()
    return ran.completion[0].tolist(), best.objective


@pytest.mark.parametrize("policy", [*STEADY[3:6], STEADY[7]], ids=repr)
def test_outages_at_the_start_in_the_end_and_two_that_touch(policy):
    assert solo(policy) == ([3], 3)
    assert solo(policy, (0, 0)) == ([4], 4)
    assert solo(policy, (3, 5)) == ([3], 3)
    assert solo(policy, (2, 2)) == ([6], 6)
    assert solo(policy, (2, 3), (4, 5)) == ([9], 9)
    assert solo(policy, (0, 1), (4, 4)) == ([8], 8)
    assert solo(policy, (4, 1500)) == ([3], 3)
    assert sorted(solo(policy, (4, 4), tasks=2)[0]) == [3, 8]


def test_a_run_outlasts_an_outage_that_is_longer_than_its_patience():
    instance = two_clusters().down(0, 0, 1500).down(1, 0, 1500)
    ran = simulate(TapFingerEnvironment(instance, patience=10), Min(), runs=1)
    assert ran.complete.all()
    assert ran.start.min() == 1501


def test_policies_that_change_bundles_pause_their_tasks():
    done = solo(CHANGING[0], (2, 4), switching=1.0)[0]
    # It may not start: with its bundle it would meet the outage.
    assert done == [8]
    instance = two_clusters().down(0, 4, 5)
    episode = TapFingerEnvironment(instance).episode(0, keep_trace=True)
    episode.act(named(2, {0: (1, (3, 1))}))  # two slots
    episode.act(named(2))
    episode.act(named(2, other={1: (2, 0)}))  # half done: with less, two more
    while (seen := episode.observe()).slot < 4:
        episode.act(named(2))
    assert seen.running.bundle.tolist() == [[0, 0]] or seen.running.task.size == 0
    assert seen.free.tolist() == [[0, 0], [2, 2]]


def test_a_start_that_might_meet_an_outage_waits():
    instance = two_clusters().down(0, 3, 3)
    for noise, waits in ((0.0, False), (0.3, True)):
        episode = TapFingerEnvironment(instance.replace(noise=noise)).episode(0)
        seen = episode.observe()
        outcome = episode.act(named(2, {0: (0, (3, 2)), 1: (0, (1, 1))}))  # two slots, if calm
        assert outcome.started.tolist() == ([-1, 0] if waits else [0, -1]), seen
    episode = TapFingerEnvironment(instance).episode(0)
    assert episode.act(named(2, {0: (1, (2, 0))})).started.tolist() == [-1, -1]  # four slots
    assert episode.observe().slot == 1


def test_longest_durations_hold_for_all_noise():
    instance = generate(tasks=4, noise=0.05, rng=1)
    longest, calm = longest_durations(instance), instance.duration
    assert (longest >= calm).all()
    assert ((longest == 0) == (calm == 0)).all()
    assert (shortest_durations(instance) <= calm).all()
    for scenario in range(20):
        slots = scenario_durations(instance, scenario)
        assert (slots <= longest[:, instance.kind]).all()
    assert (longest_durations(instance.replace(noise=1.0))[calm > 0] == 10**6).all()


def test_slots_until_the_next_outage():
    outage = np.array([[0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]], dtype=bool)
    assert until_outages(outage).tolist() == [[2, 1, 1, 2, 1], [0] * 5, [1, 0, 0, 0, 0]]


def test_kernels_and_the_plain_loop_agree():
    instance = generate(clusters=3, tasks=20, noise=0.05, rng=2).down(0, 3, 6).down(2, 0, 40)

    class Plainly(TapFingerEnvironment):
        """Not the environment for which there are kernels."""

    for policy in (Min(), RandomAllocation()):
        fast = simulate(TapFingerEnvironment(instance), policy, runs=3)
        traced = simulate(TapFingerEnvironment(instance), policy, runs=3, keep_trace=True)
        assert fast.compiled
        assert not traced.compiled
        assert np.array_equal(fast.completion, traced.completion)
        assert np.array_equal(fast.used, traced.used)


def test_without_an_outage_nothing_changes(tmp_path):
    instance = generate(tasks=6, rng=1)
    same = instance.replace(outage=np.zeros((instance.clusters, 5), dtype=bool))
    assert same.outage is None
    assert same.fingerprint() == instance.fingerprint()
    problem = scheduling_problem(instance)
    assert problem.occupied.shape[0] == 0
    down = instance.down(1, 2, 4)
    assert down.fingerprint() != instance.fingerprint()
    longer = np.zeros((instance.clusters, 9), dtype=bool)
    longer[1, 2:5] = True
    assert instance.replace(outage=longer).fingerprint() == down.fingerprint()
    down.save(tmp_path / "down.nc")
    again = TapFingerInstance.load(tmp_path / "down.nc")
    assert again.fingerprint() == down.fingerprint()
    assert np.array_equal(again.outage, down.outage)
    late = instance.down(0, 500, 501)
    for policy in (ReservationSpt(), Min()):
        runs = [simulate(TapFingerEnvironment(one), policy, runs=1) for one in (instance, late)]
        assert np.array_equal(runs[0].completion, runs[1].completion)


def test_wrong_outages_and_what_does_not_know_them():
    instance = two_clusters()
    for wrong in ((2, 0, 1), (0, -1, 1), (0, 2, 1), (0, 0, 10**7)):
        with pytest.raises(OptionError):
            instance.down(*wrong)
    with pytest.raises(InstanceError, match="outage"):
        instance.replace(outage=np.ones((3, 2), dtype=bool))
    down = instance.down(0, 0, 2)
    with pytest.raises(CertificateError, match="outages"):
        pooled_bound(scheduling_problem(down)).certificate()
    with pytest.raises(OptionError, match="learners do not see outages"):
        Session(down)
    noisy = down.replace(noise=0.3)
    assert np.array_equal(
        scenario_problem(noisy, 1).occupied[:, 0], [instance.capacity[0].tolist()] * 3
    )


def test_a_page_of_an_instance_with_an_outage_is_written(tmp_path):
    found = edgeopt.study(two_clusters().down(0, 1, 3), ["reservation", "optimus", "random"])
    assert found.page(tmp_path / "page").is_file()
