"""One step of the learning policy and of the load-aware greedy, entry by entry."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.idn.data import Number, Plain
    from tests.oracles.idn.serving import Loads


def by_bisection(
    log_point: Sequence[Decimal | None], size: Sequence, budget: object, *, digits: int = 60
) -> list[float]:
    """Find log mu by halving an interval; entries of None stay zero."""
    with localcontext() as context:
        context.prec = digits
        s, b = [Decimal(w) for w in size], Decimal(budget)
        here = [n for n, v in enumerate(log_point) if v is not None]
        if b >= sum(s):
            return [1.0] * len(s)
        if b == 0:
            return [0.0] * len(s)
        if sum(s[n] for n in here) <= b:
            if sum(s[n] for n in here) < b:
                raise ValueError("the support is too small for the budget")
            return [float(n in here) for n in range(len(s))]

        def shares(log_mu: Decimal) -> dict[int, Decimal]:
            return {n: min(Decimal(0), log_mu + log_point[n]).exp() for n in here}

        low = min(-log_point[n] for n in here) + (b / sum(s)).ln() - 1
        high = max(-log_point[n] for n in here)
        while high - low > Decimal(10) ** (5 - digits // 2) * max(1, abs(high)):
            middle = (low + high) / 2
            if sum(s[n] * v for n, v in shares(middle).items()) < b:
                low = middle
            else:
                high = middle
        final = shares((low + high) / 2)
        return [float(final.get(n, Decimal(0))) for n in range(len(s))]


def step(
    y: Sequence[float], gradient: Sequence[float], size: Sequence, budget: object, rate: float
) -> list[float]:
    """Multiply by exp(rate g / s) and project, with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        moved = [
            Decimal(v).ln() + Decimal(rate) * Decimal(float(g)) / Decimal(float(s))
            if v > 0
            else None
            for v, g, s in zip(y, gradient, size, strict=True)
        ]
        return by_bisection(moved, [Decimal(float(s)) for s in size], Decimal(float(budget)))


def theory_rates(plain: Plain, horizon: int) -> list[float]:
    """Return sqrt(8 D / (b T)) / sigma per learning node, 0 where there is nothing to learn."""
    rates = []
    for v in range(plain.V):
        b, total = float(plain.budget[v]), float(sum(plain.size[v]))
        sigma = max(float(steepest(plain, v, m)) for m in range(plain.M))
        if plain.pinned(v) or not 0 < b < total or sigma == 0:
            rates.append(0.0)
            continue
        distance = b * log(total / b)
        rates.append(sqrt(8 * distance / (b * horizon)) / sigma)
    return rates


def steepest(plain: Plain, v: int, m: int) -> Number:
    """Return the largest gradient entry per size that requests at capacity can cause."""
    total = plain.number(0)
    for rho in range(plain.R):
        for o in plain.options(rho):
            if o.pair == (v, m):
                saved = plain.repository_cost(rho) - o.cost
                if saved > 0:
                    total += plain.capacity[v][m] * saved
    return total / plain.size[v][m]


def quality(plain: Plain, rho: int, v: int, m: int) -> Number:
    """Return what one request of a type saves at (v, m) against its repository."""
    for o in plain.options(rho):
        if o.pair == (v, m):
            return max(plain.number(0), plain.repository_cost(rho) - o.cost)
    return plain.number(0)


def reaching(plain: Plain, load: Loads, v: int) -> list[Number]:
    """Return per type the requests that arrive at node v unserved."""
    counts = []
    for rho in range(plain.R):
        path = plain.types[rho][1]
        served = zip(plain.options(rho), load[rho], strict=True)
        here = path.index(v) if v in path else len(path)
        counts.append(sum((a for o, a in served if o.position >= here), plain.number(0)))
    return counts


def passing(plain: Plain, load: Loads, v: int) -> list[Number]:
    """Return per type the requests that node v sends on upstream."""
    counts = []
    for rho in range(plain.R):
        path = plain.types[rho][1]
        served = zip(plain.options(rho), load[rho], strict=True)
        here = path.index(v) if v in path else len(path)
        counts.append(sum((a for o, a in served if o.position > here), plain.number(0)))
    return counts


def fill_by_importance(
    plain: Plain, v: int, counters: list[list[Number]], *, shared_ties: bool = True
) -> list[bool]:
    """Choose the models of one node; `counters[m][rho]` is used up in place.

    With `shared_ties` a request that the chosen model improves is taken from the counters of all
    models that improve it no more; otherwise strictly less (and of the chosen one).
    """
    chosen = [False] * plain.M
    room = plain.budget[v]
    q = [[quality(plain, rho, v, m) for rho in range(plain.R)] for m in range(plain.M)]
    while True:
        weight = {}
        for m in range(plain.M):
            if chosen[m] or plain.size[v][m] > room:
                continue
            value = sum(
                q[m][rho] * min(counters[m][rho], plain.capacity[v][m]) for rho in range(plain.R)
            )
            if value > 0:
                weight[m] = value / plain.size[v][m] / plain.R
        if not weight:
            return chosen
        best = max(weight, key=lambda m: (weight[m], -m))
        chosen[best] = True
        room -= plain.size[v][best]
        for rho in range(plain.R):
            taken = min(counters[best][rho], plain.capacity[v][best])
            for m in range(plain.M):
                less = q[m][rho] < q[best][rho] or (shared_ties and q[m][rho] == q[best][rho])
                if m == best or less:
                    counters[m][rho] -= min(taken, counters[m][rho])
