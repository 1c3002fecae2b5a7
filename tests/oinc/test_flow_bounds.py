"""Bounds on weighted flow: below every schedule that moves no job, and proven by their prices."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import solve
from edgeopt.bounds.oinc import certified_ratio
from edgeopt.models.oinc.retraining import certify, flow_bound, flow_matrix
from tests.draws import draws
from tests.oinc import draw
from tests.oracles.oinc import programs
from tests.oracles.oinc.jobs import RULES, drawn, exact, follow, least_flow, wasting

SEEDS = st.integers(0, 2**32 - 1)
RULE = st.sampled_from(RULES)
LP = 1e-7
PROOF = 1e-9


def check_proof(problem, jobs, bound):
    """The prices break no constraint in any slot, and are worth what the bound says."""
    theta, eta, zeta = (part.tolist() for part in (bound.theta, bound.eta, bound.zeta))
    assert programs.violation(jobs, theta, eta, zeta, middle=bound.midpoint) <= PROOF
    total = sum(theta) - sum(map(sum, eta)) - sum(map(sum, zeta))
    assert bound.value == pytest.approx(total, rel=1e-12, abs=1e-12)
    seen = certify(problem, bound.theta, bound.eta, bound.zeta, midpoint=bound.midpoint)
    assert seen.violation <= PROOF
    assert seen.value == pytest.approx(bound.value, rel=1e-12, abs=1e-12)
    # no more than that: with dearer jobs it breaks as much as it does by hand
    dear = [1.5 * v + 0.1 for v in theta]
    broken = programs.violation(jobs, dear, eta, zeta, middle=bound.midpoint)
    seen = certify(problem, dear, bound.eta, bound.zeta, midpoint=bound.midpoint)
    assert seen.violation == pytest.approx(float(broken), rel=1e-9)


@given(SEEDS, RULE)
def test_the_program_bounds_every_schedule_that_moves_no_job(seed, rule):
    """P1 at the schedule is at most its flow, exactly; its optimum and the bound are less."""
    problem = draw.jobs(seed, jobs=4)
    jobs = exact(problem)
    site, completion, pieces = drawn(jobs, np.random.default_rng(seed), rule)
    flow = jobs.flow(completion)
    assert programs.of_schedule(jobs, site, pieces) <= flow
    bound = flow_bound(problem, strong=seed % 2 == 0, midpoint=False)
    assert bound.value <= float(flow) * (1 + LP)
    assert bound.horizon is None
    check_proof(problem, jobs, bound)
    if seed % 4 < 2:
        assert certified_ratio(problem, [float(b) for b in completion]).value >= 1 - LP


@given(SEEDS, RULE)
def test_the_middle_of_slots_bounds_schedules_that_end_with_slots(seed, rule):
    """P1mid at such a schedule is at most its flow, whether slots are shared or wasted."""
    problem = draw.jobs(seed, jobs=4)
    jobs = exact(problem)
    rng = np.random.default_rng(seed)
    site, completion, pieces = wasting(jobs, rng, rule)
    ends = [completion]
    schedules = [(site, pieces, jobs.flow(completion))]
    site, completion, pieces = drawn(jobs, rng, rule)
    ends.append([Fraction(math.ceil(b)) for b in completion])
    schedules.append((site, pieces, jobs.flow(ends[1])))
    bound = flow_bound(problem, service="slot")
    assert bound.midpoint
    for (site, pieces, flow), end in zip(schedules, ends, strict=True):
        assert programs.of_schedule(jobs, site, pieces, middle=True) <= flow
        assert bound.value <= float(flow) * (1 + LP)
        if seed % 4 == 0:
            ratio = certified_ratio(problem, [float(b) for b in end], "slot")
            assert ratio.value >= 1 - LP
    check_proof(problem, jobs, bound)


@given(SEEDS, RULE)
def test_the_middle_of_slots_bounds_all_schedules_of_whole_durations(seed, rule):
    problem = draw.jobs(seed, jobs=4, grain="whole")
    jobs = exact(problem)
    site, completion, pieces = drawn(jobs, np.random.default_rng(seed), rule)
    flow = jobs.flow(completion)
    assert programs.of_schedule(jobs, site, pieces, middle=True) <= flow
    bound = flow_bound(problem)
    assert bound.midpoint
    assert bound.value <= float(flow) * (1 + LP)
    check_proof(problem, jobs, bound)


@given(SEEDS)
def test_programs_bounds_and_the_best_of_all_schedules(seed):
    """Written row by row, and compiled, each program has one optimum, and it is below the best."""
    problem = draw.jobs(seed, jobs=3, sites=2)
    jobs = exact(problem)
    whole = all(h is None or h.denominator == 1 for row in jobs.h for h in row)
    best, chosen = least_flow(jobs)
    assert best == in_best_order(jobs, chosen)
    service, middle, optimum = "fluid", whole and seed % 2 == 0, best
    if seed % 3 == 0:
        service, middle, optimum = "slot", True, least_flow(jobs, wasteful=True)[0]
    horizon = jobs.horizon(whole=service == "slot")
    method = "patterns" if seed // 8 % 8 == 0 else "highs"
    one_site = seed // 64 % 3 > 0
    value = programs.least(jobs, middle=middle, one_site=one_site, horizon=horizon)
    assert value <= float(optimum) * (1 + LP)
    bound = flow_bound(problem, service=service, strong=one_site, midpoint=middle, method=method)
    assert bound.value <= value * (1 + LP) + LP
    assert bound.value >= value * (1 - 1e-5) - LP
    check_proof(problem, jobs, bound)
    if seed % 4 < 2:
        form = {"midpoint": middle, "one_site": one_site, "horizon": horizon}
        found = solve(flow_matrix(problem, **form))
        assert found.objective == pytest.approx(value, rel=LP, abs=LP)


def in_best_order(jobs, site):
    """Return the least flow of all fixed orders, interrupting whoever comes later in it."""
    found = []
    for order in permutations(range(jobs.K)):
        rank = {k: place for place, k in enumerate(order)}

        def first(_, here, rank=rank):
            return {min(here, key=rank.__getitem__): Fraction(1)}

        found.append(jobs.flow(follow(jobs, site, first)[0]))
    return min(found)


@settings(max_examples=draws(100))
@given(SEEDS, st.booleans())
def test_a_dual_point_is_judged_in_every_slot(seed, middle):
    """Any prices of few slots: what they break is told, in the slots after them too."""
    problem, rng = draw.jobs(seed, jobs=3), np.random.default_rng(seed)
    jobs, H = exact(problem), int(rng.integers(1, 5))
    theta = rng.uniform(0, 6, jobs.K)
    eta, zeta = rng.uniform(0, 3, (jobs.J, H)), rng.uniform(0, 1, (jobs.K, H))
    broken = programs.violation(jobs, theta.tolist(), eta.tolist(), zeta.tolist(), middle=middle)
    seen = certify(problem, theta, eta, zeta, midpoint=middle)
    assert seen.violation == pytest.approx(float(broken), rel=1e-9, abs=1e-12)
    assert seen.value == pytest.approx(theta.sum() - eta.sum() - zeta.sum(), abs=1e-12)


@settings(max_examples=draws(100))
@given(SEEDS)
def test_the_middle_adds_half_of_all_weights(seed):
    jobs = exact(draw.jobs(seed, jobs=3, sites=2))
    horizon = jobs.horizon()
    early, late = (programs.least(jobs, middle=m, horizon=horizon) for m in (False, True))
    assert late == pytest.approx(early + float(sum(jobs.weight)) / 2, rel=1e-9)
