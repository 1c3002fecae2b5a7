"""What is refused, by name: data that break a rule, and decisions that nobody can carry out."""

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
from tests.oinc import draw
from tests.oinc.run_policy import POLICIES

SEEDS = st.integers(0, 2**32 - 1)
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
    instance, rng = draw.instance(seed, busy=True), np.random.default_rng(seed)
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
    instance, rng = draw.instance(seed, busy=True), np.random.default_rng(seed)
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
    instance, rng = draw.instance(seed), np.random.default_rng(seed)
    j = int(rng.integers(instance.sites))
    reserved = np.full(instance.sites, 0.5)
    reserved[j] = share
    problem = slot_problem(instance, 0)
    for hand_over in (
        lambda: slot_problem(instance, 0, reserved),
        lambda: problem.beside(reserved),
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
    problem, jobs = draw.slot(seed), draw.jobs(seed, infinite=False)
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
    instance, rng = draw.instance(seed, busy=True), np.random.default_rng(seed)
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
