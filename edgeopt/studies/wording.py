"""Numbers as text, the same in pictures, pages and on terminals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

__all__ = [
    "beside",
    "capitalised",
    "distinct",
    "duration",
    "every",
    "gap_said",
    "interval",
    "limit_said",
    "listed",
    "number",
    "percent",
    "plural",
    "portion",
    "power",
    "sampled_said",
    "spreads_said",
    "uncapitalised",
    "value_said",
    "violated_said",
    "with_article",
]

NOTHING = "\N{EN DASH}"
"""Stands for a missing number."""

NO_BOUND = "no bound"
"""Stands for a gap to a bound that does not exist."""

_MINUS = "\N{MINUS SIGN}"
_PERCENT = "\N{NO-BREAK SPACE}%"

_MORE = 8
"""Digits added at most to tell two numbers apart."""


def number(value: float | str | None, digits: int = 4) -> str:
    """Write a number with so many significant digits, an integer whole: ``1234.6``, ``0.0567``.

    A word stands for itself.
    """
    if isinstance(value, str):
        return value
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
        return power(value, digits if digits <= 3 else digits - 1)
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


def portion(share: float, decimals: int = 1) -> str:
    """Write a share so that a positive one never reads as 0 %."""
    least = 10.0 ** -(decimals + 2)
    if 0 < share < least / 2:
        return f"less than {percent(least, decimals)}"
    return percent(share, decimals)


def interval(low: float, high: float, *, share: bool = False, digits: int = 4) -> str:
    """Write an interval: ``68.4 to 69.4 %``, with as many digits as tell its ends apart.

    Equal ends are one number.
    """
    if math.isnan(low) or math.isnan(high):
        return NOTHING
    for more in range(_MORE):
        one, other = (
            percent(end, 1 + more) if share else number(end, digits + more) for end in (low, high)
        )
        if one != other:
            return f"{one.removesuffix(_PERCENT)} to {other}"
    return percent(low) if share else number(low, digits)


def beside(row: Mapping[Any, Any], name: str, *, share: bool = False, digits: int = 3) -> str:
    """Write what stands beside a figure: ``1.1 to 1.2``, ``range 1.1 to 1.2``, ``exact``.

    A row has the ends in NAME_low and NAME_high, what they are in NAME_spread or, for all its
    figures, in spread, and what a comparison found in NAME_finding.
    """
    kind = row.get(f"{name}_spread", row.get("spread", ""))
    low, high = row.get(f"{name}_low", math.nan), row.get(f"{name}_high", math.nan)
    said = str(kind) if kind in ("equal", "exact") else ""
    if low is not None and math.isfinite(low):
        said = interval(low, high, share=share, digits=digits)
        said = f"range {said}" if kind == "range" else said
    return ", ".join(word for word in (said, row.get(f"{name}_finding", "")) if word)


def gap_said(row: Mapping[Any, Any], *, digits: int = 3, ends: bool = False) -> str:
    """Write the gap of a row, and its ends if wanted: ``31.1 %``, or ``no bound``.

    To a bound of 0 it is a difference, which is said: ``0.42 ms from a bound of 0``.
    """
    gap, unit = row["gap"], row.get("gap_unit", "")
    if math.isnan(gap):
        return NO_BOUND
    if row.get("beyond") == "contradiction":
        return "contradicts its bound"
    if row.get("beyond") and row.get("gap_spread") == "interval" and not unit:
        return f"0 to {percent(row['gap_high'])}"
    more = beside(row, "gap", share=not unit, digits=digits) if ends else ""
    said = percent(gap) if math.isfinite(gap) else number(gap)
    if unit:
        amount = number(gap, digits) if unit == "dimensionless" else f"{number(gap, digits)} {unit}"
        said = f"{amount} from a bound of 0"
    return f"{said} ({more})" if more else said


def counted(count: float) -> str:
    """Write how many there are per run, to a tenth below 100."""
    return number(float(count), 2 + (count >= 10))


def violated_said(count: float, total: float) -> str:
    """Write violated constraints per run: ``9.2 of 16 (58 %)``, or ``0``."""
    if not count > 0 or not total > 0:
        return number(float(count), 2)
    return f"{counted(count)} of {number(total, 3)} ({portion(count / total, 0)})"


def with_article(label: str) -> str:
    """Write the name of a bound within a sentence: ``the safe bound``, but ``OPT``."""
    return f"the {label}" if "bound" in label else label


def sampled_said(how: str) -> str:
    """Return ``"in N runs"`` where only these tell that a bound is valid, else nothing."""
    return how if how.startswith("in ") else ""


def limit_said(row: Mapping[Any, Any], objective: Any, digits: int = 4) -> str:
    """Say what bounds a value beyond its bound: ``at most 20.72 (proven)``, else nothing."""
    if row.get("beyond") != "chance":
        return ""
    side = "most" if objective.sense == "max" else "least"
    known = sampled_said(row.get("bound_how", ""))
    limit = objective.amount(row["bound_value"], digits)
    return f"at {side} {limit} ({f'valid {known}' if known else 'proven'})"


def value_said(row: Mapping[Any, Any], objective: Any, digits: int = 4) -> str:
    """Write the value of a row; beyond its bound, what is proven and what the runs would give."""
    limit, value = limit_said(row, objective, digits), number(row["value"], digits)
    if row.get("beyond") == "contradiction":
        return f"{value}, contradicts its bound"
    return f"{limit}; the runs alone would give {value}" if limit else value


def every(row: Mapping[Any, Any], name: str) -> str:
    """List all values of a figure, where there are few of them: ``each: 1.1, 1.4``."""
    values = row.get(f"{name}_each")
    return (
        f"each: {', '.join(number(one, 6) for one in values)}" if isinstance(values, list) else ""
    )


def spreads_said(
    rows: Iterable[Mapping[Any, Any]], confidence: float = 0.95, *, drawn: bool = True
) -> str:
    """Say what stands beside the figures of rows over instances, and what they are."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        for name, kind in row.items():
            if str(name).endswith("_spread"):
                counts.setdefault(str(kind), []).append(int(row["instances"]))
    over = {
        kind: f"{min(those)} to {max(those)}" if min(those) < max(those) else f"{those[0]}"
        for kind, those in counts.items()
    }
    said, what = [], "drawn instances" if drawn else "instances, of which alone this is said"
    if "interval" in over:
        said.append(
            f"Small print, bands and thin lines: {percent(confidence, 0)} intervals "
            f"over {over['interval']} {what}; figures with one are means."
        )
    if "range" in over:
        where = "Where it says range" if said else "Small print, bands and thin lines"
        said.append(f"{where}: ranges of {over['range']} {what}.")
    if "equal" in over:
        said.append("Equal: the same in all instances.")
    if not said and "one" in over:
        said.append("With one instance there is no interval over instances.")
    return " ".join(said)


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


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names of rows; one that others have too is given its number."""
    every = list(names)
    return [
        f"{name} ({place})" if every.count(name) > 1 else name for place, name in enumerate(every)
    ]


def capitalised(heading: str) -> str:
    """Begin a heading with a capital; names of bounds keep theirs."""
    return heading[:1].upper() + heading[1:]


def uncapitalised(heading: str) -> str:
    """Write a heading within a line: ``latency (ms)``; units keep their capitals."""
    return heading[:1].lower() + heading[1:]
