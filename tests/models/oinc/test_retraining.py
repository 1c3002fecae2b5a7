"""Linear programs of retraining: twins, duality, proofs, what they bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining import (
    RetrainingProblem,
    certify,
    dual_matrix,
    flow_bound,
    flow_matrix,
    horizon,
)
from edgeopt.solvers import solve


@st.composite
def problems(draw, whole=None):
    """Draw a few jobs for a few sites, some of which cannot serve some."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    jobs, sites = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    integer = rng.random() < 0.5 if whole is None else whole
    duration = rng.integers(1, 5, (jobs, sites)) if integer else rng.uniform(0.1, 4, (jobs, sites))
    duration = duration.astype(float)
    spare = rng.random((jobs, sites)) < 0.2
    spare[np.arange(jobs), rng.integers(0, sites, jobs)] = False
    duration[spare] = np.inf
    weight = rng.integers(0, 4, jobs) if rng.random() < 0.5 else rng.uniform(0, 3, jobs)
    return RetrainingProblem(np.sort(rng.integers(0, 5, jobs)), duration, weight)


@given(problems(), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_a_bound_is_the_optimum_over_all_slots(problem, strong, slotted):
    service = "slot" if slotted else "fluid"
    bound = flow_bound(problem, service=service, strong=strong)
    keywords = {"midpoint": bound.midpoint, "one_site": strong, "horizon": horizon(problem, "slot")}
    best = solve(flow_matrix(problem, **keywords)).objective
    assert bound.value == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert solve(dual_matrix(problem, **keywords)).objective == pytest.approx(best, rel=1e-6)
    assert bound.violation() <= 1e-12
    proof = certify(problem, bound.theta, bound.eta, bound.zeta, midpoint=bound.midpoint)
    assert proof.value == bound.value


def test_the_middle_of_slots_is_refused_where_it_bounds_nothing():
    problem = RetrainingProblem([0], [[0.01]])
    with pytest.raises(OptionError, match="midpoint"):
        flow_bound(problem, midpoint=True)
    assert flow_bound(problem).value == pytest.approx(0.005)
    assert flow_bound(problem, service="slot").value == pytest.approx(0.505)
