"""Output: an answer and a table that fits the terminal for people, JSON documents for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST: Final = 8
"""Rows of a table without --wide."""

_PIPE: Final = 1000
"""Columns when standard output is no terminal, so that nothing is cut."""

_NAMES: Final = (30, 20)
"""Columns to which the first name, and others, are cut at most before columns are left out."""

_APART: Final = 2
"""Blanks between columns."""

WideOption = Annotated[
    bool, typer.Option("--wide", help="Print all rows and columns, and all that is said of them.")
]


def document(content: Any) -> None:
    """Print a JSON document whose objects have the version of their schema; missing is null."""
    from edgeopt.studies.files import SCHEMA, plain

    several = content if isinstance(content, list) else [content]
    found = [{"schema": SCHEMA, **one} if isinstance(one, dict) else one for one in several]
    shown = plain(found if isinstance(content, list) else found[0])
    print(json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False))


def width() -> int:
    """Return the columns of the terminal, or those that COLUMNS says; a pipe has 1000."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: int = 1,
    apart: int = 0,
    *,
    most: int | None = None,
    wide: bool = False,
) -> None:
    """Print a table to standard output, a line per row, as wide as the terminal at most.

    Headings wrap before names are cut, and these before columns are left out, which is said. The
    last `apart` rows stand below a line; of more rows than `most` the first ones are printed.
    """
    from edgeopt.studies.wording import plural

    columns = [printable(column) for column in columns]
    cells = [[printable(cell) for cell in row] for row in rows]
    left_out = 0 if most is None or wide else max(0, len(cells) - most)
    above = len(cells) - apart
    cells = cells[: len(cells) - left_out]
    room = _PIPE if wide else width()
    widths = _fitting(columns, cells, left, room)
    if title:
        print(printable(title))
    headings = [
        textwrap.wrap(column, wide_, break_long_words=False) or [""]
        for column, wide_ in zip(columns, widths, strict=False)
    ]
    lines = max(map(len, headings), default=1)
    for number in range(lines):
        _line([one[number - lines] if number >= lines - len(one) else "" for one in headings],
              widths, left)  # fmt: skip
    _line(["\N{BOX DRAWINGS LIGHT HORIZONTAL}" * wide_ for wide_ in widths], widths, left)
    for number, row in enumerate(cells):
        if apart and number == above:
            _line(["\N{BOX DRAWINGS LIGHT HORIZONTAL}" * wide_ for wide_ in widths], widths, left)
        _line(row, widths, left)
    hidden = {"row": left_out, "column": len(columns) - len(widths)}
    if more := [plural(count, noun) for noun, count in hidden.items() if count]:
        print(f"{' and '.join(more)} more with --wide")


def _fitting(
    columns: Sequence[str], cells: Sequence[Sequence[str]], left: int, room: int
) -> list[int]:
    """Return the widths of the columns that are shown."""
    bodies = [max((len(row[place]) for row in cells), default=0) for place in range(len(columns))]
    widths = [max(body, len(column)) for body, column in zip(bodies, columns, strict=True)]

    def over() -> int:
        return sum(widths) + _APART * (len(widths) - 1) - room

    if over() > 0:
        words = [max(map(len, column.split()), default=0) for column in columns]
        most, widths = widths, [max(body, word) for body, word in zip(bodies, words, strict=True)]
        for place, wide in enumerate(most):
            widths[place] += min(wide - widths[place], max(0, -over()))
    for place in sorted(range(left), key=widths.__getitem__, reverse=True):
        least = min(widths[place], _NAMES[place > 0])
        widths[place] -= min(widths[place] - least, max(0, over()))
    while over() > 0 and len(widths) > left + 1:
        widths.pop()
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> None:
    """Print a line of cells, names on the left, figures on the right of their columns."""
    shown = []
    for place, (cell, wide) in enumerate(zip(cells, widths, strict=False)):
        cut = cell if len(cell) <= wide else cell[: wide - 1] + "\N{HORIZONTAL ELLIPSIS}"
        shown.append(cut.ljust(wide) if place < left else cut.rjust(wide))
    print((" " * _APART).join(shown).rstrip())


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and what they have beside them, lines broken between words."""
    shown = [(printable(name), printable(said)) for name, said in pairs]
    wide = max((len(name) for name, _ in shown), default=0) + _APART
    for name, said in shown:
        lines = textwrap.wrap(said, max(_NAMES[0], width() - wide), break_on_hyphens=False)
        print("\n".join([name.ljust(wide) + one if not number else " " * wide + one
                         for number, one in enumerate(lines or [""])]).rstrip())  # fmt: skip


def note(text: str) -> None:
    """Print a paragraph to standard output, its lines broken between words."""
    said = printable(text).replace("\n", " ")
    lines = textwrap.wrap(said, width(), break_long_words=False, break_on_hyphens=False)
    print("\n".join(lines))
