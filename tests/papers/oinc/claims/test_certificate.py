"""The dual point of a run, and certified ratios, against plain loops."""

import numpy as np
import pytest
from edgeopt_papers.oinc.claims import (
    certified_ratio,
    competitive_factor,
    dual_certificate,
)
from edgeopt_papers.oinc.claims import problems as named_instances
from edgeopt_papers.oinc.claims.dispatch import run_variant
from edgeopt_papers.oinc.claims.evaluation import drawn_schedule
from edgeopt_papers.oinc.claims.instances import Due
from edgeopt_papers.oinc.claims.order import run_urgent
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.online.oinc.retraining import run_density
from tests.draws import draws
from tests.oinc.strategies import retraining_problems

SPEEDS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 2.0])


def plain_prices(problem, run, epsilon):
    """Sum the weights of waiting jobs slot by slot, job by job."""
    c = min(1, (1 + epsilon) / 2)
    slots = int(np.floor(run.completion.max())) + 1
    eta = np.zeros((problem.sites, slots))
    for j in range(problem.sites):
        for t in range(slots):
            for k in range(problem.jobs):
                if run.site[k] == j:
                    first, last = max(problem.arrival[k], t), min(run.completion[k], t + 1)
                    eta[j, t] += problem.weight[k] * max(0.0, last - first)
    return c * run.cost, c / (1 + epsilon) * eta


def plain_excess(problem, theta, price, time):
    """Look at every constraint at some times; a price is a function of site and time."""
    found = [0.0]
    for k in range(problem.jobs):
        for j in range(problem.sites):
            h, weight = problem.duration[k, j], problem.weight[k]
            if np.isfinite(h):
                found += [
                    theta[k] / h - price(j, t) - weight * (t - problem.arrival[k]) / h - weight / 2
                    for t in time
                    if t >= problem.arrival[k]
                ]
    return max(found)


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=5), SPEEDS)
def test_point_is_that_of_plain_loops(problem, epsilon):
    run = run_density(problem, epsilon=epsilon)
    point = dual_certificate(problem, run, epsilon)
    theta, eta = plain_prices(problem, run, epsilon)
    assert point.theta == pytest.approx(theta, abs=1e-12)
    assert point.eta == pytest.approx(eta, abs=1e-9)
    assert point.value == pytest.approx(theta.sum() - eta.sum(), abs=1e-9)

    slots = eta.shape[1]

    def of_slot(j, time):
        return eta[j, int(time)] if time < slots else 0.0

    middles = np.arange(slots + 3) + 0.5
    assert point.violation == pytest.approx(
        plain_excess(problem, theta, of_slot, middles), abs=1e-9
    )
    assert point.violation <= 1e-9


@settings(max_examples=draws(60))
@given(
    # At a single site nothing is broken without a price.
    st.one_of(retraining_problems(jobs=5), retraining_problems(jobs=5, sites=1)),
    SPEEDS,
    st.sampled_from([0.3, 1.0, 3.0]),
    st.sampled_from(["corrected", "published"]),
)
def test_worst_instant_is_an_arrival_or_a_completion(problem, epsilon, scale, formula):
    """At a thousand instants, each constraint is broken no more than at those few."""
    run = run_variant(problem, epsilon=epsilon, formula=formula)
    point = dual_certificate(problem, run, epsilon, scale=scale)

    def waiting(j, time):
        here = (run.site == j) & (problem.arrival <= time) & (time < run.completion)
        return scale / (1 + epsilon) * problem.weight[here].sum()

    end = run.completion.max() + 1
    several = np.linspace(0, end, 150)
    at_events = np.concatenate([problem.arrival, run.completion])
    exact = plain_excess(problem, point.theta, waiting, at_events)
    assert point.violation_in_time == pytest.approx(exact, abs=1e-9)
    assert plain_excess(problem, point.theta, waiting, several) <= exact + 1e-9
    # Slots average over instants.
    assert point.violation <= point.violation_in_time + 1e-9


def test_some_scale_beyond_the_proven_one_breaks_a_constraint():
    """The point is tight: 1.6 over 2 s, as much as 1/4 + 1/2 of the weight allow, times 16/15."""
    problem = named_instances.lone_job()
    run = run_density(problem, epsilon=0.25)
    broken = [dual_certificate(problem, run, 0.25, scale=c).violation for c in (0.625, 0.9375, 1)]
    assert broken == pytest.approx([0, 0, 0.05])


@pytest.mark.parametrize("duration", [[2.5, 2.0], [2.0, 2.5]])
def test_only_jobs_of_a_site_pay_there(duration):
    """Cost 1.6 over the 2.5 s of the other site, less half of the weight."""
    problem = named_instances.at_once([duration])
    point = dual_certificate(problem, run_density(problem, epsilon=0.25), 0.25, scale=1.0)
    assert point.violation_in_time == pytest.approx(1.6 / 2.5 - 0.5)


@settings(max_examples=draws(60))
@given(retraining_problems(jobs=5, sites=2, zero_weights=False), SPEEDS)
def test_constant_weights_by_the_plain_run(problem, epsilon):
    """With a slot to every deadline, weights at the arrival are the jobs' own."""
    due = Due(problem, problem.arrival + 1.0)
    plain = run_urgent(due, epsilon=epsilon)
    run = run_density(problem, epsilon=epsilon)
    assert plain.objective == pytest.approx(plain.cost.sum(), rel=1e-9)
    # Equal costs at two sites may be told apart by rounding.
    if (plain.site == run.site).all():
        assert plain.completion == pytest.approx(run.completion, abs=1e-9)
        assert plain.cost == pytest.approx(run.cost, abs=1e-9)
    else:
        assert run.weighted_flow == pytest.approx(run.cost.sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "factor"), [(0, np.inf), (0.1, 20), (0.5, 4), (1, 2), (2, 1.5), (9, 10 / 9)]
)
def test_factor_of_the_theorem(epsilon, factor):
    assert competitive_factor(epsilon) == pytest.approx(factor)


def test_point_is_refused_where_there_is_none():
    problem = named_instances.in_turn()
    with pytest.raises(OptionError, match="epsilon"):
        dual_certificate(problem, run_density(problem), -0.5)
    with pytest.raises(OptionError, match="complete"):
        dual_certificate(problem, run_density(problem, horizon=3), 0.0)


@settings(max_examples=draws(40))
@given(retraining_problems(jobs=4), st.integers(0, 10**6), st.booleans())
def test_no_schedule_beats_its_bound(problem, seed, whole_slots):
    assume(problem.weight.any())
    schedule = drawn_schedule(problem, seed, whole_slots=whole_slots)
    service = "slot" if whole_slots else "fluid"
    found = certified_ratio(problem, schedule.completion, service)
    assert found.flow == pytest.approx(schedule.objective)
    assert found.value >= 1 - 1e-9
    assert found.violation <= 1e-9
    assert found.horizon is None
    weak = certified_ratio(problem, schedule.completion, service, strong=False)
    assert weak.value >= found.value * (1 - 1e-6)


def test_ratio_is_exact_where_the_bound_is_tight():
    """Two jobs of 2 s one after the other flow for 2 + 4, and cannot do better."""
    found = certified_ratio(named_instances.in_turn(), [2.0, 4.0])
    assert (found.flow, found.value) == (6, pytest.approx(1))
    assert certified_ratio(named_instances.in_turn(), [8.0, 4.0], "slot").value == pytest.approx(2)
    # A weight of 0 costs nothing, whenever the job ends.
    idle = named_instances.jobs_at_one_site([2.0, 2.0], [1.0, 0.0])
    assert certified_ratio(idle, [2.0, np.inf]).value == pytest.approx(1)
    assert certified_ratio(idle, [np.inf, 2.0]).value == np.inf
    nothing = RetrainingProblem(np.zeros(0, int), np.zeros((0, 2)), np.zeros(0))
    assert certified_ratio(nothing, []).value == 1


@pytest.mark.parametrize(
    ("completion", "service", "text"),
    [
        ([2.0], "fluid", "completion"),
        ([2.0, np.nan], "fluid", r"completion\[1\]"),
        ([-1.0, 4.0], "fluid", r"completion\[0\] = -1.0: is before"),
        ([2.0, 3.5], "slot", r"completion\[1\] = 3.5: must be the end of a slot"),
    ],
)
def test_ratio_of_no_schedule_is_refused(completion, service, text):
    with pytest.raises(InputError, match=text):
        certified_ratio(named_instances.in_turn(), completion, service)


def test_ratio_of_unknown_service_is_refused():
    with pytest.raises(OptionError, match="service"):
        certified_ratio(named_instances.in_turn(), [2.0, 4.0], "liquid")


def test_a_schedule_that_could_not_be_has_no_ratio():
    # The first of the two jobs takes two seconds on the faster site.
    assert certified_ratio(named_instances.in_turn(), [2.0, 4.0]).value >= 1.0
    for completion in ([1.0, 4.0], [0.5, np.inf]):
        with pytest.raises(InputError, match=r"completion\[0\] = .*before the job could"):
            certified_ratio(named_instances.in_turn(), completion)
