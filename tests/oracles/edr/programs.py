"""Linear programs written row by row, solved by SciPy, one goal after another where asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

from tests.certified import linprog, milp

if TYPE_CHECKING:
    from collections.abc import Mapping

INFINITY = float("inf")


class InfeasibleError(Exception):
    """There is no solution at all."""


class Program:
    """Columns have names; a row is a mapping from names to coefficients."""

    def __init__(self) -> None:
        self.place: dict[Any, int] = {}
        self.upper: list[float] = []
        self.whole: list[int] = []
        self.rows: list[tuple[Mapping[Any, float], float, float]] = []

    def column(self, name: Any, *, upper: float = INFINITY, whole: bool = False) -> Any:
        self.place[name] = len(self.upper)
        self.upper.append(upper)
        self.whole.append(int(whole))
        return name

    def row(self, terms: Mapping[Any, float], low: float, high: float) -> None:
        self.rows.append((terms, low, high))

    def _vector(self, terms: Mapping[Any, float]) -> np.ndarray:
        dense = np.zeros(len(self.upper))
        for name, value in terms.items():
            dense[self.place[name]] += float(value)
        return dense

    def minimum(self, *goals: Mapping[Any, float]) -> tuple[list[float], dict[Any, float]]:
        """Minimise the first goal, then the second among its optima, and so on.

        Return the optimum of each goal and the last solution.
        """
        rows = [(self._vector(terms), low, high) for terms, low, high in self.rows]
        optima = []
        x = np.zeros(len(self.upper))
        for goal in goals:
            cost = self._vector(goal)
            if len(self.upper) == 0:
                if any(low > 0 or high < 0 for _, low, high in rows):
                    raise InfeasibleError
                optima.append(0.0)
                continue
            found = self._solve(cost, rows)
            if found.status == 2:
                raise InfeasibleError
            assert found.status == 0, found.message
            x = found.x
            optima.append(float(found.fun))
            # Room of a few units in the last place, or the next goal might have no solution.
            rows.append((cost, -INFINITY, found.fun + 1e-9 * max(1.0, abs(found.fun))))
        return optima, {name: float(x[p]) for name, p in self.place.items()}

    def _solve(self, cost: np.ndarray, rows: list) -> Any:
        table = np.array([row for row, _, _ in rows]).reshape(len(rows), cost.size)
        low, high = (np.array([row[side] for row in rows], dtype=float) for side in (1, 2))
        if any(self.whole):
            return milp(
                cost,
                integrality=np.array(self.whole),
                bounds=Bounds(0, np.array(self.upper)),
                constraints=LinearConstraint(table, low, high) if rows else [],
                options={"mip_rel_gap": 0.0},
            )
        # Penalties are thousands of times dearer than costs: rows must hold to far below 1e-7.
        same = low == high
        above, below = ~same & np.isfinite(high), ~same & np.isfinite(low)
        return linprog(
            cost,
            A_eq=table[same],
            b_eq=low[same],
            A_ub=np.vstack([table[above], -table[below]]),
            b_ub=np.concatenate([high[above], -low[below]]),
            bounds=np.column_stack([np.zeros(cost.size), self.upper]),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
