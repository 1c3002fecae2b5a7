"""Checks of the arrays that roundings take; an error names the argument, index, value and rule."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numba
import numpy as np

from edgeopt.errors import InputError
from edgeopt.kernels import compiled
from edgeopt.options import real_array
from edgeopt.rounding.kernels import (
    HALF,
    SNAP,
    chain_rows,
    count_fractional,
    depround_shuffled,
    finish,
    pairwise_row,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


LIGHTEST, HEAVIEST = 1e-100, 1e100
"""Weights between these can be added and multiplied without overflow or loss of digits."""


def as_rows(field: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return one vector [n] or a batch [B, n] as a contiguous array of its own shape."""
    array = real_array(field, values)
    if array.ndim not in (1, 2):
        raise InputError(
            field,
            "must have shape [n], or [B, n] for a batch",
            value=f"array of shape {array.shape}",
        )
    if array.size == 0:
        raise InputError(field, "needs at least one entry", value=f"array of shape {array.shape}")
    # Compiled code would be translated a second time for arrays that are read-only.
    return np.require(array, np.float64, ["C", "W"])


def check_range(field: str, array: NDArray[np.float64], low: float, high: float, rule: str) -> None:
    """Raise for the first entry that is not between `low` and `high`; NaN never is."""
    # Two passes without memory of their own: a tenth of the time of a comparison by entries.
    if low <= array.min() and array.max() <= high:
        return
    index = tuple(int(i) for i in np.argwhere(~((array >= low) & (array <= high)))[0])
    raise InputError(field, rule, index=index, value=float(array[index]))


def fraction_rows(field: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return fractions in [0, 1], up to 1e-9 beyond, as `as_rows` does."""
    array = as_rows(field, values)
    check_range(field, array, -SNAP, 1 + SNAP, "must lie in [0, 1]")
    return array


def weight_rows(
    weights: ArrayLike | None, shape: tuple[int, ...], *, zero: bool = False
) -> NDArray[np.float64]:
    """Return weights as rows, [B, n] or [1, n] for all rows alike; None stands for ones."""
    if weights is None:
        return np.ones((1, shape[-1]))
    array = as_rows("weights", weights)
    if array.shape not in (shape, shape[-1:]):
        raise InputError(
            "weights",
            f"must have shape {shape[-1:]}, or that of the numbers, {shape}",
            value=f"array of shape {array.shape}",
        )
    positive = f"must be between {LIGHTEST} and {HEAVIEST}"
    if zero:
        light = array.min()
        check_range("weights", array, 0.0, HEAVIEST, f"must be 0, or {positive[8:]}")
        if light < LIGHTEST:
            occupied = np.where(array == 0.0, 1.0, array)
            check_range("weights", occupied, LIGHTEST, HEAVIEST, f"must be 0, or {positive[8:]}")
    elif array.min() <= 0:
        check_range("weights", array, np.nextafter(0, 1), np.inf, "must be positive")
    else:
        check_range("weights", array, LIGHTEST, HEAVIEST, positive)
    return array.reshape(-1, shape[-1])


def budget_rows(budget: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Return one budget per row, infinite ones included."""
    array = np.atleast_1d(as_rows("budget", np.atleast_1d(np.asarray(budget))))
    if array.shape not in ((1,), (rows,)):
        raise InputError(
            "budget",
            f"must be one number, or one for each of the {rows} rows",
            value=f"array of shape {array.shape}",
        )
    check_range("budget", array, 0.0, np.inf, "must be at least 0")
    return np.broadcast_to(array, (rows,))


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
