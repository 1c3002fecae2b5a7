"""Static placement: declarative and compiled forms, relaxations, brute force."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.instances.idn import IdnInstance, generate
from edgeopt.models.idn import (
    Demand,
    average_gain,
    cooperative_matrix,
    cooperative_placement,
    greedy,
    placement,
    placement_matrix,
    solve_placement,
)
from edgeopt.solvers import Status, solve
from edgeopt.testing.strategies import idn_instances
from tests.models.idn.cases import demands, within_budgets
from tests.models.matrix_forms import assert_same_program

PROGRAMS = [(placement, placement_matrix), (cooperative_placement, cooperative_matrix)]
AXES = {
    "x": ("node", "model"),
    "q": ("slot", "type", "node", "model"),
    "demand": ("slot", "type"),
    "potential": ("slot", "type", "node", "model"),
    "capacity": ("slot", "node", "model"),
    "eq_2": ("node",),
}


@given(idn_instances(cost=None), st.data(), st.sampled_from(PROGRAMS), st.booleans())
def test_the_matrix_form_holds_the_declared_rows(instance, data, forms, relax):
    demand = data.draw(demands(instance))
    model = forms[0](instance, demand, relax=relax)
    program = forms[1](instance, demand, relax=relax, aggregate=False)
    assert_same_program(model, program, AXES)


@given(idn_instances(), st.data(), st.sampled_from(PROGRAMS), st.booleans())
def test_counting_replicas_changes_no_optimum(instance, data, forms, relax):
    demand = data.draw(demands(instance))
    single, counted = (
        solve(forms[1](instance, demand, relax=relax, aggregate=each)).objective
        for each in (False, True)
    )
    assert counted == pytest.approx(single, rel=1e-6, abs=1e-6)


def test_replicas_are_counted_only_while_nothing_tells_them_apart():
    instance = generate(horizon=1, tasks=2, replicas=3)
    alike = Demand.of(instance)
    assert placement_matrix(instance, alike).upper.max() > 1.0
    potential = alike.potential.copy()
    first = ~instance.ranking.permanent & (instance.ranking.model % 3 == 0)
    potential[:, first] *= np.linspace(0.1, 0.9, first.sum())
    other = Demand(alike.requests, potential, alike.weight)
    counted = placement_matrix(instance, other)
    single = placement_matrix(instance, other, aggregate=False)
    assert alike.potential.size > 0
    assert counted.shape[1] > placement_matrix(instance, alike).shape[1]
    assert solve(counted).objective == pytest.approx(solve(single).objective, rel=1e-6)


def one_large_model_or_a_small_one():
    """A node with room for a large model of gain 10, or for a small one of gain 2 per MB."""
    return IdnInstance(
        edges=[[0, 1]],
        latency=[10.0],
        size=[[1.0, 10.0, 10.0], [1.0, 10.0, 10.0]],
        delay=[[8.0, 0.0, 0.0], [8.0, 0.0, 0.0]],
        capacity=[[1.0, 1.0, 1.0], [np.inf, np.inf, np.inf]],
        accuracy=[100.0, 100.0, 100.0],
        task=[0, 0, 0],
        budget=[10.0, np.inf],
        repository=[[False, False, False], [False, True, True]],
        request_task=[0],
        path=[[0, 1]],
        requests=[[1]],
    )


@pytest.mark.parametrize("aggregate", [False, True])
def test_the_optimum_is_found_where_greed_misses_it(aggregate):
    instance = one_large_model_or_a_small_one()
    demand = Demand.of(instance)
    misled = greedy(instance, demand)
    assert misled[0].tolist() == [True, False, False]
    assert average_gain(instance, demand, misled) == 2.0
    found = solve_placement(instance, demand, aggregate=aggregate)
    assert (found.objective, found.bound) == (10.0, pytest.approx(10.0))
    # Of two replicas the first is hosted when they are counted; alone, either one.
    assert found.allocation[0].sum() == 1
    assert found.allocation[0, 1] or not aggregate


def test_without_time_the_greedy_allocation_is_returned():
    instance = generate(horizon=20, arrivals="multinomial", alpha=3.0)
    shared = shared_potential(instance.ranking, instance.requests)
    demand = Demand.of(instance, potential=shared, normalised=True)
    found = solve_placement(instance, demand, aggregate=False, time_limit=0.0)
    assert found.status is Status.MAX_TIME_LIMIT
    assert found.objective == average_gain(instance, demand, found.allocation) > 0
    assert found.bound >= found.objective
    assert within_budgets(instance, found.allocation)


def test_a_demand_of_another_instance_is_refused():
    one, other = generate(horizon=1, tasks=2), generate(horizon=1, tasks=3)
    for build in (placement, placement_matrix, cooperative_matrix):
        with pytest.raises(InputError, match="requests"):
            build(one, Demand.of(other))
