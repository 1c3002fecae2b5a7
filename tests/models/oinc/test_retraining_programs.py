"""Linear programs of retraining: declarative and compiled forms, duality, the coarse grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining import (
    RetrainingProblem,
    dual_matrix,
    flow_dual,
    flow_lp,
    flow_matrix,
)
from edgeopt.models.oinc.retraining.bounds import Pricing
from edgeopt.models.oinc.retraining.matrix import coarse_prices, grid_points
from edgeopt.solvers import solve
from tests.draws import draws
from tests.models.matrix_forms import assert_same_program
from tests.oinc.strategies import retraining_problems

AXES = {
    "m": ("job", "site", "slot"),
    "theta": ("job",),
    "eta": ("site", "slot"),
    "zeta": ("job", "slot"),
    "eq_8a": ("job",),
    "eq_8b": ("site", "slot"),
    "one_site": ("job", "slot"),
    "eq_9a": ("job", "site", "slot"),
}


@given(retraining_problems(), *[st.booleans()] * 3, st.sampled_from([None, 5, 7]))
@settings(max_examples=draws(40))
def test_the_matrix_forms_hold_the_declared_rows(problem, midpoint, one_site, dual, slots):
    keywords = {"midpoint": midpoint, "one_site": one_site, "horizon": slots}
    declared, compiled = (flow_dual, dual_matrix) if dual else (flow_lp, flow_matrix)
    program = compiled(problem, **keywords)
    assert_same_program(declared(problem, **keywords), program, AXES)
    assert not program.lower.any()
    assert np.isposinf(program.upper).all()
    assert not program.integer.any()


@given(retraining_problems(), st.booleans(), st.booleans())
@settings(max_examples=draws(60))
def test_the_dual_proves_the_optimum(problem, midpoint, one_site):
    keywords = {"midpoint": midpoint, "one_site": one_site}
    primal, dual = solve(flow_matrix(problem, **keywords)), solve(dual_matrix(problem, **keywords))
    assert dual.objective == pytest.approx(primal.objective, rel=1e-7, abs=1e-7)
    # And the rows of the dual hold for what HiGHS says are the duals of the primal.
    prices = np.where(np.arange(primal.duals.size) < problem.jobs, 1.0, -1.0) * primal.duals
    program = dual_matrix(problem, **keywords)
    assert (program.matrix @ prices <= program.row_upper + 1e-7).all()
    assert (prices >= -1e-7).all()


@given(retraining_problems(jobs=4), st.booleans(), st.booleans(), st.integers(1, 9))
@settings(max_examples=draws(60))
def test_prices_from_a_coarse_grid_are_a_proof_themselves(problem, midpoint, one_site, step):
    slots = flow_slots(problem)
    keywords = {"midpoint": midpoint, "one_site": one_site}
    best = solve(flow_matrix(problem, horizon=slots, **keywords)).objective
    theta = coarse_prices(problem, slots, step, **keywords)
    priced = Pricing(problem, end=slots, **keywords)(theta)
    assert priced.value <= best * (1.0 + 1e-9) + 1e-9
    if step == 1:
        assert priced.value == pytest.approx(best, rel=1e-7, abs=1e-7)


def flow_slots(problem):
    """Return slots that are enough for all jobs one after the other."""
    longest = np.where(np.isfinite(problem.duration), problem.duration, 0.0).max(axis=1)
    return int(problem.arrival[-1] + np.ceil(longest).sum())


@given(retraining_problems(), st.integers(6, 60), st.integers(1, 20))
@settings(max_examples=draws(60))
def test_a_grid_stands_for_all_slots(problem, slots, step):
    point, share = grid_points(problem, slots, step)
    assert point[0] == 0
    assert point[-1] == slots - 1
    assert set(problem.arrival) <= set(point)
    gaps = np.diff(point)
    assert (gaps > 0).all()
    assert (gaps <= step).all()
    # Any function that is linear between the points has the same sum.
    value = np.random.default_rng(step).normal(size=point.size)
    every = np.interp(np.arange(slots), point, value)
    assert share @ value == pytest.approx(every.sum(), rel=1e-9, abs=1e-9)


@given(retraining_problems(jobs=5), st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=draws(60))
def test_slots_are_priced_at_their_best_assignment(problem, seed, midpoint, one_site):
    from scipy.optimize import linear_sum_assignment

    theta = np.random.default_rng(seed).uniform(0.0, 8.0, problem.jobs)
    pricing = Pricing(problem, midpoint=midpoint, one_site=one_site, end=9)
    found = pricing(theta)
    theta = np.minimum(theta, pricing.highest)
    assert found.theta == pytest.approx(theta)
    total = theta.sum()
    for t in range(9):
        time = t - problem.arrival[:, None] + 0.5 * midpoint
        weight = problem.weight[:, None]
        gain = (theta[:, None] - weight * time) / problem.duration - weight / 2
        gain = np.where((problem.arrival[:, None] <= t) & (gain > 0), gain, 0.0)
        best = gain.max(axis=0).sum()
        if one_site:
            best = gain[linear_sum_assignment(-gain)].sum()
        served = [(k, j) for j, k in enumerate(found.served[:, t].tolist()) if k >= 0]
        assert sum(gain[pair] for pair in served) == pytest.approx(best, abs=1e-9)
        assert all(gain[pair] > 0 for pair in served)
        assert not one_site or len({k for k, _ in served}) == len(served)
        price = found.eta[:, t].sum() + found.zeta[:, t].sum()
        assert price == pytest.approx(best, abs=1e-9)
        assert (found.eta[:, t] + found.zeta[:, t, None] >= gain - 1e-9).all()
        total -= best
    assert found.value == pytest.approx(total, abs=1e-8)
    assert (found.eta >= 0).all()
    assert (found.zeta >= 0).all()


@pytest.mark.parametrize("build", [flow_lp, flow_dual, flow_matrix, dual_matrix])
def test_a_horizon_before_the_last_arrival_is_refused(build):
    with pytest.raises(OptionError, match="horizon = 3: must end after the last arrival, slot 3"):
        build(RetrainingProblem([0, 3], [[1.0], [1.0]]), horizon=3)
