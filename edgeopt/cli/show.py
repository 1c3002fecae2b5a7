"""Output: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["document", "note", "table"]

_WIDE = 200
"""Columns to write when nobody watches, so that a table is never cut."""


def document(content: Any) -> None:
    """Print one JSON document; figures that do not exist are null."""
    from edgeopt.studies.plain import plain

    print(json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print a table to standard output.

    Parameters
    ----------
    title
        Stands above it.
    columns
        Headings.
    rows
        Cells, ready as text.
    left
        Number of leading columns that hold text; the others hold numbers.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=Text(title), title_justify="left", header_style="bold")
    for place, column in enumerate(columns):
        text = place < left
        shown.add_column(Text(column), justify="left" if text else "right", no_wrap=not text)
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else _WIDE).print(shown)


def note(text: str) -> None:
    """Print a line to standard output."""
    print(text)
