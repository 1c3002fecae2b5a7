"""Random rational instances for the oracles' own tests."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.oracles.rescue import build, reserved


@pytest.fixture
def rng():
    return np.random.default_rng(20240611)


@pytest.fixture
def random_plain():
    """Return a maker of tiny instances with small rational data and jointly feasible reserves."""

    def make(seed, slots):
        rng = np.random.default_rng(seed)
        independent = bool(seed % 2)
        K, J, L, D = (int(v) for v in rng.integers(1, [3, 3, 3, 4]))
        tenth = 10 if independent else 10 * J
        p = [[Fraction(int(v), tenth) for v in row] for row in rng.integers(0, 11, (slots, J))]
        weights = rng.integers(0, 4, (L, D))
        weights[np.arange(L), rng.integers(0, D, L)] += 1
        q = [[Fraction(int(v), int(row.sum())) for v in row] for row in weights]
        c = [[int(v) for v in row] for row in rng.integers(1, 4, (K, slots))]
        profit = rng.integers(0, 6, (slots, J, K, L, D)).tolist()
        tasks = []
        for _ in range(int(rng.integers(0, 3))):
            k, start = int(rng.integers(K)), int(rng.integers(slots))
            end = int(rng.integers(start, slots))
            tasks.append((k, start, end, int(rng.integers(1, 3))))
            instance = build(p, q, c, profit, tasks)
            mine = [instance.reserved[i] for i in instance.tasks_of(k)]
            if reserved.demand_excess(mine, [v.demand for v in mine], c[k], 0) > 0:
                tasks.pop()
        beyond = "drop" if seed % 3 == 0 else "hold"
        return build(p, q, c, profit, tasks, independent=independent, beyond=beyond)

    return make
