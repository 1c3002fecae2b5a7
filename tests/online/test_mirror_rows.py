"""Mirror maps under further rows: against a cone solver, and the regret of ascent under them."""

from __future__ import annotations

import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from edgeopt.errors import InputError, OptionError
from edgeopt.online.mirror_ascent import (
    BoxEuclidean,
    KnapsackEntropy,
    KnapsackEuclidean,
    Limited,
    MirrorAscent,
    Product,
)
from tests.draws import draws
from tests.online.mirror_maps import Floats, Line

EXACT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def divergence(mirror, y: cp.Variable, other: Floats):
    if isinstance(mirror, BoxEuclidean):
        return cp.sum_squares(y - other) / 2
    if isinstance(mirror, KnapsackEntropy):
        return cp.sum(cp.multiply(mirror.size, cp.kl_div(y, other)))
    return cp.sum(cp.multiply(mirror.size, cp.square(y - other))) / 2


def constraints(mirror, y: cp.Variable) -> list:
    if isinstance(mirror, BoxEuclidean):
        return [y >= mirror.lower, y <= mirror.upper]
    used = mirror.size @ y
    return [y >= 0, y <= 1, used == mirror.budget if mirror.fill else used <= mirror.budget]


def solved(blocks, rates, point: Floats, gradient: Floats, rows: Floats, limit: Floats) -> Floats:
    """The step under rows, as a cone program over all blocks."""
    parts = [cp.Variable(block.centre().size) for block in blocks]
    ends = np.cumsum([part.size for part in parts])[:-1]
    away = sum(
        divergence(block, part, other) / rate
        for block, part, other, rate in zip(
            blocks, parts, np.split(point, ends), rates, strict=True
        )
    )
    y = cp.hstack(parts)
    kept = [
        one for block, part in zip(blocks, parts, strict=True) for one in constraints(block, part)
    ]
    program = cp.Problem(cp.Maximize(gradient @ y - away), [*kept, rows @ y <= limit])
    program.solve(solver="CLARABEL", **EXACT)
    return np.asarray(y.value)


def knapsack(rng: np.random.Generator, n: int):
    size = rng.uniform(0.5, 3.0, n)
    kind = KnapsackEntropy if rng.random() < 0.5 else KnapsackEuclidean
    return kind(size, rng.choice([0.2, 0.6, 0.9]) * size.sum(), bool(rng.random() < 0.7))


def some_rows(rng: np.random.Generator, count: int, inside: Floats) -> tuple[Floats, Floats]:
    """Rows that a point of the set keeps, most of them of magnitudes alike and half of them 0."""
    rows = rng.uniform(0.0, 1.0, (count, inside.size)) * (rng.random((count, inside.size)) < 0.6)
    rows *= np.where(rng.random((count, 1)) < 0.2, -1.0, 1.0)
    return rows, rows @ inside + rng.choice([1e-3, 0.05], count)


@pytest.mark.parametrize("seed", range(draws(60)))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_step_is_that_of_the_cone_program(seed: int, count: int) -> None:
    rng = np.random.default_rng((seed, count))
    n = int(rng.integers(3, 9))
    mirror = knapsack(rng, n)
    # Steps lead to points of the set: somewhere, and the last one.
    inside, point = (
        mirror.step(mirror.centre(), rng.normal(size=n), rng.uniform(0.1, 1.0)) for _ in range(2)
    )
    rows, limit = some_rows(rng, count, inside)
    gradient, rate = rng.normal(size=n) * rng.choice([1.0, 5.0]), rng.uniform(0.1, 2.0)
    found = Limited(mirror, rows, limit).step(point, gradient, rate)
    assert (rows @ found <= limit + 1e-9).all()
    wanted = solved([mirror], [rate], point, gradient, rows, limit)
    assert found == pytest.approx(wanted, abs=1e-4)
    worth = [rate * gradient @ y - mirror.divergence(y, point) for y in (found, wanted)]
    assert worth[0] >= worth[1] - 1e-7


@pytest.mark.parametrize("seed", range(draws(40)))
def test_rows_cross_blocks_that_have_rates_of_their_own(seed: int) -> None:
    """Every block's divergence counts by its own rate: what the bound of the regret adds up."""
    rng = np.random.default_rng((seed, 9))
    lower = rng.normal(size=2)
    blocks = [
        knapsack(rng, 4),
        knapsack(rng, 3),
        BoxEuclidean(lower, lower + rng.uniform(0.5, 2.0, 2)),
    ]
    product = Product(blocks)
    n, point = 9, product.centre()
    inside = product.step(point, rng.normal(size=n), 0.5)
    rows, limit = some_rows(rng, int(rng.integers(1, 4)), inside)
    gradient, rates = rng.normal(size=n), rng.uniform(0.1, 2.0, 3)
    found = Limited(product, rows, limit).step(point, gradient, np.array([*rates, rates[2]]))
    assert (rows @ found <= limit + 1e-9).all()
    wanted = solved(blocks, rates, point, gradient, rows, limit)
    assert found == pytest.approx(wanted, abs=1e-4)


def test_a_block_that_rests_keeps_its_point() -> None:
    two = Product([KnapsackEntropy([1.0, 1.0], 1.0), KnapsackEntropy([1.0, 1.0], 1.0)])
    limited = Limited(two, [1.0, 0.0, 1.0, 0.0], 1.0)
    point = np.array([0.3, 0.7, 0.7, 0.3])
    found = limited.step(point, np.array([9.0, 0.0, 9.0, 0.0]), np.array([1.0, 0.0]))
    assert found == pytest.approx(point)


class Counting:
    """A map that counts its steps."""

    def __init__(self, inner: KnapsackEntropy | KnapsackEuclidean) -> None:
        self.inner, self.steps = inner, 0

    def __getattr__(self, name: str):
        return getattr(self.inner, name)

    def step(self, point: Floats, gradient: Floats, rate: float) -> Floats:
        self.steps += 1
        return self.inner.step(point, gradient, rate)


def counted(seed: int, count: int) -> int:
    """Steps of the map that one step under rows takes."""
    rng = np.random.default_rng((seed, count, 3))
    n = int(rng.integers(3, 30))
    size = rng.uniform(0.5, 3.0, n)
    mirror = Counting((KnapsackEntropy if seed % 2 else KnapsackEuclidean)(size, 0.6 * size.sum()))
    rows = rng.uniform(0.0, 1.0, (count, n)) * (rng.random((count, n)) < 0.6)
    try:
        limited = Limited(
            mirror, rows, rows @ mirror.centre() * rng.uniform(0.9, 1.1, count) + 1e-3
        )
    except InputError:
        return 1
    mirror.steps = 0
    limited.step(mirror.centre(), rng.normal(size=n), rng.uniform(0.1, 2.0))
    return mirror.steps


def test_a_step_takes_few_steps_of_the_map() -> None:
    """At most 15 for one row; plain bisection row by row takes thousands for three."""
    for count, most, mean in ((1, 15, 8), (2, 80, 22), (3, 120, 26)):
        steps = [counted(seed, count) for seed in range(300)]
        active = [one for one in steps if one > 1]
        assert len(active) > 100
        assert max(active) <= most
        assert np.mean(active) <= mean


@pytest.mark.parametrize("seed", range(draws(60)))
def test_long_steps_into_corners_keep_the_rows(seed: int) -> None:
    """Logarithms of thousands: what rows come to is nearly a step function of the multipliers."""
    rng = np.random.default_rng((seed, 5))
    mirror = knapsack(rng, int(rng.integers(3, 30)))
    n, count = mirror.size.size, int(rng.integers(1, 6))
    inside = mirror.step(mirror.centre(), rng.normal(size=n), 0.5)
    rows, limit = some_rows(rng, count, inside)
    gradient, rate = 100.0 * rng.normal(size=n), 20.0
    found = Limited(mirror, rows, limit).step(mirror.centre(), gradient, rate)
    assert (rows @ found <= limit + 1e-7).all()
    # No point of the set earns more than the step gives away in divergence.
    budget = {"A_eq": mirror.size[None], "b_eq": [mirror.budget]} if mirror.fill else {}
    more = ([], []) if mirror.fill else ([mirror.size], [mirror.budget])
    best = linprog(
        -gradient,
        A_ub=np.array([*rows, *more[0]]),
        b_ub=[*limit, *more[1]],
        bounds=(0, 1),
        **budget,
    )
    short = -best.fun - gradient @ found
    assert short <= mirror.farthest(mirror.centre()) / rate + 1e-6 * abs(best.fun)


@pytest.mark.parametrize("ascent", ["leader", "mirror"])
@pytest.mark.parametrize("kind", [KnapsackEntropy, KnapsackEuclidean])
def test_regret_under_a_row_is_bounded(kind, ascent: str) -> None:
    rng = np.random.default_rng(0)
    row = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    climb = MirrorAscent(Limited(kind(np.ones(6), 3.0), row, 1.0), ascent=ascent)
    state, earned = climb.start(), 0.0
    for _ in range(300):
        gradient = rng.uniform(0.0, 1.0, 6) + 1.5 * row
        earned += gradient @ state.point
        state = climb.update(state, gradient)
        assert row @ state.point <= 1.0 + 1e-9
    best = linprog(
        -state.total, A_eq=np.ones((1, 6)), b_eq=[3.0], A_ub=row[None], b_ub=[1.0], bounds=(0, 1)
    )
    regret = -best.fun - earned
    if ascent == "leader":
        assert 0.0 < regret <= climb.regret_bound(state)
        free = MirrorAscent(kind(np.ones(6), 3.0))
        assert climb.mirror.diameter >= free.mirror.diameter
    else:
        assert regret < 40.0


def test_members_are_those_of_the_map() -> None:
    inner = KnapsackEntropy([1.0, 2.0, 3.0], 3.0)
    limited = Limited(inner, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.25, 0.9])
    for name in ("convexity", "width"):
        assert getattr(limited, name) == getattr(inner, name)
    assert limited.dual_norm([1.0, 0.0, 0.0]) == inner.dual_norm([1.0, 0.0, 0.0])
    assert limited.diameter == inner.farthest(limited.centre())
    assert limited.centre()[0] == pytest.approx(0.25)
    again = pickle.loads(pickle.dumps(limited))
    assert np.array_equal(again.centre(), limited.centre())
    assert len(repr(limited)) < 200
    with pytest.raises(InputError, match="must lie in the set"):
        MirrorAscent(limited).start(inner.centre())
    start = MirrorAscent(limited).start(limited.centre())
    assert np.array_equal(start.point, limited.centre())


def test_a_map_with_three_members_may_have_rows() -> None:
    """The line: the step is cut off at the limit, and what the map lacks is said."""
    limited = Limited(Line(), [2.0], 3.0)
    assert limited.step(np.zeros(1), np.ones(1), 9.0) == pytest.approx([1.5])
    assert limited.step(np.zeros(1), np.ones(1), 1.0) == pytest.approx([1.0])
    with pytest.raises(OptionError, match="AdaptiveStep without reach= needs its convexity"):
        MirrorAscent(limited).start()


@pytest.mark.parametrize(
    ("rows", "limit", "word"),
    [
        ([1.0, 1.0], 1.0, "rows.*must have 3 entries"),
        ([1.0, np.nan, 0.0], 1.0, "rows.*finite"),
        ([1.0, 0.0, 0.0], [1.0, 2.0], "limit"),
        ([1.0, 0.0, 0.0], np.inf, "limit"),
        ([[1.0, 1.0, 1.0]], 2.85, r"rows\[0\]: no point of the set keeps it"),
        ([-1.0, 0.0, 0.0], -1.5, r"rows\[0\]: no point of the set keeps it"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.94, 0.94], "rows: no multipliers keep all"),
    ],
)
def test_rows_that_cannot_be_are_named(rows, limit, word: str) -> None:
    with pytest.raises(InputError, match=word):
        Limited(KnapsackEntropy([1.0, 1.0, 1.5], 3.4), rows, limit)


def test_what_is_no_map_is_refused() -> None:
    with pytest.raises(OptionError, match="map"):
        Limited(3, [1.0], 1.0)
