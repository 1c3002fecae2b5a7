"""Marginal gains by adding one model at a time, and the greedy that evaluates every candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.oracles.idn.gains import effective, served
from tests.oracles.idn.programs import average_gain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.idn.data import Number, Plain
    from tests.oracles.idn.programs import Slot


def added(x: tuple, v: int, m: int) -> tuple:
    """Return the allocation with one more model."""
    row = tuple(1 if n == m else value for n, value in enumerate(x[v]))
    return (*x[:v], row, *x[v + 1 :])


def marginal(plain: Plain, slots: Sequence[Slot], x: tuple, v: int, m: int) -> Number:
    """Return the gain with the model minus the gain without it."""
    return average_gain(plain, slots, added(x, v, m)) - average_gain(plain, slots, x)


def marginal_by_formula(plain: Plain, slots: Sequence[Slot], x: tuple, v: int, m: int) -> Number:
    """Return the cost steps from the rank of the model on, times what it serves earlier there."""
    total = plain.number(0)
    if x[v][m]:
        return total
    for slot in slots:
        for rho, r in enumerate(slot.requests):
            r = plain.number(r)
            options = plain.options(rho)
            Z = served(r, effective(plain, rho, slot.potential, x))
            rank = next((k for k, o in enumerate(options) if o.pair == (v, m)), len(options))
            for k in range(rank, len(options) - 1):
                l = slot.potential[rho][rank]  # noqa: E741 - the potential capacity
                step = options[k + 1].cost - options[k].cost
                total += slot.weight * step * (min(r, Z[k] + l) - Z[k])
    return total
