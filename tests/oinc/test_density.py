"""Residual density: the flow is the sum of the costs, and prices prove half of epsilon of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds.oinc import competitive_factor, dual_certificate
from edgeopt.models.oinc.retraining import certify
from edgeopt.online.oinc.retraining import run_density
from tests.draws import draws
from tests.oinc import draw
from tests.oracles.oinc import density, programs
from tests.oracles.oinc.jobs import exact, least_flow
from tests.strategies import retraining_problems

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
    problem = draw.jobs(seed, jobs=8, grain=["whole", "quarters"][seed % 2])
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
    problem = draw.jobs(seed, jobs=8, grain="any")
    jobs = exact(problem)
    found = density.run(jobs, epsilon)
    assert sum(found.cost) == jobs.flow(found.completion)
    check_run(problem, jobs, found, Fraction(float(epsilon)))


@given(SEEDS, ANY.filter(bool))
def test_the_certificate_is_feasible_and_worth_half_of_epsilon(seed, epsilon):
    """Exactly in rationals: theta = c C, eta = (c / s) W, with c = min(1, s / 2)."""
    problem = draw.jobs(seed, jobs=6)
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
    jobs = exact(draw.jobs(seed, jobs=3, sites=2))
    found = density.run(jobs, epsilon)
    best, _ = least_flow(jobs)
    factor = 2 / epsilon if epsilon <= 1 else (1 + epsilon) / epsilon
    assert jobs.flow(found.completion) <= factor * best
    assert competitive_factor(float(epsilon)) == pytest.approx(float(factor))


@given(SEEDS, st.sampled_from(["fluid", "slot"]), st.booleans(), st.booleans())
def test_every_reading_of_algorithm_4_is_followed(seed, service, largest, corrected):
    """Wasted slots, the least dense first, the printed third sum: each as its words say."""
    problem = draw.jobs(seed, jobs=6, grain=["whole", "quarters"][seed % 2])
    jobs = exact(problem)
    words = {
        "service": service,
        "serve": "argmax" if largest else "argmin",
        "formula": "corrected" if corrected else "published",
    }
    found = density.run(jobs, Fraction(0), **words)
    mine = run_density(problem, **words)
    assert mine.site.tolist() == found.site
    assert mine.completion.tolist() == [float(b) for b in found.completion]
    assert mine.cost.tolist() == [float(c) for c in found.cost]


@settings(max_examples=draws(100))
@given(retraining_problems(jobs=6), BINARY)
def test_ties_and_weights_of_zero_change_nothing(problem, epsilon):
    jobs = exact(problem)
    found = density.run(jobs, epsilon)
    assert sum(found.cost) == jobs.flow(found.completion)
    mine = run_density(problem, epsilon=float(epsilon))
    assert mine.site.tolist() == found.site
    assert mine.completion.tolist() == [float(b) for b in found.completion]


@settings(max_examples=draws(100))
@given(SEEDS, ANY)
def test_what_ran_is_what_is_told(seed, epsilon):
    """Pieces do the work of every job, never two at a time."""
    problem = draw.jobs(seed, jobs=6, grain="any")
    jobs = exact(problem)
    found = density.run(jobs, epsilon)
    mine = run_density(problem, epsilon=float(epsilon))
    ran = mine.runs
    done = np.zeros(jobs.K)
    for k, j, begin, end in zip(*(part.tolist() for part in ran), strict=True):
        assert j == found.site[k]
        assert begin >= jobs.a[k]
        assert begin < end <= float(found.completion[k]) + 1e-9
        done[k] += (end - begin) * (1 + float(epsilon))
    assert done == pytest.approx([float(jobs.time(k, found.site[k])) for k in range(jobs.K)])
    for j in range(jobs.J):
        here = sorted(zip(ran.begin[ran.site == j], ran.end[ran.site == j], strict=True))
        assert all(a[1] <= b[0] + 1e-12 for a, b in pairwise(here))
