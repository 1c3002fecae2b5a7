"""The serving simulator against one that moves requests one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import chi2

from edgeopt.models.idn import serving_cost
from edgeopt.online.idn import serve
from tests.idn import draw
from tests.idn.cases import Case, array, cases
from tests.oracles.idn import gains, serving

CLOSE = {"rel": 1e-12, "abs": 1e-9}
FALSE_ALARM = 1e-6


def check(case, requests, x, served, load):
    """Compare loads, run-time capacities and cost, and the cost with the formula at them."""
    potential = serving.potential(case.plain, requests, x, load)
    assert served.load == pytest.approx(case.per_option(load), **CLOSE)
    assert served.potential == pytest.approx(case.per_option(potential), **CLOSE)
    cost = serving.cost_of(case.plain, load)
    assert cost == gains.serving_cost(case.plain, requests, potential, x)
    assert served.cost == pytest.approx(float(cost), **CLOSE)
    formula = serving_cost(case.instance, requests, served.potential, array(x))
    assert served.cost == pytest.approx(formula, **CLOSE)


@given(cases())
def test_types_one_after_another(case):
    rng = case.rng
    for requests in case.plain.requests:
        x = draw.allocation(case.plain, rng)
        for order in itertools.permutations(range(case.plain.R)):
            served = serve(
                case.instance,
                np.array(requests),
                np.array(x),
                order="sequential",
                draw=np.array(order),
            )
            check(case, requests, x, served, serving.sequential(case.plain, requests, x, order))


@given(cases())
def test_all_types_at_once(case):
    rng = case.rng
    for requests in case.plain.requests:
        x = draw.allocation(case.plain, rng)
        served = serve(case.instance, np.array(requests), np.array(x), order="fluid")
        check(case, requests, x, served, serving.fluid(case.plain, requests, x))


@given(cases())
def test_requests_in_a_random_order(case):
    """Whatever the order was, what came out is possible, and costs what the formula says."""
    rng = case.rng
    for requests in case.plain.requests:
        x = draw.allocation(case.plain, rng)
        served = serve(
            case.instance,
            np.array(requests),
            np.array(x),
            order="random",
            draw=int(rng.integers(2**62)),
        )
        load = [list(map(case.plain.number, row)) for row in case.by_type(served.load)]
        check(case, requests, x, served, load)
        if sum(requests) <= 8:
            assert tuple(map(tuple, load)) in serving.random_law(case.plain, requests, x)


def test_every_order_of_the_requests_is_equally_likely():
    """Chi-square against the exact law of the loads; all seven tests together err once in 1e6."""
    tested = 0
    for seed in itertools.count():
        network = draw.network(seed, slots=1)
        requests = network.requests[0]
        x = draw.allocation(network, np.random.default_rng(seed))
        if sum(requests) > 8:
            continue
        law = serving.random_law(network, requests, x)
        if len(law) < 3:
            continue
        case = Case(draw.instance_of(network), network, seed)
        runs = 4000
        counts = dict.fromkeys(law, 0)
        for draw_number in range(runs):
            served = serve(
                case.instance, np.array(requests), np.array(x), order="random", draw=draw_number
            )
            load = tuple(tuple(map(network.number, row)) for row in case.by_type(served.load))
            counts[load] += 1
        statistic = sum(
            (counts[load] - runs * float(p)) ** 2 / (runs * float(p)) for load, p in law.items()
        )
        assert chi2.sf(statistic, len(law) - 1) > FALSE_ALARM / 7
        tested += 1
        if tested == 7:
            return
