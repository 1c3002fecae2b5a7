"""Where the chain of pair steps ends, and how probably: all its paths in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from edgeopt.errors import InputError
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Ending", "Law", "Order", "chain_law"]

Law: TypeAlias = dict[tuple[int, ...], Fraction]
"""Probability of every outcome that is possible."""

Order: TypeAlias = Literal["index", "random"]

_LARGEST = {"index": 18, "random": 8}
"""Number of fractional entries up to which the paths are followed, by order."""


class Ending(NamedTuple):
    """Where a path of pair steps ends: decisions, and at most one entry without.

    Parameters
    ----------
    bits
        Decisions; 0 at the entry without.
    last
        Index of the last fractional entry, or -1.
    fraction
        What is left of it.
    """

    bits: tuple[int, ...]
    last: int
    fraction: Fraction


class _State(NamedTuple):
    """Decisions so far (-1 where none is), and the entry that the next one is paired with."""

    bits: tuple[int, ...]
    carry: int
    fraction: Fraction


def chain_law(
    values: Sequence[Fraction],
    weights: Sequence[Fraction],
    order: Order,
    field: str,
) -> dict[Ending, Fraction]:
    """Return the probability of every ending of the chain of pair steps."""
    check_choice("order", order, _LARGEST)
    bits = tuple(-1 if 0 < value < 1 else int(value) for value in values)
    count = bits.count(-1)
    if count > _LARGEST[order]:
        raise InputError(
            field,
            f"the exact law takes at most {_LARGEST[order]} fractional entries with "
            f"order={order!r}, here are {count}; sample instead",
        )
    law = {_State(bits, -1, Fraction(0)): Fraction(1)}
    for _ in range(count):
        following: dict[_State, Fraction] = {}
        for state, chance in law.items():
            untouched = [i for i, bit in enumerate(state.bits) if bit < 0 and i != state.carry]
            if order == "index":
                untouched = untouched[:1]
            for i in untouched:
                for reached, share in _meet(state, i, values, weights):
                    add = chance * share / len(untouched)
                    following[reached] = following.get(reached, Fraction(0)) + add
        law = following
    endings: dict[Ending, Fraction] = {}
    for state, chance in law.items():
        ending = Ending(tuple(max(bit, 0) for bit in state.bits), state.carry, state.fraction)
        endings[ending] = endings.get(ending, Fraction(0)) + chance
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
