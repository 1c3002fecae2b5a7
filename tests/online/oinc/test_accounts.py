"""What a trajectory tells is what the decisions come to, recomputed by plain loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online.oinc.environment import OincEnvironment
from tests.draws import draws
from tests.online.oinc.lives import Wild, decision, live, runs, two_sites
from tests.strategies import oinc_instances

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import OincTrajectory
    from tests.online.oinc.lives import Step


def ran(instance: OincInstance, seed: int) -> tuple[list[Step], OincTrajectory]:
    environment = OincEnvironment(instance)
    steps, episode = live(environment, Wild(), seed)
    return steps, environment.trajectory("wild", [episode], seconds=0.0, record=True)


@settings(max_examples=draws(80))
@given(oinc_instances(), st.integers(0, 9))
def test_jobs_are_complete_when_their_runs_have_done_their_work(
    instance: OincInstance, seed: int
) -> None:
    steps, trajectory = ran(instance, seed)
    assert instance.weight is not None
    left = {k: float(instance.work[k]) for k in range(instance.jobs)}
    site = dict.fromkeys(left, -1)
    completion = dict.fromkeys(left, np.inf)
    for t, step in enumerate(steps):
        shown = [k for k in left if instance.arrival[k] <= t and completion[k] == np.inf]
        jobs = step.seen.jobs
        assert step.seen.slot == t
        assert jobs.job.tolist() == shown
        assert jobs.site.tolist() == [site[k] for k in shown]
        assert jobs.remaining == pytest.approx([left[k] for k in shown])
        assert jobs.started.tolist() == [left[k] < instance.work[k] for k in shown]
        for k, j in zip(shown, step.decision.job_site, strict=True):
            site[k] = int(j)
        load = np.zeros(instance.sites)
        told = {}
        for r in np.argsort(step.decision.runs.begin, kind="stable"):
            k, share, begin, end = (column[r] for column in step.decision.runs)
            left[k] -= share * instance.speed[site[k]] * (end - begin)
            load[site[k]] += share * (end - begin)
            if left[k] <= 1e-9:
                told[k] = completion[k] = t + end
        assert trajectory.job_load[0, t] == pytest.approx(load)
        assert dict(zip(*step.outcome[1:], strict=True)) == told
    assert trajectory.completion[0].tolist() == list(completion.values())
    assert trajectory.job_site[0].tolist() == list(site.values())
    assert trajectory.end.tolist() == [len(steps)]
    assert (trajectory.job_load <= trajectory.reserved + 1e-9).all()


@settings(max_examples=draws(80))
@given(oinc_instances(), st.integers(0, 9))
def test_costs_and_broken_promises_are_booked_where_they_arrived(
    instance: OincInstance, seed: int
) -> None:
    steps, trajectory = ran(instance, seed)
    assert instance.request_weight is not None
    assert instance.weight is not None
    cost, broken = np.zeros(instance.slots), np.zeros(instance.slots, dtype=int)
    latencies, refused, met = [], 0, 0
    for t, step in enumerate(steps[: instance.slots]):
        plan = step.decision.plan
        devices = [i for i in range(instance.devices) if instance.active[t, i]]
        assert step.outcome.latency.size == len(devices)
        for n, i in enumerate(devices):
            j = plan.site[n]
            if j < 0:
                latency = instance.refusal_latency
                broken[t] += 1
                refused += 1
                assert np.isnan(step.outcome.latency[n])
            else:
                size, work = instance.request_size[t, i], instance.request_work[t, i]
                latency = size / instance.rate[t, i, j] / plan.band[n]
                latency += work / instance.speed[j] / plan.cpu[n]
                late = latency > instance.slo[t, i] * (1 + 1e-9)
                broken[t] += late
                met += not late
                assert step.outcome.latency[n] == pytest.approx(latency)
            latencies.append(latency)
            cost[t] += instance.request_weight[t] * latency / instance.latency_scale
    on_time = 0
    for k in range(instance.jobs):
        completion = min(trajectory.completion[0, k], float(len(steps)))
        cost[instance.arrival[k]] += instance.weight[k] * completion / instance.completion_scale
        late = trajectory.completion[0, k] > instance.deadline[k] * (1 + 1e-9)
        broken[instance.arrival[k]] += late
        on_time += not late
    assert trajectory.reward[0] == pytest.approx(cost)
    assert trajectory.violations[0].tolist() == broken.tolist()
    assert trajectory.counted_latency[0] == pytest.approx(latencies)
    N, K = len(latencies), instance.jobs
    assert trajectory.success() == pytest.approx((met + on_time) / (N + K) if N + K else 1.0)
    assert trajectory.request_success() == pytest.approx(met / N if N else 1.0)
    assert trajectory.job_success() == pytest.approx(on_time / K if K else 1.0)
    assert trajectory.refused_share() == pytest.approx(refused / N if N else 0.0)
    assert trajectory.mean_latency() == pytest.approx(np.mean(latencies) if N else 0.0)
    assert trajectory.decisions.sum() == len(steps)
    assert trajectory.decisions[0, :-1].tolist() == [1] * (instance.slots - 1)


@settings(max_examples=draws(50))
@given(oinc_instances(), st.integers(0, 9))
def test_no_site_is_loaded_beyond_what_it_has(instance: OincInstance, seed: int) -> None:
    steps, trajectory = ran(instance, seed)
    slots = instance.slots
    assert (trajectory.band_load <= 1.0 + 1e-9).all()
    together = trajectory.cpu_load + trajectory.job_load[:, :slots]
    assert (together <= 1.0 + 1e-9).all()
    for t, step in enumerate(steps[:slots]):
        for j in range(instance.sites):
            here = step.decision.plan.site == j
            assert trajectory.band_load[0, t, j] == pytest.approx(
                step.decision.plan.band[here].sum()
            )
            assert trajectory.cpu_load[0, t, j] == pytest.approx(step.decision.plan.cpu[here].sum())
    for t, step in enumerate(steps):
        assert trajectory.reserved[0, t].tolist() == step.decision.reserved.tolist()


@settings(max_examples=draws(50))
@given(oinc_instances(), st.integers(0, 9))
def test_what_is_recorded_does_all_the_work_of_complete_jobs(
    instance: OincInstance, seed: int
) -> None:
    _, trajectory = ran(instance, seed)
    served = trajectory.served
    assert served is not None
    for k in range(instance.jobs):
        mine = served.job == k
        if not mine.any():
            assert not trajectory.complete[0, k]
            continue
        assert (served.site[mine] == trajectory.job_site[0, k]).all()
        speed = served.share[mine] * instance.speed[served.site[mine]]
        work = float((speed * (served.end - served.begin)[mine]).sum())
        assert (work >= instance.work[k] * (1 - 1e-9)) == trajectory.complete[0, k]
        assert served.begin[mine].min() >= instance.arrival[k]
        if trajectory.complete[0, k]:
            assert served.end[mine].max() == trajectory.completion[0, k]


def test_a_run_by_hand() -> None:
    environment = OincEnvironment(two_sites())
    episode = environment.episode(0, record=True)
    first = episode.observe()
    assert first is not None
    episode.act(decision(first, [1], band=[0.5], cpu=[0.5], jobs=[0], run=runs((0, 0.5, 0.0, 1.0))))
    second = episode.observe()
    assert second is not None
    # Device 0 is refused; device 1 is late with 1 + 1/4; job 0 is done at 3/2, job 1 never.
    episode.act(
        decision(
            second,
            [-1, 0],
            band=[0.0, 0.25],
            cpu=[0.0, 0.5],
            jobs=[0, -1],
            run=runs((0, 0.5, 0.0, 0.5)),
        )
    )
    while (slot := episode.observe()) is not None:
        episode.act(decision(slot))
    trajectory = environment.trajectory("mine", [episode], seconds=4.0, record=True)
    assert trajectory.slot.tolist() == [0, 1, 1]
    assert trajectory.device.tolist() == [0, 0, 1]
    assert trajectory.site.tolist() == [[1, -1, 0]]
    assert trajectory.latency[0, [0, 2]].tolist() == [1.0, 1.25]
    assert trajectory.refused.tolist() == [[False, True, False]]
    assert trajectory.met.tolist() == [[False, False, False]]
    assert trajectory.counted_latency.tolist() == [[1.0, 2.0, 1.25]]
    assert trajectory.completion.tolist() == [[1.5, np.inf]]
    assert trajectory.end.tolist() == [4.0]
    assert trajectory.on_time.tolist() == [[True, False]]
    # Slot 0: 1 s over 1/4 s, and 1.5 s over 4 s. Slot 1: 3 * 3.25 s over 1/4 s, 2 * 4 s over 4 s.
    assert trajectory.reward.tolist() == [[4.0 + 0.375, 39.0 + 2.0]]
    assert trajectory.violations.tolist() == [[1, 3]]
    assert trajectory.success().tolist() == [0.2]
    assert trajectory.request_success().tolist() == [0.0]
    assert trajectory.job_success().tolist() == [0.5]
    assert trajectory.mean_latency() == pytest.approx(4.25 / 3)
    assert trajectory.mean_completion().tolist() == [2.75]
    assert trajectory.mean_flow_time().tolist() == [2.25]
    assert trajectory.scaled_sum() == pytest.approx(4.25 / 3 / 0.25 + 2.75 / 4)
    assert trajectory.seconds_per_decision == 1.0
    assert np.isnan(trajectory.bound).all()
    assert np.isnan(trajectory.gap()).all()
    assert trajectory.served is not None
    assert trajectory.served.begin.tolist() == [0.0, 1.0]
    assert trajectory.served.end.tolist() == [1.0, 1.5]
    assert trajectory.slo.tolist() == [0.75, 0.75, 0.75]
