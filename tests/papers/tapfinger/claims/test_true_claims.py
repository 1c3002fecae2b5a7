"""Every true claim on drawn tasks, none of them left without a case; numbers of the false ones."""

from collections import Counter
from functools import cache, partial

import numpy as np
import pytest
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.instances import (
    Rivals,
    drawn_instance,
    drawn_rivals,
    drawn_tasks,
    noisy_instance,
)
from edgeopt_papers.tapfinger.claims.plan import Plan, drawn_plan
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds import check
from edgeopt.bounds.registry import offered
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations, generate
from edgeopt.models.tapfinger import SchedulingProblem
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import LEAN, draws
from tests.tapfinger.strategies import scheduling_problems

TRUE = {claim.id: claim for claim in offered("tapfinger") if not claim.counterexample}


REFUTED = [
    # claim, instance, measured, guaranteed
    ("equation3.published", named.lone_task(), 0, 1),
    ("equation1.published", named.both_or_halves(), 3 + 6, 4 + 4),
    ("bundles.published", named.last_unit(), 2, 1),
    ("equation2.slots", named.at_once(), 1 + 2, 1 + 1),
    ("equation5.published", named.late_arrivals(), 1, 0),
    ("equation5.running", named.cut_off(), 1, 0),
    ("accumulation.end", named.started_at_once(), 0, 1),
    ("reward.local.published", named.waiting_twice(), 3, 2),
    ("usage.end", named.started_at_once(), 0, 2),
    ("equation11.ratio", named.keen_or_roomy(), 0.6, 0.9),
    ("conflict.published", named.empty_handed(), 0, 1),
    ("bound.fixed", named.overtaken(), 1 + 5, 1 + 4),
    ("bound.noise", named.one_gpu(), 21, 7),
    ("volume.fixed", named.five_and_twice_seven(), 5 + 7 + 7, 4 * 5),
    ("kinds.program", named.two_kinds(), 0, 1e-3),
    ("optimus.program", named.sensitive_task(), -0.237911, 0),
]


def about(kind):
    return [id for id, claim in TRUE.items() if kind in np.atleast_1d(claim.instance_type)]


def verdicts(ids, instance):
    """Decide claims as `check` does, without looking for claims of other packages every time."""
    views = {TRUE[id].view: cache(partial(TRUE[id].view, instance)) for id in ids}
    return [TRUE[id].decide(instance, views[TRUE[id].view]) for id in ids]


def refuted(ids, instance):
    return [found for found in verdicts(ids, instance) if found.verdict == "violated"]


@settings(max_examples=draws(40))
@given(scheduling_problems(tasks=3, empty=True))
def test_tasks(problem):
    assert refuted(about(SchedulingProblem), problem) == []


@settings(max_examples=draws(25))
@given(tapfinger_instances(tasks=3, clusters=2, noise=None, empty=True))
def test_instances(instance):
    assert refuted(about(TapFingerInstance), instance) == []


@settings(max_examples=draws(40))
@given(scheduling_problems(), st.integers(0, 10**6))
def test_plans(problem, seed):
    ids = [id for id in about(Plan) if not id.startswith("tapfinger.bound")]
    plan = drawn_plan(problem, seed)
    assert plan.carried_out
    assert {found.claim for found in verdicts(ids, plan) if found.verdict == "holds"} == set(ids)


@settings(max_examples=draws(30))
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5), st.booleans()), min_size=1))
def test_rivals(clusters):
    rivals = Rivals(*zip(*clusters, strict=True))
    assert refuted(about(Rivals), rivals) == []


def test_no_claim_goes_untested():
    """Count the verdicts that say something."""
    said = Counter()
    makers = (drawn_tasks, drawn_instance, noisy_instance, drawn_rivals)
    seeds = range(20, 22 if LEAN else 26)
    for case in (make(seed) for make in makers for seed in seeds):
        ids = [id for id in about(type(case)) if not id.startswith("tapfinger.bound.preemptive")]
        for found in verdicts(ids, case):
            assert found.verdict != "violated", found
            said[found.claim] += found.verdict == "holds"
    # A claim about a type of its own is checked on its own test instances.
    own = {"tapfinger.optimus", "tapfinger.bound.preemptive"}
    for maker in makers:
        for id in about(type(maker(20))):
            assert said[id] >= (0 if id in own else len(seeds) // 2), (id, said[id])


@pytest.mark.parametrize("single_start", [False, True])
def test_claims_speak_in_the_setting_of_the_paper(single_start):
    instance = generate(tasks=24, single_start=single_start)
    ids = [id for id in about(TapFingerInstance) if not id.startswith("tapfinger.bound")]
    found = {one.claim: one.verdict.value for one in check(ids, instance)}
    silent = {id for id, verdict in found.items() if verdict == "vacuous"}
    assert set(found.values()) <= {"holds", "vacuous"}
    # All three that may run on one cluster alone are of one kind, or do not meet.
    few = {"tapfinger.program", "tapfinger.bundles", "tapfinger.single_start", "tapfinger.kinds"}
    assert silent == few


def test_a_larger_bundle_that_is_slower_is_not_needed():
    """A table in which no bundle but the smallest is of any use."""
    instance = from_durations(
        [[[0, 0, 0], [0, 2, 3], [0, 2, 4]]],
        minimum=[[1, 1]], capacity=[[2, 2]], arrival=[0, 0], kind=[0, 0],
    )  # fmt: skip
    [found] = check("tapfinger.bundles", instance)
    assert (found.verdict, found.measured) == ("holds", 4)
