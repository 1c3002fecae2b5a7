"""Policies: every slot recomputed, causality and seeds; data and decisions that are refused."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem, slot_problem
from edgeopt.online.oinc import OincEnvironment, Reservation, Runs, StaticShares
from tests.draws import draws
from tests.oinc.cases import POLICIES, draw_instance, draw_jobs, draw_slot, step_through, wastes
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


@given(SEEDS, ANY)
def test_changing_the_future_never_changes_a_past_decision(seed, policy):
    """Change all that comes after a slot: decisions up to it stay as they were, bit by bit."""
    instance, rng = draw_instance(seed, busy=True), np.random.default_rng(seed)
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
    both = [step_through(i, policy, seed=seed) for i in (instance, changed)]
    for past in range(t + 1):
        assert both[0].chosen(past) == both[1].chosen(past)


@settings(max_examples=draws(60))
@given(SEEDS, ANY)
def test_policies_are_shown_nothing_of_the_future(seed, policy):
    """What they hold before the first slot is the same for every future, and each slot is new."""
    instance = draw_instance(seed, busy=True)
    other = instance.replace(
        active=~instance.active, request_size=instance.request_size + 1.0,
        rate=instance.rate * 2.0, slo=instance.slo * 0.5, work=instance.work + 1.0,
    )  # fmt: skip
    shown = [OincEnvironment(i).instance for i in (instance, other)]
    assert shown[0].fingerprint() == shown[1].fingerprint()
    assert shown[0].jobs == 0
    assert not shown[0].active.any()
    for seen in step_through(instance, policy, seed=seed).slots:
        assert (seen.jobs.arrival <= seen.slot).all()
        devices = log.requests(instance, seen.slot)
        assert seen.requests.device.tolist() == devices


WRONG = {
    "slo": (1.0 + 1e-9, 2.0, 0.0, -0.5),
    "rate": (0.0, -1.0),
    "speed": (0.0, -1.0),
    "request_size": (-0.1,),
    "request_work": (-0.1,),
    "work": (0.0, -1.0),
    "arrival": (-1,),
    "weight": (-1.0,),
    "request_weight": (-1.0,),
}
BAD = [(name, value) for name, values in WRONG.items() for value in (*values, np.nan, np.inf)]
BAD = [(n, v) for n, v in BAD if np.isfinite(v) or n != "arrival"]


@given(SEEDS, st.sampled_from(BAD))
def test_a_wrong_number_is_named_with_its_place(seed, wrong):
    """An objective beyond a slot, a rate of zero, a job without work: field, index and value."""
    name, value = wrong
    instance, rng = draw_instance(seed, busy=True), np.random.default_rng(seed)
    field = getattr(instance, name).copy()
    index = tuple(int(rng.integers(size)) for size in field.shape)
    if name == "arrival":
        index = (0,)
    field[index] = value
    with pytest.raises(InstanceError) as caught:
        instance.replace(**{name: field})
    assert caught.value.field == name
    assert caught.value.index == index
    assert caught.value.value == pytest.approx(value, nan_ok=True)


@given(SEEDS, st.sampled_from([0.0, 0.5, 3.0]))
def test_a_deadline_that_is_over_at_the_arrival_is_named(seed, before):
    instance, rng = draw_instance(seed, busy=True), np.random.default_rng(seed)
    k = int(rng.integers(instance.jobs))
    deadline = instance.deadline.copy()
    deadline[k] = instance.arrival[k] - before
    with pytest.raises(InstanceError) as caught:
        instance.replace(deadline=deadline)
    assert (caught.value.field, caught.value.index) == ("deadline", (k,))
    assert caught.value.value == deadline[k]


@given(SEEDS, st.sampled_from([1.0, 1.5, -1e-9, np.nan, np.inf]))
def test_a_reserved_share_outside_its_range_is_named(seed, share):
    """No site keeps all of its CPU for jobs, nor less than nothing."""
    instance, rng = draw_instance(seed), np.random.default_rng(seed)
    j = int(rng.integers(instance.sites))
    reserved = np.full(instance.sites, 0.5)
    reserved[j] = share
    problem = slot_problem(instance, 0)
    for hand_over in (
        lambda: slot_problem(instance, 0, reserved),
        lambda: problem.with_reserved(reserved),
    ):
        with pytest.raises(InputError) as caught:
            hand_over()
        assert (caught.value.field, caught.value.index) == ("reserved", (j,))
    with pytest.raises(OptionError, match="share"):
        StaticShares(share)
    with pytest.raises(OptionError, match="largest"):
        Reservation(largest=share)
    if not share > 1:
        return
    with pytest.raises(InstanceError) as caught:
        instance.job_seconds(reserved)
    assert caught.value.field == "share"


@settings(max_examples=draws(100))
@given(SEEDS)
def test_slots_and_jobs_of_their_own_are_checked(seed):
    rng = np.random.default_rng(seed)
    problem, jobs = draw_slot(seed), draw_jobs(seed, infinite=False)
    fields = {name: getattr(problem, name) for name in
              ("transmission", "computation", "slo", "room", "weight")}  # fmt: skip
    name = str(rng.choice(list(fields)))
    field = fields[name].copy()
    index = tuple(int(rng.integers(size)) for size in field.shape)
    field[index] = -0.5
    with pytest.raises(InputError) as caught:
        SlotProblem(**{**fields, name: field})
    assert (caught.value.field, caught.value.index) == (name, index)
    duration = jobs.duration.copy()
    index = tuple(int(rng.integers(size)) for size in duration.shape)
    duration[index] = 0.0
    with pytest.raises(InputError) as caught:
        RetrainingProblem(jobs.arrival, duration, jobs.weight)
    assert (caught.value.field, caught.value.index) == ("duration", index)


def no_share(seen, decision, rng):
    """Dispatch a job to a site that keeps nothing for jobs; to stay at one is allowed."""
    sent = np.flatnonzero((decision.job_site >= 0) & (decision.job_site != seen.jobs.site))
    if sent.size == 0:
        return None
    q = int(rng.choice(sent))
    reserved = decision.reserved.copy()
    reserved[decision.job_site[q]] = 0.0
    kept = decision.job_site[np.searchsorted(seen.jobs.job, decision.runs.job)]
    stay = kept != decision.job_site[q]
    runs = Runs(*(part[stay] for part in decision.runs))
    changed = replace(decision, reserved=reserved, runs=runs)
    others = seen.jobs.job[decision.job_site == decision.job_site[q]].tolist()
    return changed, rf"job ({'|'.join(map(str, others))}) .*site {decision.job_site[q]}\b"


def whole_site(seen, decision, rng):
    reserved = decision.reserved.copy()
    j = int(rng.integers(reserved.size))
    reserved[j] = float(rng.choice([1.0, -0.25, np.nan, 2.0]))
    return replace(decision, reserved=reserved), rf"site {j}\b"


def narrow_band(seen, decision, rng):
    site = decision.plan.site
    if not (site >= 0).any():
        return None
    i = int(rng.choice(np.flatnonzero(site >= 0)))
    shares = {"band": decision.plan.band.copy(), "cpu": decision.plan.cpu.copy()}
    shares[str(rng.choice(["band", "cpu"]))][i] += float(rng.choice([0.02, 1.0]))
    full = shares["band"][site == site[i]].sum(), shares["cpu"][site == site[i]].sum()
    if full[0] <= 1 and full[1] <= 1 - decision.reserved[site[i]]:
        return None
    changed = replace(decision, plan=replace(decision.plan, **shares))
    return changed, rf"(site {site[i]}|request {i})\b"


def greedy_run(seen, decision, rng):
    """Let a job use more than its site keeps for jobs."""
    runs = decision.runs
    if runs.job.size == 0:
        return None
    r = int(rng.integers(runs.job.size))
    share = runs.share.copy()
    share[r] *= 1.001
    if share[r] <= decision.reserved.max():
        share[r] = decision.reserved.max() * 1.001
    return replace(decision, runs=runs._replace(share=share)), r"site \d"


def long_run(seen, decision, rng):
    runs = decision.runs
    if runs.job.size == 0:
        return None
    r = int(rng.integers(runs.job.size))
    end = runs.end.copy()
    end[r] = 1.25
    return replace(decision, runs=runs._replace(end=end)), rf"job {runs.job[r]}\b"


def double_run(seen, decision, rng):
    """Let a job run twice at once, with half of its share each."""
    runs = decision.runs
    if runs.job.size == 0:
        return None
    r = int(rng.integers(runs.job.size))
    share = runs.share.copy()
    share[r] *= 0.5
    twice = [np.append(part, part[r]) for part in runs._replace(share=share)]
    return replace(decision, runs=Runs(*twice)), rf"job {runs.job[r]}\b"


def moved(seen, decision, rng):
    """Send a job elsewhere that has been served, where something is kept for jobs."""
    if not seen.jobs.started.any() or decision.reserved.size == 1:
        return None
    q = int(rng.choice(np.flatnonzero(seen.jobs.started)))
    sites = decision.job_site.copy()
    sites[q] = (sites[q] + 1) % decision.reserved.size
    reserved = np.maximum(decision.reserved, 0.01)
    plan = replace(decision.plan, cpu=decision.plan.cpu * 0.5)
    changed = replace(decision, job_site=sites, reserved=reserved, plan=plan, runs=Runs.none())
    return changed, rf"job {seen.jobs.job[q]}\b"


def unknown_run(seen, decision, rng):
    """Let a job run that is not there."""
    j = int(np.argmax(decision.reserved))
    share = decision.reserved[j]
    if share == 0:
        return None
    absent = int(rng.choice(np.setdiff1d(np.arange(9), seen.jobs.job)))
    one = Runs(np.array([absent]), np.array([share]), np.array([0.0]), np.array([0.5]))
    return replace(decision, runs=one), rf"job {absent}\b"


DAMAGE = (
    *(no_share, whole_site, narrow_band, greedy_run, long_run, double_run, moved, unknown_run),
)


@settings(max_examples=draws(120))
@given(SEEDS, st.sampled_from(POLICIES), st.sampled_from(DAMAGE))
def test_what_nobody_can_carry_out_is_refused_by_name(seed, policy, damage):
    """Take a decision of some slot, damage it in one place: the slot and the place are told."""
    instance, rng = draw_instance(seed, busy=True), np.random.default_rng(seed)
    environment = OincEnvironment(instance)
    wait = int(rng.integers(4))
    episode, state = environment.episode(0), policy.start(environment.instance)
    wrong = None
    while wrong is None and (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, rng)
        if seen.slot >= wait:
            wrong = damage(seen, decision, rng)
        if wrong is None:
            state = policy.learn(state, seen, decision, episode.act(decision))
    assume(wrong is not None)
    with pytest.raises(OptionError) as caught:
        episode.act(wrong[0])
    assert re.search(rf"slot {seen.slot}\b.*{wrong[1]}", str(caught.value)), caught.value
