"""The supergradient as nodes compute it that see their own models and one passing message."""

# ruff: noqa: E741 - l is the potential capacity, as in the mathematics

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracles.idn.data import INFINITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.idn.data import Number, Option, Plain
    from tests.oracles.idn.gains import Allocation, Potential


@dataclass
class Station:
    """What node p_j knows of one type: its own options and the cheapest cost further on."""

    local: list[tuple[Option, Number, Number]]  # option, potential l, share y
    beyond: Number


@dataclass(frozen=True)
class Round:
    """The gradient and, per type, the position at which the message turned round (or None)."""

    gradient: list[list[Number]]
    stop: list[int | None]


def supergradient(
    plain: Plain, requests: Sequence[int], potential: Potential, y: Allocation
) -> Round:
    """Send one message up and one down the path of every type with requests."""
    g = [[plain.number(0)] * plain.M for _ in range(plain.V)]
    stop: list[int | None] = []
    for rho, r in enumerate(requests):
        if r == 0:
            stop.append(None)
            continue
        stations = _stations(plain, rho, potential, y)
        j, closing = _up(r, stations)
        stop.append(j)
        for station in stations[: j + 1]:
            for o, l, _ in station.local:
                g[o.node][o.model] += l * max(plain.number(0), closing - o.cost)
    return Round(g, stop)


def _stations(plain: Plain, rho: int, potential: Potential, y: Allocation) -> list[Station]:
    path = plain.types[rho][1]
    stations = [Station([], INFINITY) for _ in path]
    for o, l in zip(plain.options(rho), potential[rho], strict=True):
        stations[o.position].local.append((o, l, y[o.node][o.model]))
        for earlier in stations[: o.position]:
            earlier.beyond = min(earlier.beyond, o.cost)
    return stations


def _up(r: int, stations: Sequence[Station]) -> tuple[int, Number]:
    total: Number = 0
    pending: list[tuple[Number, Number]] = []
    for j, station in enumerate(stations):
        pending = sorted([*pending, *((o.cost, y * l) for o, l, y in station.local)])
        while pending and pending[0][0] <= station.beyond:
            cost, amount = pending.pop(0)
            total += amount
            if total >= r:
                return j, cost
    raise AssertionError("the repository closes every demand")
