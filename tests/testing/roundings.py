"""Roundings, one for each check of a rounding, that are wrong in this alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeopt.rounding import depround, independent

ALL = ("marginals", "sum", "cardinality", "correlation")


def sound(y: Any, weights: Any, *, rng: Any) -> Any:
    return depround(y, weights, rng=rng)


def of_floats(y, weights, *, rng):
    return depround(y, weights, rng=rng).astype(float)


def drops_an_entry_of_one(y, weights, *, rng):
    """Of a single row, the first entry that is 1 becomes 0."""
    x = depround(y, weights, rng=rng)
    if y.ndim == 1 and (y == 1).any():
        x[np.argmax(y == 1)] = False
    return x


def drops_a_few(y, weights, *, rng):
    """The last fraction is dropped in one of 40 cases."""
    rng = np.random.default_rng(rng)
    rows = np.atleast_2d(y)
    kept = depround(rows, weights, rng=rng)
    floor = depround(rows, weights, rng=rng, residual="drop")
    x = np.where(rng.random(len(rows))[:, None] < 1 / 40, floor, kept)
    return x.reshape(np.shape(y))


def exceeds_budgets(y, weights, *, rng):
    return depround(y, weights, rng=rng)


def tosses_a_coin_each(y, weights, *, rng):
    return independent(y, rng=rng)


def tosses_one_coin(y, weights, *, rng):
    rng = np.random.default_rng(rng)
    return rng.random((*np.shape(y)[:-1], 1)) < y


def writes_to_its_input(y, weights, *, rng):
    y[...] = depround(y, weights, rng=rng)
    return y.astype(bool)


def rounds_rows_backwards(y, weights, *, rng):
    if np.ndim(y) == 1:
        return depround(y, weights, rng=rng)
    return depround(y[::-1], np.broadcast_to(weights, y.shape)[::-1], rng=rng)[::-1]


def divides_by_the_sum(y, weights, *, rng):
    if not np.all(np.sum(y, axis=-1)):
        raise ZeroDivisionError
    return depround(y, weights, rng=rng)


MUTANTS = {
    "types": (of_floats, ALL, ()),
    "integers": (drops_an_entry_of_one, ALL, ("batch", "cardinality")),
    "marginals": (drops_a_few, ("marginals", "sum", "cardinality"), ("batch",)),
    "budget": (exceeds_budgets, ("budget", "cardinality"), ()),
    "cardinality": (tosses_a_coin_each, ("marginals", "cardinality", "correlation"), ()),
    "correlation": (tosses_one_coin, ("marginals", "correlation"), ()),
    "stateless": (writes_to_its_input, ALL, ()),
    "batch": (rounds_rows_backwards, ALL, ()),
    "extremes": (divides_by_the_sum, ALL, ()),
}
"""By check: a rounding that fails it, what it promises, and what it then fails as well."""
