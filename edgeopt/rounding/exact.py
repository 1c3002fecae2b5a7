"""Exact output distributions of the roundings, for small inputs: what a theorem can be checked on.

All paths of the chain of pair steps are followed in exact arithmetic; input is any real numbers,
taken for what they are exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_choice
from edgeopt.rounding.rows import FILLING, check_filling, check_segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

Numbers: TypeAlias = Iterable[Fraction] | Iterable[float]

_SLACK = Fraction(1, 10**9)
_ONE, _HALF = Fraction(1), Fraction(1, 2)


def _exact_number(field: str, value: object, index: tuple[int, ...] | None = None) -> Fraction:
    """Return the number as a fraction; a float becomes the binary fraction that it is."""
    if isinstance(value, Rational):
        # NumPy's whole numbers would go on overflowing inside of a fraction.
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (float, np.floating, Decimal)):
        if math.isfinite(value):
            return Fraction(value if isinstance(value, Decimal) else float(value))
        raise InputError(field, "must be finite", index=index, value=value)
    raise InputError(field, "must be a real number", index=index, value=repr(value))


def _exact_numbers(field: str, values: object, count: int | None = None) -> tuple[Fraction, ...]:
    """Return a row of numbers as fractions."""
    if not isinstance(values, Iterable):
        raise InputError(field, "must be a row of numbers", value=repr(values))
    row = tuple(_exact_number(field, value, (i,)) for i, value in enumerate(values))
    if not row:
        raise InputError(field, "needs at least one entry")
    if count is not None and len(row) != count:
        raise InputError(field, f"must have {count} entries, has {len(row)}")
    return row


def _exact_fractions(field: str, values: object) -> tuple[Fraction, ...]:
    """Return a row of numbers in [0, 1]; what exceeds them by less than 1e-9 is cut off."""
    row = _exact_numbers(field, values)
    for i, value in enumerate(row):
        if not -_SLACK <= value <= 1 + _SLACK:
            raise InputError(field, "must lie in [0, 1]", index=(i,), value=value)
    return tuple(min(max(value, Fraction(0)), Fraction(1)) for value in row)


def _exact_weights(
    values: object, count: int, *, zero: bool = False, field: str = "weights"
) -> tuple[Fraction, ...]:
    """Return `count` positive weights, or ones for None; `zero` allows zeros as well."""
    if values is None:
        return (Fraction(1),) * count
    row = _exact_numbers(field, values, count)
    for i, value in enumerate(row):
        if value < 0 or (value == 0 and not zero):
            rule = "must be at least 0" if zero else "must be positive"
            raise InputError(field, rule, index=(i,), value=value)
    return row


Distribution: TypeAlias = dict[tuple[int, ...], Fraction]
"""Probability of every outcome that is possible."""

Order: TypeAlias = Literal["index", "random"]

_LARGEST = {"index": 18, "random": 8}
"""Number of fractional entries up to which the paths are followed, by order."""


class Ending(NamedTuple):
    """Where a path of pair steps ends: decisions, and at most one entry without."""

    bits: tuple[int, ...]  # decisions; 0 at the entry without
    last: int  # index of the last fractional entry, or -1
    fraction: Fraction  # what is left of it


class _State(NamedTuple):
    """Decisions so far (-1 where none is), and the entry that the next one is paired with."""

    bits: tuple[int, ...]
    carry: int
    fraction: Fraction


def chain_distribution(
    values: Sequence[Fraction],
    weights: Sequence[Fraction],
    order: Order,
    field: str,
    segments: int = 1,
) -> dict[Ending, Fraction]:
    """Return the probability of every ending of the chain of pair steps."""
    check_choice("order", order, _LARGEST)
    if 1 < segments <= len(values):
        return _joined_distribution(values, weights, field, segments)
    bits = tuple(-1 if 0 < value < 1 else int(value) for value in values)
    count = bits.count(-1)
    if count > _LARGEST[order]:
        raise InputError(
            field,
            f"the exact distribution takes at most {_LARGEST[order]} fractional entries with "
            f"order={order!r}, here are {count}; sample instead",
        )
    distribution = {_State(bits, -1, Fraction(0)): Fraction(1)}
    for _ in range(count):
        following: dict[_State, Fraction] = {}
        for state, chance in distribution.items():
            untouched = [i for i, bit in enumerate(state.bits) if bit < 0 and i != state.carry]
            if order == "index":
                untouched = untouched[:1]
            for i in untouched:
                for reached, share in _meet(state, i, values, weights):
                    add = chance * share / len(untouched)
                    following[reached] = following.get(reached, Fraction(0)) + add
        distribution = following
    endings: dict[Ending, Fraction] = {}
    for state, chance in distribution.items():
        ending = Ending(tuple(max(bit, 0) for bit in state.bits), state.carry, state.fraction)
        endings[ending] = endings.get(ending, Fraction(0)) + chance
    return endings


def _joined_distribution(
    values: Sequence[Fraction], weights: Sequence[Fraction], field: str, segments: int
) -> dict[Ending, Fraction]:
    """Return the endings of chains over segments and one more over what these leave."""
    length = len(values) // segments
    ends = [*(length * k for k in range(1, segments)), len(values)]
    # Decisions so far, and the places and fractions that are left.
    distribution: dict[tuple[tuple[int, ...], tuple[tuple[int, Fraction], ...]], Fraction] = {}
    distribution[(), ()] = _ONE
    for begin, end in zip([0, *ends], ends, strict=False):
        own = chain_distribution(values[begin:end], weights[begin:end], "index", field)
        following: dict[tuple[tuple[int, ...], tuple[tuple[int, Fraction], ...]], Fraction] = {}
        for (bits, left), chance in distribution.items():
            for ending, share in own.items():
                more = () if ending.last < 0 else ((begin + ending.last, ending.fraction),)
                key = (bits + ending.bits, left + more)
                following[key] = following.get(key, Fraction(0)) + chance * share
        distribution = following
    endings: dict[Ending, Fraction] = {}
    for (bits, left), chance in distribution.items():
        if not left:
            endings[Ending(bits, -1, Fraction(0))] = chance
            continue
        places = [place for place, _ in left]
        joined = chain_distribution(
            [part for _, part in left], [weights[i] for i in places], "index", field
        )
        for ending, share in joined.items():
            decided = bits
            for place, bit in zip(places, ending.bits, strict=True):
                decided = _with(decided, place, bit)
            last = places[ending.last] if ending.last >= 0 else -1
            found = Ending(decided, last, ending.fraction)
            endings[found] = endings.get(found, Fraction(0)) + chance * share
    return endings


def _meet(
    state: _State, new: int, values: Sequence[Fraction], weights: Sequence[Fraction]
) -> Iterator[tuple[_State, Fraction]]:
    """Yield the states after the carry has met entry `new`, with their probabilities."""
    if state.carry < 0:
        yield _State(state.bits, new, values[new]), Fraction(1)
        return
    old, ratio = state.carry, weights[new] / weights[state.carry]
    up = min(1 - state.fraction, ratio * values[new])
    down = min(state.fraction, ratio * (1 - values[new]))
    for change, chance in ((up, down), (-down, up)):
        bits = list(state.bits)
        carry, fraction = -1, Fraction(0)
        ends = (old, state.fraction + change), (new, values[new] - change / ratio)
        for i, value in ends:
            if 0 < value < 1:
                carry, fraction = i, value
            else:
                bits[i] = int(value)
        yield _State(tuple(bits), carry, fraction), chance / (up + down)


Gain: TypeAlias = Numbers | Callable[["NDArray[np.bool_]"], Numbers]


def depround_distribution(
    y: Numbers,
    weights: Numbers | None = None,
    *,
    residual: Literal["bernoulli", "drop", "fill", "half", "reserve"] = "bernoulli",
    order: Order = "index",
    gain: Gain | None = None,
    budget: Fraction | float | None = None,
    segments: Literal[1, 4] = 1,
) -> Distribution:
    r"""Return the exact distribution of what `depround` draws.

    Parameters
    ----------
    y
        Fractions in [0, 1], n of them. Fractions and integers stay exact, a float is taken for the
        binary fraction that it is.
    weights
        Positive weights, n of them; None for ones.
    residual, order, gain, budget, segments
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
        weighted sum of `y` exceeds the budget, or, with ``"half"`` and ``"reserve"``, a fractional
        entry alone does.
    OptionError
        If there is no such option, or `gain`, `budget` or `segments` does not go with the others.

    Notes
    -----
    `depround` itself works in floating point: it takes an entry within 1e-9 of 0 or 1 for
    integral, which changes no probability by more than that.

    Gandhi, Khuller, Parthasarathy and Srinivasan, "Dependent rounding and its applications to
    approximation algorithms" (2006), with every coin followed to both sides.

    Examples
    --------
    >>> from fractions import Fraction
    >>> share = [Fraction(1, 2), Fraction(1, 3), Fraction(3, 4)]
    >>> for outcome, probability in sorted(depround_distribution(share, [2, 3, 4]).items()):
    ...     print(outcome, probability)
    (0, 0, 1) 1/6
    (0, 1, 0) 1/8
    (0, 1, 1) 5/24
    (1, 0, 0) 1/8
    (1, 0, 1) 3/8
    """
    values = _exact_fractions("y", y)
    sizes = _exact_weights(weights, len(values))
    total = sum((s * v for s, v in zip(sizes, values, strict=True)), Fraction(0))
    limit = total if budget is None else _exact_number("budget", budget)
    check_choice("residual", residual, ("bernoulli", "drop", *FILLING))
    check_segments(segments, order)
    check_filling(residual, gain, budget)
    if total > limit:
        raise InputError("budget", f"must be at least the weighted sum of y, {total}", value=limit)
    if residual in ("half", "reserve"):
        _check_alone(residual, values, sizes, limit)
    parts = _reserved(values, sizes, total, limit) if residual == "reserve" else values
    distribution: Distribution = {}
    for ending, chance in chain_distribution(parts, sizes, order, "y", segments).items():
        for bits, share in _finish(ending, residual):
            if residual == "fill" or gain is not None:
                bits = _filled(bits, sizes, limit, values if gain is None else gain)
            distribution[bits] = distribution.get(bits, Fraction(0)) + chance * share
    return distribution


def pairwise_distribution(
    x: Numbers,
    weights: Numbers,
    *,
    residual: Literal["floor", "bernoulli"] = "floor",
    margin: Fraction | float | None = None,
) -> Distribution:
    """Return the exact distribution of what `pairwise` draws.

    Parameters
    ----------
    x
        Numbers of at least 0, n of them; exact as in `depround_distribution`.
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

    Notes
    -----
    Zhu et al., Algorithm 2, with every coin followed to both sides.

    Examples
    --------
    >>> from fractions import Fraction
    >>> rounds = [Fraction(5, 2), Fraction(1, 2)]
    >>> for outcome, probability in pairwise_distribution(rounds, [1, 1]).items():
    ...     print(outcome, probability)
    (3, 0) 1/2
    (2, 1) 1/2
    """
    numbers = _exact_numbers("x", x)
    for i, number in enumerate(numbers):
        if number < 0:
            raise InputError("x", "must be at least 0", index=(i,), value=number)
    sizes = _exact_weights(weights, len(numbers), zero=True)
    check_choice("residual", residual, ("floor", "bernoulli"))
    if margin is not None and residual == "floor":
        raise OptionError("margin goes with 'bernoulli': 'floor' needs none")
    room = None if margin is None else _exact_number("margin", margin)
    if room is not None and room < 0:
        raise InputError("margin", "must be at least 0", value=room)
    whole = [number.numerator // number.denominator for number in numbers]
    parts = [number - floor for number, floor in zip(numbers, whole, strict=True)]
    # Entries that weigh nothing take no part in the chain: each has its own coin.
    joined = [v if s > 0 else Fraction(0) for v, s in zip(parts, sizes, strict=True)]
    free = [i for i, s in enumerate(sizes) if s == 0 and parts[i] > 0]
    distribution: Distribution = {}
    for ending, chance in chain_distribution(
        joined, [s or _ONE for s in sizes], "index", "x"
    ).items():
        last = ending.last
        drawn = residual == "bernoulli" and (
            room is None or (1 - ending.fraction) * sizes[last] <= room
        )
        outcomes = dict(_finish(ending, "bernoulli" if drawn else "drop"))
        for i in free:
            outcomes = {
                _with(bits, i, bit): share * (parts[i] if bit else 1 - parts[i])
                for bits, share in outcomes.items()
                for bit in (0, 1)
            }
        for bits, share in outcomes.items():
            counts = tuple(floor + bit for floor, bit in zip(whole, bits, strict=True))
            distribution[counts] = distribution.get(counts, Fraction(0)) + chance * share
    return distribution


def _finish(ending: Ending, residual: str) -> list[tuple[tuple[int, ...], Fraction]]:
    """Decide on the last fractional entry: outcomes and their probabilities."""
    bits, last, fraction = ending
    if last < 0 or residual in ("drop", "fill"):
        return [(bits, _ONE)]
    if residual in ("bernoulli", "reserve"):
        return [(bits, 1 - fraction), (_with(bits, last, 1), fraction)]
    # Half of the time that the residual is drawn it stays alone, otherwise it is what goes.
    alone = _with((0,) * len(bits), last, 1)
    return [(bits, 1 - fraction * _HALF), (alone, fraction * _HALF)]


def _with(bits: tuple[int, ...], index: int, bit: int) -> tuple[int, ...]:
    return (*bits[:index], bit, *bits[index + 1 :])


def _check_alone(
    residual: str, values: Sequence[Fraction], sizes: Sequence[Fraction], limit: Fraction
) -> None:
    """Raise unless the residual fits alone, whichever entry it is."""
    for i, (value, size) in enumerate(zip(values, sizes, strict=True)):
        if 0 < value < 1 and size > limit:
            rule = f"alone exceeds the budget {limit}: residual={residual!r} needs y = 0 here"
            raise InputError("weights", rule, index=(i,), value=size)


def _reserved(
    values: tuple[Fraction, ...], sizes: tuple[Fraction, ...], total: Fraction, limit: Fraction
) -> tuple[Fraction, ...]:
    """Scale fractions down if the last one may not fit besides."""
    fractional = [(v, s) for v, s in zip(values, sizes, strict=True) if 0 < v < 1]
    if all(total + s <= limit for _, s in fractional):
        return values
    if len({s for _, s in fractional}) == 1 and sum(v for v, _ in fractional).denominator == 1:
        return values  # none is last
    share = (limit - max(s for s, v in zip(sizes, values, strict=True) if v > 0)) / total
    return tuple(v * share for v in values)


def _filled(
    bits: tuple[int, ...], sizes: Sequence[Fraction], limit: Fraction, gain: Gain
) -> tuple[int, ...]:
    """Add the entry of most gain per weight that fits, until none of positive gain does."""
    left = limit - sum((s for s, bit in zip(sizes, bits, strict=True) if bit), Fraction(0))
    while True:
        marginal = gain(np.array(bits, dtype=np.bool_)) if callable(gain) else gain
        gains = _exact_numbers("gain", marginal, len(bits))
        fitting = [i for i, bit in enumerate(bits) if not bit and sizes[i] <= left and gains[i] > 0]
        if not fitting:
            return bits
        best = max(fitting, key=lambda i: (gains[i] / sizes[i], -i))
        bits = _with(bits, best, 1)
        left -= sizes[best]
