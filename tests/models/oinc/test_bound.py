"""The bound on a whole instance: refusals, parts, and what policies cannot fall below."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.oinc import generate
from edgeopt.models.oinc import joint, least_latency, weighted_sum_bound
from edgeopt.models.oinc.retraining import flow_bound, retraining_problem
from edgeopt.models.oinc.slot import SlotProblem, closed_form_cost
from edgeopt.solvers import solve
from edgeopt.testing.strategies import oinc_instances
from tests.draws import draws, every
from tests.models.oinc.test_joint import brute_force, drawn
from tests.oinc.strategies import slot_problems


def cheapest(problem, refusal):
    """Return the least sum of latencies when each request is refused or goes to some site."""
    best = np.inf
    for where in itertools.product(range(-1, problem.sites), repeat=problem.requests):
        site = np.array(where)
        cost = refusal * problem.weight[site < 0].sum()
        for j in set(where) - {-1}:
            here = site == j
            cost += closed_form_cost(
                problem.transmission[here, j],
                problem.computation[here, j],
                room=float(problem.room[j]),
                weight=problem.weight[here],
            )
        best = min(best, cost)
    return best


@given(slot_problems(weighted=None), st.sampled_from([100.0, 3.0, 1.0, 0.3]))
@settings(max_examples=draws(60))
def test_no_plan_of_a_slot_costs_less(problem, refusal):
    best, bound = cheapest(problem, refusal), least_latency(problem, refusal)
    assert bound <= best * (1.0 + 1e-9) + 1e-12
    # A mix of sets may cost less than any one of them, but not less than each request alone.
    alone = (problem.transmission + problem.computation / problem.room).min(axis=1)
    assert bound >= (problem.weight * np.minimum(alone, refusal)).sum() * (1.0 - 1e-9)


def test_refusing_may_pay():
    # Four equal requests at one site take 4 s each; refused, 3 s; best is to answer one or two.
    problem = SlotProblem(np.ones((4, 1)), np.zeros((4, 1)), np.full(4, np.inf), np.ones(1))
    assert least_latency(problem, 100.0) == pytest.approx(16.0, rel=1e-3)
    assert cheapest(problem, 3.0) == pytest.approx(10.0)
    assert 4.0 <= least_latency(problem, 3.0) <= 10.0 + 1e-9


@pytest.mark.parametrize("seed", every(2, range(2)))
def test_the_optimum_of_the_whole_problem_is_not_below_the_bound(seed):
    instance = drawn(seed)
    best = solve(joint(instance, objectives=False, slots=4), "scip", gap=1e-4)
    bound = weighted_sum_bound(instance)
    assert bound.value <= best.bound * (1.0 + 1e-6)
    assert bound.value >= 0.5 * best.objective


@pytest.mark.parametrize(("seed", "jobs"), every(2, [(1, 1), (0, 1), (2, 2)], rows=True))
def test_no_plan_has_a_weighted_scaled_sum_below_the_bound(seed, jobs):
    instance = drawn(seed, jobs=jobs, empty=0.2 if jobs == 1 else 0.5)
    bound = weighted_sum_bound(instance).scaled_parts
    # With weights that sum to 1 over all requests, and over all jobs, the program adds up means.
    requests = instance.request_weight @ instance.active.sum(axis=1)
    means = instance.replace(
        weight=instance.weight / instance.weight.sum(),
        request_weight=instance.request_weight / requests,
    )
    best = brute_force(means, 3)
    assert 0.5 * best <= sum(bound) <= best * (1.0 + 1e-9)
    assert means.scaled_units == pytest.approx((instance.latency_scale, instance.completion_scale))
    assert weighted_sum_bound(means).value == pytest.approx(sum(bound))


@given(oinc_instances())
@settings(max_examples=draws(25))
def test_the_parts_are_those_of_slots_and_jobs(instance):
    bound = weighted_sum_bound(instance)
    flow = flow_bound(retraining_problem(instance)).value
    completion = flow + float(instance.weight @ instance.arrival)
    assert bound.completion == pytest.approx(completion)
    inference = instance.request_weight @ bound.latency / instance.latency_scale
    assert bound.value == pytest.approx(inference + completion / instance.completion_scale)
    assert not bound.latency[~instance.active.any(axis=1)].any()


def test_gaps_have_to_be_positive():
    with pytest.raises(OptionError, match="gap = 0"):
        weighted_sum_bound(generate(slots=2, jobs=1), gap=0)
