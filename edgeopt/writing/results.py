"""Results as HTML: tables, and objects with what they hold."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import io
import re
from collections.abc import Mapping, Set
from enum import Enum
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Final, TypeVar

from edgeopt.representation import short_repr
from edgeopt.writing.files import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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


ClassT = TypeVar("ClassT", bound=type)

_FEW: Final = 6
"""Plain values that are listed rather than counted."""

_PLAIN: Final = {"float", "int", "bool", "str", "float | None", "int | None", "bool | None"}
"""What a property returns that is shown: numbers and words, no arrays."""

_SECTION: Final = re.compile(
    r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.M | re.S
)
_ENTRY: Final = re.compile(r"^(\w[\w, ]*)\n((?:[ ]+[^\n]*\n?)+)", re.M)
_MARKUP: Final = re.compile(r"(?::\w+:)?(`+)(.+?)\1")


def in_html(kind: ClassT) -> ClassT:
    """Decorate a dataclass or named tuple: notebooks show it as a table of what it holds."""
    # A method that notebooks look for on the class, which type checkers cannot know of it.
    kind._repr_html_ = result_table  # type: ignore[attr-defined]
    return kind


def result_table(result: Any) -> str:
    """Return the fields of a result as an HTML table, and the numbers that follow from them."""
    kind = type(result)
    said = _sentence(inspect.getdoc(kind) or "")
    caption = f"{kind.__name__}: {said[:1].lower()}{said[1:]}" if said else kind.__name__
    rows = ([name, what, in_words(value)] for name, what, value in _parts(result))
    return html_table(caption, ["", "what it is", "value"], rows, left=2)


def _parts(result: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, meaning and value of fields and of properties that are numbers or words."""
    kind = type(result)
    meanings: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        meanings |= _meanings(inspect.cleandoc(vars(one).get("__doc__") or ""))
    names = getattr(kind, "_fields", None) or [one.name for one in dataclasses.fields(kind)]
    for name in names:
        if getattr(result, name) is not None:
            yield name, meanings.get(name, ""), getattr(result, name)
    for name, one in inspect.getmembers(kind):
        get = one.fget if isinstance(one, property) else getattr(one, "func", None)
        if name.startswith("_") or not isinstance(one, property | cached_property):
            continue
        if get is not None and get.__annotations__.get("return") in _PLAIN:
            yield name, _sentence(inspect.getdoc(get) or ""), getattr(result, name)


def _meanings(doc: str) -> dict[str, str]:
    """Return what a docstring says of every field."""
    found: dict[str, str] = {}
    for section in _SECTION.findall(doc):
        for names, text in _ENTRY.findall(section):
            found |= dict.fromkeys(names.split(", "), _sentence(inspect.cleandoc(text)))
    return found


def _sentence(text: str) -> str:
    """Return the first sentence of a text, without its markup and its full stop."""
    first = re.split(r"\.(?:\s|$)|\n\n", text, maxsplit=1)[0]
    return " ".join(_MARKUP.sub(r"\2", first).split())


def in_words(value: Any) -> str:
    """Return the text of a value: numbers in nine digits, arrays by their shape and range."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):  # NumPy's, too
        return f"{value:.9g}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return _array(value, shape)
    if isinstance(value, Mapping):
        return _several([f"{name}: {in_words(one)}" for name, one in value.items()], "entries")
    if isinstance(value, tuple | list | Set) and not hasattr(value, "_fields"):
        plain = all(isinstance(one, str | int | float | None) for one in value)
        return _several([in_words(one) if plain else "" for one in value], "values", plain)
    text = str(value)
    return short_repr(value) if "array(" in text else text


def _several(parts: list[str], noun: str, listed: bool = True) -> str:
    return ", ".join(parts) if listed and len(parts) <= _FEW else f"{len(parts)} {noun}"


def _array(value: Any, shape: tuple[int, ...]) -> str:
    size = " x ".join(map(str, shape))
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not shape or kind not in "biuf" or not hasattr(value, "min") or 0 in shape:
        return size or in_words(value.item())
    low, high = value.min(), value.max()
    if kind == "b":
        return f"{size}, {int(value.sum())} of them true"
    return f"{size}, {low:.6g}" if low == high else f"{size}, {low:.6g} to {high:.6g}"
