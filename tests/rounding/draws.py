"""Small inputs of roundings, drawn by hypothesis: rational ones, and floats of all magnitudes."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st


def fractions(parts=12):
    """Rationals in [0, 1] with small denominators."""
    return st.integers(2, parts).flatmap(
        lambda q: st.builds(Fraction, st.integers(0, q), st.just(q))
    )


positive = st.builds(Fraction, st.integers(1, 12), st.integers(1, 4))
"""Weights."""


@st.composite
def rational_rows(draw, *, largest=5):
    """Fractions y and weights s, at least one entry each; often with equal entries."""
    n = draw(st.integers(1, largest))
    several = draw(st.lists(fractions(), min_size=1, max_size=n))
    y = [draw(st.sampled_from(several)) for _ in range(n)]
    weights = [Fraction(1)] * n if draw(st.booleans()) else [draw(positive) for _ in range(n)]
    return y, weights


@st.composite
def coverage(draw, n):
    """A monotone submodular function of sets, and its concave relaxation.

    Every point of a small ground set has a weight and the entries that cover it.
    """
    points = draw(
        st.lists(
            st.tuples(st.integers(1, 9), st.lists(st.integers(0, n - 1), min_size=1, unique=True)),
            min_size=1,
            max_size=4,
        )
    )

    def value(bits):
        return sum(w for w, cover in points if any(bits[i] for i in cover))

    def relaxed(y):
        return sum(w * min(1, sum(y[i] for i in cover)) for w, cover in points)

    return value, relaxed


@st.composite
def float_rows(draw, *, largest=12, decades=12):
    """Floats y, weights of many magnitudes and plenty of coins, from one seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, largest))
    y = rng.random(n)
    kind = draw(st.sampled_from(["any", "equal", "ends", "grid"]))
    if kind == "equal":
        y[:] = y[0]
    elif kind == "ends":
        near = rng.choice([0, 1, 1e-12, 1 - 1e-12, 1e-8, 1 - 1e-8], n)
        y = np.where(rng.random(n) < 0.5, near, y)
    elif kind == "grid":
        y = np.round(y * 4) / 4
    spread = draw(st.sampled_from([0, 1, decades]))
    return y, 10 ** rng.uniform(-spread, spread, n), rng.random(2 * n + 2)
