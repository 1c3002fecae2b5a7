"""Compiled rows against the reference implementation, bit for bit on the same coins."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.rounding import kernels, rows
from edgeopt.rounding.kernels import BERNOULLI, DROP, HALF
from tests.draws import every
from tests.rounding import reference

RESIDUAL = {"bernoulli": BERNOULLI, "drop": DROP, "half": HALF}


@st.composite
def float_rows(draw, *, largest=12, decades=12):
    """Floats y, weights of many magnitudes and plenty of coins, from one seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, largest))
    y = rng.random(n)
    kind = draw(st.sampled_from(["any", "equal", "ends", "grid"]))
    if kind == "equal":
        y[:] = y[0]
    elif kind == "ends":
        near = rng.choice([0, 1, 1e-12, 1 - 1e-12, 1e-8, 1 - 1e-8], n)
        y = np.where(rng.random(n) < 0.5, near, y)
    elif kind == "grid":
        y = np.round(y * 4) / 4
    spread = draw(st.sampled_from([0, 1, decades]))
    return y, 10 ** rng.uniform(-spread, spread, n), rng.random(2 * n + 2)


@given(float_rows(), st.sampled_from(sorted(RESIDUAL)))
def test_row_is_its_reference(row, residual):
    y, weights, coins = row
    out = np.ones(y.size, bool)
    last = kernels.depround_row(y, weights, RESIDUAL[residual], coins, out)
    assert (out.tolist(), last) == reference.round_row(y, weights, residual, coins)


@given(float_rows(), st.sampled_from(sorted(RESIDUAL)))
def test_shuffled_row_is_its_reference(row, residual):
    y, weights, coins = row
    out = np.ones(y.size, bool)
    last = kernels.depround_shuffled(y, weights, RESIDUAL[residual], coins, out)
    assert (out.tolist(), last) == reference.round_shuffled(y, weights, residual, coins)


@given(float_rows(), st.sampled_from([-1.0, 0.5, np.inf]), st.integers(0, 1))
def test_pairwise_row_is_its_reference(row, margin, light):
    y, weights, coins = row
    x = y * 7.3
    weights = weights * (np.arange(y.size) % 2 >= light)
    out = np.full(y.size, -1)
    floored, lost = kernels.pairwise_row(x, weights, margin, coins, out)
    assert (out.tolist(), floored, lost) == reference.pair_row(x, weights, margin, coins)


def test_long_row_is_its_reference():
    """Long enough for errors of the running mass to show, if the reference had others."""
    rng = np.random.default_rng(5)
    y, weights, coins = rng.random(20_000), rng.uniform(1, 3, 20_000), rng.random(20_001)
    out = np.empty(y.size, bool)
    last = kernels.depround_row(y, weights, BERNOULLI, coins, out)
    assert (out.tolist(), last) == reference.round_row(y, weights, "bernoulli", coins)
    assert abs(weights @ out - weights @ y) <= weights.max()


def test_integral_rows_are_what_they_are_whatever_the_coins():
    y = np.array([0.0, 1.0, 1e-12, 1 - 1e-12, -1e-10, 1 + 1e-10])
    for residual, first, coin in itertools.product(RESIDUAL.values(), range(6), (0.0, 0.999)):
        out = np.empty(y.size, bool)
        turned = np.roll(y, first)
        coins = np.full(y.size + 1, coin)
        assert kernels.depround_row(turned, np.ones(y.size), residual, coins, out) == -1
        assert out.tolist() == np.roll([False, True, False, True, False, True], first).tolist()


def test_survivors_that_end_up_whole_are_no_residual():
    """Ten tenths sum to a little less than 1 in floats: still exactly one of them is chosen."""
    y, rng = np.full(10, 0.1), np.random.default_rng(6)
    out = np.empty(10, bool)
    for _ in range(200):
        last = kernels.depround_row(y, np.ones(10), BERNOULLI, rng.random(11), out)
        assert (out.sum(), last) == (1, -1)


@pytest.mark.parametrize("residual", every(2, sorted(RESIDUAL.values())))
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("shape", [(7, 5), (300, 1000), (2, 140_000)])
def test_batch_is_its_rows_one_by_one(monkeypatch, residual, shuffled, common, shape):
    """Also with threads, with integral entries, and where rows are cut into segments."""
    monkeypatch.setattr(rows, "_threads", lambda: 4)
    rng = np.random.default_rng(7)
    y = np.clip(rng.uniform(-0.3, 1.3, shape), 0, 1)
    weights = rng.uniform(1, 9, (1, shape[1]) if common else shape)
    together = rows.depround_rows(y, weights, residual, np.random.default_rng(8), shuffled=shuffled)
    stream = np.random.default_rng(8)
    for b in range(shape[0]):
        own = weights if common else weights[b : b + 1]
        alone = rows.depround_rows(y[b : b + 1], own, residual, stream, shuffled=shuffled)
        assert np.array_equal(together[b], alone[0])
        # and what a row takes from the stream is what the interface documents
    guaranteed = np.random.default_rng(8)
    guaranteed.random(shape[0] * ((2 if shuffled else 1) * shape[1] + 1))
    assert stream.random() == guaranteed.random()


def test_pairwise_batch_is_its_rows_one_by_one(monkeypatch):
    monkeypatch.setattr(rows, "_threads", lambda: 3)
    rng = np.random.default_rng(9)
    x = rng.uniform(0, 4, (400, 900))
    x[rng.random(x.shape) < 0.2] = 2.0
    weights = rng.choice([0.0, 1.0, 2.5], x.shape)
    counts, lost = rows.pairwise_rows(x, weights, 0.7, np.random.default_rng(10))
    stream = np.random.default_rng(10)
    for b in range(len(x)):
        row = slice(b, b + 1)
        alone, without = rows.pairwise_rows(x[row], weights[row], 0.7, stream)
        assert np.array_equal(counts[row], alone)
        assert np.array_equal(lost[row], without)


def test_forked_processes_may_use_threads_again(monkeypatch):
    from multiprocessing import get_context

    monkeypatch.setattr(rows, "_threads", lambda: 2)
    expected = _large_batch()
    with get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_large_batch).get(timeout=60) == expected


def _large_batch():
    y = np.random.default_rng(11).random((600, 700))
    return int(rows.depround_rows(y, np.ones((1, 700)), BERNOULLI, np.random.default_rng(3)).sum())


@given(st.integers(1, 9), st.integers(1, 12), st.sampled_from(sorted(RESIDUAL)), st.booleans())
def test_rows_side_by_side_keep_to_their_own_coins(
    count: int, width: int, residual: str, shared: bool
) -> None:
    rng = np.random.default_rng([count, width])
    # Integral entries at the ends of rows make their chains start and stop at different places.
    y = np.clip(rng.uniform(-0.5, 1.5, (count, width)), 0.0, 1.0)
    weights = rng.uniform(0.1, 9.0, (1 if shared else count, width))
    coins = rng.random((count, width + 1))
    drawn = np.empty(y.shape, dtype=bool)
    rows._depround_block(y, weights, RESIDUAL[residual], coins, drawn)
    for b in range(count):
        alone = np.empty(width, dtype=bool)
        row = weights[0 if shared else b]
        kernels.depround_row(y[b], row, RESIDUAL[residual], coins[b], alone)
        assert drawn[b].tolist() == alone.tolist()


def test_half_in_random_order_never_keeps_the_rest_beside_a_lone_fractional_entry() -> None:
    values, weights = np.array([1.0, 0.5, 0.0, 1.0]), np.ones(4)
    seen = set()
    for first, second in itertools.product((0.1, 0.9), repeat=2):
        out = np.empty(4, dtype=bool)
        # Of nine coins the last but one is the fair one, the last that of the entry.
        coins = np.array([0.5] * 7 + [first, second])
        last = kernels.depround_shuffled(values, weights, HALF, coins, out)
        assert last == 1
        seen.add(tuple(out.tolist()))
    alone, rest, dropped = (False, True, False, False), (True, False, False, True), (False,) * 4
    assert alone in seen
    assert seen <= {alone, rest, dropped}


@given(float_rows(largest=40), st.sampled_from(sorted(RESIDUAL)), st.booleans())
def test_segments_are_their_reference(row, residual, equal):
    y, weights, _ = row
    if y.size < 4:
        return
    weights = np.ones((1, 1)) if equal else weights[np.newaxis]
    out = rows.depround_rows(
        y[np.newaxis], weights, RESIDUAL[residual], np.random.default_rng(1), segments=4
    )
    # Four segments share the first coins, what is left of the row the others.
    coins = np.random.default_rng(1).random(y.size + 1)
    own = np.broadcast_to(weights[0], y.shape)
    assert out[0].tolist() == reference.round_segments(y, own, residual, coins)


def test_segments_are_their_reference_beyond_one_block_of_coins(monkeypatch):
    monkeypatch.setattr(rows, "SEGMENTED", 16)
    rng = np.random.default_rng(2)
    for n in (64, 200, 203):
        y, weights = rng.random(n), rng.uniform(1, 3, n)
        out = rows.depround_rows(y[None], weights[None], BERNOULLI, np.random.default_rng(3))
        drawn = np.random.default_rng(3).random(n + 1)
        coins, used, length = np.empty(n + 1), 0, n // 4
        for start in range(0, length, 16):
            count = min(16, length - start)
            for k in range(4):
                here = slice(k * length + start, k * length + start + count)
                coins[here] = drawn[used : used + count]
                used += count
        coins[4 * length :] = drawn[used:]
        assert out[0].tolist() == reference.round_segments(y, weights, "bernoulli", coins)
