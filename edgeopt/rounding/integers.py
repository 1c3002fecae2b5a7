"""Independent and pairwise rounding: a coin for every entry, and pairs under a weighted cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_choice, generator
from edgeopt.rounding.rows import as_rows, check_range, fraction_rows, pairwise_rows, weight_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def independent(y: ArrayLike, *, rng: int | np.random.Generator) -> NDArray[np.bool_]:
    r"""Round every entry on its own: 1 with probability `y`.

    Parameters
    ----------
    y
        Fractions in [0, 1], up to 1e-9 beyond, shape [n], or [B, n] for a batch.
    rng
        Seed or generator; one uniform is taken per entry.

    Returns
    -------
    Decisions, bool, of the shape of `y`.

    Raises
    ------
    InputError
        If an entry is NaN or outside [0, 1], there is none at all, or `y` has other axes.

    See Also
    --------
    edgeopt.rounding.depround : Keeps the weighted sum as well.

    Notes
    -----
    =============  =======================  ===========  ====================
    :math:`E\,x`   :math:`s\cdot x`         x in budget  negative correlation
    =============  =======================  ===========  ====================
    :math:`y`      :math:`s\cdot y` in the  no           with equality
                   mean only
    =============  =======================  ===========  ====================

    By definition; its variance :math:`\sum_i s_i^2 y_i(1-y_i)` is what dependent rounding avoids.

    Raghavan and Thompson, "Randomized rounding: a technique for provably good algorithms and
    algorithmic proofs", Combinatorica 7(4), 1987.

    Examples
    --------
    >>> from edgeopt.rounding import independent
    >>> independent([0.0, 1.0, 0.5], rng=0)[:2]
    array([False,  True])
    """
    values = fraction_rows("y", y)
    return np.asarray(generator(rng).random(values.shape) < values)


_LARGEST = 2.0**52
"""Beyond, a float has no fraction to round."""


@overload
def pairwise(
    x: ArrayLike,
    weights: ArrayLike,
    *,
    rng: int | np.random.Generator,
    residual: Literal["floor", "bernoulli"] = ...,
    carry: None = ...,
    margin: float | None = ...,
) -> NDArray[np.int64]: ...


@overload
def pairwise(
    x: ArrayLike,
    weights: ArrayLike,
    *,
    rng: int | np.random.Generator,
    residual: Literal["floor", "bernoulli"] = ...,
    carry: ArrayLike,
    margin: float | None = ...,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...


def pairwise(
    x: ArrayLike,
    weights: ArrayLike,
    *,
    rng: int | np.random.Generator,
    residual: Literal["floor", "bernoulli"] = "floor",
    carry: ArrayLike | None = None,
    margin: float | None = None,
) -> NDArray[np.int64] | tuple[NDArray[np.int64], NDArray[np.float64]]:
    r"""Round numbers to the whole number below or above, keeping their weighted sum.

    The whole parts stay. The fractions go through the pair steps of `depround`, in index order,
    until at most one of them is left, the residual; entries of weight 0 have their own coins.

    Parameters
    ----------
    x
        Numbers >= 0, below 2^52, shape [n], or [B, n] for a batch of independent roundings. What is
        within 1e-9 of a whole number is taken for it.
    weights
        Weights e >= 0, shape [n] or [B, n]; positive ones between 1e-100 and 1e100.
    rng
        Seed or generator; a row of n entries takes n + 1 uniforms, rows one after another.
    residual
        What becomes of the last fraction :math:`v_r`: ``"floor"`` rounds it down; ``"bernoulli"``
        rounds it up with probability :math:`v_r`.
    carry
        What earlier calls have lost, added to `x`: 0 on the first call, then the second result of
        the call before, of the shape of `x`. None neither adds nor returns it.
    margin
        For ``"bernoulli"``: weight that the caller has kept free above :math:`e\cdot x`. A residual
        that would need more when rounded up, :math:`e_r(1-v_r) >` `margin`, is rounded down
        without a draw. None draws always.

    Returns
    -------
    Whole numbers, of the shape of `x`; with `carry`, these and the fractions lost in this call,
    which lie in [0, 1) and are positive for one entry of a row at most.

    Raises
    ------
    InputError
        If an entry is NaN, negative or too large, a weight is negative or out of range, shapes do
        not fit, there is no entry at all, or `carry` or `margin` is negative.
    OptionError
        If there is no such residual mode; if `margin` comes with ``"floor"``, which needs none, or
        `carry` with ``"bernoulli"`` without a margin, which loses nothing.

    See Also
    --------
    edgeopt.rounding.pairwise_distribution : The exact distribution, for small inputs.
    edgeopt.rounding.reduced_limit : Right-hand side that leaves the room for `margin` and `carry`.

    Notes
    -----
    What a mode preserves, z being the result, :math:`x' = x + \text{carry}`, and e_max the largest
    weight of an entry that is not whole:

    ==================================  ===========================  ===============================
    mode                                :math:`E z`                  :math:`e\cdot z`
    ==================================  ===========================  ===============================
    ``"floor"``                         in :math:`(x-1, x]`, summed  in :math:`(e\cdot x - e_{\max},
                                        loss below 1                 e\cdot x]`, surely
    ``"floor"`` and `carry`             :math:`x' - E` of the new    in :math:`(e\cdot x' -
                                        carry; over T calls an       e_{\max}, e\cdot x']`, surely
                                        entry alone loses below 1
    ``"bernoulli"``                     :math:`x`                    within :math:`e_{\max}` of
                                                                     :math:`e\cdot x`
    ``"bernoulli"`` and `margin` m      :math:`x` if                 at most :math:`e\cdot x + m`,
                                        :math:`m\ge e_{\max}`,       surely
                                        else in :math:`(x-1, x]`
    ==================================  ===========================  ===============================

    No rounding has both exact expectations and :math:`e\cdot z \le e\cdot x` surely for every x:
    x = 1/2 alone would have to become 0. ``"floor"`` on a task whose fraction is constant never
    serves it; `carry` does, as what is lost counts in the next call. `margin` has both, at the
    price of room kept free in the problem that x solves. The pair steps keep
    :math:`E\prod_S(1-c_i v_i)` from growing, so ``"bernoulli"`` has the negative correlation of
    `depround`. *Proofs*: step by step as for `depround`; algorithm and ``"floor"`` after
    Zhu et al., Algorithm 2 and Lemma 1, whose two claims each hold for one of the modes.

    Examples
    --------
    >>> from edgeopt.rounding import pairwise
    >>> pairwise([2.5, 0.5], [1.0, 1.0], rng=0).sum()
    np.int64(3)
    >>> carry = 0.0
    >>> served = []
    >>> for frame in range(4):
    ...     count, carry = pairwise([0.75], [2.0], rng=frame, carry=carry)
    ...     served.append(int(count[0]))
    >>> served, carry
    ([0, 1, 1, 1], array([0.]))
    """
    values = as_rows("x", x)
    check_range("x", values, 0.0, _LARGEST, "must be at least 0 and below 2^52")
    sizes = weight_rows(weights, values.shape, zero=True)
    check_choice("residual", residual, ("floor", "bernoulli"))
    if residual == "floor" and margin is not None:
        raise OptionError("margin goes with 'bernoulli': 'floor' needs none")
    if residual == "bernoulli" and margin is None and carry is not None:
        raise OptionError("carry goes with 'floor' or with a margin: 'bernoulli' loses nothing")
    room = -1.0 if residual == "floor" else np.inf
    if margin is not None:
        room = float(margin)
        if not room >= 0:
            raise InputError("margin", "must be at least 0", value=margin)
    if carry is not None:
        values = values + _carried(carry, values.shape)
    counts, lost = pairwise_rows(values.reshape(-1, values.shape[-1]), sizes, room, generator(rng))
    counts = counts.reshape(values.shape)
    return counts if carry is None else (counts, lost.reshape(values.shape))


def reduced_limit(
    limit: float,
    weights: ArrayLike,
    *,
    residual: Literal["floor", "bernoulli"] = "bernoulli",
    carry: ArrayLike | None = None,
) -> float:
    r"""Return the right-hand side under which a rounded point keeps :math:`e\cdot z \le R`.

    Parameters
    ----------
    limit
        The limit R that the whole numbers must keep.
    weights
        Weights e >= 0, shape [n].
    residual
        Mode of `pairwise`: ``"bernoulli"`` takes the largest weight off, ``"floor"`` nothing.
    carry
        What the next call of `pairwise` will add to the point, shape [n].

    Returns
    -------
    :math:`R - e\cdot\text{carry} - \max_i e_i`, the last for ``"bernoulli"`` only. A point x with
    :math:`e\cdot x` at most this, rounded by `pairwise` in that mode, never exceeds R.

    Raises
    ------
    InputError
        If an argument is out of range, or no room is left: the result would be negative.
    OptionError
        If there is no such residual mode.

    Notes
    -----
    Ours, from the range of :math:`e\cdot z` that `pairwise` keeps surely.

    Examples
    --------
    >>> from edgeopt.rounding import reduced_limit
    >>> reduced_limit(10.0, [1.0, 3.0])
    7.0
    >>> reduced_limit(10.0, [1.0, 3.0], residual="floor", carry=[0.0, 0.5])
    8.5
    """
    sizes = as_rows("weights", weights)
    if sizes.ndim != 1:
        raise InputError("weights", "must have shape [n]", value=f"array of shape {sizes.shape}")
    sizes = weight_rows(sizes, sizes.shape, zero=True)[0]
    check_choice("residual", residual, ("floor", "bernoulli"))
    if not np.isfinite(limit):
        raise InputError("limit", "must be finite", value=limit)
    reduced = float(limit)
    if residual == "bernoulli":
        reduced -= float(sizes.max())
    if carry is not None:
        reduced -= float(sizes @ _carried(carry, sizes.shape))
    if reduced < 0:
        raise InputError("limit", f"leaves no room: {reduced:.6g} after the margin", value=limit)
    return reduced


def _carried(carry: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the carry in the shape of the numbers; a single number stands for all."""
    array = as_rows("carry", np.full(shape, carry) if np.ndim(carry) == 0 else carry)
    if array.shape != shape:
        raise InputError("carry", f"must have shape {shape}", value=f"array of shape {array.shape}")
    check_range("carry", array, 0.0, 1.0, "must lie in [0, 1]")
    return array
