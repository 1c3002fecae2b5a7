"""Tables, statements and pictures as nodes of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Cell = str | nodes.Node | list[nodes.Node]

FORMULA = re.compile(r"\$(.+?)\$")


def sentence(text: str) -> list[nodes.Node]:
    """Text with formulas between dollars, and code between backquotes."""
    parts: list[nodes.Node] = []
    for place, piece in enumerate(FORMULA.split(text)):
        if place % 2:
            parts.append(nodes.math(piece, piece))
            continue
        for inner, words in enumerate(re.split(r"`([^`']+)`", piece)):
            if words:
                parts.append(nodes.literal(words, words) if inner % 2 else nodes.Text(words))
    return parts


def paragraph(*parts: Cell, classes: Iterable[str] = ()) -> nodes.paragraph:
    """A paragraph of texts and nodes."""
    return nodes.paragraph("", "", *_flat(parts), classes=list(classes))


def _flat(parts: Iterable[Cell]) -> list[nodes.Node]:
    flat: list[nodes.Node] = []
    for part in parts:
        if isinstance(part, str):
            flat.append(nodes.Text(part))
        else:
            flat += part if isinstance(part, list) else [part]
    return flat


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    left: int = 1,
    ids: Sequence[str] = (),
    classes: Sequence[str] = (),
) -> nodes.table:
    """A table whose first `left` columns hold text and whose others hold numbers."""
    group = nodes.tgroup(cols=len(headings))
    group += [nodes.colspec(colwidth=1) for _ in headings]
    group += nodes.thead("", _row([nodes.paragraph("", one) for one in headings], left))
    body = nodes.tbody()
    for place, cells in enumerate(rows):
        row = _row(cells, left)
        if ids:
            row["ids"] = [ids[place]]
        body += row
    group += body
    return nodes.table("", group, classes=["colwidths-auto", *classes])


def _row(cells: Sequence[Cell], left: int) -> nodes.row:
    row = nodes.row()
    for place, cell in enumerate(cells):
        content = cell if isinstance(cell, list) else [cell]
        blocks = all(isinstance(one, nodes.Body) for one in content) and content
        entry = nodes.entry("", *(content if blocks else [paragraph(*content)]))
        entry["classes"] = [] if place < left else ["number"]
        row += entry
    return row


def picture(svg: str, title: str, caption: str) -> list[nodes.Node]:
    """A picture in the colours of the page, with its takeaway above and its caption below."""
    figure = nodes.container(classes=["made-picture"])
    figure += paragraph(nodes.strong(title, title), classes=["made-title"])
    figure += nodes.raw("", f'<div class="made-svg">{svg}</div>', format="html")
    if caption:
        figure += paragraph(caption, classes=["made-caption"])
    return [figure]


def code(text: str, language: str) -> nodes.literal_block:
    """A block of code or output."""
    return nodes.literal_block(text, text, language=language)
