"""Every true claim on drawn problems, none of them left without a case."""

from collections import Counter

import numpy as np
import pytest
from edgeopt_papers.oinc.claims.evaluation import drawn_schedule
from edgeopt_papers.oinc.claims.instances import (
    Due,
    drawn_due,
    drawn_jobs,
    drawn_requests,
    moved_devices,
    slower_radio,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds import check, claims
from edgeopt.instances.oinc import OincInstance, generate, small
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.testing.strategies import oinc_instances
from tests.draws import LEAN, draws
from tests.oinc.strategies import retraining_problems, slot_problems

TRUE = {id: claim for id, claim in claims("oinc").items() if not claim.counterexample}


def about(kind):
    return [id for id, claim in TRUE.items() if issubclass(kind, claim.instance_type)]


JOBS, REQUESTS, URGENT = about(RetrainingProblem), about(SlotProblem), about(Due)
PROGRAMS = [id for id in JOBS if id.startswith(("oinc.p", "oinc.equation8a", "oinc.horizon"))]
"""Claims that solve linear programs."""

PROGRAMS += ["oinc.theorem1.program"]
FAST = [id for id in JOBS if id not in PROGRAMS]


def refuted(ids, instance, **options):
    return [found for found in check(ids, instance, **options) if found.verdict == "violated"]


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=5, empty=True))
def test_jobs(problem):
    assert refuted(FAST, problem) == []


@settings(max_examples=draws(25))
@given(retraining_problems(jobs=3, sites=2))
def test_jobs_by_programs(problem):
    assert refuted(PROGRAMS, problem) == []


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=4), st.sampled_from([0.01, 0.3, 0.9, 1.0, 1.5, 7.0]))
def test_jobs_at_other_speeds(problem, epsilon):
    ids = [id for id in FAST if id.startswith(("oinc.theorem1", "oinc.costs"))]
    assert refuted(ids, problem, epsilon=epsilon) == []


@settings(max_examples=draws(40))
@given(retraining_problems(jobs=4), st.integers(0, 10**6), st.booleans())
def test_schedules(problem, seed, whole_slots):
    schedule = drawn_schedule(problem, seed, whole_slots=whole_slots)
    ids = [id for id in JOBS if id.startswith(("oinc.lemma1", "oinc.p1"))]
    found = {one.claim: one.verdict for one in check(ids, schedule)}
    assert "violated" not in found.values()
    assert found["oinc.lemma1"] == found["oinc.p1"] == "holds"
    if whole_slots:
        assert found["oinc.lemma1.middle"] == found["oinc.p1.slots"] == "holds"


@st.composite
def due(draw):
    """Draw jobs with deadlines, some of them out of reach, in halves of slots."""
    problem = draw(retraining_problems(jobs=5, sites=2, zero_weights=False))
    if draw(st.booleans()):
        problem = RetrainingProblem(problem.arrival, problem.duration)
    K = problem.jobs
    halves = draw(st.lists(st.integers(1, 60), min_size=K, max_size=K))
    return Due(problem, problem.arrival + np.array(halves) / 2)


@settings(max_examples=draws(60))
@given(due())
def test_jobs_with_deadlines(jobs):
    assert refuted(URGENT, jobs) == []


@settings(max_examples=draws(60))
@given(slot_problems(objectives=None, weighted=None, empty=True))
def test_requests(problem):
    assert refuted(REQUESTS, problem) == []


@settings(max_examples=draws(20))
@given(oinc_instances())
def test_instances(instance):
    """Nothing true is refuted, and what is false can be asked of anything."""
    every = [id for id, claim in claims("oinc").items() if OincInstance in claim_types(claim)]
    assert [found.claim for found in refuted(every, instance) if found.claim in TRUE] == []


def claim_types(claim):
    return np.atleast_1d(claim.instance_type)


def test_no_claim_goes_untested():
    """Count the verdicts that say something."""
    said = Counter()
    makers = (drawn_jobs, drawn_requests, drawn_due, small)
    seeds = range(20, 23 if LEAN else 32)
    cases = [make(seed) for make in makers for seed in seeds]
    for case in [*cases, slower_radio(), moved_devices()]:
        for found in check(list(TRUE), case):
            assert found.verdict != "violated", found
            said[found.claim] += found.verdict == "holds"
    own = {"oinc.fluid.speed", "oinc.state", "oinc.waste.whole"}
    for id in JOBS + REQUESTS:
        assert said[id] >= (1 if id in own else 2 * len(seeds) // 3), (id, said[id])
    for id in URGENT:
        assert said[id] >= len(seeds) // 2, (id, said[id])
    assert said["oinc.state"] == 1


@pytest.mark.long
def test_claims_speak_in_the_setting_of_the_paper():
    instance = generate(slots=40, jobs=6)
    verdicts = {found.claim: found for found in check(about(OincInstance), instance)}
    assert [id for id, found in verdicts.items() if found.verdict == "violated"] == []
    silent = {id for id, found in verdicts.items() if found.verdict == "vacuous"}
    assert silent <= {
        "oinc.p1.stronger", "oinc.p1.middle", "oinc.p2", "oinc.equation8a", "oinc.horizon",
        "oinc.fluid.speed", "oinc.waste.whole", "oinc.state",
        "oinc.columns", "oinc.columns.objectives", "oinc.columns.prices",
        "oinc.columns.objectives.prices",
    }  # fmt: skip
