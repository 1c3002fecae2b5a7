"""SciPy's linear and integer programs as references: nothing is believed, all is recomputed.

A linear program's optimum is proven by weak duality from the data and the multipliers found, its
infeasibility by the proven optimum of the program that allows violations at a price. An integer
program's is proven by a search of its own, whose every bound is such an optimum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, sparse

CLOSE = 1e-8
"""Of the sum of the sizes of all terms: how far both sides of a proof may lie apart."""

INFEASIBLE = 1e-9
"""The least total violation, of the size of the right-hand sides, that counts as one."""


TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""HiGHS's smallest tolerances: what is just infeasible is infeasible."""

ROOT: dict[str, Any] = {"method": "highs-ds", "options": {}}
"""How the parts of an integer program are solved."""


class _Form(NamedTuple):
    """Minimise cost x, rows low <= matrix x <= high, bounds lower <= x <= upper."""

    cost: np.ndarray
    matrix: sparse.csr_array
    low: np.ndarray
    high: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def solve(self, how: dict[str, Any]) -> Any:
        same = self.low == self.high
        above, below = ~same & np.isfinite(self.high), ~same & np.isfinite(self.low)
        found = optimize.linprog(
            self.cost,
            A_ub=sparse.vstack([self.matrix[above], -self.matrix[below]]),
            b_ub=np.concatenate([self.high[above], -self.low[below]]),
            A_eq=self.matrix[same],
            b_eq=self.low[same],
            bounds=np.column_stack([self.lower, self.upper]),
            **how,
        )
        if found.status == 0:
            price = np.zeros(self.low.size)
            price[same] = found.eqlin.marginals
            upward, downward = np.split(found.ineqlin.marginals, [int(above.sum())])
            price[above] += upward
            price[below] -= downward
            self.prove(found.x, price)
        return found

    def prove(self, x: np.ndarray, price: np.ndarray) -> None:
        """Check that a point keeps rows and bounds and that the prices leave nothing below it."""
        activity, size = self.matrix @ x, abs(self.matrix) @ abs(x)
        for value, low, high, scale in (
            (activity, self.low, self.high, size),
            (x, self.lower, self.upper, abs(x)),
        ):
            for over, limit in ((low - value, low), (value - high, high)):
                kept = np.isfinite(limit)
                largest = max(scale.max(initial=0.0), abs(limit[kept]).max(initial=0.0))
                within = CLOSE * largest + INFEASIBLE
                assert (over[kept] <= within).all(), "the reference breaks a limit"
        left = self.cost - self.matrix.T @ price
        scale = abs(self.cost) + abs(self.matrix).T @ abs(price)
        bound = _least(price, self.low, self.high, CLOSE * (abs(price).max(initial=0.0)))
        bound += _least(left, self.lower, self.upper, CLOSE * scale)
        value = float(self.cost @ x)
        terms = float(abs(self.cost) @ abs(x) + abs(price) @ size)
        # Prices that are 0 but for rounding, which is of the size of the largest, have sides too.
        sides = np.concatenate([self.low, self.high])
        rounding = 1e-14 * abs(price).max(initial=0.0) * abs(sides[np.isfinite(sides)]).sum()
        assert value - bound <= CLOSE * terms + rounding, "the reference is not proven"


def _least(slope: np.ndarray, low: np.ndarray, high: np.ndarray, zero: Any) -> float:
    """Return the least of slope z over low <= z <= high; a slope below `zero` needs no limit."""
    at = np.where(slope > 0, low, high)
    free = ~np.isfinite(at)
    assert (abs(slope) <= zero)[free].all(), "the reference has no bound"
    return float(slope[~free] @ at[~free])


def _limits(bounds: Any, columns: int) -> np.ndarray:
    given = np.array(bounds, dtype=object).reshape(-1, 2)
    pairs = np.array([[-np.inf if a is None else a, np.inf if b is None else b] for a, b in given])
    return np.broadcast_to(pairs.astype(float), (columns, 2))


def linprog(
    c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), method: str = "highs", options: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Solve as `scipy.optimize.linprog` does, and prove the optimum or that there is no point."""
    cost = np.asarray(c, dtype=float)
    blocks, low, high = [], [], []
    for block, right, equal in ((A_ub, b_ub, False), (A_eq, b_eq, True)):
        if block is not None and np.size(right):
            right = np.asarray(right, dtype=float).ravel()
            dense = block if sparse.issparse(block) else np.asarray(block, dtype=float)
            blocks.append(sparse.csr_array(dense))
            low.append(right if equal else np.full(right.size, -np.inf))
            high.append(right)
    matrix = sparse.csr_array(sparse.vstack(blocks) if blocks else (0, cost.size))
    sides = [np.concatenate(part) if part else np.zeros(0) for part in (low, high)]
    limits = _limits(bounds, cost.size)
    form = _Form(cost, matrix, *sides, *limits.T)
    if (limits[:, 0] > limits[:, 1]).any():
        return optimize.OptimizeResult(status=2, x=None, fun=None, message="crossed bounds")
    how = {"method": method, "options": options or {}}
    found = form.solve(how)
    if found.status == 2:
        assert _violated(form, how) > 0, "the reference calls a program infeasible that is not"
    return found


def _violated(form: _Form, how: dict[str, Any]) -> float:
    """Return the least total violation of rows, zero if it is no larger than rounding."""
    rows = form.low.size
    least = _Form(
        np.concatenate([np.zeros(form.cost.size), np.ones(2 * rows)]),
        sparse.csr_array(
            sparse.hstack([form.matrix, sparse.eye_array(rows), -sparse.eye_array(rows)])
        ),
        form.low,
        form.high,
        np.concatenate([form.lower, np.zeros(2 * rows)]),
        np.concatenate([form.upper, np.full(2 * rows, np.inf)]),
    ).solve(how | {"options": TIGHT})
    assert least.status == 0, least.message
    sides = np.where(np.isfinite(form.high), form.high, form.low)
    size = abs(sides[np.isfinite(sides)]).max(initial=0.0)
    return float(least.fun) if least.fun > INFEASIBLE * size else 0.0


def milp(
    c: Any, *, integrality: Any, bounds: optimize.Bounds, constraints: Any = (),
    options: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Solve as `scipy.optimize.milp` does, and prove the optimum by branching on proven bounds."""
    found = optimize.milp(
        c, integrality=integrality, bounds=bounds, constraints=constraints, options=options
    )
    cost = np.asarray(c, dtype=float)
    rows = constraints if isinstance(constraints, list | tuple) else [constraints]
    rows = [one for one in rows if np.size(one.lb) and np.size(one.A)]
    blocks = [sparse.csr_array(one.A, dtype=float) for one in rows]
    matrix = sparse.csr_array(sparse.vstack(blocks) if blocks else (0, cost.size))
    sides = [
        np.concatenate(
            [
                np.broadcast_to(np.asarray(getattr(one, side), dtype=float), block.shape[0])
                for one, block in zip(rows, blocks, strict=True)
            ]
        )
        if rows
        else np.zeros(0)
        for side in ("lb", "ub")
    ]
    limits = [
        np.broadcast_to(np.asarray(b, dtype=float), cost.shape) for b in (bounds.lb, bounds.ub)
    ]
    form = _Form(cost, matrix, *sides, *limits)
    whole = np.broadcast_to(np.asarray(integrality), cost.shape) > 0
    assert found.status in (0, 2), found.message
    best = np.inf
    if found.status == 0:
        point = np.round(found.x)
        assert abs(found.x - point)[whole].max(initial=0.0) <= 1e-6
        fixed = [np.where(whole, point, limit) for limit in limits]
        there = form._replace(lower=fixed[0], upper=fixed[1]).solve(ROOT)
        assert there.status == 0, there.message
        best = float(there.fun)
    _search(form, whole, best)
    return found


def _search(form: _Form, whole: np.ndarray, best: float) -> None:
    """Check that no integer point costs less than `best`, by the search through all of them."""
    waiting = [form]
    while waiting:
        part = waiting.pop()
        if (part.lower > part.upper).any():
            continue
        found = part.solve(ROOT)
        if found.status == 2:
            assert _violated(part, ROOT) > 0, "the reference calls a part infeasible that is not"
            continue
        assert found.status == 0, found.message
        if found.fun >= best - CLOSE * float(abs(part.cost) @ abs(found.x)):
            continue
        off = np.where(whole, abs(found.x - np.round(found.x)), 0.0)
        at = int(off.argmax())
        assert off[at] > 1e-7, "the reference missed a better integer point"
        for name, value in (("upper", np.floor(found.x[at])), ("lower", np.ceil(found.x[at]))):
            side = getattr(part, name).copy()
            side[at] = value
            waiting.append(part._replace(**{name: side}))
