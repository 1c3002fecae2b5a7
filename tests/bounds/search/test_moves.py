"""The moves of a walk: how far, which way, how often of each kind, and when it ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgeopt.bounds.search.moves import walk
from edgeopt.bounds.search.space import Parameter, ParameterSpace

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.bounds.search.space import Point

GOLDEN = (1 + math.sqrt(5)) / 2
START = (1.0, 1.0)
PAIR = ParameterSpace("pair", tuple(Parameter(n, 1e-4, 1e4, log=True) for n in "xy"), dict)


class Ground:
    """Stands in for a looker: remembers where it was asked for the slack."""

    def __init__(self, space: ParameterSpace, slack: Callable[[Point], float], left: int) -> None:
        self.space, self.height, self.left = space, slack, left
        self.violation: Point | None = None
        self.seen: list[Point] = []
        self.asked = 0

    @property
    def over(self) -> bool:
        return self.left < 1

    def slack(self, point: Point) -> float:
        self.asked += 1
        if point not in self.seen:
            self.left -= 1
            self.seen.append(point)
        return self.height(point)


def tried(space: ParameterSpace, start: Point, walks: int) -> list[Point]:
    """Return the points that walks go to from a start that all others are worse than."""
    points = []
    for seed in range(walks):
        ground = Ground(space, lambda point: float(point != start), 10**6)
        assert walk(ground, start, 10**6, np.random.default_rng(seed)) == start
        points += [point for point in ground.seen if point != start]
        # Each move in vain compares two slacks; after 40 for each number a walk gives up.
        assert ground.asked == 2 * 40 * len(space.parameters)
    return points


def test_moves_go_both_ways_as_far_and_as_often_as_said() -> None:
    walks, patience = 50, 80
    points = tried(PAIR, START, walks)
    # Whoever is at an end has been there before; all other moves lead somewhere new.
    steps = np.log10(np.array(points))
    ends = (abs(steps) == 4).any(axis=1)
    single = (steps == 0).any(axis=1) & ~ends
    pairs = steps[~(single | ends)]
    assert len(points) <= walks * patience
    # 3,200 moves beside those to an end, and a false alarm beyond six standard deviations.
    share = len(pairs) / (walks * patience)
    assert abs(share - 0.6) < 6 * math.sqrt(0.24 / (walks * patience))
    # Alone, a step of more than half of the range ends at an end: a share of 1.44 in 10.
    half = math.log(2) / math.log(GOLDEN) / 10
    alone = 0.3 * (1 - half)
    assert abs(single.sum() / (walks * patience) - alone) < 6 * math.sqrt(alone / 4000)
    # One number by a share of the range, from a hundredth to a half (clipped), up and down.
    moved = steps[single].sum(axis=1) / 8
    for way in (moved[moved > 0], -moved[moved < 0]):
        assert len(way) > 0.4 * single.sum()
        assert way.min() == pytest.approx(GOLDEN**-10, rel=0.1)
        assert 0.45 < way.max() < 0.5
    # Two numbers by one factor or its inverse, up to ten, in all four ways.
    assert abs(pairs[:, 0]) == pytest.approx(abs(pairs[:, 1]))
    assert abs(pairs).max() <= 1
    assert abs(pairs).max() > 0.98
    assert abs(pairs).min() == pytest.approx(GOLDEN**-10, rel=0.1)
    for x in (-1, 1):
        for y in (-1, 1):
            assert 0.2 < ((pairs * [x, y]) > 0).all(axis=1).mean() < 0.3
    # Both ends of both numbers.
    for place in (0, 1):
        assert set(steps[ends][:, place]) == {-4.0, 0.0, 4.0}


def test_whole_numbers_move_by_one_at_least() -> None:
    space = ParameterSpace("whole", tuple(Parameter(n, 1, 101, whole=True) for n in "xy"), dict)
    steps = np.array(tried(space, (51.0, 51.0), 30)) - 51
    pairs = steps[(steps != 0).all(axis=1)]
    assert set(map(tuple, pairs)) == {(a, b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)}
    alone = steps[(steps == 0).any(axis=1)].sum(axis=1)
    inner = alone[abs(alone) < 50]
    assert {-1.0, 1.0} <= set(inner)
    assert inner.min() < -30
    assert inner.max() > 30


def test_a_step_that_helps_is_repeated_in_golden_growth() -> None:
    line = ParameterSpace("line", (Parameter("x", 0.0, 1.0, log=False),), dict)
    grown = 0
    for seed in range(20):
        ground = Ground(line, lambda point: -point[0], 10**6)
        assert walk(ground, (0.0,), 10**6, np.random.default_rng(seed)) == (1.0,)
        places = [point[0] for point in ground.seen[: ground.seen.index((1.0,))] if point[0] > 0]
        # The move that reaches the end of the range is cut off there.
        moves = np.diff([0.0, *places])
        if len(moves) > 2:
            assert moves[1:] / moves[:-1] == pytest.approx(GOLDEN, rel=1e-3)
            grown += 1
    assert grown > 2


def test_a_walk_ends_after_its_looks_or_with_a_violation() -> None:
    ground = Ground(PAIR, lambda point: -point[0] * point[1], 100)
    walk(ground, START, 7, np.random.default_rng(0))
    assert ground.left == 93
    ground = Ground(PAIR, lambda point: -point[0] * point[1], 100)
    ground.violation = START
    assert walk(ground, START, 50, np.random.default_rng(0)) == START
    assert ground.left == 100


def test_a_walk_drifts_over_level_ground_while_looks_are_left() -> None:
    ground = Ground(PAIR, lambda _: 0.0, 30)
    here = walk(ground, START, 30, np.random.default_rng(1))
    assert here == ground.seen[-2]  # the last look spends the budget, and is not walked to
    both = [p for p in ground.seen if p[0] != 1 and p[1] != 1]
    assert len({round(abs(math.log(p[0] * p[1])), 6) for p in both}) > 5
