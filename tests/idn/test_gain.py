"""Gain, supergradient and projection against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.idn.claims.messages import supergradient_by_messages
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.models.idn import (
    Demand,
    average_gain,
    gain,
    supergradient,
)
from edgeopt.online.entropic_projection import (
    project_in_place,
    project_knapsack_entropy,
)
from tests.idn.cases import array, cases, draw_adversary, draw_allocation, draw_shares
from tests.oracles.idn import gains, messages, programs, projection

CLOSE = {"rel": 1e-12, "abs": 1e-9}


@given(cases())
def test_options_are_ranked_by_cost_then_position_then_model(case):
    ranking = case.instance.ranking
    for rho in range(case.plain.R):
        place = ranking.options(rho)
        expected = case.plain.options(rho)
        assert ranking.node[place].tolist() == [o.node for o in expected]
        assert ranking.model[place].tolist() == [o.model for o in expected]
        assert ranking.position[place].tolist() == [o.position for o in expected]
        assert ranking.permanent[place].tolist() == [o.permanent for o in expected]
        for field in ("cost", "latency", "inaccuracy"):
            exact = [float(getattr(o, field)) for o in expected]
            assert getattr(ranking, field)[place].tolist() == exact
        assert ranking.repository_cost[rho] == float(case.plain.repository_cost(rho))
        assert (ranking.type[place] == rho).all()
    pairs = ranking.node * case.instance.models + ranking.model
    assert ranking.pair.tolist() == pairs.tolist()
    assert ranking.capacity.tolist() == case.instance.capacity.ravel()[pairs].tolist()


@given(cases(), st.sampled_from(["own", "shared"]))
def test_potential_capacity_without_a_simulation(case, credit):
    for requests in case.plain.requests:
        ranking = case.instance.ranking
        found = ranking.potential(np.array(requests))
        if credit == "shared":
            [found] = shared_potential(ranking, np.array([requests]))
        exact = case.plain.potential(requests, shared=credit == "shared")
        assert found == pytest.approx(case.per_option(exact), **CLOSE)


@given(cases())
def test_gain_is_that_of_all_three_forms(case):
    rng = case.rng
    for requests in case.plain.requests:
        potential = draw_adversary(case.plain, requests, rng)
        given_ = case.per_option(potential)
        for y in (draw_shares(case.plain, rng), draw_allocation(case.plain, rng)):
            exact = gains.gain_as_difference(case.plain, requests, potential, y)
            assert gains.gain_by_ranks(case.plain, requests, potential, y) == exact
            assert gains.gain_below_repositories(case.plain, requests, potential, y) == exact
            found = gain(case.instance, requests, given_, array(y))
            assert found == pytest.approx(float(exact), **CLOSE)


@given(cases())
def test_gain_where_repositories_fall_short(case):
    """Any potential capacity of repositories: the difference of costs, as it is printed."""
    rng = case.rng
    for requests in case.plain.requests:
        potential = [
            [case.plain.number(int(rng.integers(0, r + 1))) for _ in case.plain.options(rho)]
            for rho, r in enumerate(requests)
        ]
        y = draw_shares(case.plain, rng)
        found = gain(case.instance, requests, case.per_option(potential), array(y))
        exact = gains.gain_as_difference(case.plain, requests, potential, y)
        assert found == pytest.approx(float(exact), **CLOSE)


@given(cases())
def test_supergradient_messages_and_slopes(case):
    rng = case.rng
    for requests in case.plain.requests:
        potential = draw_adversary(case.plain, requests, rng)
        y = draw_shares(case.plain, rng)
        given_ = case.per_option(potential)
        central = supergradient(case.instance, requests, given_, array(y))
        by_nodes = supergradient_by_messages(
            case.instance, np.array(requests, dtype=float), given_, array(y)
        )
        exact = gains.supergradient(case.plain, requests, potential, y)
        told = messages.supergradient(case.plain, requests, potential, y)
        assert told.gradient == exact
        assert central == pytest.approx(array(exact), **CLOSE)
        assert by_nodes.gradient == pytest.approx(array(exact), **CLOSE)
        stops = [0 if stop is None else 2 * stop for stop in told.stop]
        assert by_nodes.messages.tolist() == stops
        for v in range(case.plain.V):
            for m in range(case.plain.M):
                slope = gains.forward_slope(case.plain, requests, potential, y, v, m)
                assert slope == exact[v][m]


@given(cases())
def test_finite_differences_of_the_gain_itself(case):
    """A small step forward earns what the supergradient says, entry by entry."""
    rng = case.rng
    h = 2.0**-10
    free = [v for v in range(case.plain.V) if not case.plain.pinned(v)]
    for requests in case.plain.requests:
        potential = case.per_option(draw_adversary(case.plain, requests, rng))
        y = np.minimum(array(draw_shares(case.plain, rng)), 7 / 8)
        y[[v for v in range(case.plain.V) if v not in free]] = array(case.plain.repository)[
            [v for v in range(case.plain.V) if v not in free]
        ]
        slope = supergradient(case.instance, requests, potential, y)
        start = gain(case.instance, requests, potential, y)
        for v in free:
            for m in range(case.plain.M):
                step = y.copy()
                step[v, m] += h
                risen = gain(case.instance, requests, potential, step)
                # amounts are multiples of 1/8 and at most 6: a step moves less than 1/128 requests
                assert (risen - start) / h == pytest.approx(slope[v, m], abs=1e-8)


@given(cases())
def test_averages_over_the_slots_of_a_demand(case):
    rng = case.rng
    slots = case.slots(rng)
    potential = np.array([case.per_option(slot.potential) for slot in slots])
    y = draw_shares(case.plain, rng)
    demand = Demand.of(case.instance, potential=potential)
    exact = programs.average_gain(case.plain, slots, y)
    assert average_gain(case.instance, demand, array(y)) == pytest.approx(float(exact), **CLOSE)
    per_request = Demand.of(case.instance, potential=potential, normalised=True)
    ratio = sum(
        float(slot.weight)
        * float(gains.gain_as_difference(case.plain, slot.requests, slot.potential, y))
        / sum(slot.requests)
        for slot in slots
        if sum(slot.requests)
    )
    assert average_gain(case.instance, per_request, array(y)) == pytest.approx(ratio, **CLOSE)


@st.composite
def rows(draw, *, decades=0, zeros=True, n=6):
    """Draw a point with ties, sizes and a budget; entries lie up to `decades` apart."""
    count = draw(st.integers(1, n))
    entry = st.sampled_from([1, 1, 2, 3, 5, 7, 10]).map(float)
    if zeros:
        entry = st.one_of(entry, st.just(0.0))
    point = draw(st.lists(entry, min_size=count, max_size=count))
    power = st.integers(-decades, decades)
    point = [v * 10.0 ** draw(power) for v in point]
    size = draw(st.lists(st.integers(1, 12), min_size=count, max_size=count))
    eighths = draw(st.integers(0, 8 * sum(size) + 4))
    scale = draw(st.sampled_from([1.0, 1.0, 1024.0, 1 / 1024]))
    return point, [scale * s / 2 for s in size], scale * eighths / 16


def project(point, size, budget):
    return project_knapsack_entropy(np.array(point), np.array(size), budget)


@given(rows())
def test_projection_is_that_of_the_rationals(row):
    point, size, budget = row
    try:
        exact = [float(v) for v in projection.exact(*row)]
    except ValueError:
        with pytest.raises(InputError):
            project(*row)
        return
    found = project(*row)
    assert found == pytest.approx(exact, abs=1e-14)
    assert ((found > 0) | (np.array(point) == 0) | (budget == 0)).all()
    in_place = np.array(point)
    project_in_place(in_place, np.array(size), budget)
    assert in_place == pytest.approx(found, abs=1e-14)


@given(rows(decades=100, n=9))
def test_projection_is_that_of_bisection_however_far_entries_lie_apart(row):
    point, size, budget = row
    try:
        near = projection.by_bisection(projection.logarithms(point), size, budget)
    except ValueError:
        with pytest.raises(InputError):
            project(*row)
        return
    found = project(*row)
    assert found == pytest.approx(near, abs=1e-12)
    filled = min(budget, sum(size))
    assert np.array(size) @ found == pytest.approx(filled, rel=1e-13, abs=1e-300)
