"""What one round and one request cost, against sums over clients and legs in rationals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.edr.cases import cases


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
