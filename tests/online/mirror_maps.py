"""Mirror maps that are drawn, points of their sets, and the best of these."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from edgeopt.online.entropic_projection import project_knapsack_entropy
from edgeopt.online.mirror_ascent import KnapsackEntropy, KnapsackEuclidean

Floats = NDArray[np.float64]
Map = KnapsackEntropy | KnapsackEuclidean


@st.composite
def maps(draw: st.DrawFn) -> tuple[Map, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = rng.uniform(0.2, 3.0, draw(st.integers(2, 8)))
    kind = draw(st.sampled_from([KnapsackEntropy, KnapsackEuclidean]))
    share = draw(st.sampled_from([0.02, 0.2, 0.5, 0.8, 0.98]))
    return kind(size, share * float(size.sum()), draw(st.booleans())), rng


def somewhere(mirror: Map, rng: np.random.Generator, decades: float = 3.0) -> Floats:
    """Draw a point of the set, near its faces as often as not."""
    n = mirror.size.size
    point = 10.0 ** rng.uniform(-rng.uniform(0, decades), 0, n)
    used = mirror.budget if mirror.fill else mirror.budget * min(1.0, rng.uniform(0.1, 1.5))
    return project_knapsack_entropy(point, mirror.size, used)


def best_fixed(total: Floats, mirror: Map) -> float:
    """Earnings of the best point of the set, by linear programming."""
    row, limit = mirror.size[np.newaxis], [mirror.budget]
    rows = {"A_eq": row, "b_eq": limit} if mirror.fill else {"A_ub": row, "b_ub": limit}
    scale = max(float(np.abs(total).max()), 1e-9)
    return -scale * float(linprog(-total / scale, **rows, bounds=(0.0, 1.0)).fun)


class Line:
    """A map with the three members that steps need: the numbers themselves."""

    def centre(self) -> Floats:
        return np.zeros(1)

    def step(self, point: Floats, gradient: Floats, rate: float) -> Floats:
        return point + rate * gradient

    def dual_norm(self, gradient: Floats) -> float:
        return float(np.abs(gradient[0]))
