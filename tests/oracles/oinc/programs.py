"""The linear programs of retraining, P1, P1mid and P1strong, for SciPy; and what a dual point is.

A schedule is a point of them, with the sums taken over its pieces exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from tests.certified import linprog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.oinc.jobs import Jobs, Piece

HALF = Fraction(1, 2)


def least(jobs: Jobs, *, middle: bool = False, one_site: bool = False, horizon: int) -> float:
    """Return the optimum of P1; with `middle` P1mid; with `one_site` a job is at one at a time."""
    names = [
        (k, j, t) for k in range(jobs.K) for j in jobs.able(k) for t in range(jobs.a[k], horizon)
    ]
    cost = [float(jobs.weight[k] * price(jobs, k, j, t, middle=middle)) for k, j, t in names]
    rows: dict[Any, dict[int, float]] = {}
    for at, (k, j, t) in enumerate(names):
        rows.setdefault(("8a", k), {})[at] = -float(1 / jobs.time(k, j))
        rows.setdefault(("8b", j, t), {})[at] = 1.0
        if one_site:
            rows.setdefault(("one", k, t), {})[at] = 1.0
    entries = [(r, c, v) for r, terms in enumerate(rows.values()) for c, v in terms.items()]
    at, column, value = (np.array(part) for part in zip(*entries, strict=True))
    table = csr_matrix((value, (at, column)), shape=(len(rows), len(names)))
    right = [-1.0 if name[0] == "8a" else 1.0 for name in rows]
    found = linprog(cost, A_ub=table, b_ub=right, method="highs-ds")
    assert found.status == 0, found.message
    return float(found.fun)


def price(jobs: Jobs, k: int, j: int, t: int, *, middle: bool) -> Fraction:
    """Return what a whole slot for a job of weight 1 costs in P1 or P1mid."""
    since = t - jobs.a[k] + (HALF if middle else 0)
    return since / jobs.time(k, j) + HALF


def of_schedule(
    jobs: Jobs, site: Sequence[int], pieces: Sequence[Piece], *, middle: bool = False
) -> Fraction:
    """Return the objective at the point of a schedule, after checking that it is one."""
    m: dict[tuple[int, int, int], Fraction] = {}
    for k, begin, end, rate in pieces:
        for t in range(math.floor(begin), math.ceil(end)):
            part = rate * (min(end, Fraction(t + 1)) - max(begin, Fraction(t)))
            key = k, site[k], t
            m[key] = m.get(key, Fraction(0)) + part
    done = {k: Fraction(0) for k in range(jobs.K)}
    full: dict[tuple[int, int], Fraction] = {}
    total = Fraction(0)
    for (k, j, t), part in m.items():
        assert t >= jobs.a[k]
        done[k] += part / jobs.time(k, j)
        full[j, t] = full.get((j, t), Fraction(0)) + part
        total += jobs.weight[k] * part * price(jobs, k, j, t, middle=middle)
    assert all(value == 1 for value in done.values())
    assert all(value <= 1 for value in full.values())
    return total


def violation(
    jobs: Jobs,
    theta: Sequence,
    eta: Sequence[Sequence],
    zeta: Sequence[Sequence] | None = None,
    *,
    middle: bool,
) -> Fraction:
    """Return by how much a dual point breaks P2 at most, in any slot that there will ever be.

    Prices are 0 after their last slot, and what a slot costs only grows from there.
    """
    worst = max([Fraction(0), *(-Fraction(v) for v in theta)])
    worst = max([worst, *(-Fraction(v) for row in eta for v in row)])
    H = len(eta[0]) if eta else 0
    for k in range(jobs.K):
        for j in jobs.able(k):
            for t in range(jobs.a[k], max(H, jobs.a[k]) + 1):
                left = Fraction(theta[k]) / jobs.time(k, j)
                if t < H:
                    left -= Fraction(eta[j][t])
                    left -= Fraction(zeta[k][t]) if zeta is not None else 0
                right = jobs.weight[k] * price(jobs, k, j, t, middle=middle)
                worst = max(worst, left - right)
    if zeta is not None:
        worst = max([worst, *(-Fraction(v) for row in zeta for v in row)])
    return worst
