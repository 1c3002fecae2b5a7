"""Boxes and products of sets: every block ascends as if alone, and the regret adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from edgeopt.errors import InputError, OptionError
from edgeopt.online.mirror_ascent import (
    BoxEuclidean,
    FixedStep,
    KnapsackEntropy,
    KnapsackEuclidean,
    MirrorAscent,
    Product,
    TheoryStep,
)
from tests.draws import draws
from tests.online.mirror_maps import Floats, Line, maps

SEEDS = st.integers(0, 2**32 - 1)


def drawn(rng: np.random.Generator) -> Product:
    """Draw a knapsack to fill, one to keep within, a box, and a box within a product."""
    size = [rng.uniform(0.2, 3.0, n) for n in rng.integers(2, 6, 2)]
    lower = rng.normal(size=3)
    return Product(
        [
            KnapsackEntropy(size[0], rng.uniform(0.1, 0.9) * size[0].sum()),
            KnapsackEuclidean(size[1], rng.uniform(0.1, 0.9) * size[1].sum(), fill=False),
            BoxEuclidean(lower, lower + rng.uniform(0.0, 2.0, 3)),
            Product([BoxEuclidean([0.0], [1.0]), KnapsackEntropy([1.0, 1.0], 1.0, fill=False)]),
        ]
    )


def best_of(product: Product, total: Floats) -> float:
    """Earnings of the best point, by one linear program over all blocks."""
    equal, least, bounds = [], [], []
    blocks = [*product.blocks[:3], *product.blocks[3].blocks]
    n, begin = total.size, 0
    for block in blocks:
        wide = block.centre().size
        if isinstance(block, BoxEuclidean):
            bounds += list(zip(block.lower, block.upper, strict=True))
        else:
            row = np.zeros(n)
            row[begin : begin + wide] = block.size
            (equal if block.fill else least).append((row, block.budget))
            bounds += [(0.0, 1.0)] * wide
        begin += wide
    found = linprog(
        -total,
        A_ub=[row for row, _ in least], b_ub=[limit for _, limit in least],
        A_eq=[row for row, _ in equal], b_eq=[limit for _, limit in equal],
        bounds=bounds,
    )  # fmt: skip
    return -float(found.fun)


@settings(max_examples=draws(60))
@given(SEEDS)
def test_regret_on_a_product_keeps_the_sum_of_its_bounds(seed: int):
    """Against gradients of chance, of one side, and of an adversary who sees the point."""
    rng = np.random.default_rng(seed)
    product = drawn(rng)
    n = product.centre().size
    lean = rng.normal(size=n)
    for kind in ("chance", "one side", "adversary"):
        ascent = MirrorAscent(product)
        state, earned, total = ascent.start(), 0.0, np.zeros(n)
        for slot in range(60):
            gradient = rng.normal(size=n)
            if kind == "one side":
                gradient = lean * (1.0 + slot % 3)
            elif kind == "adversary":
                gradient = np.where(state.point > product.centre(), -1.0, 1.0) * np.abs(lean)
            earned += float(gradient @ state.point)
            total += gradient
            state = ascent.update(state, gradient)
        best = best_of(product, total)
        assert total @ product.best(total) == pytest.approx(best, abs=1e-7)
        assert best - earned <= ascent.regret_bound(state) + 1e-7 < np.inf


@settings(max_examples=draws(30))
@given(SEEDS)
def test_blocks_ascend_as_if_alone(seed: int):
    rng = np.random.default_rng(seed)
    product = drawn(rng)
    start = product.project(product.centre() + rng.uniform(0.0, 0.2, product.centre().size))
    for ascent in ("mirror", "leader"):
        whole = MirrorAscent(product, ascent=ascent)
        alone = [MirrorAscent(block, ascent=ascent) for block in product.blocks]
        state = whole.start(start)
        states = [one.start(part) for one, part in zip(alone, product.split(start), strict=True)]
        for _ in range(6):
            gradient = rng.normal(size=start.size)
            state = whole.update(state, gradient)
            parts = zip(alone, states, product.split(gradient), strict=True)
            states = [one.update(its, part) for one, its, part in parts]
            np.testing.assert_allclose(state.point, np.concatenate([s.point for s in states]))
        bounds = [one.regret_bound(its) for one, its in zip(alone, states, strict=True)]
        assert whole.regret_bound(state) == pytest.approx(sum(bounds))


@given(SEEDS)
def test_geometry_of_a_box(seed: int):
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=4)
    box = BoxEuclidean(lower, lower + rng.uniform(0.0, 2.0, 4))
    y, z = (rng.uniform(box.lower, box.upper) for _ in range(2))
    assert (np.abs(y - z) <= box.width).all()
    assert (box.divergence(y, z) <= box.farthest(z) * (1 + 1e-12)).all()
    np.testing.assert_allclose(box.divergence(box.lower, box.centre()), box.diameter)
    gradient, rate = rng.normal(size=4), rng.uniform(0.0, 3.0, 4)
    reached = box.step(z, gradient, rate)
    grid = np.linspace(box.lower, box.upper, 301)
    worth = rate * gradient * grid - (grid - z) ** 2 / 2
    np.testing.assert_allclose(reached, grid[worth.argmax(axis=0), range(4)], atol=0.01)


def test_a_box_is_a_knapsack_with_room_for_all():
    """With one rate for all entries they take the same steps."""
    box = BoxEuclidean(np.zeros(3), np.ones(3))
    room = KnapsackEuclidean(np.ones(3), np.inf, fill=False)
    one, two = (MirrorAscent(each, FixedStep(0.1)).start() for each in (box, room))
    for gradient in ([1.0, -2.0, 0.5], [3.0, 3.0, -9.0], [0.0, 1.0, 2.0]):
        one = MirrorAscent(box, FixedStep(0.1)).update(one, gradient)
        two = MirrorAscent(room, FixedStep(0.1)).update(two, gradient)
        np.testing.assert_allclose(one.point, two.point, rtol=1e-15)
    assert room.diameter == pytest.approx(box.diameter.sum())


def test_bounds_of_gradients_per_block_prove_more_than_one_for_all():
    """Two boxes, one with gradients of at most 1, one of at most 10."""
    boxes = Product([BoxEuclidean([0.0], [1.0])] * 2)
    proven = []
    for largest in ([1.0, 10.0], 10.0):
        ascent = MirrorAscent(boxes, TheoryStep(largest, 100))
        state = ascent.start()
        for _ in range(100):
            state = ascent.update(state, [-1.0, 10.0])
        proven.append(ascent.regret_bound(state))
    # G sqrt(2 D T) with D = 1/8.
    assert proven[0] == pytest.approx(5.0 * (1.0 + 10.0))
    assert proven[1] > proven[0]


def test_a_map_of_three_members_may_be_a_block():
    product = Product([Line(), BoxEuclidean([0.0], [1.0])])
    ascent = MirrorAscent(product, FixedStep(0.5))
    state = ascent.update(ascent.start([7.0, 0.0]), [3.0, 1.0])
    assert state.point.tolist() == [8.5, 0.5]
    with pytest.raises(OptionError, match="convexity: 'Line'"):
        ascent.regret_bound(state)
    with pytest.raises(OptionError, match="convexity: 'Line'"):
        MirrorAscent(product).start()


@settings(max_examples=draws(30))
@given(maps())
def test_sums_of_one_block_are_those_of_the_block(one):
    mirror, rng = one
    alone = Product([mirror])
    gradient = rng.normal(size=mirror.size.size)
    for member in ("convexity", "diameter", "width"):
        assert getattr(alone, member).tolist() == [getattr(mirror, member)]
    assert alone.dual_norm(gradient).tolist() == [mirror.dual_norm(gradient)]


@pytest.mark.parametrize(
    ("make", "error", "named"),
    [
        (lambda: BoxEuclidean([0.0, 2.0], [1.0, 1.0]), InputError, r"upper\[1\]"),
        (lambda: BoxEuclidean([0.0], [np.inf]), InputError, r"upper\[0\]"),
        (lambda: BoxEuclidean([0.0], [1.0, 2.0]), InputError, "upper"),
        (lambda: Product([]), OptionError, "blocks"),
        (lambda: Product([3.0]), OptionError, r"blocks\[0\]"),
        (lambda: MirrorAscent(Product([BoxEuclidean([0.0], [1.0])])).start([2.0]), InputError,
         "must lie in the set"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make, error, named):
    with pytest.raises(error, match=named):
        make()
