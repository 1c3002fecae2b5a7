"""Runs of all policies: capacities, who is left alone, equal seeds, equal arrivals, no future."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.tapfinger import Schedule, scheduling_problem, verify
from edgeopt.testing.strategies import tapfinger_instances
from tests.tapfinger.run_policy import CHANGING, STEADY, run_once

SEEDS = st.integers(0, 2**32 - 1)
REFILL = st.sampled_from(["slot", "round"])
ANY = st.sampled_from(STEADY + CHANGING)
INSTANCES = tapfinger_instances(noise=None)
IGNORED = {"seconds", "instance", "held", "name", "compiled"}


def same(first, second, fields=None):
    for name in fields or set(vars(first)) - IGNORED:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@given(INSTANCES, ANY, SEEDS, REFILL)
def test_no_cluster_ever_holds_more_than_it_has(instance, policy, seed, refill):
    trajectory, _ = run_once(instance, policy, seed, refill=refill)
    held, slots = trajectory.held, int(trajectory.end[0])
    used = np.zeros((slots, instance.clusters, 2), dtype=int)
    starts = np.zeros((slots, instance.clusters), dtype=int)
    for j, n, bundle, begin, end in zip(*held, strict=True):
        used[begin:end, n] += bundle
        assert instance.eligible[j, n]
        assert begin >= instance.arrival[j]
        starts[begin, n] += begin == trajectory.start[0, j]
    assert (used <= instance.capacity).all()
    assert np.array_equal(used, trajectory.used[0])
    if instance.single_start:
        assert starts.max(initial=0) <= 1


@given(INSTANCES, st.sampled_from(STEADY), SEEDS, REFILL)
def test_who_runs_is_left_alone(instance, policy, seed, refill):
    trajectory, _ = run_once(instance, policy, seed, refill=refill, preemption=False)
    held = trajectory.held
    assert held.task.tolist() == sorted(set(held.task.tolist()))  # one stretch each
    done = trajectory.complete[0]
    assert np.array_equal(held.begin, trajectory.start[0, held.task])
    assert np.array_equal(held.end[done[held.task]], trajectory.completion[0, done])
    assert not trajectory.preemptions.any()
    if instance.noise == 0.0 and done.all():
        # It is a plan of the offline problem too, and costs there what it has cost here.
        plan = Schedule(trajectory.cluster[0], held.bundle, trajectory.start[0])
        problem = scheduling_problem(instance)
        verify(problem, plan)
        assert plan.flow_time(problem) == pytest.approx(trajectory.weighted_flow_time()[0])


@given(INSTANCES, ANY, SEEDS)
def test_one_seed_one_run(instance, policy, seed):
    first, rounds = run_once(instance, policy, seed)
    again, others = run_once(instance, policy, seed)
    same(first, again)
    assert len(rounds) == len(others)


@given(INSTANCES, ANY, ANY, SEEDS)
def test_arrivals_are_the_same_for_all(instance, one, other, seed):
    runs = [run_once(instance, policy, seed) for policy in (one, other)]
    for trajectory, rounds in runs:
        for seen in rounds:
            arrived = int((instance.arrival <= seen.slot).sum())
            for name in ("arrival", "kind", "eligible", "weight"):
                shown = getattr(seen.tasks, name)
                assert np.array_equal(shown, getattr(instance, name)[:arrived])
        slot = np.arange(int(trajectory.end[0]))
        arrived = (instance.arrival[:, None] <= slot).sum(axis=0)
        gone = (trajectory.completion[0][:, None] <= slot).sum(axis=0)
        assert np.array_equal(trajectory.accumulation[0, : slot.size], arrived - gone)
        if trajectory.complete.all():
            assert trajectory.accumulation[0].sum() == trajectory.flow_time[0].sum()


@given(INSTANCES, ANY, SEEDS, st.integers(0, 4))
def test_what_comes_later_changes_nothing_before(instance, policy, seed, since):
    early = int((instance.arrival < since).sum())
    known = instance.replace(
        arrival=instance.arrival[:early],
        kind=instance.kind[:early],
        eligible=instance.eligible[:early],
        weight=instance.weight[:early],
    )
    (whole, _), (part, _) = run_once(instance, policy, seed), run_once(known, policy, seed)
    begun = (whole.start[0, :early] >= 0) & (whole.start[0, :early] < since)
    assert np.array_equal(begun, (part.start[0] >= 0) & (part.start[0] < since))
    for name in ("start", "cluster"):
        assert np.array_equal(getattr(whole, name)[0, :early][begun], getattr(part, name)[0][begun])
    ended = whole.completion[0, :early] <= since
    assert np.array_equal(ended, part.completion[0] <= since)
