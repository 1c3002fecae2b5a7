"""Retraining: dispatch by residual density, and bounds of the flow time."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from edgeopt_papers.oinc.claims import certified_ratio, competitive_factor, dual_certificate
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt import solve
from edgeopt.models.oinc.retraining import certify, flow_bound, flow_matrix
from edgeopt.online.oinc.retraining import run_density
from tests.draws import draws
from tests.oinc.cases import draw_jobs
from tests.oracles.oinc import density, programs
from tests.oracles.oinc.jobs import RULES, drawn, exact, follow, least_flow

SEEDS = st.integers(0, 2**32 - 1)
BINARY = st.sampled_from([Fraction(0), Fraction(1), Fraction(3)])
ANY = st.sampled_from([Fraction(n, 20) for n in (0, 1, 2, 5, 7, 10, 15, 20, 30, 60)])
ROUNDING = 1e-12


def close(values, exact_values):
    rounded = [float(v) for v in exact_values]
    scale = max([1.0, *map(abs, rounded)])
    assert np.asarray(values) == pytest.approx(rounded, rel=ROUNDING, abs=ROUNDING * scale)


def check_run(problem, jobs, found, epsilon):
    """The kernel's run is the run in rationals, job by job and piece by piece."""
    mine = run_density(problem, epsilon=float(epsilon))
    assert mine.site.tolist() == found.site
    close(mine.completion, found.completion)
    close(mine.cost, found.cost)
    flow = float(jobs.flow(found.completion))
    assert mine.weighted_flow == pytest.approx(flow, rel=ROUNDING)
    assert mine.expected_flow == pytest.approx(flow, rel=ROUNDING)
    return mine


@given(SEEDS, BINARY)
def test_the_flow_is_the_sum_of_the_costs_exactly(seed, epsilon):
    """With binary fractions and speeds the kernel rounds nothing but its quotients."""
    problem = draw_jobs(seed, jobs=8, grain=["whole", "quarters"][seed % 2])
    jobs = exact(problem)
    found = density.run(jobs, epsilon)
    assert sum(found.cost) == jobs.flow(found.completion)
    mine = run_density(problem, epsilon=float(epsilon))
    assert mine.site.tolist() == found.site
    assert mine.completion.tolist() == [float(b) for b in found.completion]
    assert mine.cost.tolist() == [float(c) for c in found.cost]
    assert mine.weighted_flow == mine.expected_flow == float(sum(found.cost))


@given(SEEDS, ANY)
def test_the_flow_is_the_sum_of_the_costs_whatever_the_numbers(seed, epsilon):
    """Exactly so in rationals, and within 1e-12 of it in floats."""
    problem = draw_jobs(seed, jobs=8, grain="any")
    jobs = exact(problem)
    found = density.run(jobs, epsilon)
    assert sum(found.cost) == jobs.flow(found.completion)
    check_run(problem, jobs, found, Fraction(float(epsilon)))


@given(SEEDS, ANY.filter(bool))
def test_the_certificate_is_feasible_and_worth_half_of_epsilon(seed, epsilon):
    """Exactly in rationals: theta = c C, eta = (c / s) W, with c = min(1, s / 2)."""
    problem = draw_jobs(seed, jobs=6)
    jobs = exact(problem)
    s = 1 + epsilon
    found = density.run(jobs, epsilon)
    point = density.certificate(jobs, found, epsilon)
    flow = jobs.flow(found.completion)
    assert programs.violation(jobs, point.theta, point.eta, middle=True) == 0
    assert point.value == min(Fraction(1), s / 2) * (1 - 1 / s) * flow
    if epsilon <= 1:
        assert point.value == epsilon / 2 * flow
    # the printed program counts time from the beginning of slots
    lower = density.published(jobs, point)
    assert programs.violation(jobs, lower, point.eta, middle=False) == 0
    mine = run_density(problem, epsilon=float(epsilon))
    given_ = dual_certificate(problem, mine, float(epsilon))
    scale = max(1.0, float(flow))
    worth = min(1.0, float(s) / 2) * (1 - 1 / float(s)) * mine.weighted_flow
    assert given_.value == pytest.approx(worth, abs=1e-11 * scale)
    assert given_.violation <= 1e-11 * scale
    # where nothing is preferred, rounding decides
    if found.tied:
        return
    check_run(problem, jobs, found, epsilon)
    close(given_.theta, point.theta)
    H = given_.eta.shape[1]
    for j, row in enumerate(point.eta):
        padded = [*row, *[Fraction(0)] * (H - len(row))]
        assert not any(padded[H:])
        close(given_.eta[j], padded[:H])
    seen = certify(problem, given_.theta, given_.eta, midpoint=True)
    assert seen.violation <= 1e-11 * scale


@given(SEEDS, ANY.filter(bool))
def test_theorem_1_holds_against_the_best_of_all_schedules(seed, epsilon):
    jobs = exact(draw_jobs(seed, jobs=3, sites=2))
    found = density.run(jobs, epsilon)
    best, _ = least_flow(jobs)
    factor = 2 / epsilon if epsilon <= 1 else (1 + epsilon) / epsilon
    assert jobs.flow(found.completion) <= factor * best
    assert competitive_factor(float(epsilon)) == pytest.approx(float(factor))


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
    problem = draw_jobs(seed, jobs=4)
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


@given(SEEDS)
def test_programs_bounds_and_the_best_of_all_schedules(seed):
    """Written row by row, and compiled, each program has one optimum, and it is below the best."""
    problem = draw_jobs(seed, jobs=3, sites=2)
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
    problem, rng = draw_jobs(seed, jobs=3), np.random.default_rng(seed)
    jobs, H = exact(problem), int(rng.integers(1, 5))
    theta = rng.uniform(0, 6, jobs.K)
    eta, zeta = rng.uniform(0, 3, (jobs.J, H)), rng.uniform(0, 1, (jobs.K, H))
    broken = programs.violation(jobs, theta.tolist(), eta.tolist(), zeta.tolist(), middle=middle)
    seen = certify(problem, theta, eta, zeta, midpoint=middle)
    assert seen.violation == pytest.approx(float(broken), rel=1e-9, abs=1e-12)
    assert seen.value == pytest.approx(theta.sum() - eta.sum() - zeta.sum(), abs=1e-12)
