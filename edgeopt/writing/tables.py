"""Small tables: in HTML, in the ink of the page around them, and in CSV."""

from __future__ import annotations

import csv
import io
from html import escape
from typing import TYPE_CHECKING, Final

from edgeopt.writing.files import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST: Final = 200
"""Characters of a cell beyond which it is cut."""

_ROWS: Final = 100
"""Rows beyond which a table is cut."""

_CELL: Final = "padding:.15em .35em;text-align:{};border-bottom:1px solid #8a909966"


def html_table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: int = 1,
    grey: Iterable[int] = (),
) -> str:
    """Return a table without colours of its own, so that it is readable on light and dark paper.

    The first `left` columns are texts, the others numbers; rows in `grey` are faint.
    """
    faint = set(grey)
    every = [list(row) for row in rows]
    body = []
    for number, row in enumerate(every[:_ROWS]):
        look = ' style="opacity:.6"' if number in faint else ""
        body.append(f"<tr{look}>{_cells('td', row, left)}</tr>")
    if len(every) > _ROWS:
        body.append(f"<tr>{_cells('td', [f'{len(every) - _ROWS} more rows'], left)}</tr>")
    head = f"<thead><tr>{_cells('th', headings, left)}</tr></thead>" if headings else ""
    return (
        '<div style="overflow-x:auto">'
        '<table style="border-collapse:collapse;font-size:.9em;color:inherit;background:none">'
        f'<caption style="text-align:left;color:inherit">{_escaped(caption)}</caption>'
        f"{head}<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cells(kind: str, row: Sequence[str], left: int) -> str:
    return "".join(
        f'<{kind} style="{_CELL.format("left" if place < left else "right")}">{_escaped(one)}'
        f"</{kind}>"
        for place, one in enumerate(row)
    )


def _escaped(text: str) -> str:
    text = printable(str(text))
    return escape(text if len(text) <= _MOST else f"{text[: _MOST - 1]}…")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as a table in CSV, the same on every machine."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
