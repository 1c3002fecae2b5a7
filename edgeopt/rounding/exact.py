"""Exact output laws of the roundings, for small inputs: what a theorem can be checked on."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_choice
from edgeopt.rounding.chain_law import Law, Order, chain_law
from edgeopt.rounding.exact_input import (
    Numbers,
    exact_fractions,
    exact_number,
    exact_numbers,
    exact_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.rounding.chain_law import Ending

__all__ = ["Law", "depround_law", "pairwise_law"]

Gain: TypeAlias = Numbers | Callable[["NDArray[np.bool_]"], Numbers]

_ONE, _HALF = Fraction(1), Fraction(1, 2)


def depround_law(
    y: Numbers,
    weights: Numbers | None = None,
    *,
    residual: Literal["bernoulli", "drop", "fill", "half"] = "bernoulli",
    order: Order = "index",
    gain: Gain | None = None,
    budget: Fraction | float | None = None,
) -> Law:
    r"""Return the exact distribution of what `depround` draws.

    Parameters
    ----------
    y
        Fractions in [0, 1], n of them. Fractions and integers stay exact, a float is taken for the
        binary fraction that it is.
    weights
        Positive weights, n of them; None for ones.
    residual, order, gain, budget
        As in `depround`. A callable gain gets the current decisions as a bool array [n] and may
        return fractions.

    Returns
    -------
    Probability of every possible outcome; they sum to exactly 1.

    Raises
    ------
    InputError
        If an entry is no number, lies outside [0, 1], a weight is not positive, a row is empty or
        of another length, there are more than 18 fractional entries (8 in random order), the
        weighted sum of `y` exceeds the budget, or, with ``"half"``, a fractional entry alone does.
    OptionError
        If there is no such option, or `gain` or `budget` does not go with the residual mode.

    Notes
    -----
    `depround` itself works in floating point: it takes an entry within 1e-9 of 0 or 1 for
    integral, which changes no probability by more than that.

    Examples
    --------
    >>> from fractions import Fraction
    >>> law = depround_law([Fraction(1, 2), Fraction(1, 3), Fraction(3, 4)], [2, 3, 4])
    >>> for outcome, probability in sorted(law.items()):
    ...     print(outcome, probability)
    (0, 0, 1) 1/6
    (0, 1, 0) 1/8
    (0, 1, 1) 5/24
    (1, 0, 0) 1/8
    (1, 0, 1) 3/8
    """
    values = exact_fractions("y", y)
    sizes = exact_weights(weights, len(values))
    total = sum((s * v for s, v in zip(sizes, values, strict=True)), Fraction(0))
    limit = total if budget is None else exact_number("budget", budget)
    check_choice("residual", residual, ("bernoulli", "drop", "fill", "half"))
    if residual in ("bernoulli", "drop") and not (gain is None and budget is None):
        raise OptionError(f"gain and budget go with 'fill' and 'half', not with {residual!r}")
    if total > limit:
        raise InputError("budget", f"must be at least the weighted sum of y, {total}", value=limit)
    if residual == "half":
        _check_half(values, sizes, limit)
    law: Law = {}
    for ending, chance in chain_law(values, sizes, order, "y").items():
        for bits, share in _settle(ending, residual):
            if residual == "fill" or gain is not None:
                bits = _filled(bits, sizes, limit, values if gain is None else gain)
            law[bits] = law.get(bits, Fraction(0)) + chance * share
    return law


def pairwise_law(
    x: Numbers,
    weights: Numbers,
    *,
    residual: Literal["floor", "bernoulli"] = "floor",
    margin: Fraction | float | None = None,
) -> Law:
    """Return the exact distribution of what `pairwise` draws.

    Parameters
    ----------
    x
        Numbers of at least 0, n of them; exact as in `depround_law`.
    weights
        Weights of at least 0, n of them.
    residual, margin
        As in `pairwise`.

    Returns
    -------
    Probability of every possible outcome; they sum to exactly 1.

    Raises
    ------
    InputError
        If an entry is no number or negative, a row is empty or of another length, or there are
        more than 18 fractional entries.
    OptionError
        If there is no such residual mode, or `margin` does not go with it.

    Examples
    --------
    >>> from fractions import Fraction
    >>> for outcome, probability in pairwise_law([Fraction(5, 2), Fraction(1, 2)], [1, 1]).items():
    ...     print(outcome, probability)
    (3, 0) 1/2
    (2, 1) 1/2
    """
    numbers = exact_numbers("x", x)
    for i, number in enumerate(numbers):
        if number < 0:
            raise InputError("x", "must be at least 0", index=(i,), value=number)
    sizes = exact_weights(weights, len(numbers), zero=True)
    check_choice("residual", residual, ("floor", "bernoulli"))
    if margin is not None and residual == "floor":
        raise OptionError("margin goes with 'bernoulli': 'floor' needs none")
    room = None if margin is None else exact_number("margin", margin)
    if room is not None and room < 0:
        raise InputError("margin", "must be at least 0", value=room)
    whole = [number.numerator // number.denominator for number in numbers]
    parts = [number - floor for number, floor in zip(numbers, whole, strict=True)]
    # Entries that weigh nothing take no part in the chain: each has its own coin.
    joined = [v if s > 0 else Fraction(0) for v, s in zip(parts, sizes, strict=True)]
    free = [i for i, s in enumerate(sizes) if s == 0 and parts[i] > 0]
    law: Law = {}
    chained = chain_law(joined, [s or _ONE for s in sizes], "index", "x")
    for ending, chance in chained.items():
        last = ending.last
        drawn = residual == "bernoulli" and (
            room is None or (1 - ending.fraction) * sizes[last] <= room
        )
        outcomes = dict(_settle(ending, "bernoulli" if drawn else "drop"))
        for i in free:
            outcomes = {
                _with(bits, i, bit): share * (parts[i] if bit else 1 - parts[i])
                for bits, share in outcomes.items()
                for bit in (0, 1)
            }
        for bits, share in outcomes.items():
            counts = tuple(floor + bit for floor, bit in zip(whole, bits, strict=True))
            law[counts] = law.get(counts, Fraction(0)) + chance * share
    return law


def _settle(ending: Ending, residual: str) -> list[tuple[tuple[int, ...], Fraction]]:
    """Decide on the last fractional entry: outcomes and their probabilities."""
    bits, last, fraction = ending
    if last < 0 or residual in ("drop", "fill"):
        return [(bits, _ONE)]
    if residual == "bernoulli":
        return [(bits, 1 - fraction), (_with(bits, last, 1), fraction)]
    # Half of the time that the residual is drawn it stays alone, otherwise it is what goes.
    alone = _with((0,) * len(bits), last, 1)
    return [(bits, 1 - fraction * _HALF), (alone, fraction * _HALF)]


def _with(bits: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    return (*bits[:index], bit, *bits[index + 1 :])


def _check_half(values: Sequence[Fraction], sizes: Sequence[Fraction], limit: Fraction) -> None:
    """Raise unless the residual fits alone, whichever entry it is."""
    for i, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if 0 < value < 1 and size > limit:
            rule = f"alone exceeds the budget {limit}: residual='half' needs y = 0 here"
            raise InputError("weights", rule, index=(i,), value=size)


def _filled(
    bits: tuple[int, ...], sizes: Sequence[Fraction], limit: Fraction, gain: Gain
) -> tuple[int, ...]:
    """Add the entry of most gain per weight that fits, until none of positive gain does."""
    left = limit - sum((s for s, bit in zip(sizes, bits, strict=True) if bit), Fraction(0))
    while True:
        marginal = gain(np.array(bits, dtype=np.bool_)) if callable(gain) else gain
        gains = exact_numbers("gain", marginal, len(bits))
        fitting = [i for i, bit in enumerate(bits) if not bit and sizes[i] <= left and gains[i] > 0]
        if not fitting:
            return bits
        best = max(fitting, key=lambda i: (gains[i] / sizes[i], -i))
        bits = _with(bits, best, 1)
        left -= sizes[best]
