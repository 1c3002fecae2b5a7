"""Checks that functions, policies and generators make of their options, before any work begins.

A number is a number of Python or NumPy, never a truth value, a text or an array; nothing is
converted on the way.
"""

from __future__ import annotations

import reprlib
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ENTRIES",
    "LARGEST",
    "check_choice",
    "check_flag",
    "check_kind",
    "check_real",
    "check_room",
    "check_text",
    "check_whole",
    "generator",
    "refused",
]

LARGEST: Final = 1e100
"""Real options are at most this in magnitude, so that products of a few of them stay finite."""

ENTRIES: Final = 2**30
"""Entries of one array that a call may ask for: 8 GiB of numbers."""

_RULES: Final = {
    "(0, inf)": "must be positive and finite",
    "(0, inf]": "must be positive",
    "[0, inf)": "must be finite and not negative",
    "[0, inf]": "must not be negative",
    "(-inf, inf)": "must be finite",
    "(0, 1)": "must lie strictly between 0 and 1",
}


def refused(name: str, value: object, rule: str) -> OptionError:
    """Return the error that says which option breaks which rule; long values are cut."""
    return OptionError(f"{name} = {' '.join(reprlib.repr(value).split())}: {rule}")


def check_whole(
    name: str, value: object, least: int = 0, most: int | None = None, *, none: bool = False
) -> None:
    """Check that an option is a whole number.

    Parameters
    ----------
    name
        Name of the option.
    value
        What was given.
    least, most
        Smallest and largest number allowed; None: 2^63 - 1.
    none
        Whether None is allowed too.

    Raises
    ------
    OptionError
        If it is not.
    """
    if none and value is None:
        return
    otherwise = ", or None" if none else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise refused(name, value, f"must be a whole number{otherwise}")
    number = int(value)
    if number < least:
        raise refused(name, value, f"must be at least {least}{otherwise}")
    limit = 2**63 - 1 if most is None else most
    if number > limit:
        raise refused(name, value, f"must be at most {limit}{otherwise}")


def check_real(name: str, value: object, span: str = "(-inf, inf)", *, none: bool = False) -> None:
    """Check that an option is a real number within an interval.

    Parameters
    ----------
    name
        Name of the option.
    value
        What was given.
    span
        The interval, such as ``"(0, 1]"``. Infinity is allowed only where a square bracket stands
        beside it; other numbers are at most `LARGEST` in magnitude.
    none
        Whether None is allowed too.

    Raises
    ------
    OptionError
        If it is none, or lies elsewhere.
    """
    if none and value is None:
        return
    otherwise = ", or None" if none else ""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refused(name, value, f"must be a number{otherwise}")
    low, high = (float(end) for end in span[1:-1].split(","))
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        number = float("-inf") if value < 0 else float("inf")
        vast = True
    else:
        vast = LARGEST < abs(number) < float("inf")
    above = number >= low if span[0] == "[" else number > low
    below = number <= high if span[-1] == "]" else number < high
    if not (above and below):
        raise refused(name, value, _RULES.get(span, f"must lie in {span}") + otherwise)
    if vast:
        raise refused(name, value, f"must be at most {LARGEST:g} in magnitude")


def check_flag(name: str, value: object) -> None:
    """Check that an option is a truth value.

    Raises
    ------
    OptionError
        If it is not.
    """
    if not isinstance(value, bool | np.bool_):
        raise refused(name, value, "must be True or False")


def check_choice(name: str, value: object, known: Iterable[object]) -> None:
    """Check that an option is one of a few values.

    Raises
    ------
    OptionError
        Naming them.
    """
    known = tuple(known)
    # An array compares entry by entry, and True equals 1: the type has to be that of a choice.
    if not any(type(value) is type(one) and value == one for one in known):
        raise refused(name, value, f"must be one of {', '.join(map(repr, known))}")


def check_text(name: str, value: object) -> None:
    """Check that an option is a text.

    Raises
    ------
    OptionError
        If it is not.
    """
    if not isinstance(value, str):
        raise refused(name, value, "must be a text")


def check_kind(name: str, value: object, *kinds: type, none: bool = False) -> None:
    """Check that an option is an object of one of some classes.

    Raises
    ------
    OptionError
        Naming the classes.
    """
    if not (isinstance(value, kinds) or (none and value is None)):
        names = " or ".join(kind.__name__ for kind in kinds)
        # The object itself may be large, and says less than its class.
        found = "a class" if isinstance(value, type) else f"a {type(value).__name__}"
        raise OptionError(f"{name}: must be a {names}{', or None' if none else ''}, not {found}")


def check_room(what: str, *sizes: int) -> None:
    """Refuse an array before memory for it is asked for.

    Parameters
    ----------
    what
        What it holds, with the options that it depends on: ``"runs * slots"``.
    *sizes
        Its length along every axis.

    Raises
    ------
    OptionError
        If it would have more than `ENTRIES` entries.
    """
    entries = 1
    for size in sizes:
        entries *= int(size)
    if entries > ENTRIES:
        raise OptionError(f"{what} = {entries}: more than {ENTRIES} numbers are too many to hold")


def generator(rng: Any) -> np.random.Generator:
    """Return the generator of an option ``rng``.

    Parameters
    ----------
    rng
        A seed, which is a whole number >= 0, or a generator, which is returned as it is.

    Raises
    ------
    OptionError
        If it is something else. None is refused: a result without a seed cannot be had again.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, Integral):
        raise refused("rng", rng, "must be a whole number, or a numpy.random.Generator")
    if rng < 0:
        raise refused("rng", rng, "must be at least 0")
    return np.random.default_rng(int(rng))
