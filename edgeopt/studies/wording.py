"""Numbers as text, the same in pictures, pages and on terminals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "called",
    "capitalised",
    "duration",
    "interval",
    "listed",
    "number",
    "percent",
    "plural",
    "power",
    "uncapitalised",
]

NOTHING = "\N{EN DASH}"
"""Stands for a missing number."""

_MINUS = "\N{MINUS SIGN}"
_PERCENT = "\N{NO-BREAK SPACE}%"


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with so many significant digits, an integer whole: ``1234.6``, ``0.0567``."""
    if value is None or not math.isfinite(value):
        if value is None or math.isnan(value):
            return NOTHING
        return "∞" if value > 0 else f"{_MINUS}∞"
    if value == 0:
        return "0"
    if isinstance(value, int):
        return f"{value}".replace("-", _MINUS)
    # The exponent after rounding: 0.99999 with two digits is 1.0, not 1.00.
    magnitude = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if magnitude >= 7 or magnitude < -4:
        return power(value, min(digits, 3))
    text = f"{value:.{max(0, digits - 1 - magnitude)}f}"
    return text.replace("-", _MINUS)


def power(value: float | None, digits: int = 2) -> str:
    """Write a number as a power of ten: ``3.1·10⁻⁹``."""
    if value is None or not math.isfinite(value):
        return number(value)
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa.replace('-', _MINUS)}·10{raised}"


def percent(share: float | None, decimals: int = 1) -> str:
    """Write a share as a percentage: ``68.9 %``."""
    if share is None or not math.isfinite(share):
        return NOTHING
    text = f"{100 * share:.{decimals}f}"
    if float(text) == 0.0:
        text = text.removeprefix("-")
    return f"{text}{_PERCENT}".replace("-", _MINUS)


def interval(low: float, high: float, *, share: bool = False, digits: int = 4) -> str:
    """Write an interval: ``68.4 to 69.4 %``."""
    if math.isnan(low) or math.isnan(high):
        return NOTHING
    if share:
        return f"{percent(low).removesuffix(_PERCENT)} to {percent(high)}"
    return f"{number(low, digits)} to {number(high, digits)}"


def duration(seconds: float) -> str:
    """Write a time in a suitable unit: ``12 ms``, ``0.84 s``, ``3 min 20 s``."""
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def plural(count: float, noun: str) -> str:
    """Count things: ``1 server``, ``4 servers``, ``2.5 servers``."""
    shown = f"{count:g}" if isinstance(count, int) else number(count, 3)
    return f"{shown} {noun}" if count == 1 else f"{shown} {noun}s"


def listed(names: list[str]) -> str:
    """Join names for a sentence: ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def called(names: Sequence[str] | None, noun: str, place: int) -> str:
    """Return the name of one of several things, or its number: ``site 3``."""
    return f"{noun} {place}" if names is None else names[place]


def capitalised(heading: str) -> str:
    """Begin a heading with a capital; names of bounds keep theirs."""
    return heading[:1].upper() + heading[1:]


def uncapitalised(heading: str) -> str:
    """Write a heading within a line: ``latency (ms)``; units keep their capitals."""
    return heading[:1].lower() + heading[1:]
