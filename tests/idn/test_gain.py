"""Gain and supergradient against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from edgeopt_papers.idn.claims.messages import supergradient_by_messages
from edgeopt_papers.idn.claims.static import shared_potential
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.idn import (
    gain,
    supergradient,
)
from tests.idn.cases import array, cases, draw_adversary, draw_allocation, draw_shares
from tests.oracles.idn import gains, messages

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
    first = case.plain.requests[0]
    # Demand may also be others than the instance's own, as in planning.
    for requests in (*case.plain.requests, tuple(10 * r + 7 for r in first)):
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
