"""Certified bounds of retraining: both methods, proofs, and what they bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.models.oinc.retraining import (
    RetrainingProblem,
    certify,
    flow_bound,
    flow_matrix,
    horizon,
)
from edgeopt.models.oinc.retraining.problem import largest_theta
from edgeopt.solvers import solve
from tests.draws import draws
from tests.oinc.strategies import retraining_problems
from tests.oracles.oinc.jobs import exact, follow, least_flow

CLOSE = {"rel": 1e-6, "abs": 1e-6}


def best_flow(problem, *, slotted=False):
    """Return the least weighted flow of all schedules that serve each job at one site."""
    return float(least_flow(exact(problem), wasteful=slotted)[0])


@given(retraining_problems(empty=True), *[st.booleans()] * 3)
@settings(max_examples=draws(60))
def test_a_bound_is_the_optimum_over_all_slots(problem, strong, slotted, patterns):
    service = "slot" if slotted else "fluid"
    method = "patterns" if patterns else "highs"
    bound = flow_bound(problem, service=service, strong=strong, method=method)
    enough = horizon(problem, "slot") + 2
    program = flow_matrix(problem, midpoint=bound.midpoint, one_site=strong, horizon=enough)
    best = solve(program).objective if problem.jobs else 0.0
    assert bound.value == pytest.approx(best, **CLOSE)
    assert bound.objective == pytest.approx(best, **CLOSE)
    assert bound.gap <= 1e-6
    assert bound.violation() <= 1e-12
    proof = certify(problem, bound.theta, bound.eta, bound.zeta, midpoint=bound.midpoint)
    assert proof.value == bound.value
    assert strong or not bound.zeta.any()


@given(retraining_problems(jobs=3, sites=2), st.booleans(), st.booleans())
@settings(max_examples=draws(100))
def test_no_schedule_has_less_flow_than_the_bound(problem, strong, slotted):
    least = best_flow(problem, slotted=slotted)
    bound = flow_bound(problem, service="slot" if slotted else "fluid", strong=strong)
    assert bound.value <= least + 1e-9 * max(1.0, least)
    # Neither is it far below: alone a job is served at the mean of its time, but for one slot.
    alone = [
        best_flow(RetrainingProblem([0], [row], [w]), slotted=slotted)
        for row, w in zip(problem.duration, problem.weight, strict=True)
    ]
    if strong:
        assert bound.value >= sum(alone) - problem.weight.sum() - 1e-9


@given(retraining_problems(jobs=4, sites=3), st.booleans())
@settings(max_examples=draws(60))
def test_the_middle_of_slots_raises_the_bound_by_half_the_weights(problem, strong):
    early, late = (
        flow_bound(problem, service="slot", strong=strong, midpoint=middle)
        for middle in (False, True)
    )
    assert late.value == pytest.approx(early.value + problem.weight.sum() / 2, **CLOSE)


@given(retraining_problems(jobs=4, sites=3))
@settings(max_examples=draws(60))
def test_one_site_at_a_time_never_lowers_the_bound(problem):
    plain, strong = (flow_bound(problem, strong=each).value for each in (False, True))
    assert plain <= strong * (1.0 + 1e-9) + 1e-9


def test_the_middle_of_slots_is_refused_where_it_bounds_nothing():
    problem = RetrainingProblem([0], [[0.01]])
    with pytest.raises(OptionError, match="midpoint"):
        flow_bound(problem, midpoint=True)
    assert flow_bound(problem).value == pytest.approx(0.005)
    assert flow_bound(problem, service="slot").value == pytest.approx(0.505)
    assert flow_bound(RetrainingProblem([0], [[2.0]])).value == pytest.approx(2.0)


def test_a_schedule_that_moves_a_job_can_have_less_flow_than_the_bound():
    # Job 1 at site 0; job 0 for 200 s at site 1, and for the last 20 s at site 0.
    problem = RetrainingProblem([0, 0], [[200.0, 2000.0], [40.0, 400.0]], [20.0, 1.0])
    moving = 20.0 * 200.0 + 1.0 * 220.0
    assert flow_bound(problem, midpoint=False, strong=False).value == pytest.approx(
        4225.41, abs=0.1
    )
    assert moving < 4225.0 < best_flow(problem)


def test_a_horizon_bounds_what_ends_by_it():
    problem = RetrainingProblem([0, 0], [[2.0, 6.0], [2.0, 6.0]])
    free = flow_bound(problem)
    # The first slot of the slow site is worth a third of the last one that the fast site needs.
    assert free.value == pytest.approx(6.0 - 1.0 / 6.0)
    assert flow_bound(problem, horizon=40).value == pytest.approx(free.value)
    # Within three slots all three of the slow site are needed.
    short = flow_bound(problem, horizon=3)
    assert short.value == pytest.approx(6.0)
    assert short.horizon == short.eta.shape[1] == 3
    assert short.violation() == 0.0
    assert certify(problem, short.theta, short.eta, short.zeta, midpoint=True).violation > 0.1
    with pytest.raises(OptionError, match="horizon = 2: leaves too little time"):
        flow_bound(RetrainingProblem([0], [[3.0]]), horizon=2)
    with pytest.raises(OptionError, match="horizon = 1: must end after the last arrival, slot 1"):
        flow_bound(RetrainingProblem([0, 1], [[3.0], [3.0]]), horizon=1)


def test_the_horizon_holds_some_best_schedule():
    problem = RetrainingProblem([0, 3], [[0.5, np.inf], [1.25, 2.5]])
    assert horizon(problem) == 3 + 3
    assert horizon(problem, "slot") == 3 + 1 + 3
    assert horizon(RetrainingProblem(np.zeros(0), np.zeros((0, 2)))) == 1


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("strong", [True, False])
def test_patterns_find_the_optimum_of_the_whole_program(seed, strong):
    rng = np.random.default_rng(seed)
    duration = rng.uniform(1.0, 60.0, 10)[:, None] / rng.uniform(1.0, 2.0, 4)
    problem = RetrainingProblem(np.sort(rng.integers(0, 60, 10)), duration, rng.uniform(0, 2, 10))
    patterns, whole = (
        flow_bound(problem, strong=strong, method=method) for method in ("patterns", "highs")
    )
    assert patterns.value == pytest.approx(whole.value, rel=1e-6)
    assert patterns.gap <= 1e-6
    assert patterns.violation() <= 1e-12
    order = sorted(range(10), key=lambda k: duration[k].min() / problem.weight[k])
    jobs, site = exact(problem), (np.arange(10) % 4).tolist()
    done, _ = follow(jobs, site, lambda _, here: {min(here, key=order.index): Fraction(1)})
    assert patterns.value <= jobs.flow(done)


@pytest.mark.parametrize("method", ["patterns", "highs"])
def test_more_slots_are_taken_where_the_first_schedule_is_too_short(method):
    # In order of arrival the sixth job is complete first at the slow site, after 20 slots; parts of
    # jobs are better off at the fast one in the 22nd slot.
    problem = RetrainingProblem(np.zeros(6), np.tile([4.0, 20.0], (6, 1)))
    bound = flow_bound(problem, method=method)
    program = flow_matrix(problem, midpoint=True, one_site=True)
    assert bound.value == pytest.approx(solve(program).objective, rel=1e-6)
    assert bound.gap <= 1e-6
    assert bound.slots > 21


def test_prices_that_are_too_high_are_found_out():
    # One job of two slots at one site: theta = 2 is exact without a price on slots.
    problem = RetrainingProblem([1], [[2.0]])
    none = np.zeros((1, 0))
    assert certify(problem, [1.0], none) == (0.0, 1.0)
    assert certify(problem, [2.0], none).violation == pytest.approx(0.5)
    assert certify(problem, [1.5], none, midpoint=True) == (0.0, 1.5)
    # A price on the first slot, before the job arrives, changes nothing; on the next two, it does.
    assert certify(problem, [2.0], [[9.0, 0.5]]).violation == 0.0
    assert certify(problem, [3.0], [[0.0, 0.5]]).violation == pytest.approx(0.5)
    assert certify(problem, [2.0], [[0.0, 0.25]], [[0.0, 0.25]]) == (0.0, 1.5)
    assert certify(problem, [1.0], [[-0.5]]).violation == pytest.approx(0.5)
    assert certify(problem, [-0.25], none).violation == pytest.approx(0.25)
    # Where nothing is looked at after slot 1, its price alone counts.
    assert certify(problem, [4.0], [[0.0, 1.5]], horizon=2).violation == 0.0
    assert largest_theta(problem, [[0.0, 0.5]]) == pytest.approx([2.0])


@given(retraining_problems(), st.integers(0, 8), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=draws(60))
def test_any_prices_of_slots_become_a_proof(problem, slots, midpoint, seed):
    rng = np.random.default_rng(seed)
    eta, zeta = (
        np.maximum(rng.normal(size=(n, slots)), 0.0) for n in (problem.sites, problem.jobs)
    )
    theta = largest_theta(problem, eta, zeta, midpoint=midpoint)
    assert certify(problem, theta, eta, zeta, midpoint=midpoint).violation <= 1e-12
    for k in range(problem.jobs):
        more = theta + 1e-3 * (np.arange(problem.jobs) == k)
        assert certify(problem, more, eta, zeta, midpoint=midpoint).violation > 1e-5
    # The constraint by itself, slot by slot, some way beyond the prices.
    for k, j in np.argwhere(np.isfinite(problem.duration)).tolist():
        h, weight, a = problem.duration[k, j], problem.weight[k], problem.arrival[k]
        for t in range(a, slots + 9):
            price = eta[j, t] + zeta[k, t] if t < slots else 0.0
            time = t - a + 0.5 * midpoint
            assert theta[k] / h - price <= weight * time / h + weight / 2 + 1e-12


@pytest.mark.parametrize(
    ("changed", "error", "named"),
    [
        ({"theta": [1.0, 2.0]}, InputError, "theta"),
        ({"theta": [np.inf]}, InputError, r"theta\[0\] = inf"),
        ({"eta": [[1.0], [1.0]]}, InputError, "eta"),
        ({"zeta": [[1.0]]}, InputError, "zeta"),
        ({"horizon": 3}, OptionError, "horizon = 3"),
    ],
)
def test_wrong_prices_are_named(changed, error, named):
    given = {"theta": [1.0], "eta": [[0.0, 0.0]]} | changed
    with pytest.raises(error, match=named):
        certify(RetrainingProblem([0], [[2.0]]), **given)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"service": "liquid"}, "service = 'liquid'"), ({"method": "simplex"}, "method = 'simplex'")],
)
def test_unknown_options_are_named(options, named):
    with pytest.raises(OptionError, match=named):
        flow_bound(RetrainingProblem([0], [[2.0]]), **options)
