"""Backward induction against the recursion written out in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.online.value_iteration import Offers, renewal_values


@st.composite
def problems(draw):
    """Return offers by step as (resource, kind, probability, reward), laws, sizes."""
    slots, steps = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    resources, kinds, longest = draw(st.integers(1, 3)), draw(st.integers(1, 2)), 3
    offer = st.tuples(st.integers(0, resources - 1), st.integers(0, kinds - 1), st.integers(-4, 9))
    listed = [draw(st.lists(offer, max_size=4)) for _ in range(slots * steps)]
    offers = [[(k, kind, Fraction(1, 5), Fraction(r, 2)) for k, kind, r in s] for s in listed]
    laws = []
    for _ in range(kinds):
        weights = draw(st.lists(st.integers(0, 3), min_size=longest, max_size=longest).filter(any))
        laws.append([Fraction(w, sum(weights)) for w in weights])
    return offers, laws, resources, steps


def recursion(offers, laws, resources, steps):
    slots = len(offers) // steps
    waiting = [[Fraction(0)] * resources for _ in range(len(offers) + 1)]
    following = {}
    for n in reversed(range(len(offers))):
        t = n // steps
        for k in range(resources):
            for kind, law in enumerate(laws):
                following[t, k, kind] = sum(
                    (
                        q * waiting[(t + d) * steps][k]
                        for d, q in enumerate(law, 1)
                        if t + d < slots
                    ),
                    Fraction(0),
                )
            later = waiting[n + 1][k]
            mine = [(p, r + following[t, k, kind]) for i, kind, p, r in offers[n] if i == k]
            rest = 1 - sum(p for p, _ in mine)
            waiting[n][k] = sum(p * max(value, later) for p, value in mine) + rest * later
    return waiting, following


@given(problems())
def test_equals_the_recursion(problem):
    offers, laws, resources, steps = problem
    flat = [offer for step in offers for offer in step]
    columns = list(zip(*flat, strict=True)) if flat else [(), (), (), ()]
    found = renewal_values(
        Offers(
            np.cumsum([0, *map(len, offers)]),
            np.array(columns[0], dtype=np.int64),
            np.array(columns[1], dtype=np.int64),
            np.array(columns[2], dtype=np.float64),
            np.array(columns[3], dtype=np.float64),
        ),
        np.array(laws, dtype=np.float64),
        resources=resources,
        steps=steps,
    )
    waiting, following = recursion(offers, laws, resources, steps)
    assert found.waiting == pytest.approx(np.array(waiting, dtype=float), abs=1e-12)
    for index, value in following.items():
        assert found.continuation[index] == pytest.approx(float(value), abs=1e-12)


def one(count=1, **changes):
    fields = {
        "first": np.array([0, count]),
        "resource": np.zeros(count, dtype=np.int64),
        "kind": np.zeros(count, dtype=np.int64),
        "probability": np.full(count, 0.5),
        "reward": np.ones(count),
    }
    return Offers(**(fields | changes))


def test_refuses_what_does_not_fit():
    law = np.ones((1, 1))
    with pytest.raises(OptionError, match="1 steps do not fill slots of 2"):
        renewal_values(one(), law, resources=1, steps=2)
    with pytest.raises(OptionError, match=r"offers.reward has shape \(2,\)"):
        one(reward=np.ones(2))
    for field in ("resource", "kind"):
        for value in (1, -1):
            with pytest.raises(OptionError, match="outside"):
                renewal_values(one(**{field: np.array([value])}), law, resources=1)
    assert renewal_values(one(), law, resources=1).waiting[0, 0] == 0.5
