"""The second-order cone program of a slot, row by row, for Clarabel; what it says is recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_matrix

if TYPE_CHECKING:
    from edgeopt.models.oinc.slot import SlotProblem

CLOSE = 1e-5
"""Of the size of the terms: how far what Clarabel says may be from a proof."""


class _Rows:
    """Rows b - a x in a cone, gathered by cone."""

    def __init__(self) -> None:
        self.equal: list[tuple[dict[int, float], float]] = []
        self.above: list[tuple[dict[int, float], float]] = []
        self.cones: list[list[tuple[dict[int, float], float]]] = []

    def at_least(self, terms: dict[int, float], low: float) -> None:
        self.above.append(({c: -v for c, v in terms.items()}, -low))

    def product(self, y: int, p: int, v: int) -> None:
        """Ask for y^2 <= p v as |(2 y, p - v)| <= p + v."""
        rows = [({p: -1.0, v: -1.0}, 0.0), ({y: -2.0}, 0.0), ({p: -1.0, v: 1.0}, 0.0)]
        self.cones.append(rows)


def relaxation(problem: SlotProblem, *, objectives: bool) -> float:
    """Let requests of a slot be split among sites; infinite if even so objectives do not fit."""
    import clarabel

    n, J = problem.requests, problem.sites
    A, E = problem.transmission.tolist(), problem.computation.tolist()
    weight = np.asarray(problem.weight).tolist()
    kinds = ("y", "v", "z", "p", "q")
    place = {
        (kind, i, j): at
        for at, (kind, i, j) in enumerate(
            (k, i, j) for k in kinds for i in range(n) for j in range(J)
        )
    }
    rows = _Rows()
    cost = np.zeros(len(place))
    for i in range(n):
        rows.equal.append(({place["y", i, j]: 1.0 for j in range(J)}, 1.0))
    for j in range(J):
        room = float(problem.room[j])
        rows.at_least({place["v", i, j]: -1.0 for i in range(n)}, -1.0)
        rows.at_least({place["z", i, j]: -1.0 for i in range(n)}, -room)
        for i in range(n):
            y, v, z, p, q = (place[kind, i, j] for kind in kinds)
            cost[p], cost[q] = weight[i] * A[i][j], weight[i] * E[i][j]
            for column in (y, v, z, p, q):
                rows.at_least({column: 1.0}, 0.0)
            rows.at_least({y: 1.0, v: -1.0}, 0.0)
            rows.at_least({y: room, z: -1.0}, 0.0)
            if A[i][j] > 0:
                rows.product(y, p, v)
            if E[i][j] > 0:
                rows.product(y, q, z)
            if objectives and np.isfinite(problem.slo[i]):
                rows.at_least({y: float(problem.slo[i]), p: -A[i][j], q: -E[i][j]}, 0.0)
    every = rows.equal + rows.above + [row for cone in rows.cones for row in cone]
    entries = [(r, c, value) for r, (terms, _) in enumerate(every) for c, value in terms.items()]
    at, column, value = (np.array(part) for part in zip(*entries, strict=True))
    matrix = csc_matrix((value, (at, column)), shape=(len(every), len(place)))
    # columns of p and q that no cone holds are free to be 0
    cones = [clarabel.ZeroConeT(len(rows.equal)), clarabel.NonnegativeConeT(len(rows.above))]
    cones += [clarabel.SecondOrderConeT(3) for _ in rows.cones]
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    none = csc_matrix((len(place), len(place)))
    right = np.array([b for _, b in every])
    # Its tolerances are absolute: the largest cost is handed over as 1.
    unit = float(abs(cost).max(initial=0.0)) or 1.0
    found = clarabel.DefaultSolver(none, cost / unit, matrix, right, cones, quiet).solve()
    status = str(found.status)
    # Multipliers prove a bound, or that there is no point, if they lie in the cones themselves.
    price = np.array(found.z) * unit
    largest = abs(price).max()
    halves = price[len(rows.equal) + len(rows.above) :].reshape(-1, 3)
    assert (price[len(rows.equal) :][: len(rows.above)] >= -CLOSE * largest).all()
    assert (np.hypot(halves[:, 1], halves[:, 2]) <= halves[:, 0] + CLOSE * largest).all()
    if status in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
        assert abs(matrix.T @ price).max() <= -CLOSE * float(right @ price)
        return float("inf")
    assert status in ("Solved", "AlmostSolved"), status
    if not cost.any():
        return 0.0  # which multipliers of 0 prove; those that were found are noise alone
    off = abs(matrix.T @ price + cost)
    assert (off <= CLOSE * (abs(cost) + abs(matrix).T @ abs(price)).max()).all()
    value, bound = float(cost @ np.array(found.x)), -float(right @ price)
    size = max(float(abs(right) @ abs(price)), float(cost.sum()))
    assert abs(value - bound) <= CLOSE * size
    return bound
