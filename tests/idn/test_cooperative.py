"""The cooperative bound against dense programs, and against every static placement at run time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.idn.cooperative import solve_cooperative
from tests.idn import draw
from tests.idn.cases import cases
from tests.oracles.idn import gains, programs, serving


def best_at_run_time(plain, x):
    """Return the average gain of an allocation in the kindest order of arrivals of each slot."""
    total = plain.number(0)
    for requests in plain.requests:
        alone = gains.serving_cost(plain, requests, plain.potential(requests), plain.repository)
        orders = serving.every_order(plain, requests, x)
        total += alone - min(serving.cost_of(plain, load) for load in orders)
    return total / plain.T


@given(cases(nodes=3), st.sampled_from(["direct", "structured", "auto"]))
def test_the_bound_is_that_of_a_dense_program(case, method):
    slots = programs.slots_of(case.plain)
    relaxed = programs.cooperative_program(case.plain, slots)
    found = solve_cooperative(case.instance, method=method, gap=1e-6)
    assert found.gap <= 1e-6
    assert found.bound >= relaxed.gain - 1e-9
    assert found.objective <= relaxed.gain + 1e-7
    assert ((found.allocation >= 0) & (found.allocation <= 1)).all()
    for v in range(case.plain.V):
        if case.plain.pinned(v):
            assert found.allocation[v].tolist() == list(map(float, case.plain.repository[v]))
        else:
            used = case.instance.size[v] @ found.allocation[v]
            assert used <= case.instance.budget[v] + 1e-9


@given(cases(nodes=3))
def test_no_static_placement_gains_more_at_run_time(case):
    slots = programs.slots_of(case.plain)
    bound = solve_cooperative(case.instance, gap=1e-6).bound
    whole = programs.cooperative_program(case.plain, slots, relax=False)
    assert whole.gain <= bound + 1e-6
    best = max(float(best_at_run_time(case.plain, x)) for x in programs.allocations(case.plain))
    assert best <= bound + 1e-9
    assert best <= whole.gain + 1e-6


def test_the_bound_is_met_where_nobody_shares():
    """A network in which one type has every model to itself: cooperation gains nothing."""
    met = 0
    for seed in range(60):
        network = draw.network(seed, nodes=3, slots=1)
        network = replace(
            network, types=network.types[:1], requests=tuple(r[:1] for r in network.requests)
        )
        slots = programs.slots_of(network)
        best, _ = programs.best_static(network, slots)
        whole = programs.cooperative_program(network, slots, relax=False)
        assert whole.gain == pytest.approx(float(best), abs=1e-6)
        met += best > 0
    assert met > 20
