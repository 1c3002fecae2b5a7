"""Lives of policies: what they cost, recomputed; what they keep; and that none sees the future."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.oinc import OincEnvironment
from tests.draws import draws
from tests.oinc import draw
from tests.oinc.run_policy import POLICIES, live, wastes
from tests.oracles.oinc import log

SEEDS = st.integers(0, 2**32 - 1)
ANY = st.sampled_from(POLICIES)


def plain(life):
    """Return the decisions of a life as lists."""
    return [
        log.Slot(
            site=decision.plan.site.tolist(),
            band=decision.plan.band.tolist(),
            cpu=decision.plan.cpu.tolist(),
            job_site=dict(zip(seen.jobs.job.tolist(), decision.job_site.tolist(), strict=True)),
            reserved=decision.reserved.tolist(),
            runs=list(zip(*(part.tolist() for part in decision.runs), strict=True)),
        )
        for seen, decision in zip(life.slots, life.decisions, strict=True)
    ]


@given(SEEDS, ANY, st.sampled_from([True, True, False]))
def test_every_slot_is_accounted_for(seed, policy, drain):
    """Shares and runs, charged from the data alone, break no rule and are what is told."""
    instance = draw.instance(seed)
    life = live(instance, policy, seed=seed, drain=drain)
    found = log.charge(instance, plain(life), tolerance=1e-9)
    assert found.broken == []
    assert wastes(policy) or not any(found.wasted)
    for t, (seen, outcome) in enumerate(zip(life.slots, life.outcomes, strict=True)):
        assert seen.slot == t
        assert seen.jobs.job.tolist() == found.known[t]
        latency = [np.nan if s is None else s for s in found.latency[t]]
        assert outcome.latency == pytest.approx(latency, rel=1e-9, nan_ok=True)
        for k, b in zip(outcome.completed.tolist(), outcome.completion.tolist(), strict=True):
            assert b == pytest.approx(found.completion[k])
    for k, b in enumerate(found.completion):
        assert b > instance.arrival[k]
        assert (b < np.inf) == (found.left[k] == 0)
    check_trajectory(instance, policy, found, life, drain)


def check_trajectory(instance, policy, found, life, drain):
    run = simulate(OincEnvironment(instance, drain=drain), policy, rng=0, runs=1, record=True)
    end = run.end[0]
    assert end == len(life.slots)
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
    assert run.reserved[0].tolist() == [d.reserved.tolist() for d in life.decisions]
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
    instance = draw.instance(seed, busy=True)
    life = live(instance, policy, seed=seed)
    work = np.zeros(instance.jobs)
    for seen, decision in zip(life.slots, life.decisions, strict=True):
        where = dict(zip(seen.jobs.job.tolist(), decision.job_site.tolist(), strict=True))
        for k, share, begin, end in zip(*(part.tolist() for part in decision.runs), strict=True):
            work[k] += share * instance.speed[where[k]] * (end - begin)
    done = np.sort(np.concatenate([o.completed for o in life.outcomes]))
    if done.size < instance.jobs:
        assert "Zhang" in policy.name
        last = life.decisions[instance.slots :][-instance.slots :]
        assert [d.runs.job.size for d in last] == [0] * instance.slots
        return
    assert done.tolist() == list(range(instance.jobs))
    if wastes(policy):
        assert (work >= instance.work * (1 - 1e-9)).all()
        assert (work - instance.work <= instance.speed.max()).all()
    else:
        assert work == pytest.approx(instance.work, rel=1e-9)


@given(SEEDS, ANY)
def test_changing_the_future_never_changes_a_past_decision(seed, policy):
    """Change all that comes after a slot: decisions up to it stay as they were, bit by bit."""
    instance, rng = draw.instance(seed, busy=True), np.random.default_rng(seed)
    T = instance.slots
    t = int(rng.integers(T))
    after = np.arange(T) > t
    later = instance.arrival > t
    fields = {name: getattr(instance, name).copy() for name in
              ("active", "request_size", "request_work", "slo", "rate")}  # fmt: skip
    fields["active"][after] = rng.random((after.sum(), instance.devices)) < 0.5
    for name in ("request_size", "request_work", "rate"):
        fields[name][after] *= rng.choice([0.5, 2.0])
    fields["slo"][after] *= 0.5
    keep = ~later if rng.random() < 0.5 else np.ones(instance.jobs, dtype=bool)
    jobs = {name: getattr(instance, name)[keep] for name in
            ("arrival", "work", "deadline", "weight")}  # fmt: skip
    mine = later[keep]
    jobs["work"] = np.where(mine, 2.0 * jobs["work"], jobs["work"])
    jobs["deadline"] = np.where(mine, jobs["deadline"] + 1.0, jobs["deadline"])
    changed = instance.replace(**fields, **jobs)
    lives = [live(i, policy, seed=seed) for i in (instance, changed)]
    for past in range(t + 1):
        assert lives[0].chosen(past) == lives[1].chosen(past)


@settings(max_examples=draws(60))
@given(SEEDS, ANY)
def test_policies_are_shown_nothing_of_the_future(seed, policy):
    """What they hold before the first slot is the same for every future, and each slot is new."""
    instance = draw.instance(seed, busy=True)
    other = instance.replace(
        active=~instance.active, request_size=instance.request_size + 1.0,
        rate=instance.rate * 2.0, slo=instance.slo * 0.5, work=instance.work + 1.0,
    )  # fmt: skip
    shown = [OincEnvironment(i).instance for i in (instance, other)]
    assert shown[0].fingerprint() == shown[1].fingerprint()
    assert shown[0].jobs == 0
    assert not shown[0].active.any()
    for seen in live(instance, policy, seed=seed).slots:
        assert (seen.jobs.arrival <= seen.slot).all()
        devices = log.requests(instance, seen.slot)
        assert seen.requests.device.tolist() == devices


@given(SEEDS, ANY)
@settings(max_examples=draws(60))
def test_the_same_seed_is_the_same_trajectory(seed, policy):
    environment = OincEnvironment(draw.instance(seed, busy=True))
    one, two = (simulate(environment, policy, rng=seed, runs=runs) for runs in (1, 2))
    slow = simulate(environment, policy, rng=seed, runs=1, compiled=False)
    for name in ("reward", "violations", "latency", "site", "completion", "reserved", "job_load"):
        first, second, third = (getattr(run, name) for run in (one, two, slow))
        for other in (second[0], second[1], third[0]):
            assert np.array_equal(first[0], other, equal_nan=first.dtype.kind == "f"), name
