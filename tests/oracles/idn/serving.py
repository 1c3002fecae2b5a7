"""One slot served request by request, in any order, and the capacity left over for each type."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from tests.oracles.idn.data import INFINITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.oracles.idn.data import Number, Plain

    Loads = list[list[Number]]
    Hosted = Sequence[Sequence[bool]]


def in_order(plain: Plain, x: Hosted, arrivals: Iterable[tuple[int, int]]) -> Loads:
    """Serve (type, requests) one after another; each request takes the cheapest free model."""
    room = _room(plain)
    load: Loads = [[0] * len(plain.options(rho)) for rho in range(plain.R)]
    for rho, amount in arrivals:
        left = amount
        for k, o in enumerate(plain.options(rho)):
            if not x[o.node][o.model]:
                continue
            taken = min(left, room[o.pair])
            load[rho][k] += taken
            room[o.pair] -= taken
            left -= taken
        assert left == 0
    return load


def sequential(
    plain: Plain, requests: Sequence[int], x: Hosted, permutation: Sequence[int]
) -> Loads:
    """Serve all requests of one type, then those of the next."""
    return in_order(plain, x, [(rho, requests[rho]) for rho in permutation])


def random_law(plain: Plain, requests: Sequence[int], x: Hosted) -> dict[tuple, Fraction]:
    """Return the distribution of loads when unit requests arrive in a uniformly random order."""
    units = [rho for rho, r in enumerate(requests) for _ in range(r)]
    orders = _arrangements(tuple(sorted(units)))
    distribution: dict[tuple, Fraction] = defaultdict(Fraction)
    for order in orders:
        load = in_order(plain, x, [(rho, 1) for rho in order])
        distribution[tuple(map(tuple, load))] += Fraction(1, len(orders))
    return dict(distribution)


def _arrangements(units: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the distinct orders of a multiset; all are equally likely."""
    if not units:
        return [()]
    found = []
    for first in sorted(set(units)):
        rest = list(units)
        rest.remove(first)
        found += [(first, *tail) for tail in _arrangements(tuple(rest))]
    return found


def fluid(plain: Plain, requests: Sequence[int], x: Hosted) -> Loads:
    """Let all types flow at rate r over one unit of time; a model that fills up turns them away."""
    room = _room(plain)
    load: Loads = [[plain.number(0)] * len(plain.options(rho)) for rho in range(plain.R)]
    flowing = [rho for rho, r in enumerate(requests) if r > 0]
    clock = plain.number(0)
    while clock < 1:
        using = {}
        pressure: dict = defaultdict(lambda: plain.number(0))
        for rho in flowing:
            k, o = next(
                (k, o)
                for k, o in enumerate(plain.options(rho))
                if x[o.node][o.model] and room[o.pair] > 0
            )
            using[rho] = k, o
            pressure[o.pair] += requests[rho]
        lasts = [room[pair] / rate for pair, rate in pressure.items()]
        step = min([1 - clock, *lasts])
        full = [pair for pair, rate in pressure.items() if room[pair] / rate == step]
        for rho, (k, o) in using.items():
            load[rho][k] += requests[rho] * step
            room[o.pair] -= requests[rho] * step
        for pair in full:
            room[pair] = plain.number(0)
        clock += step
    return load


def potential(plain: Plain, requests: Sequence[int], x: Hosted, load: Loads) -> list[list[Number]]:
    """Return the capacity each type could have had, given what the others took."""
    total: dict = defaultdict(lambda: plain.number(0))
    for rho in range(plain.R):
        for o, amount in zip(plain.options(rho), load[rho], strict=True):
            total[o.pair] += amount
    result = []
    for rho, r in enumerate(requests):
        row = []
        for o, own in zip(plain.options(rho), load[rho], strict=True):
            L = plain.capacity[o.node][o.model]
            if o.permanent:
                row.append(plain.number(r))
            elif x[o.node][o.model]:
                row.append(min(L - (total[o.pair] - own), plain.number(r)))
            else:
                row.append(min(L, plain.number(r)))
        result.append(row)
    return result


def cost_of(plain: Plain, load: Loads) -> Number:
    """Return what the served requests cost."""
    return sum(
        (
            o.cost * amount
            for rho in range(plain.R)
            for o, amount in zip(plain.options(rho), load[rho], strict=True)
        ),
        plain.number(0),
    )


def every_order(plain: Plain, requests: Sequence[int], x: Hosted) -> list[Loads]:
    """Return the loads of all sequential orders and of the fluid."""
    loads = [
        sequential(plain, requests, x, order) for order in itertools.permutations(range(plain.R))
    ]
    return [*loads, fluid(plain, requests, x)]


def _room(plain: Plain) -> dict[tuple[int, int], Number]:
    return {
        (v, m): INFINITY if plain.repository[v][m] else plain.capacity[v][m]
        for v in range(plain.V)
        for m in range(plain.M)
    }
