"""Times that files write: dates with a time of day, in one zone or in none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from edgeopt.errors import InstanceError

_ISO: Final = re.compile(
    r"(\d{4})-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d*)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?", re.ASCII
)
"""A date and a time; a date alone among them is a slip of a spreadsheet."""

_REACHED: Final = range(1678, 2262)
"""Years that nanoseconds reach."""

_RULE: Final = "must be a date and time such as 2024-01-31 12:00:00"


def parsed_times(
    texts: Sequence[str], error: Callable[[int, str, object], InstanceError], rule: str = _RULE
) -> Any:
    """Return texts as an index of timestamps, universal ones if they say how far they are off it.

    `error` is given the place of the first text that breaks a rule, the rule, and the text.
    """
    import pandas

    found = [_ISO.fullmatch(text) for text in texts]
    for n, one in enumerate(found):
        if one is None or int(one[1]) not in _REACHED:
            raise error(n, rule, repr(texts[n][:80]))
    zoned = np.array([bool(one and one["zone"]) for one in found])
    for n in np.flatnonzero(zoned != zoned[:1])[:1]:
        said = "no zone" if zoned[0] else "a zone"
        raise error(n, f"has {said}, unlike the times before it", repr(texts[n]))
    stamps = pandas.to_datetime(
        list(texts), format="ISO8601", utc=bool(zoned.any()), errors="coerce"
    )
    for n in np.flatnonzero(stamps.isna())[:1]:
        raise error(n, rule, repr(texts[n]))
    return stamps.as_unit("ns")
