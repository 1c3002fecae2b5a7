"""Room prices and waiting values, against linear programs, fractions and a known recursion."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edgeopt.models.edr.training import Coming, informed_value, room_prices, waiting_values
from tests.certified import linprog
from tests.draws import draws


def drawn(rng: np.random.Generator) -> Coming:
    """Some tasks need no room, some frames have none, and costs may be negative."""
    tasks, frames, samples = rng.integers(1, 6), rng.integers(0, 5), rng.integers(1, 4)
    return Coming(
        cost=rng.uniform(-0.2, 1.0, (tasks, frames, samples)),
        cap=rng.choice([0.0, 0.5, 1.0], frames),
        weight=rng.uniform(0.0, 0.3, tasks) * (rng.random(tasks) > 0.1),
        remaining=rng.integers(0, 9, tasks).astype(float),
        late=rng.uniform(0.2, 2.0, tasks),
        first=rng.integers(0, 2, tasks),
        last=rng.integers(-1, max(frames, 1), tasks),
    )


def fluid(coming: Coming, cost_now: np.ndarray, cap_now: float) -> tuple[float, np.ndarray]:
    """Return the optimum over rounds now, by frame and sample, and missing, and its room prices."""
    tasks, frames, samples = coming.cost.shape
    width = 1 + frames * samples + 1
    share = np.concatenate(([1.0], np.full(frames * samples, 1 / samples), [1.0]))
    allowed = np.ones((tasks, width), dtype=bool)
    allowed[:, 0] = cap_now > 0
    allowed[:, 1:-1] = np.repeat(coming.usable, samples, axis=1)
    cost = np.column_stack([cost_now, coming.cost.reshape(tasks, -1), coming.late]) * share
    room = np.concatenate(([cap_now], np.repeat(coming.cap, samples)))
    rows = np.zeros((room.size, tasks, width))
    rows[np.arange(room.size), :, np.arange(room.size)] = coming.weight
    found = linprog(
        cost.ravel(),
        A_ub=rows.reshape(room.size, -1),
        b_ub=room,
        A_eq=np.kron(np.eye(tasks), share),
        b_eq=coming.remaining,
        bounds=np.column_stack([np.zeros(cost.size), np.where(allowed.ravel(), np.inf, 0.0)]),
    )
    assert found.status == 0
    return float(found.fun), found.x.reshape(tasks, width)


def test_room_is_priced_by_the_best_plan_over_all_samples() -> None:
    rng = np.random.default_rng(0)
    for _ in range(draws(200)):
        coming, cap_now = drawn(rng), float(rng.choice([0.0, 0.3, 1.0]))
        cost_now = rng.uniform(-0.2, 1.0, coming.late.size)
        best, _ = fluid(coming, cost_now, cap_now)
        found = room_prices(coming, cost_now, cap_now)
        assert found.value == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert (found.price >= 0).all()
        assert coming.weight @ found.now <= cap_now + 1e-12
        assert (found.now <= coming.remaining + 1e-12).all()
        # The rounds done now leave a problem that costs what is left of the optimum.
        rest = replace(coming, remaining=np.maximum(coming.remaining - found.now, 0.0))
        later = room_prices(rest).value
        assert cost_now @ found.now + later == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_room_prices_prove_the_plan() -> None:
    """A task pays the least of its costs with the price of room; all together that is the plan."""
    rng = np.random.default_rng(1)
    for _ in range(draws(200)):
        coming = drawn(rng)
        found = room_prices(coming)
        full = coming.cost + found.price * coming.weight[:, None, None]
        usable = np.broadcast_to(coming.usable[..., None], full.shape)
        least = np.where(usable, full, np.inf).min(axis=(1, 2), initial=np.inf)
        paid = coming.remaining @ np.minimum(least, coming.late)
        room = coming.cap @ found.price.mean(axis=1) if found.price.size else 0.0
        assert paid - room == pytest.approx(found.value, rel=1e-9, abs=1e-9)


def test_waiting_values_in_fractions() -> None:
    rng = np.random.default_rng(2)
    for _ in range(draws(50)):
        whole = rng.integers(0, 16, (3, 2, 2)), rng.integers(0, 8, (2, 2)), rng.integers(0, 4, 3)
        cost, price, weight = ([Fraction(int(v), 16) for v in part.ravel()] for part in whole)
        late, last = rng.integers(4, 24, 3), rng.integers(-1, 2, 3)
        expected = []
        for i in range(3):
            value = Fraction(int(late[i]), 16)
            for h in (1, 0):
                if h <= last[i]:
                    both = [
                        min(
                            cost[4 * i + 2 * h + q] + Fraction(5, 4) * price[2 * h + q] * weight[i],
                            value,
                        )
                        for q in (0, 1)
                    ]
                    value = sum(both, Fraction(0)) / 2
            expected.append(float(value))
        coming = Coming(
            *(part / 16 for part in whole[:1]), np.ones(2), whole[2] / 16,
            np.ones(3), late / 16, np.zeros(3, int), last,
        )  # fmt: skip
        assert waiting_values(coming, whole[1] / 16, 1.25).tolist() == expected


def test_one_round_waits_by_the_known_threshold() -> None:
    """Without congestion and with costs even on [0, 1], v' = v - v^2 / 2."""
    grid = (np.arange(1000) + 0.5) / 1000
    value = 1.0
    for frames in range(1, 12):
        value -= value**2 / 2
        coming = Coming(
            np.tile(grid, (1, frames, 1)), np.ones(frames), np.zeros(1), np.ones(1), np.ones(1),
            np.zeros(1, int), np.full(1, frames - 1),
        )  # fmt: skip
        found = waiting_values(coming, np.zeros((frames, 1000)))
        assert found[0] == pytest.approx(value, abs=1e-3)
        assert informed_value(coming, np.zeros((frames, 1000))) == pytest.approx(found[0])
