"""Rows of a batch, rounded side by side with the very coins that one row after another would use.

Threads of Python run compiled code that holds no lock. A parallel loop of numba would do the same,
but ends the process when one that has used it forks, which worker pools do.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numba
import numpy as np

from edgeopt.kernels import compiled
from edgeopt.rounding.chain import chain_rows, count_fractional
from edgeopt.rounding.kernels import HALF, depround_shuffled, finish, pairwise_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_BLOCK = 2**16
"""Entries that share one draw of coins: their coins stay in the processor's cache."""

_SIDE_BY_SIDE = 4
"""Rows whose chains run together: more gain nothing."""

_WORTH_THREADS = 2**18
"""Entries from which threads repay their start."""


def depround_rows(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    residual: int,
    shuffled: bool,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Round every row of `values`, shape [B, n], with weights [B, n] or [1, n]."""
    out = np.empty(values.shape, np.bool_)
    counts = np.empty(len(values), np.int64)
    _count_coins(values, 2 if shuffled else 1, int(residual == HALF), counts)

    def block(start: int, stop: int, coins: NDArray[np.float64]) -> None:
        rows = slice(start, stop)
        first = np.cumsum(counts[rows]) - counts[rows]
        shared = _rows_of(weights, rows)
        if shuffled:
            _shuffled_block(values[rows], shared, residual, first, coins, out[rows])
        else:
            _depround_block(values[rows], shared, residual, first, coins, out[rows])

    _in_blocks(counts, values.shape[1], rng, block)
    return out


def depround_rows_with(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    residual: int,
    coins: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Round every row of `values`, shape [B, n], on coins of its own, shape [B, n + 1]."""
    out = np.empty(values.shape, np.bool_)
    first = np.arange(len(values)) * coins.shape[1]
    _depround_block(values, weights, residual, first, coins.ravel(), out)
    return out


def pairwise_rows(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    margin: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Round every row of `values`, shape [B, n]: whole numbers, and fractions lost, [B, n] each."""
    out = np.empty(values.shape, np.int64)
    lost = np.zeros(values.shape)
    counts = np.empty(len(values), np.int64)
    _count_coins(values - np.floor(values), 1, 0, counts)

    def block(start: int, stop: int, coins: NDArray[np.float64]) -> None:
        rows = slice(start, stop)
        _pairwise_block(
            values[rows],
            _rows_of(weights, rows),
            margin,
            counts[rows],
            coins,
            out[rows],
            lost[rows],
        )

    _in_blocks(counts, values.shape[1], rng, block)
    return out, lost


def _threads() -> int:
    # Its function of the same purpose would start numba's own threads.
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def _rows_of(weights: NDArray[np.float64], rows: slice) -> NDArray[np.float64]:
    return weights if len(weights) == 1 else weights[rows]


def _in_blocks(
    counts: NDArray[np.int64],
    width: int,
    rng: np.random.Generator,
    block: Callable[[int, int, NDArray[np.float64]], None],
) -> None:
    """Call `block(start, stop, coins)` for all rows, on threads where it pays.

    The coins are drawn here, in the order of the rows, while threads work on those before.
    """
    rows = len(counts)
    step = max(1, _BLOCK // width)
    starts = range(0, rows, step)
    threads = min(_threads(), len(starts))
    if threads == 1 or rows * width < _WORTH_THREADS:
        for start in starts:
            stop = min(start + step, rows)
            block(start, stop, rng.random(int(counts[start:stop].sum())))
        return
    with ThreadPoolExecutor(threads) as pool:
        running = []
        for start in starts:
            stop = min(start + step, rows)
            coins = rng.random(int(counts[start:stop].sum()))
            running.append(pool.submit(block, start, stop, coins))
        for done in running:
            done.result()


@compiled(writes="counts", nogil=True)
def _count_coins(
    values: NDArray[np.float64], each: int, extra: int, counts: NDArray[np.int64]
) -> None:
    for b in range(values.shape[0]):
        counts[b] = each * count_fractional(values[b]) + extra


@compiled(writes="out", nogil=True)
def _depround_block(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    residual: int,
    first: NDArray[np.int64],
    coins: NDArray[np.float64],
    out: NDArray[np.bool_],
) -> None:
    used = first.copy()
    last, mass = np.empty(_SIDE_BY_SIDE, dtype=np.int64), np.empty(_SIDE_BY_SIDE, dtype=np.float64)
    for b in range(0, values.shape[0], _SIDE_BY_SIDE):
        rows = slice(b, min(b + _SIDE_BY_SIDE, values.shape[0]))
        shared = weights if weights.shape[0] == 1 else weights[rows]
        chain_rows(values[rows], shared, coins, used[rows], out[rows], last, mass)
        for k in range(rows.stop - b):
            row = weights[(b + k) % weights.shape[0]]
            finish(row, residual, coins, used[b + k], last[k], mass[k], out[b + k])


@compiled(writes="out", nogil=True)
def _shuffled_block(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    residual: int,
    first: NDArray[np.int64],
    coins: NDArray[np.float64],
    out: NDArray[np.bool_],
) -> None:
    for b in range(values.shape[0]):
        row = weights[b % weights.shape[0]]
        depround_shuffled(values[b], row, residual, coins[first[b] :], out[b])


@compiled(writes="out lost", nogil=True)
def _pairwise_block(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    margin: float,
    counts: NDArray[np.int64],
    coins: NDArray[np.float64],
    out: NDArray[np.int64],
    lost: NDArray[np.float64],
) -> None:
    begin = 0
    for b in range(values.shape[0]):
        row = weights[b % weights.shape[0]]
        last, fraction = pairwise_row(values[b], row, margin, coins[begin:], out[b])
        if last >= 0:
            lost[b, last] = fraction
        begin += counts[b]
