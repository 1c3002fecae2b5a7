"""Serving cost, the three forms of the gain, and the supergradient, from their definitions."""

# ruff: noqa: E741 - l is the potential capacity, as in the mathematics

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.idn.data import Number, Plain

    Potential = Sequence[Sequence[Number]]
    Allocation = Sequence[Sequence[Number]]


def effective(plain: Plain, rho: int, potential: Potential, x: Allocation) -> list[Number]:
    """Return z^k = x l along the ranking of a type."""
    return [x[o.node][o.model] * l for o, l in zip(plain.options(rho), potential[rho], strict=True)]


def served(r: Number, z: Sequence[Number]) -> list[Number]:
    """Return Z^k = min(r, z^1 + ... + z^k)."""
    result, total = [], 0 * r
    for amount in z:
        total = total + amount
        result.append(min(r, total))
    return result


def serving_cost(
    plain: Plain, requests: Sequence[int], potential: Potential, x: Allocation
) -> Number:
    """Serve every type along its ranking; what no deployed model can take costs nothing."""
    total = plain.number(0)
    for rho, r in enumerate(requests):
        before = plain.number(0)
        Z = served(plain.number(r), effective(plain, rho, potential, x))
        for o, after in zip(plain.options(rho), Z, strict=True):
            total += o.cost * (after - before)
            before = after
    return total


def gain_as_difference(
    plain: Plain, requests: Sequence[int], potential: Potential, x: Allocation
) -> Number:
    """Return what x saves against the repositories alone."""
    alone = serving_cost(plain, requests, potential, plain.repository)
    return alone - serving_cost(plain, requests, potential, x)


def gain_by_ranks(
    plain: Plain, requests: Sequence[int], potential: Potential, x: Allocation
) -> Number:
    """Sum the cost steps weighted by what x serves earlier than the repositories."""
    total = plain.number(0)
    for rho, r in enumerate(requests):
        r = plain.number(r)
        options = plain.options(rho)
        with_x = served(r, effective(plain, rho, potential, x))
        without = served(r, effective(plain, rho, potential, plain.repository))
        for k in range(len(options) - 1):
            step = options[k + 1].cost - options[k].cost
            total += step * (with_x[k] - without[k])
    return total


def gain_below_repositories(
    plain: Plain, requests: Sequence[int], potential: Potential, x: Allocation
) -> Number:
    """Sum the cost steps over the ranks before any repository serves."""
    total = plain.number(0)
    for rho, r in enumerate(requests):
        if r == 0:
            continue
        r = plain.number(r)
        options = plain.options(rho)
        with_x = served(r, effective(plain, rho, potential, x))
        without = served(r, effective(plain, rho, potential, plain.repository))
        for k in range(len(options) - 1):
            if without[k] == 0:
                total += (options[k + 1].cost - options[k].cost) * with_x[k]
    return total


def supergradient(
    plain: Plain, requests: Sequence[int], potential: Potential, y: Allocation
) -> list[list[Number]]:
    """Credit every option with what it saves against the rank that closes the demand."""
    g = [[plain.number(0)] * plain.M for _ in range(plain.V)]
    for rho, r in enumerate(requests):
        if r == 0:
            continue
        options = plain.options(rho)
        total = plain.number(0)
        closing = None
        for o, z in zip(options, effective(plain, rho, potential, y), strict=True):
            total += z
            if total >= r:
                closing = o.cost
                break
        for o, l in zip(options, potential[rho], strict=True):
            if o.cost < closing:
                g[o.node][o.model] += l * (closing - o.cost)
    return g


def forward_slope(
    plain: Plain, requests: Sequence[int], potential: Potential, y: Allocation, v: int, m: int
) -> Number:
    """Return the one-sided derivative of the gain in y[v][m], exactly.

    The gain is piecewise linear: halve the step until two of them give the same slope.
    """

    def moved(h: Number) -> Number:
        row = [*y[v][:m], y[v][m] + h, *y[v][m + 1 :]]
        return gain_by_ranks(plain, requests, potential, [*y[:v], row, *y[v + 1 :]])

    start = gain_by_ranks(plain, requests, potential, y)
    h = plain.number(1)
    while True:
        whole, half = (moved(h) - start) / h, (moved(h / 2) - start) / (h / 2)
        # concave and linear over [0, h] iff the midpoint lies on the chord
        if whole == half:
            return whole
        h /= 4
