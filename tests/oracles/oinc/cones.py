"""Second-order cone programs row by row: one site in CVXPY's words, one slot for Clarabel."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt.models.oinc.slot import SlotProblem

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def site(
    A: Sequence[float],
    E: Sequence[float],
    S: Sequence[float] | None,
    room: float,
    weight: Sequence[float],
) -> float:
    """Let CVXPY share out one site; infinite if objectives cannot be met, NaN if it is not sure."""
    import cvxpy as cp

    n = len(A)
    sends = [i for i in range(n) if A[i] > 0]
    computes = [i for i in range(n) if E[i] > 0]
    rows: list = []
    tau: object = np.zeros(n)
    for times, who, total in ((A, sends, 1.0), (E, computes, room)):
        if who:
            share = cp.Variable(len(who), nonneg=True)
            spread = np.zeros((n, len(who)))
            spread[who, range(len(who))] = [times[i] for i in who]
            tau = tau + spread @ cp.inv_pos(share)
            rows.append(cp.sum(share) <= total)
    if not rows:
        return 0.0
    if S is not None:
        wanted = [i for i in sorted({*sends, *computes}) if np.isfinite(S[i])]
        if wanted:
            rows.append(tau[wanted] <= np.array([S[i] for i in wanted]))
    goal = np.array(weight) @ tau
    model = cp.Problem(cp.Minimize(goal), rows)
    with warnings.catch_warnings():
        # it need not be sure of the last digits: where it stops they are far below 1e-6
        warnings.simplefilter("ignore", UserWarning)
        try:
            value = model.solve(solver=cp.CLARABEL, **TIGHT)
        except cp.SolverError:
            return float("nan")
    return float("nan") if model.status == "infeasible_inaccurate" else float(value)


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
    found = clarabel.DefaultSolver(
        none, cost, matrix, np.array([b for _, b in every]), cones, quiet
    ).solve()
    status = str(found.status)
    if status in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
        return float("inf")
    assert status in ("Solved", "AlmostSolved"), status
    # the dual value is the bound
    return float(min(found.obj_val, found.obj_val_dual))
