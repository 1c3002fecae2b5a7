"""Static placement: declarative and compiled forms, relaxations, brute force."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import given, settings
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
from edgeopt.online.idn import serve
from edgeopt.solvers import Status, solve
from edgeopt.testing.strategies import idn_instances
from tests.draws import draws
from tests.models.idn.cases import demands, placements, within_budgets
from tests.models.matrix_forms import CLOSE, assert_same_program

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


@settings(max_examples=draws(80))
@given(idn_instances(), st.data(), st.booleans())
def test_shares_attain_the_linear_relaxation(instance, data, aggregate):
    demand = data.draw(demands(instance))
    linear_ = solve(placement_matrix(instance, demand, relax=True)).objective
    found = solve_placement(instance, demand, relax=True, aggregate=aggregate)
    assert within_budgets(instance, found.allocation)
    assert found.objective == pytest.approx(
        average_gain(instance, demand, found.allocation), **CLOSE
    )
    assert found.objective == pytest.approx(linear_, rel=1e-6, abs=1e-6)
    assert found.bound >= solve_placement(instance, demand).objective - 1e-6


@given(idn_instances(nodes=3, models=4), st.integers(0, 2**32))
def test_the_cooperative_bound_holds_for_what_is_served_at_run_time(instance, seed):
    rng = np.random.default_rng(seed)
    demand = Demand.of(instance)
    bound = solve(cooperative_matrix(instance, demand, relax=True)).bound
    whole = solve(cooperative_matrix(instance, demand)).bound
    assert whole <= bound + 1e-6
    every = list(placements(instance, maximal=True))
    chosen = [every[i] for i in rng.permutation(len(every))[:8]]
    for x in chosen:
        for order, draw in (
            ("sequential", rng.permutation(instance.types)),
            ("random", int(rng.integers(2**32))),
            ("fluid", None),
        ):
            gained = 0.0
            for requests in instance.requests:
                served = serve(instance, requests, x, order=order, draw=draw).cost
                alone = serve(instance, requests, instance.empty, order=order, draw=draw).cost
                gained += (alone - served) / instance.horizon
            assert gained <= whole + 1e-6


@given(idn_instances(nodes=3, models=3, horizon=1), st.data())
def test_maximal_placements_are_enough(instance, data):
    demand = data.draw(demands(instance))
    best = max(average_gain(instance, demand, x) for x in placements(instance))
    enough = max(average_gain(instance, demand, x) for x in placements(instance, maximal=True))
    assert enough == pytest.approx(best, **CLOSE)


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
