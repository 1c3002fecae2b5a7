"""Lemmas 1 and 2 for each way to treat the last fraction, exactly, on rounds of an instance."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.rounding import pairwise_law
from tests.edr.cases import cases
from tests.oracles import rounding as oracle

F = Fraction


@st.composite
def frames(draw, tasks=5):
    """Draw a frame of an instance and fractions of rounds for its tasks."""
    case = draw(cases(tasks=tasks, sites=3).filter(lambda case: case.plain.I > 0))
    rng = case.rng
    plain = case.exact
    t = int(rng.integers(plain.T))
    x = [F(int(rng.integers(0, 25)), int(rng.integers(1, 9))) for _ in range(plain.I)]
    # rational energies with small denominators keep the laws readable
    e = [plain.e(t, i).limit_denominator(60) for i in range(plain.I)]
    c = [plain.c(t, i).limit_denominator(60) for i in range(plain.I)]
    a = [plain.a(i) for i in range(plain.I)]
    return x, e, c, a


def dot(weights, x):
    return sum((w * v for w, v in zip(weights, x, strict=True)), F(0))


def mean(law, value):
    return sum((p * value(z) for z, p in law.items()), F(0))


@given(frames())
def test_both_laws_are_those_of_every_coin(frame):
    x, e, _, _ = frame
    for residual in ("floor", "bernoulli"):
        assert pairwise_law(x, e, residual=residual) == oracle.pairwise(x, e, residual)


@given(frames())
def test_bernoulli_keeps_every_expectation_and_may_exceed_by_less_than_a_round(frame):
    """Lemma 1 in part, Lemma 2 in full: cost and constraints are linear."""
    x, e, c, a = frame
    law = pairwise_law(x, e, residual="bernoulli")
    assert mean(law, lambda z: dot(c, z)) == dot(c, x)
    for i in range(len(x)):
        assert mean(law, lambda z, i=i: F(z[i])) == x[i]
        assert mean(law, lambda z, i=i: a[i] - z[i]) == a[i] - x[i]
    open_ = [w for w, v in zip(e, x, strict=True) if v.denominator > 1]
    worst = max((abs(dot(e, z) - dot(e, x)) for z in law), default=F(0))
    assert worst == 0 or worst < max(open_)


@given(frames())
def test_floor_keeps_the_cap_surely_and_loses_less_than_a_round_in_all(frame):
    """Lemma 1 in part, Lemma 2 not at all."""
    x, e, _, _ = frame
    law = pairwise_law(x, e, residual="floor")
    open_ = [w for w, v in zip(e, x, strict=True) if v.denominator > 1]
    for z in law:
        short = dot(e, x) - dot(e, z)
        assert short == 0 or 0 < short < max(open_)
    lost = [v - mean(law, lambda z, i=i: F(z[i])) for i, v in enumerate(x)]
    assert min(lost) >= 0
    assert sum(lost) < 1


@pytest.mark.parametrize("residual", ["floor", "bernoulli"])
def test_no_rounding_has_both(residual):
    """Half a round under a cap of half a round: expectation 1/2 and never above 0 is impossible."""
    law = pairwise_law([F(1, 2)], [1], residual=residual)
    exact = mean(law, lambda z: F(z[0])) == F(1, 2)
    within = all(z[0] <= F(1, 2) for z in law)
    assert exact != within
    assert within == (residual == "floor")


def test_floor_never_trains_a_task_of_constant_rate():
    assert pairwise_law([F(99, 100)], [1], residual="floor") == {(0,): 1}
