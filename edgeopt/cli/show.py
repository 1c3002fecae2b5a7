"""Output: tables for people, JSON documents for programs."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

_WIDE = 1000
"""Columns when standard output is no terminal, so that a table is never cut."""

_NAME = 24
"""Columns within which a name does not wrap."""

_BORDER = 3
"""Characters that a column takes for its border and margin."""


def document(content: Any) -> None:
    """Print a JSON document; missing numbers are null."""
    from edgeopt.studies.files import plain

    print(json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False))


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, apart: int = 0
) -> None:
    """Print a table to standard output, in several parts if it is too wide.

    The last `apart` rows stand below a line.
    """
    from rich.table import Table
    from rich.text import Text

    title, columns = printable(title), [printable(column) for column in columns]
    cells = [[printable(cell) for cell in row] for row in rows]
    bodies = [_widest(row[place] for row in cells) for place in range(len(columns))]
    # Headings wrap before numbers or names are cut.
    least = [
        max(min(body, _NAME) if place < left else body, _widest(columns[place].split()))
        for place, body in enumerate(bodies)
    ]
    most = [max(body, len(column)) for body, column in zip(bodies, columns, strict=True)]
    console = console_of(_WIDE)
    for number, part in enumerate(_parts(least, left, console.width - 1)):
        shown = Table(title_justify="left", header_style="bold")
        shown.title = Text(title) if number == 0 else None
        spare = console.width - 1 - sum(least[place] + _BORDER for place in part)
        for place in part:
            more = min(most[place] - least[place], max(spare, 0))
            spare -= more
            shown.add_column(
                Text(columns[place]),
                justify="left" if place < left else "right",
                width=least[place] + more,
            )
        for number_left, row in zip(range(len(cells), 0, -1), cells, strict=True):
            shown.add_row(
                *(Text(row[place]) for place in part), end_section=number_left == apart + 1
            )
        console.print(shown)


def console_of(wide: int) -> Console:
    """Return a console as wide as the terminal or as COLUMNS says, or else this wide."""
    from rich.console import Console

    asked = os.environ.get("COLUMNS", "")
    known = sys.stdout.isatty() or (asked.isdecimal() and int(asked) > 0)
    return Console(width=None if known else wide, highlight=False)


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _parts(least: Sequence[int], left: int, width: int) -> list[list[int]]:
    """Return which columns to print side by side; the leading ones come first in every part."""
    leading = list(range(left))
    parts: list[list[int]] = []
    left_over = 0
    for place in range(left, len(least)):
        if not parts or least[place] + _BORDER > left_over:
            parts.append([*leading])
            left_over = width - sum(wide + _BORDER for wide in least[:left])
        parts[-1].append(place)
        left_over -= least[place] + _BORDER
    return parts or [leading]


def note(text: str) -> None:
    """Print a line to standard output."""
    print(printable(text).replace("\n", " "))
