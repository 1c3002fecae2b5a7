"""Rounds of most worth in a frame, and two-stage plans, against linear programs."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.models.edr.training import Coming, most_worth, two_stage
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


def expected(coming: Coming, cost: np.ndarray, rounds: np.ndarray) -> float:
    """Return the cost of rounds now and the mean cost of the best of what is left."""
    tasks, frames, samples = coming.cost.shape
    most = np.append(np.where(coming.usable, np.inf, 0.0).ravel(), np.full(tasks, np.inf))
    rows = np.zeros((frames, tasks, frames))
    rows[np.arange(frames), :, np.arange(frames)] = coming.weight
    later = [
        linprog(
            np.append(coming.cost[:, :, q].ravel(), coming.late),
            A_ub=np.hstack([rows.reshape(frames, -1), np.zeros((frames, tasks))]),
            b_ub=coming.cap,
            A_eq=np.hstack([np.kron(np.eye(tasks), np.ones(frames)), np.eye(tasks)]),
            b_eq=coming.remaining - rounds,
            bounds=np.column_stack([np.zeros(most.size), most]),
        ).fun
        for q in range(samples)
    ]
    return float(cost @ rounds + np.mean(later))


def test_no_plan_that_then_learns_the_future_is_better() -> None:
    rng = np.random.default_rng(1)
    for _ in range(draws(60)):
        tasks, frames, samples = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 4)
        coming = Coming(
            cost=rng.uniform(0.0, 1.0, (tasks, frames, samples)),
            cap=rng.choice([0.5, 1.0], frames),
            weight=rng.uniform(0.05, 0.3, tasks),
            remaining=rng.integers(1, 9, tasks).astype(float),
            late=rng.uniform(0.5, 2.0, tasks),
            first=np.zeros(tasks, dtype=int),
            last=rng.integers(-1, frames, tasks),
        )
        cost, use, room = rng.random(tasks), rng.random((tasks, 2)), np.array([3.0, np.inf])
        best = two_stage(coming, cost, use, room)
        assert (best <= coming.remaining + 1e-9).all()
        assert best @ use[:, 0] <= 3.0 + 1e-9
        best = np.minimum(best, coming.remaining)
        least = expected(coming, cost, best)
        for _ in range(8):
            # The cost is convex: steps from the optimum towards feasible plans never gain.
            other = rng.random(tasks) * coming.remaining * (rng.random(tasks) < 0.7)
            other *= min(1.0, 3.0 / max(other @ use[:, 0], 1e-9))
            for step in (0.1, 1.0):
                mixed = (1 - step) * best + step * other
                assert least <= expected(coming, cost, mixed) + 1e-9
