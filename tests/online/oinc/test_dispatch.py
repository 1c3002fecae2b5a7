"""Compiled dispatch is the one that is defined, and adds up to what the jobs were said to cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.online.oinc.retraining.residual_density import run_density
from tests.draws import draws
from tests.online.oinc.plain_dispatch import PlainDispatch
from tests.strategies import retraining_problems

if TYPE_CHECKING:
    from edgeopt.online.oinc.retraining.residual_density import RetrainingRun

OPTIONS = st.fixed_dictionaries(
    {
        # Speeds 1, 2 and 4: binary fractions stay exact.
        "epsilon": st.sampled_from([0.0, 1.0, 3.0]),
        "service": st.sampled_from(["fluid", "slot"]),
        "serve": st.sampled_from(["argmax", "argmax", "argmin"]),
        "formula": st.sampled_from(["corrected", "corrected", "published"]),
        "late_binding": st.booleans(),
    }
).filter(lambda options: not options["late_binding"] or options["formula"] == "corrected")


def told(run: RetrainingRun) -> dict[str, Any]:
    """Return a run in the words of the plain one."""
    done = np.flatnonzero(np.isfinite(run.completion)).tolist()
    sent = np.flatnonzero(run.site >= 0).tolist()
    return {
        "site": {k: int(run.site[k]) for k in sent},
        "cost": {k: run.cost[k] for k in sent},
        "saved": {k: run.saved[k] for k in sent},
        "completion": {k: run.completion[k] for k in done},
        "runs": sorted(zip(*(column.tolist() for column in run.runs), strict=True)),
    }


def random_jobs(seed: int, jobs: int, sites: int, rest: int) -> RetrainingProblem:
    """Draw jobs without ties that crowd the sites."""
    rng = np.random.default_rng(seed)
    return RetrainingProblem(
        np.sort(rng.integers(0, rest, jobs)), rng.uniform(0.1, 6.0, (jobs, sites)),
        rng.uniform(0.1, 3.0, jobs),
    )  # fmt: skip


@settings(max_examples=draws(200))
@given(retraining_problems(jobs=9, empty=True), OPTIONS, st.sampled_from([None, None, 3]))
def test_compiled_and_plain_are_the_same_to_the_last_digit(
    problem: RetrainingProblem, options: dict[str, Any], horizon: int | None
) -> None:
    plain = PlainDispatch(problem, **options).run_policy(horizon)
    found = told(run_density(problem, horizon=horizon, **options))
    assert found.pop("runs") == sorted(plain.runs)
    assert found == {name: getattr(plain, name) for name in found}


@settings(max_examples=draws(60))
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.25, 0.5]), OPTIONS)
def test_compiled_and_plain_agree_where_nothing_is_round(
    seed: int, epsilon: float, options: dict[str, Any]
) -> None:
    problem = random_jobs(seed, jobs=14, sites=3, rest=12)
    plain = PlainDispatch(problem, **options | {"epsilon": epsilon}).run_policy()
    run = run_density(problem, **options | {"epsilon": epsilon})
    assert dict(enumerate(run.site.tolist())) == plain.site
    for name in ("cost", "completion", "saved"):
        expected = [float(getattr(plain, name)[k]) for k in range(problem.jobs)]
        np.testing.assert_allclose(getattr(run, name), expected, rtol=1e-12, atol=1e-12)
    assert len(run.runs.job) == len(plain.runs)


@settings(max_examples=draws(200))
@given(retraining_problems(jobs=9), st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), st.booleans())
def test_fluid_flow_is_the_sum_of_costs(
    problem: RetrainingProblem, epsilon: float, late_binding: bool
) -> None:
    run = run_density(problem, epsilon=epsilon, late_binding=late_binding)
    assert run.weighted_flow == pytest.approx(run.expected_flow, rel=1e-12, abs=1e-12)
    assert (run.saved >= 0).all()
    if not late_binding:
        assert not run.saved.any()


@pytest.mark.parametrize("late_binding", [False, True])
@pytest.mark.parametrize("rest", [10, 400, 3000])
def test_costs_add_up_however_many_jobs_wait(rest: int, late_binding: bool) -> None:
    run = run_density(random_jobs(5, 2000, 4, rest), epsilon=0.3, late_binding=late_binding)
    assert run.weighted_flow == pytest.approx(run.expected_flow, rel=1e-12)
    assert run.saved.any() == late_binding


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=9), OPTIONS)
def test_runs_are_a_schedule(problem: RetrainingProblem, options: dict[str, Any]) -> None:
    run = run_density(problem, **options)
    speed = 1.0 + options["epsilon"]
    job, site, begin, end = run.runs
    assert (begin < end).all()
    same = site[1:] == site[:-1]
    assert (begin[1:] >= end[:-1])[same].all()
    assert (site == run.site[job]).all()
    served = np.bincount(job, weights=(end - begin) * speed, minlength=problem.jobs)
    needed = problem.duration[np.arange(problem.jobs), run.site]
    if options["service"] == "fluid":
        np.testing.assert_allclose(served, needed, rtol=1e-12)
    else:
        slots = np.ceil(needed / speed)
        np.testing.assert_allclose(served, slots * speed, rtol=1e-12)
    last = np.full(problem.jobs, -np.inf)
    np.maximum.at(last, job, end)
    assert last.tolist() == run.completion.tolist()
    assert (begin >= problem.arrival[job]).all()


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=9))
def test_no_site_idles_while_a_job_waits_there(problem: RetrainingProblem) -> None:
    run = run_density(problem)
    for k in range(problem.jobs):
        there = run.runs.site == run.site[k]
        since, until = problem.arrival[k], run.completion[k]
        busy = np.minimum(run.runs.end, until) - np.maximum(run.runs.begin, since)
        assert np.maximum(busy, 0.0)[there].sum() == pytest.approx(until - since)


def test_a_job_that_comes_alone_costs_what_the_formula_says() -> None:
    # Site 0 holds densities 4 and 1/2, and a new one of density 1 comes between them.
    problem = RetrainingProblem([0, 0, 0], [[1.0], [2.0], [3.0]], [4.0, 1.0, 3.0])
    run = run_density(problem)
    assert run.cost.tolist() == [4.0, 1 + 2.0, 3 * 1 + 9.0 + 3 * 1.0]
    assert run.completion.tolist() == [1.0, 6.0, 4.0]
    assert run_density(problem, formula="published").cost[2] == 3 * 1 + 9.0 + 1 * 2.0
    # An equally dense job is ahead, which only the printed formula can tell from behind.
    equal = RetrainingProblem([0, 0, 0], [[1.0], [1.0], [2.0]], [1.0, 1.0, 2.0])
    assert run_density(equal, formula="published").cost.tolist() == [1.0, 2.0, 2 * 2 + 4.0]


def test_serving_the_least_dense_job_doubles_the_flow() -> None:
    problem = RetrainingProblem([0, 0], [[1.0], [2.0]], [4.0, 1.0])
    dense = run_density(problem, epsilon=0.5)
    light = run_density(problem, epsilon=0.5, serve="argmin")
    assert dense.weighted_flow == pytest.approx(14 / 3)
    assert light.weighted_flow == pytest.approx(28 / 3)


def test_the_published_third_sum_sends_a_job_to_the_wrong_site() -> None:
    problem = RetrainingProblem([0, 0], [[3.0, 2.0], [3.0, 1.0]])
    assert run_density(problem).weighted_flow == 4.0
    assert run_density(problem, formula="published").weighted_flow == 5.0


@pytest.mark.parametrize("count", [10, 40])
def test_wasted_slots_make_small_jobs_wait_whole_seconds(count: int) -> None:
    problem = RetrainingProblem(np.zeros(count, dtype=int), np.full((count, 1), 0.01))
    assert run_density(problem, service="slot").weighted_flow == count * (count + 1) / 2
    fluid = run_density(problem)
    assert fluid.weighted_flow == pytest.approx(0.01 * count * (count + 1) / 2)
    # A faster site is no help where a job takes a slot anyway.
    assert run_density(problem, service="slot", epsilon=0.5).completion.max() == count


def test_late_binding_thinks_of_jobs_that_arrived_together() -> None:
    # Of the two that want site 0, the longer one is sent first, and the other one makes way.
    problem = RetrainingProblem([0, 0], [[4.0, 6.0], [6.0, 11.0]])
    assert run_density(problem).site.tolist() == [0, 0]
    run = run_density(problem, late_binding=True)
    assert run.site.tolist() == [1, 0]
    assert (run.cost.tolist(), run.saved.tolist()) == ([4.0, 10.0], [0.0, 2.0])
    assert run.completion.tolist() == [6.0, 6.0]


def test_late_binding_moves_a_job_that_waits_out_of_the_way_of_new_ones() -> None:
    # At 1, job 1 has waited for site 0. Job 2 goes ahead of it; at site 1, job 1 ends at 3 all the
    # same, and no longer in front of job 3.
    jobs = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 6.0]]
    problem = RetrainingProblem([0, 0, 1, 1], jobs, [1.0, 1.0, 2.0, 2.0])
    early, late = run_density(problem), run_density(problem, late_binding=True)
    assert early.site.tolist() == [0, 0, 0, 0]
    assert early.completion.tolist() == [1.0, 3.0, 2.0, 6.0]
    assert late.site.tolist() == [0, 1, 0, 0]
    assert late.completion.tolist() == [1.0, 3.0, 2.0, 5.0]
    assert late.saved.tolist() == [0.0, 0.0, 0.0, 2.0]
    assert late.runs.job.tolist() == [0, 2, 3, 1]


def test_service_in_slots_forgives_rounding() -> None:
    # Three tenths three times are more than 0.9 by a rounding error.
    problem = RetrainingProblem([0], [[(0.1 + 0.2) * 10.0]])
    assert problem.duration[0, 0] > 3.0
    assert run_density(problem, service="slot").completion.tolist() == [3.0]


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=9), OPTIONS, st.integers(1, 5))
def test_what_comes_later_changes_nothing_before(
    problem: RetrainingProblem, options: dict[str, Any], seen: int
) -> None:
    known = problem.arrival < seen
    assert problem.weight is not None
    part = RetrainingProblem(problem.arrival[known], problem.duration[known], problem.weight[known])
    whole, alone = (run_density(some, horizon=seen, **options) for some in (problem, part))
    assert whole.site[known].tolist() == alone.site.tolist()
    assert told(whole)["runs"] == told(alone)["runs"]
    assert (whole.site[~known] == -1).all()
    assert np.isinf(whole.completion[~known]).all()
    assert np.isnan(whole.cost[~known]).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epsilon": -0.1}, "epsilon = -0.1"),
        ({"epsilon": np.inf}, "epsilon = inf"),
        ({"service": "whole"}, "service = 'whole'"),
        ({"serve": "first"}, "serve = 'first'"),
        ({"formula": "other"}, "formula = 'other'"),
        ({"formula": "published", "late_binding": True}, "late_binding"),
        ({"horizon": 0}, "horizon = 0"),
        ({"horizon": 1.5}, "horizon = 1.5"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], text: str) -> None:
    problem = RetrainingProblem([0], [[1.0]])
    with pytest.raises(OptionError, match=text):
        run_density(problem, **options)


def test_no_jobs_come_to_nothing() -> None:
    run = run_density(RetrainingProblem([], np.zeros((0, 2))))
    assert run.weighted_flow == run.expected_flow == 0.0
