"""Units of data: which differ by a factor alone, and which by what they measure."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, NamedTuple

from edgeopt.errors import InstanceError

_PREFIXES: Final = {
    "": 0, "n": -9, "u": -6, "\N{MICRO SIGN}": -6, "m": -3, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12,
    "P": 15,
}  # fmt: skip

_BASES: Final[dict[str, tuple[str, Fraction]]] = {
    "MAC": ("MAC", Fraction(1)), "FLOP": ("FLOP", Fraction(1)), "cycle": ("cycle", Fraction(1)),
    "cycles": ("cycle", Fraction(1)), "bit": ("bit", Fraction(1)), "B": ("bit", Fraction(8)),
    "s": ("s", Fraction(1)), "Hz": ("1/s", Fraction(1)), "W": ("W", Fraction(1)),
    "Wh": ("Wh", Fraction(1)), "J": ("Wh", Fraction(1, 3600)), "m": ("m", Fraction(1)),
}  # fmt: skip
"""Units that take a prefix: what they measure, and how much of it."""

_WHOLE: Final[dict[str, tuple[str, Fraction]]] = {
    "1": ("", Fraction(1)), "percent": ("", Fraction(1, 100)), "%": ("", Fraction(1, 100)),
    **dict.fromkeys(("sec", "second", "seconds"), ("s", Fraction(1))),
    **dict.fromkeys(("min", "minute", "minutes"), ("s", Fraction(60))),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("s", Fraction(3600))),
    **dict.fromkeys(("d", "day", "days"), ("s", Fraction(86400))), "milli": ("", Fraction(1, 1000)),
    "bits": ("bit", Fraction(1)), "$": ("$", Fraction(1)),
    "USD": ("$", Fraction(1)), "slot": ("slot", Fraction(1)), "slots": ("slot", Fraction(1)),
    "KiB": ("bit", Fraction(8 * 1024)), "MiB": ("bit", Fraction(8 * 1024**2)),
    "GiB": ("bit", Fraction(8 * 1024**3)), "TiB": ("bit", Fraction(8 * 1024**4)),
    "dBm": ("dBm", Fraction(1)), "profit": ("profit", Fraction(1)),
}  # fmt: skip
"""Units that take none."""


class _Measure(NamedTuple):
    """What a unit measures, as powers of what is measured, and how much of it."""

    powers: tuple[tuple[str, int], ...]
    amount: Fraction


def factor(field: str, found: str, expected: str) -> float:
    """Return by what a number in one unit is multiplied to be in another.

    Units are products and quotients of bits and bytes (of 1,000, or 1,024 as KiB, MiB, GiB),
    seconds, minutes, hours and days, watts, watt-hours and joules, operations (MAC, FLOP, cycle),
    hertz, metres, dollars and slots, with prefixes from n to P.
    """
    given, wanted = _measure(found), _measure(expected)
    if found == expected:
        return 1.0
    if given is None or wanted is None:
        rule = f"unit {found!r} is unknown, expected {expected!r}; convert the numbers"
        raise InstanceError(field, rule)
    if given.powers != wanted.powers:
        rule = f"unit {found!r} is no {expected!r}: it measures something else; correct it"
        raise InstanceError(field, rule)
    return float(given.amount / wanted.amount)


def measures_time(unit: str) -> bool:
    """Return whether a unit differs from a second by a factor alone."""
    measured = _measure(unit)
    return measured is not None and measured.powers == (("s", 1),)


def _measure(unit: str) -> _Measure | None:
    powers: dict[str, int] = {}
    amount = Fraction(1)
    for sign, text in re.findall(r"(^|[*/·])([^*/·]*)", unit.replace(" ", "")):
        known = _one(text)
        if known is None:
            return None
        power = -1 if sign == "/" else 1
        amount *= known[1] ** power
        numerator, _, denominator = known[0].partition("/")
        for measured, more in ((numerator, power), (denominator, -power)):
            if measured not in ("", "1"):
                powers[measured] = powers.get(measured, 0) + more
    return _Measure(tuple(sorted((name, n) for name, n in powers.items() if n)), amount)


def _one(text: str) -> tuple[str, Fraction] | None:
    if text in _WHOLE:
        return _WHOLE[text]
    for base, (measured, amount) in _BASES.items():
        prefix = text.removesuffix(base)
        if text.endswith(base) and prefix in _PREFIXES:
            return measured, amount * Fraction(10) ** _PREFIXES[prefix]
    return None
