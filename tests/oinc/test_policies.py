"""Policies: every slot recomputed, and all jobs complete in the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draws import draws
from tests.oinc.cases import POLICIES, draw_instance, step_through, wastes
from tests.oinc.scenarios import Wild
from tests.oracles.oinc import log

SEEDS = st.integers(0, 2**32 - 1)
ANY = st.sampled_from(POLICIES)


def plain(ran):
    """Return the decisions of a ran as lists."""
    return [
        log.Slot(
            site=decision.plan.site.tolist(),
            band=decision.plan.band.tolist(),
            cpu=decision.plan.cpu.tolist(),
            job_site=dict(zip(seen.jobs.job.tolist(), decision.job_site.tolist(), strict=True)),
            reserved=decision.reserved.tolist(),
            runs=list(zip(*(part.tolist() for part in decision.runs), strict=True)),
        )
        for seen, decision in zip(ran.slots, ran.decisions, strict=True)
    ]


@settings(max_examples=draws(150))
@given(SEEDS, ANY | st.builds(Wild), st.sampled_from([True, True, False]))
def test_every_slot_is_logged(seed, policy, drain):
    """Shares and runs, charged from the data alone, break no rule and are what is told."""
    instance = draw_instance(seed)
    ran = step_through(instance, policy, seed=seed, drain=drain)
    found = log.charge(instance, plain(ran), tolerance=1e-9)
    assert found.broken == []
    assert wastes(policy) or not any(found.wasted)
    for t, (seen, outcome) in enumerate(zip(ran.slots, ran.outcomes, strict=True)):
        assert seen.slot == t
        assert seen.jobs.job.tolist() == found.known[t]
        assert seen.jobs.remaining == pytest.approx(np.array(found.remaining[t]))
        begun = zip(found.known[t], found.remaining[t], strict=True)
        started = [work < instance.work[k] for k, work in begun]
        assert seen.jobs.started.tolist() == started
        latency = [np.nan if s is None else s for s in found.latency[t]]
        assert outcome.latency == pytest.approx(latency, rel=1e-9, nan_ok=True)
        for k, b in zip(outcome.completed.tolist(), outcome.completion.tolist(), strict=True):
            assert b == pytest.approx(found.completion[k])
    for k, b in enumerate(found.completion):
        assert b > instance.arrival[k]
        assert (b < np.inf) == (found.left[k] == 0)
    check_trajectory(instance, found, ran)
    check_answers(ran.run, policy)
    check_record(instance, ran.run)


def check_answers(run, policy):
    """Requests are refused only where a policy may do so, and then only late ones."""
    if getattr(getattr(policy, "inference", policy), "unfit", "late") == "refuse":
        assert (run.met | run.refused).all()
    elif not isinstance(policy, Wild):
        assert not run.refused.any()


def check_record(instance, run):
    """What served a job has done the work of a complete one, and of no other."""
    served = run.served
    for k in range(instance.jobs):
        mine = served.job == k
        if not mine.any():
            assert not run.complete[0, k]
            continue
        assert (served.site[mine] == run.job_site[0, k]).all()
        speed = served.share[mine] * instance.speed[served.site[mine]]
        work = float((speed * (served.end - served.begin)[mine]).sum())
        assert (work >= instance.work[k] * (1 - 1e-9)) == run.complete[0, k]
        assert served.begin[mine].min() >= instance.arrival[k]
        if run.complete[0, k]:
            assert served.end[mine].max() == run.completion[0, k]


def check_trajectory(instance, found, ran):
    run = ran.run
    end = run.end[0]
    assert run.decisions.sum() == end
    assert end == len(ran.slots)
    expected = log.totals(instance, found, end)
    assert run.reward[0] == pytest.approx(expected.reward, rel=1e-9, abs=1e-12)
    assert run.violations[0].tolist() == expected.violations
    assert run.completion[0] == pytest.approx(found.completion, rel=1e-9)
    served = [k for k in range(instance.jobs) if found.where[k] >= 0]
    assert run.job_site[0, served].tolist() == [found.where[k] for k in served]
    T = instance.slots
    assert run.band_load[0] == pytest.approx(np.array(found.band_load[:T]), abs=1e-9)
    assert run.cpu_load[0] == pytest.approx(np.array(found.cpu_load[:T]), abs=1e-9)
    assert run.job_load[0] == pytest.approx(np.array(found.job_load), abs=1e-9)
    assert run.reserved[0].tolist() == [d.reserved.tolist() for d in ran.decisions]
    flat = [np.nan if s is None else s for slot in found.latency for s in slot]
    assert run.latency[0] == pytest.approx(flat, rel=1e-9, nan_ok=True)
    for bound, slot in zip(run.bound[0].tolist(), found.latency, strict=False):
        assert not bound > sum(s for s in slot if s is not None) * (1 + 1e-9)
    check_shares(instance, run, found, flat, end)


def check_shares(instance, run, found, flat, end):
    """The means and shares are those of the lists."""
    K, N = instance.jobs, len(flat)
    late = sum(not b <= D * (1 + 1e-9)
               for b, D in zip(found.completion, instance.deadline, strict=True))  # fmt: skip
    missed = sum(run.violations[0]) - late
    if N:
        counted = [instance.refusal_latency if np.isnan(s) else s for s in flat]
        assert run.mean_latency()[0] == pytest.approx(np.mean(counted))
        assert run.request_success()[0] == pytest.approx(1 - missed / N)
        assert run.refused_share()[0] == pytest.approx(np.isnan(flat).mean())
    if K:
        counted = [b if b < np.inf else end for b in found.completion]
        assert run.mean_completion()[0] == pytest.approx(np.mean(counted))
        assert run.mean_flow_time()[0] == pytest.approx(np.mean(counted - instance.arrival))
        assert run.job_success()[0] == pytest.approx(1 - late / K)
    if K + N:
        assert run.success()[0] == pytest.approx(1 - (late + missed) / (K + N))


@settings(max_examples=draws(100))
@given(SEEDS, ANY)
def test_jobs_are_complete_in_the_end(seed, policy):
    """With slots after the horizon all work is done, no more and no less.

    A run in which no job runs for as long as the horizon is stopped: windows may be longer.
    """
    instance = draw_instance(seed, busy=True)
    ran = step_through(instance, policy, seed=seed)
    work = np.zeros(instance.jobs)
    for seen, decision in zip(ran.slots, ran.decisions, strict=True):
        where = dict(zip(seen.jobs.job.tolist(), decision.job_site.tolist(), strict=True))
        for k, share, begin, end in zip(*(part.tolist() for part in decision.runs), strict=True):
            work[k] += share * instance.speed[where[k]] * (end - begin)
    done = np.sort(np.concatenate([o.completed for o in ran.outcomes]))
    if done.size < instance.jobs:
        assert "Zhang" in policy.name
        last = ran.decisions[instance.slots :][-instance.slots :]
        assert [d.runs.job.size for d in last] == [0] * instance.slots
        return
    assert done.tolist() == list(range(instance.jobs))
    if wastes(policy):
        assert (work >= instance.work * (1 - 1e-9)).all()
        assert (work - instance.work <= instance.speed.max()).all()
    else:
        assert work == pytest.approx(instance.work, rel=1e-9)
