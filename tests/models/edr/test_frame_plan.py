"""Rounds of most worth in a frame, and two-stage plans, against linear programs."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.models.edr.training import most_worth
from tests.certified import linprog
from tests.draws import draws


def test_rounds_of_most_worth_are_those_of_a_linear_program() -> None:
    rng = np.random.default_rng(0)
    for _ in range(draws(200)):
        tasks, rows = rng.integers(1, 30), rng.integers(1, 12)
        tied = rng.random() < 0.3
        use = rng.uniform(0.0, 1.0, (tasks, rows)) * (rng.random((tasks, rows)) < 0.7)
        worth = rng.normal(size=tasks)
        if tied:
            use, worth = np.round(2 * use), np.round(worth)
        upper = rng.integers(0, 9, tasks).astype(float)
        room = rng.choice([0.0, 1.0, 3.0, 10.0, np.inf], rows, p=[0.1, 0.2, 0.3, 0.3, 0.1])
        found = most_worth(worth, upper, use, room)
        bounded = np.isfinite(room)
        best = linprog(
            -worth,
            A_ub=use[:, bounded].T,
            b_ub=room[bounded],
            bounds=np.column_stack([np.zeros(tasks), upper]),
        )
        assert (found >= 0).all()
        assert (found <= upper).all()
        assert (found @ use <= room + 1e-9).all()
        assert worth @ found == pytest.approx(-best.fun, rel=1e-9, abs=1e-9)


def test_rooms_of_any_size_are_kept() -> None:
    worth, upper, use = np.ones(3), np.array([5.0, 5.0, 5.0]), np.eye(3)
    assert most_worth(worth, upper, use, np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert most_worth(worth, upper, use, np.full(3, np.inf)).tolist() == [5.0, 5.0, 5.0]
    tiny = most_worth(worth, upper, use, np.array([1e-320, 1.0, 1e300]))
    assert tiny == pytest.approx([0.0, 1.0, 5.0])
