"""Dispatch by residual density, its service in slots, and the trees of waiting jobs."""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.online.oinc.components import Queues, run_in_order
from edgeopt.online.oinc.events import Jobs
from edgeopt.online.oinc.retraining import dispatch as trees
from edgeopt.online.oinc.retraining.dispatch import NOBODY, none_waiting
from edgeopt.online.oinc.retraining.residual_density import run_density
from tests.draws import draws
from tests.oinc.plain_dispatch import PlainDispatch
from tests.oinc.strategies import retraining_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.online.oinc.components import Service
    from edgeopt.online.oinc.retraining.dispatch import Waiting
    from edgeopt.online.oinc.retraining.residual_density import RetrainingRun


OPTIONS = st.fixed_dictionaries(
    {
        # Speeds 1, 2 and 4: binary fractions stay exact.
        "epsilon": st.sampled_from([0.0, 1.0, 3.0]),
        "service": st.sampled_from(["fluid", "slot"]),
    }
)


def told(run: RetrainingRun) -> dict[str, Any]:
    """Return a run in the words of the plain one."""
    done = np.flatnonzero(np.isfinite(run.completion)).tolist()
    sent = np.flatnonzero(run.site >= 0).tolist()
    return {
        "site": {k: int(run.site[k]) for k in sent},
        "cost": {k: run.cost[k] for k in sent},
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
    for name in ("cost", "completion"):
        expected = [float(getattr(plain, name)[k]) for k in range(problem.jobs)]
        np.testing.assert_allclose(getattr(run, name), expected, rtol=1e-12, atol=1e-12)
    assert len(run.runs.job) == len(plain.runs)


@pytest.mark.parametrize("rest", [10, 400, 3000])
def test_costs_add_up_however_many_jobs_wait(rest: int) -> None:
    run = run_density(random_jobs(5, 2000, 4, rest), epsilon=0.3)
    assert run.weighted_flow == pytest.approx(run.expected_flow, rel=1e-12)


def test_a_job_that_comes_alone_costs_what_the_formula_says() -> None:
    # Site 0 holds densities 4 and 1/2, and a new one of density 1 comes between them.
    problem = RetrainingProblem([0, 0, 0], [[1.0], [2.0], [3.0]], [4.0, 1.0, 3.0])
    run = run_density(problem)
    assert run.cost.tolist() == [4.0, 1 + 2.0, 3 * 1 + 9.0 + 3 * 1.0]
    assert run.completion.tolist() == [1.0, 6.0, 4.0]


@pytest.mark.parametrize("count", [10, 40])
def test_wasted_slots_make_small_jobs_wait_whole_seconds(count: int) -> None:
    problem = RetrainingProblem(np.zeros(count, dtype=int), np.full((count, 1), 0.01))
    assert run_density(problem, service="slot").weighted_flow == count * (count + 1) / 2
    fluid = run_density(problem)
    assert fluid.weighted_flow == pytest.approx(0.01 * count * (count + 1) / 2)
    # A faster site is no help where a job takes a slot anyway.
    assert run_density(problem, service="slot", epsilon=0.5).completion.max() == count


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


def queues(site: Sequence[int], remaining: Sequence[float], speed: Sequence[float]) -> Queues:
    """Return jobs 10, 11, ... at sites whose share is an eighth of their speed."""
    q = len(site)
    left = np.array(remaining, dtype=float)
    jobs = Jobs(
        np.arange(10, 10 + q), np.array(site, dtype=np.int64), np.zeros(q, dtype=np.bool_),
        left, left, np.zeros(q, dtype=np.int64), np.full(q, 9.0), np.ones(q),
    )  # fmt: skip
    rate = np.array(speed, dtype=float)
    return Queues(3, jobs, rate / 8.0, rate)


def runs_by_rule(site: Sequence[int], left: Sequence[float], speed: Sequence[float],
         order: Sequence[int], service: str) -> list[tuple[int, Fraction, Fraction]]:  # fmt: skip
    """Serve site after site, second after second, in fractions."""
    runs = []
    for j, rate in enumerate(speed):
        now = Fraction(0)
        for place in order:
            if site[place] == j and rate > 0 and now < 1:
                need = Fraction(left[place]) / Fraction(rate)
                end = Fraction(1) if service == "slot" else min(now + need, Fraction(1))
                runs.append((10 + place, now, end))
                now = end
    return sorted(runs)


@pytest.mark.parametrize("service", ["fluid", "slot"])
@settings(max_examples=draws(60))
@given(st.data())
def test_runs_are_those_of_a_site_that_serves_second_after_second(
    service: Service, data: st.DataObject
) -> None:
    speed = data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 4.0]), min_size=1, max_size=3))
    site = data.draw(st.lists(st.integers(-1, len(speed) - 1), max_size=6))
    size = st.integers(1, 20).map(lambda eighths: eighths / 8)
    left = data.draw(st.lists(size, min_size=len(site), max_size=len(site)))
    order = data.draw(st.permutations(range(len(site))))[: data.draw(st.integers(0, len(site)))]
    given_queues = queues(site, left, speed)
    runs = run_in_order(given_queues, np.array(order, dtype=np.int64), service)
    found = sorted(zip(runs.job.tolist(), runs.begin.tolist(), runs.end.tolist(), strict=True))
    assert found == runs_by_rule(site, left, speed, order, service)
    at = np.array(site, dtype=np.int64)[runs.job - 10]
    assert runs.share.tolist() == given_queues.share[at].tolist()


def test_next_to_nothing_still_takes_a_moment() -> None:
    runs = run_in_order(queues([0, 0], [0.75, 1e-30], [1.0]), np.array([0, 1]))
    assert runs.begin.tolist() == [0.0, 0.75]
    assert 0.75 < runs.end[1] <= 0.75 + 1e-15


def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(OptionError, match="'fluid', 'slot'"):
        run_in_order(queues([0], [1.0], [1.0]), np.array([0]), "whole")  # type: ignore[arg-type]


LIST = dict[int, tuple[float, float, float]]
"""Density, work and delay of each job that waits."""


def order(listed: LIST) -> list[int]:
    return sorted(listed, key=lambda job: (-listed[job][0], job))


def walked(waiting: Waiting, job: int) -> list[int]:
    """Return the jobs of a subtree in order, and check that it is balanced."""
    if job == NOBODY:
        return []
    ahead, behind = (walked(waiting, child) for child in waiting.child[job].tolist())
    heights = [0 if child == NOBODY else waiting.height[child] for child in waiting.child[job]]
    assert abs(heights[0] - heights[1]) <= 1
    assert waiting.height[job] == 1 + max(heights)
    return [*ahead, job, *behind]


def check(waiting: Waiting, lists: list[LIST]) -> None:
    for site, listed in enumerate(lists):
        inside = order(listed)
        assert walked(waiting, waiting.root[site]) == inside
        assert trees.densest(waiting, site) == (inside[0] if inside else NOBODY)
        for density in (0.0, 0.75, 1.0, 1.5, 2.0, 3.0, 9.0):
            ahead = sum(one[1] for one in listed.values() if one[0] >= density)
            behind = sum(one[2] for one in listed.values() if one[0] < density)
            asked = waiting.child, waiting.sums, int(waiting.root[site]), density
            assert trees.price(*asked, (1.0, 2.0, 0.5), (1.0, 0.0), np.inf) == ahead + 3.0
            assert trees.price(*asked, (1.0, 2.0, 0.5), (0.0, 2.0), np.inf) == 2.0 * behind + 1.0
            for most in (0.0, 4.0, 9.0):
                found = trees.price(*asked, (0.0, 0.0, 0.0), (1.0, 1.0), most)
                assert found == ahead + behind or most <= found <= ahead + behind


@settings(max_examples=draws(60))
@given(st.data())
def test_trees_hold_what_lists_hold(data: st.DataObject) -> None:
    jobs, lists = 16, [LIST(), LIST()]
    waiting = none_waiting(jobs, len(lists))
    whole = st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0])
    for _ in range(data.draw(st.integers(1, 40))):
        site = data.draw(st.integers(0, 1))
        job = data.draw(st.integers(0, jobs - 1))
        holder = next((at for at, listed in enumerate(lists) if job in listed), None)
        if holder is None:
            brought = (data.draw(whole), data.draw(whole), data.draw(whole))
            lists[site][job] = brought
            trees.insert(waiting, site, job, *brought)
        else:
            del lists[holder][job]
            trees.remove(waiting, holder, job)
        check(waiting, lists)


def test_trees_stay_flat_whatever_the_order_in_which_jobs_come_and_go() -> None:
    jobs = 3000
    rng = np.random.default_rng(0)
    for density in (np.arange(jobs), -np.arange(jobs), np.zeros(jobs), rng.random(jobs)):
        waiting = none_waiting(jobs, 1)
        for job in range(jobs):
            trees.insert(waiting, 0, job, float(density[job]), 1.0, 1.0)
        assert len(walked(waiting, waiting.root[0])) == jobs
        assert waiting.height[waiting.root[0]] <= 1.4405 * log2(jobs + 2)
        for job in rng.permutation(jobs)[:-10].tolist():
            trees.remove(waiting, 0, job)
        assert len(walked(waiting, waiting.root[0])) == 10
