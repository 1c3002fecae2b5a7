"""Dependent rounding with weights: 0/1 decisions that keep marginals and the weighted sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import check_choice, generator
from edgeopt.rounding.kernels import BERNOULLI, DROP, HALF, HIGH, SNAP, fill_row
from edgeopt.rounding.rows import (
    FILLING,
    as_rows,
    budget_rows,
    check_filling,
    check_range,
    check_segments,
    depround_rows,
    expanded,
    fraction_rows,
    weight_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

_RESIDUAL = {
    "bernoulli": BERNOULLI, "drop": DROP, "fill": DROP, "half": HALF, "reserve": BERNOULLI,
}  # fmt: skip


def depround(
    y: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    rng: int | np.random.Generator,
    residual: Literal["bernoulli", "drop", "fill", "half", "reserve"] = "bernoulli",
    order: Literal["index", "random"] = "index",
    gain: _Gain | None = None,
    budget: ArrayLike | None = None,
    segments: Literal[1, 4] | None = None,
) -> NDArray[np.bool_]:
    r"""Round fractions to dependent 0/1 decisions.

    As long as two entries i, j are fractional, a pair step moves weight between them, up or down by
    as much as makes one of them integral,

    .. math:: (y_i, y_j) \to
        \begin{cases}
        (y_i + d_1,\; y_j - d_1 s_i/s_j) & \text{with probability } d_2/(d_1+d_2),\\
        (y_i - d_2,\; y_j + d_2 s_i/s_j) & \text{otherwise,}
        \end{cases}

    :math:`d_1 = \min(1-y_i, s_j y_j/s_i)`, :math:`d_2 = \min(y_i, s_j(1-y_j)/s_i)`. Both
    expectations and :math:`s_i y_i + s_j y_j` stay what they were. At most one fractional entry is
    left, the residual; `residual` says what becomes of it.

    Parameters
    ----------
    y
        Fractions in [0, 1], shape [n], or [B, n] for a batch of independent roundings, which large
        ones do on the threads that ``NUMBA_NUM_THREADS`` allows. What exceeds [0, 1] by at most
        1e-9 is cut off, and what is within 1e-9 of 0 or 1 is integral.
    weights
        Weights s > 0, between 1e-100 and 1e100, shape [n] or [B, n]; None for ones.
    rng
        Seed or generator. A row of n entries takes n + 1 uniforms from it (2n + 1 in random order),
        rows one after another: a batch gives what its rows give one by one. The pair step that
        takes up an entry uses the entry's own uniform, so that the same seed on a slightly
        different `y` makes nearly the same decisions, each row with its own marginals.
    residual
        What becomes of the last fractional entry r, with fraction :math:`y_r`: ``"bernoulli"``
        draws it with probability :math:`y_r`; ``"drop"`` leaves it out; ``"fill"`` leaves it out
        and fills the room by `gain`; ``"half"`` draws it, and if it comes out 1 a fair coin keeps
        either it alone or the others alone; ``"reserve"`` draws it, after all fractions have been
        scaled down by a share c that keeps room for it, see Notes.
    order
        ``"index"`` joins the two smallest fractional indices, ``"random"`` takes the fractional
        entries in a uniformly random order.
    gain
        For ``"fill"``, and the two below it if room is to be filled there: gain of adding an entry,
        shape [n] or [B, n], or a function that gets the current decisions, bool [n], and returns
        the marginal gains [n] (for a batch it is called row by row). The entry of most gain per
        weight that fits is added until none of positive gain fits; of equals the smallest index.
        None stands for `y` with ``"fill"``, for no filling with ``"half"`` and ``"reserve"``.
    budget
        For ``"fill"``, ``"half"`` and ``"reserve"``: the weight that a decision may have, one
        number or [B]; at least the weighted sum of `y`, which None stands for.
    segments
        4 cuts a row into four parts that are rounded side by side, before what each leaves is
        joined: nearly twice as fast. Everything below holds as before, but sums over the first
        entries leave their mean by up to about two entries instead of one. None does so for rows
        of more than 16,384 entries in index order; 1 never.

    Returns
    -------
    Decisions, bool, of the shape of `y`.

    Raises
    ------
    InputError
        If an entry is NaN or outside [0, 1], a weight is not positive or out of range, shapes do
        not fit, there is no entry at all, a budget is below the weighted sum, a gain is not finite,
        or, with ``"half"`` and ``"reserve"``, a fractional entry alone weighs more than the budget.
    OptionError
        If there is no such option, `rng` is neither a whole number of at least 0 nor a generator,
        or `gain`, `budget` or `segments` does not go with the others.

    See Also
    --------
    edgeopt.rounding.depround_distribution : The exact distribution, for small inputs.
    edgeopt.rounding.pairwise : The same steps on numbers beyond 1.

    Notes
    -----
    What a mode preserves, with x the decision, s_r the weight of the residual entry and
    :math:`b = \sum_i s_i y_i` (or `budget`); "up to 1e-9" of a weight holds everywhere:

    =============  ===================  ======================  ===========  =======================
    residual       :math:`E\,x_i`       :math:`s\cdot x`        x in budget  negative correlation
    =============  ===================  ======================  ===========  =======================
    ``bernoulli``  :math:`y_i`          within :math:`s_r` of   no, by less  yes
                                        :math:`s\cdot y`        than s_r
    ``drop``       at most :math:`y_i`  in                      always       only :math:`E\prod_S
                                        :math:`(b-s_r, b]`                   x_i\le\prod_S y_i`
    ``fill``       no statement         in :math:`(s\cdot y     always       no
                                        - s_r, b]`
    ``half``       in                   at most b               always       only :math:`E\prod_S
                   :math:`[y_i/2,y_i]`                                       x_i\le\prod_S y_i`
    ``reserve``    :math:`c\,y_i`       within :math:`s_r` of   always       yes, with c y for y
                                        :math:`c\,s\cdot y`
    =============  ===================  ======================  ===========  =======================

    The share of ``"reserve"`` is c = 1 where the heaviest fractional entry fits into the budget
    beside y, or where there is no residual, and else :math:`c = (b - \max_{y_i>0} s_i) /
    (s\cdot y) \ge 1 - \max_i s_i/b`. There is none where fractional entries weigh the same and
    sum to a whole number: then all modes but filling ones are the same and have all properties.
    *Negative correlation* is

    .. math:: E \prod_{i\in S}(1 - c_i x_i) \le \prod_{i\in S}(1 - c_i y_i), \qquad
        E \prod_{i\in S} c_i x_i \le \prod_{i\in S} c_i y_i

    for all S and :math:`c \in [0,1]^S`. *Proofs*: marginals and sum hold step by step; a step on
    two members of S lowers the expected product, as it changes :math:`E\,y_i y_j` by
    :math:`-d_1 d_2 s_i/s_j`, and a step on one of them keeps it [1]_, [2]_ (Lemma 2.1). With
    ``"drop"`` and ``"half"``, x is below the x of ``"bernoulli"`` on the same coins.

    *Value.* Let f be monotone and submodular with :math:`f(\emptyset) = 0`. Given the x of
    ``"bernoulli"``, ``"half"`` keeps each of its entries with probability at least 1/2, hence
    :math:`E f \ge \tfrac12 E f(x)` by the Lovász extension [3]_ (Lemma 2.2). For a coverage
    function negative correlation adds :math:`E f(x) \ge (1 - 1/e)` times its concave relaxation at
    y; at c y that is at least c times as much as at y. So ``"reserve"`` keeps more than ``"half"``
    where c > 1/2. Filling afterwards costs neither of them anything.
    ``"fill"`` is worth at least ``"drop"``, and neither keeps a constant share in the worst case:
    weights :math:`(\varepsilon, 1)`, y = :math:`(1, 1-\varepsilon)`, gains
    :math:`(2\varepsilon, 1)` leave :math:`2\varepsilon` with probability 1.

    References
    ----------
    .. [1] R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan, "Dependent rounding and its
       applications to approximation algorithms", Journal of the ACM 53(3), 2006.
    .. [2] J. Byrka, T. Pensyl, B. Rybicki, A. Srinivasan, K. Trinh, "An improved approximation for
       k-median, and positive correlation in budgeted optimization", SODA 2015.
    .. [3] U. Feige, V. Mirrokni, J. Vondrák, "Maximizing non-monotone submodular functions", SIAM
       Journal on Computing 40(4), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.rounding import depround
    >>> depround([0.5, 0.25, 0.25], rng=0).sum()
    np.int64(1)
    >>> many = depround(np.tile([0.5, 1 / 3, 0.75], (40_000, 1)), [2, 3, 4], rng=1)
    >>> many.mean(axis=0).round(2)
    array([0.5 , 0.33, 0.75])
    >>> set((depround([[0.9, 0.8]] * 9, [2, 3], rng=1, residual="drop") @ [2, 3]).tolist())
    {2, 3}
    """
    values = fraction_rows("y", y)
    sizes = weight_rows(weights, values.shape)
    _check_options(residual, order, gain, budget)
    check_segments(segments, order)
    rows = values.reshape(-1, values.shape[-1])
    filling = residual == "fill" or gain is not None
    limits = np.empty(0)
    if residual in FILLING:
        limits = _limits(rows, sizes, budget)
    if residual in ("half", "reserve"):
        _check_alone(residual, values, np.broadcast_to(sizes, rows.shape), limits)
    if residual == "reserve":
        rows = _reserved(rows, sizes, limits)
    chosen = depround_rows(
        rows, sizes, _RESIDUAL[residual], generator(rng), shuffled=order == "random",
        segments=segments,
    )  # fmt: skip
    if filling:
        _fill_rows(chosen, sizes, limits, rows if gain is None else gain)
    return chosen.reshape(values.shape)


def _check_options(residual: str, order: str, gain: object, budget: object) -> None:
    check_choice("residual", residual, _RESIDUAL)
    check_choice("order", order, ("index", "random"))
    check_filling(residual, gain, budget)


def _limits(
    rows: NDArray[np.float64], sizes: NDArray[np.float64], budget: ArrayLike | None
) -> NDArray[np.float64]:
    """Return what every row may weigh, shape [B]."""
    # The snap may lift an entry by 1e-9, and a cut-off entry is not to widen the budget.
    sums = (np.clip(rows, 0.0, 1.0) * sizes).sum(axis=1)
    if budget is None:
        return np.asarray(sums)
    limits = budget_rows(budget, len(rows))
    short = limits < sums * (1 - SNAP)
    if short.any():
        b = int(np.argmax(short))
        rule = f"must be at least the weighted sum of y, {sums[b]:.17g} in row {b}"
        raise InputError("budget", rule, value=float(limits[b]))
    return limits


def _check_alone(
    residual: str,
    values: NDArray[np.float64],
    sizes: NDArray[np.float64],
    limits: NDArray[np.float64],
) -> None:
    """Raise unless the residual fits alone, whichever entry it is."""
    rows = values.reshape(sizes.shape)
    large = (sizes > limits[:, None] * (1 + FITS)) & (rows > SNAP) & (rows < 1 - SNAP)
    if large.any():
        b, i = (int(k) for k in np.argwhere(large)[0])
        rule = f"alone exceeds the budget {limits[b]:.17g}: residual={residual!r} needs y = 0 here"
        index = (i,) if values.ndim == 1 else (b, i)
        raise InputError("weights", rule, index=index, value=float(sizes[b, i]))


def _reserved(
    rows: NDArray[np.float64], sizes: NDArray[np.float64], limits: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scale the rows down in which the last fractional entry may not fit besides."""
    sums = (np.clip(rows, 0.0, 1.0) * sizes).sum(axis=1)
    inside = (rows > SNAP) & (rows < HIGH)
    largest = np.where(inside, sizes, 0.0).max(axis=1)
    # Of equal weights none is left over where the fractions sum to a whole number.
    equal = largest == np.where(inside, sizes, np.inf).min(axis=1)
    count = np.where(inside, rows, 0.0).sum(axis=1)
    residual = ~equal | (np.abs(count - np.rint(count)) > SNAP)
    tight = residual & (sums + largest > limits * (1 + FITS))
    room = np.maximum(limits - np.where(rows > SNAP, sizes, 0.0).max(axis=1), 0.0)
    share = np.divide(room, sums, out=np.ones(len(rows)), where=tight)
    return np.asarray(rows * share[:, None])


_Gain: TypeAlias = "ArrayLike | Callable[[NDArray[np.bool_]], ArrayLike]"
"""Gain of adding each entry: fixed numbers, or a function of the current decisions."""

FITS = 1e-12
"""Share of the budget that sums of weights may be off by."""


def _fill_rows(
    chosen: NDArray[np.bool_],
    weights: NDArray[np.float64],
    budget: NDArray[np.float64],
    gain: _Gain,
) -> None:
    """Add to every row, in place, the entry of most gain per weight until none of gain fits."""
    fixed = None if callable(gain) else _gains(gain, chosen.shape)
    weights = expanded(weights, chosen.shape[1])
    for b, row in enumerate(chosen):
        sizes = weights[b % len(weights)]
        room = budget[b] * (1 + FITS) - sizes[row].sum()
        if callable(gain):
            _fill_by_function(row, sizes, room, gain)
        else:
            assert fixed is not None
            fill_row(fixed[b % len(fixed)], sizes, room, row)


def _gains(gain: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = as_rows("gain", gain)
    if array.shape not in (shape, shape[-1:]):
        raise InputError(
            "gain",
            f"must have shape {shape[-1:]}, or that of the batch, {shape}",
            value=f"array of shape {array.shape}",
        )
    largest = np.finfo(np.float64).max
    check_range("gain", array, -largest, largest, "must be finite")
    return array.reshape(-1, shape[-1])


def _fill_by_function(
    chosen: NDArray[np.bool_],
    weights: NDArray[np.float64],
    room: float,
    gain: Callable[[NDArray[np.bool_]], ArrayLike],
) -> None:
    while True:
        fitting = ~chosen & (weights <= room)
        if not fitting.any():
            return
        gains = _gains(gain(chosen.copy()), chosen.shape)[0]
        fitting &= gains > 0
        if not fitting.any():
            return
        best = int(np.argmax(np.where(fitting, gains / weights, -np.inf)))
        chosen[best] = True
        room -= weights[best]
