"""The data of one instance as nested tuples of plain numbers: exact (Fraction) or float."""

# ruff: noqa: E741, N802 - T, J, K, L, D and l as in the mathematics

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Number = Fraction | float


@dataclass(frozen=True)
class Task:
    """Reserved work: `demand` on `server` in the slots start..end, both inclusive."""

    server: int
    start: int
    end: int
    demand: Number


@dataclass(frozen=True)
class Plain:
    """An instance, slots counted from 0.

    p[t][j], q[l][d-1], c[k][t], profit[t][j][k][l][d-1], R[t][j][k][l], S[l][a].
    """

    p: tuple
    q: tuple
    c: tuple
    reserved: tuple[Task, ...]
    profit: tuple
    independent: bool
    number: Callable[[Any], Number]
    R: tuple
    S: tuple
    longest: tuple[int, ...]

    @property
    def T(self) -> int:
        return len(self.p)

    @property
    def J(self) -> int:
        return len(self.p[0])

    @property
    def K(self) -> int:
        return len(self.c)

    @property
    def L(self) -> int:
        return len(self.q)

    @property
    def D(self) -> int:
        return len(self.q[0])

    def pairs(self) -> list[tuple[int, int]]:
        """Return (server, profile) pairs in row-major order."""
        return [(k, l) for k in range(self.K) for l in range(self.L)]

    def tasks_of(self, server: int) -> list[int]:
        """Return the indices of the reserved tasks of one server."""
        return [i for i, task in enumerate(self.reserved) if task.server == server]

    def mean_duration(self, l: int) -> Number:
        """Return E[d_l]."""
        return sum((d + 1) * self.q[l][d] for d in range(self.D))


def build(
    p: Any,
    q: Any,
    c: Any,
    profit: Any,
    reserved: Sequence[tuple] = (),
    *,
    independent: bool = False,
    beyond: str = "hold",
    number: Callable[[Any], Number] = Fraction,
) -> Plain:
    """Collect plain numbers; `profit` may be anything that broadcasts to [T,J,K,L,D]."""
    T, J = len(p), len(p[0])
    K, L, D = len(c), len(q), len(q[0])
    table = np.broadcast_to(np.asarray(profit, dtype=object), (T, J, K, L, D))
    q = [[number(v) for v in row] for row in q]
    earns = [
        [
            [
                [
                    [
                        number(0)
                        if beyond == "drop" and t + d + 1 > T
                        else number(table[t, j, k, l, d])
                        for d in range(D)
                    ]
                    for l in range(L)
                ]
                for k in range(K)
            ]
            for j in range(J)
        ]
        for t in range(T)
    ]
    R = [
        [
            [[sum(q[l][d] * pair[d] for d in range(D)) for l, pair in enumerate(x)] for x in y]
            for y in z
        ]
        for z in earns
    ]
    survival = [[sum(row[a:], number(0)) for a in range(D)] for row in q]
    return Plain(
        p=_freeze([[number(v) for v in row] for row in p]),
        q=_freeze(q),
        c=_freeze([[number(v) for v in row] for row in c]),
        reserved=tuple(Task(int(k), int(s), int(e), number(w)) for k, s, e, w in reserved),
        profit=_freeze(earns),
        independent=independent,
        number=number,
        R=_freeze(R),
        S=_freeze(survival),
        longest=tuple(max(d + 1 for d in range(D) if row[d] > 0) for row in q),
    )


def plain(instance: Any, number: Callable[[Any], Number] = Fraction) -> Plain:
    """Read a RescueInstance through its public fields only."""
    profit = instance.profit
    if hasattr(profit, "block"):
        profit = profit.block(slice(0, instance.horizon))
    tasks = instance.reserved
    return build(
        instance.arrival.tolist(),
        instance.duration.tolist(),
        instance.capacity.tolist(),
        np.asarray(profit).astype(object),
        list(
            zip(
                tasks.server.tolist(),
                tasks.start.tolist(),
                tasks.end.tolist(),
                tasks.demand.tolist(),
                strict=True,
            )
        ),
        independent=instance.arrivals == "independent",
        beyond=instance.beyond,
        number=number,
    )


def _freeze(nested: Any) -> Any:
    return tuple(map(_freeze, nested)) if isinstance(nested, list | tuple) else nested
