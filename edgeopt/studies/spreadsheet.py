"""Tables as CSV for people: no text in them is taken for a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.writing import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["csv_text"]

_FORMULA: Final = ("=", "+", "-", "@", "\t")
"""How a text begins that a spreadsheet computes instead of showing it."""


def csv_text(table: pd.DataFrame) -> str:
    """Write a table as CSV; a text that a spreadsheet would compute gets a leading apostrophe.

    Numbers are written as they are, negative ones too. What edgeopt reads back it keeps as JSON or
    NetCDF.
    """
    safe = table.rename(columns=_shown)
    for place, kind in enumerate(safe.dtypes):
        if kind.kind not in "biufcmM":
            safe.isetitem(place, safe.iloc[:, place].astype(object).map(_shown).array)
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _shown(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
