"""Rows of a batch: checked, cut into blocks and segments, and rounded on threads where it pays.

Threads of Python run compiled code that holds no lock. A parallel loop of numba would do the same,
but ends the process when one that has used it forks, which worker pools do.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numba
import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.kernels import compiled
from edgeopt.options import check_choice, real_array
from edgeopt.rounding.kernels import (
    LANES,
    SNAP,
    begin_four,
    chain_four,
    chain_on,
    chain_row,
    depround_ragged,
    depround_shuffled,
    finish,
    pairwise_row,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints


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
    if _all_within(array.ravel(), low, high):
        return
    index = tuple(int(i) for i in np.argwhere(~((array >= low) & (array <= high)))[0])
    raise InputError(field, rule, index=index, value=float(array[index]))


@compiled
def _all_within(values: Floats, low: float, high: float) -> bool:
    """Tell whether all numbers are between two, in one pass over memory; NaN never is."""
    inside = 0
    for i in range(values.size):
        inside += (values[i] >= low) & (values[i] <= high)
    return inside == values.size


def fraction_rows(field: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return fractions in [0, 1], up to 1e-9 beyond, as `as_rows` does."""
    array = as_rows(field, values)
    check_range(field, array, -SNAP, 1 + SNAP, "must lie in [0, 1]")
    return array


def weight_rows(
    weights: ArrayLike | None, shape: tuple[int, ...], *, zero: bool = False
) -> NDArray[np.float64]:
    """Return weights as rows, [B, n] or [1, n] for all rows alike; None stands for one, [1, 1]."""
    if weights is None:
        return np.ones((1, 1))
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
    elif not _all_within(array.ravel(), LIGHTEST, HEAVIEST):
        if array.min() <= 0:
            check_range("weights", array, np.nextafter(0, 1), np.inf, "must be positive")
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


FILLING = ("fill", "half", "reserve")
"""Ways to treat the last fractional entry that keep a budget of their own and may fill it."""


def check_filling(residual: str, gain: object, budget: object) -> None:
    """Check that gain and budget come with a residual mode that has a use for them."""
    if residual not in FILLING and not (gain is None and budget is None):
        *others, last = map(repr, FILLING)
        known = f"{', '.join(others)} and {last}"
        raise OptionError(f"gain and budget go with {known}, not with {residual!r}")


def check_segments(segments: int | None, order: str) -> None:
    """Check into how many segments a row may be cut."""
    if segments is not None:
        check_choice("segments", segments, (1, 4), otherwise="None")
        if segments > 1 and order == "random":
            raise OptionError("segments=4 goes with order='index'")


BLOCK = 2**16
"""Entries that share one draw of coins: their coins stay in the processor's cache."""

SEGMENTED = BLOCK // LANES
"""Rows of more entries are cut into segments: fewer of them than chains fit into a block."""

_WORTH_THREADS = 2**18
"""Entries from which threads repay their start."""


def depround_rows(
    values: Floats,
    weights: Floats,
    residual: int,
    rng: np.random.Generator,
    *,
    shuffled: bool = False,
    segments: int | None = None,
) -> Bools:
    """Round every row of `values`, shape [B, n], with weights [B, n] or [1, n]."""
    out = np.empty(values.shape, np.bool_)
    n = values.shape[1]
    if segments is None:
        segments = LANES if n > SEGMENTED and not shuffled else 1
    if segments > 1 and n >= LANES:
        for row, decided, own in zip(values, out, _per_row(weights, len(values)), strict=True):
            _depround_segments(row, own, residual, rng, decided)
        return out
    weights = expanded(weights, n)

    def block(rows: slice, coins: Floats) -> None:
        own = _rows_of(weights, rows)
        kernel = _shuffled_block if shuffled else _depround_block
        kernel(values[rows], own, residual, coins, out[rows])

    _in_blocks(len(values), 2 * n + 1 if shuffled else n + 1, rng, block)
    return out


def pairwise_rows(
    values: Floats, weights: Floats, margin: float, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Round every row of `values`, shape [B, n]: whole numbers, and fractions lost, [B, n] each."""
    out, lost = np.empty(values.shape, np.int64), np.zeros(values.shape)

    def block(rows: slice, coins: Floats) -> None:
        own = _rows_of(weights, rows)
        _pairwise_block(values[rows], own, margin, coins, out[rows], lost[rows])

    _in_blocks(len(values), values.shape[1] + 1, rng, block)
    return out, lost


def _depround_segments(
    values: Floats, weights: Floats, residual: int, rng: np.random.Generator, out: Bools
) -> None:
    """Round one row as four chains side by side, and a fifth over the entries that they leave."""
    length = values.size // LANES
    one = np.arange(LANES) * length
    # Equal weights need no more than one block of them.
    same = weights.size == 1
    weights = np.full(min(length, SEGMENTED) + LANES, weights[0]) if same else weights
    at = np.stack([one, np.zeros_like(one) if same else one, np.zeros_like(one)])
    carry, mass, size = np.empty(LANES, np.int64), np.empty(LANES), np.empty(LANES)
    begin_four(values, weights, at, carry, mass, size)
    coins, unused = np.empty(LANES * min(length, SEGMENTED)), np.empty(LANES)
    for start in range(0, length, SEGMENTED):
        count = min(SEGMENTED, length - start)
        drawn = rng.random(out=coins[: LANES * count])
        at[2] = np.arange(LANES) * count
        if start == 0:
            unused[:] = drawn[at[2]]
        chain_four(values, weights, drawn, at, int(start == 0), count, carry, mass, size, out)
        at[0] += count
        at[1] += 0 if same else count
    rest, last = values.size - LANES * length, LANES - 1
    coins = rng.random(rest + 1)
    carry[last], mass[last], size[last] = chain_on(
        values, weights, coins, carry[last], mass[last], size[last], LANES * length,
        0 if same else LANES * length, 0, rest, out,
    )  # fmt: skip
    _join_segments(carry, mass, size, residual, coins[rest], unused, out)


@compiled(writes="out")
def _join_segments(
    carry: Ints, mass: Floats, size: Floats, residual: int, coin: float, unused: Floats, out: Bools
) -> None:
    """Join what segments leave, by the coins of their first entries, and decide on the last."""
    values = np.empty(carry.size, dtype=np.float64)
    for k in range(carry.size):
        values[k] = mass[k] / size[k]
    decided = np.empty(carry.size, dtype=np.bool_)
    last, left = chain_row(values, size, unused, decided)
    for k in range(carry.size):
        out[carry[k]] = decided[k]
    if last >= 0:
        finish(residual, coin, unused[0], carry[last], left, size[last], out)


def _threads() -> int:
    # Its function of the same purpose would start numba's own threads.
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def _rows_of(weights: Floats, rows: slice) -> Floats:
    return weights if len(weights) == 1 else weights[rows]


def _per_row(weights: Floats, rows: int) -> list[Floats]:
    return [weights[b % len(weights)] for b in range(rows)]


def expanded(weights: Floats, n: int) -> Floats:
    """Return weights of rows of n entries, [B, n] or [1, n], where one may stand for all."""
    return weights if weights.shape[1] == n else np.full((1, n), weights[0, 0])


def _in_blocks(
    rows: int, width: int, rng: np.random.Generator, block: Callable[[slice, Floats], None]
) -> None:
    """Call `block(rows, coins)` for all rows, each with `width` coins, on threads where it pays.

    The coins are drawn here, in the order of the rows, while threads work on those before.
    """
    threads = _threads() if rows * width >= _WORTH_THREADS else 1
    # Rows go four by four, but not where threads would be left without any.
    step = min(max(LANES, BLOCK // width // LANES * LANES), -(-rows // threads))
    starts = range(0, rows, step)
    if threads == 1:
        for start in starts:
            stop = min(start + step, rows)
            block(slice(start, stop), rng.random((stop - start, width)))
        return
    with ThreadPoolExecutor(min(threads, len(starts))) as pool:
        running = []
        for start in starts:
            stop = min(start + step, rows)
            running.append(
                pool.submit(block, slice(start, stop), rng.random((stop - start, width)))
            )
        for done in running:
            done.result()


@compiled(writes="out", nogil=True)
def _depround_block(
    values: Floats, weights: Floats, residual: int, coins: Floats, out: Bools
) -> None:
    """Round rows, shape [B, n], on coins of shape [B, n + 1]."""
    rows, n = values.shape
    at, count = np.zeros((3, rows), dtype=np.int64), np.empty(rows, dtype=np.int64)
    for b in range(rows):
        at[0, b], at[2, b], count[b] = b * n, b * (n + 1), n
        if weights.shape[0] > 1:
            at[1, b] = b * n
    depround_ragged(
        values.ravel(), weights.ravel(), residual, coins.ravel(), at, count, out.ravel()
    )


@compiled(writes="out", nogil=True)
def _shuffled_block(
    values: Floats, weights: Floats, residual: int, coins: Floats, out: Bools
) -> None:
    for b in range(values.shape[0]):
        depround_shuffled(values[b], weights[b % weights.shape[0]], residual, coins[b], out[b])


@compiled(writes="out lost", nogil=True)
def _pairwise_block(
    values: Floats, weights: Floats, margin: float, coins: Floats, out: Ints, lost: Floats
) -> None:
    for b in range(values.shape[0]):
        row = weights[b % weights.shape[0]]
        last, fraction = pairwise_row(values[b], row, margin, coins[b], out[b])
        if last >= 0:
            lost[b, last] = fraction
