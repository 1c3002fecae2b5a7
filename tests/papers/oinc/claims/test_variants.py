"""Algorithm 4 as printed, and with late binding."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.oinc.claims.dispatch import run_variant
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.online.oinc.retraining import run_density
from tests.draws import draws
from tests.oinc.strategies import retraining_problems


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=9), st.sampled_from([0.0, 0.25, 1.0]))
def test_without_a_variant_it_is_the_algorithm(problem: RetrainingProblem, epsilon: float) -> None:
    plain, run = run_variant(problem, epsilon=epsilon), run_density(problem, epsilon=epsilon)
    assert not plain.saved.any()
    for name in ("site", "cost", "completion"):
        np.testing.assert_allclose(getattr(plain, name), getattr(run, name), rtol=1e-12)
    for one, other in zip(plain.runs, run.runs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_published_third_sum_counts_the_work_of_those_behind() -> None:
    # Site 0 holds densities 4 and 1/2, and a new one of density 1 comes between them.
    problem = RetrainingProblem([0, 0, 0], [[1.0], [2.0], [3.0]], [4.0, 1.0, 3.0])
    assert run_variant(problem, formula="published").cost[2] == 3 * 1 + 9.0 + 1 * 2.0
    # An equally dense job is ahead, which only the printed formula can tell from behind.
    equal = RetrainingProblem([0, 0, 0], [[1.0], [1.0], [2.0]], [1.0, 1.0, 2.0])
    assert run_variant(equal, formula="published").cost.tolist() == [1.0, 2.0, 2 * 2 + 4.0]


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=9), st.sampled_from([0.0, 0.25, 1.0]))
def test_late_binding_saves_what_it_says(problem: RetrainingProblem, epsilon: float) -> None:
    run = run_variant(problem, epsilon=epsilon, late_binding=True)
    assert (run.saved >= 0).all()
    expected = run.expected_flow - run.saved.sum()
    assert run.weighted_flow == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_serving_the_least_dense_job_doubles_the_flow() -> None:
    problem = RetrainingProblem([0, 0], [[1.0], [2.0]], [4.0, 1.0])
    dense = run_density(problem, epsilon=0.5)
    light = run_variant(problem, epsilon=0.5, serve="argmin")
    assert dense.weighted_flow == pytest.approx(14 / 3)
    assert light.weighted_flow == pytest.approx(28 / 3)


def test_the_published_third_sum_sends_a_job_to_the_wrong_site() -> None:
    problem = RetrainingProblem([0, 0], [[3.0, 2.0], [3.0, 1.0]])
    assert run_density(problem).weighted_flow == 4.0
    assert run_variant(problem, formula="published").weighted_flow == 5.0


def test_late_binding_thinks_of_jobs_that_arrived_together() -> None:
    # Of the two that want site 0, the longer one is sent first, and the other one makes way.
    problem = RetrainingProblem([0, 0], [[4.0, 6.0], [6.0, 11.0]])
    assert run_density(problem).site.tolist() == [0, 0]
    run = run_variant(problem, late_binding=True)
    assert run.site.tolist() == [1, 0]
    assert (run.cost.tolist(), run.saved.tolist()) == ([4.0, 10.0], [0.0, 2.0])
    assert run.completion.tolist() == [6.0, 6.0]


def test_late_binding_moves_a_job_that_waits_out_of_the_way_of_new_ones() -> None:
    # At 1, job 1 has waited for site 0. Job 2 goes ahead of it; at site 1, job 1 ends at 3 all the
    # same, and no longer in front of job 3.
    jobs = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 6.0]]
    problem = RetrainingProblem([0, 0, 1, 1], jobs, [1.0, 1.0, 2.0, 2.0])
    early, late = run_density(problem), run_variant(problem, late_binding=True)
    assert early.site.tolist() == [0, 0, 0, 0]
    assert early.completion.tolist() == [1.0, 3.0, 2.0, 6.0]
    assert late.site.tolist() == [0, 1, 0, 0]
    assert late.completion.tolist() == [1.0, 3.0, 2.0, 5.0]
    assert late.saved.tolist() == [0.0, 0.0, 0.0, 2.0]
    assert late.runs.job.tolist() == [0, 2, 3, 1]
