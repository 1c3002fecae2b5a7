"""The data against plain loops, the offline program and its certified bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt import solve
from edgeopt.models.edr.matrix import colocation_matrix
from edgeopt.models.edr.penalties import late_price, served_cap, unserved_price
from edgeopt.models.edr.programs import colocation
from edgeopt.models.edr.solve import solve_offline
from tests.draws import draws
from tests.edr.cases import cases
from tests.models.edr.test_offline import holds
from tests.oracles.edr import log, offline, routing


@given(cases())
def test_windows_and_rates(case):
    instance, plain = case.instance, case.exact
    assert instance.active.tolist() == [
        [plain.active(t, i) for i in range(plain.I)] for t in range(plain.T)
    ]
    assert instance.even_rate.tolist() == pytest.approx([float(plain.a(i)) for i in range(plain.I)])
    assert instance.active.sum(axis=0).tolist() == instance.window.tolist()


@given(cases())
def test_what_a_round_takes(case):
    instance, plain = case.instance, case.exact
    for i in range(plain.I):
        work = [float(plain.zc(i, k)) for k in range(plain.J)]
        assert instance.round_work[i] == pytest.approx(work, rel=1e-12, abs=0)
        for t in range(plain.T):
            close = {"rel": 1e-12, "abs": 0}
            assert instance.round_energy[t, i] == pytest.approx(float(plain.e(t, i)), **close)
            assert instance.round_seconds[t, i] == pytest.approx(float(plain.dl(t, i)), **close)
            # a negative price may cancel the delay
            parts = abs(plain.c(t, i, -plain.price[t])) + abs(plain.c(t, i))
            cost = pytest.approx(float(plain.c(t, i)), abs=1e-12 * float(parts))
            assert instance.round_cost[t, i] == cost


@given(cases())
def test_what_a_request_takes(case):
    instance, plain = case.instance, case.exact
    shape = (plain.J, plain.J, plain.N)
    for k in range(plain.J):
        energy = [float(plain.d(k, n)) for n in range(plain.N)]
        assert instance.request_energy[k] == pytest.approx(energy, rel=1e-12, abs=0)
    for t in range(plain.T):
        for tau in range(plain.D):
            seconds = [float(plain.delay(t, tau, *index)) for index in np.ndindex(shape)]
            found = instance.request_seconds(t, tau)
            assert found.shape == shape
            assert found.ravel() == pytest.approx(seconds, rel=1e-12, abs=0)


TINY = {"frames": 3, "slots": 2, "sites": 3, "tasks": 2, "types": 2, "rounds": 3}


def prices(case):
    return {
        "late_price": [float(v) for v in log.late_price(case.plain)],
        "unserved_price": [float(v) for v in log.unserved_price(case.plain)],
    }


@given(cases())
def test_prices_of_what_is_not_done(case):
    late = [float(v) for v in log.late_price(case.exact)]
    unserved = [float(v) for v in log.unserved_price(case.exact)]
    assert late_price(case.instance) == pytest.approx(late, rel=1e-12, abs=1e-12)
    assert unserved_price(case.instance) == pytest.approx(unserved, rel=1e-12, abs=1e-12)


@settings(max_examples=draws(100))
@given(cases())
def test_a_cap_yields_to_serving(case):
    plain = case.plain
    t = case.seed % plain.T
    least = routing.least_energy(plain, t, range(plain.D)).energy
    assert served_cap(case.instance)[t] == pytest.approx(
        max(plain.cap[t], least), rel=1e-6, abs=1e-6
    )


@settings(max_examples=draws(100))
@given(cases(**TINY))
def test_fractions_of_rounds(case):
    """Eliminating the training of every slot is exact, and every way leads to one optimum."""
    plain, price = case.plain, prices(case)
    cap = served_cap(case.instance)
    expected, _ = offline.optimum(plain, cap=cap, **price)
    limit = 1e-6 * max(1.0, abs(expected))
    declared = solve(colocation(case.instance, cap=cap, relax=True))
    assert declared.objective == pytest.approx(expected, rel=0, abs=limit)
    for method in ("benders", "highs"):
        plan = solve_offline(case.instance, method=method)
        holds(case.instance, plan, relax=True)
        assert plan.objective == pytest.approx(expected, rel=0, abs=3 * limit)
        assert plan.bound <= expected + limit
        assert plan.cap == pytest.approx(cap)


@given(cases(frames=3, slots=2, sites=2, tasks=2, types=1, rounds=2))
def test_whole_rounds(case):
    """Trying every plan finds what programs find, and fractions do at least as well."""
    price = prices(case)
    cap = served_cap(case.instance)
    best = offline.enumerate_rounds(case.plain, cap=cap, **price)
    limit = 1e-6 * max(1.0, abs(best))
    whole = solve(colocation_matrix(case.instance, cap=cap)).objective
    assert whole == pytest.approx(best, rel=0, abs=limit)
    plan = solve_offline(case.instance, relax=False, gap=1e-6)
    holds(case.instance, plan, relax=False)
    assert plan.objective == pytest.approx(best, rel=0, abs=3 * limit)
    assert plan.bound <= best + limit
    assert (plan.rounds == np.round(plan.rounds)).all()
    assert solve_offline(case.instance).bound <= best + limit
