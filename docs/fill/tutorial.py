"""Tutorials as pages: prose and code of the cells in their order, each result below its cell."""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
import tempfile
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from fill.gallery import sized
from fill.markdown import Asked, code, fence, picture, plain, table

if TYPE_CHECKING:
    from pathlib import Path

Part = tuple[str, Any]
"""``"code"``, ``"markdown"``, ``"html"``, ``"table"`` or ``"text"``, and what is shown so."""


class Cell(NamedTuple):
    """A cell: its code, whether it is shown, and whether it runs on its own before the others."""

    code: str
    hidden: bool
    first: bool


def cells(path: Path) -> list[Cell]:
    """Read the cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.With):
            found.append(Cell(_dedented(lines, node.body), False, True))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.decorator_list:
            marker = ast.unparse(node.decorator_list[0])
            body = node.body if marker.startswith("app.cell") else [node]
            if isinstance(body[-1], ast.Return):
                body = body[:-1]
            found.append(Cell(_dedented(lines, body), "hide_code=True" in marker, False))
    return found


def _dedented(lines: list[str], body: list[ast.stmt]) -> str:
    last = body[-1].end_lineno
    return textwrap.dedent("\n".join(lines[body[0].lineno - 1 : last])).strip("\n")


def ran(app: Any, path: Path) -> list[Part]:
    """Run a notebook in an empty folder, and return what is shown of it; prints are left out."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        outputs = list(app.run()[0])
    parts: list[Part] = []
    known = cells(path)
    results = [None] * sum(cell.first for cell in known) + outputs
    for cell, output in zip(known, results, strict=True):
        if not cell.hidden:
            parts.append(("code", cell.code))
        if output is not None:
            parts.append(displayed(output))
    return parts


def displayed(output: Any) -> Part:
    """Return an output as a page shows it."""
    import pandas as pd

    text = getattr(output, "_markdown_text", None)
    if text is not None:
        return "markdown", re.sub(r"^# .*\n+", "", text)
    if isinstance(output, pd.DataFrame):
        return "table", tabled(output)
    html = output._repr_html_() if hasattr(output, "_repr_html_") else ""
    drawn = re.search(r"<svg.*</svg>", html, re.DOTALL)
    return ("picture", (drawn[0], str(output))) if drawn else ("text", str(output))


def tabled(frame: Any) -> list[list[Any]]:
    """Return headings of a frame, which columns hold numbers, and rows.

    An index that only counts is left out.
    """
    import pandas as pd

    counted = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    whole = frame if counted else frame.reset_index(names=frame.index.names[0] and None)
    headings = [_heading(column) for column in whole.columns]
    if not counted and frame.index.name is None and frame.index.nlevels == 1:
        headings[0] = ""
    rows = [[_said(value) for value in row] for row in whole.itertuples(index=False)]
    numbers = [
        all(not isinstance(value, str) for value in column)
        for column in zip(*whole.itertuples(index=False), strict=True)
    ]
    return [headings, numbers, *rows]


def _heading(column: Any) -> str:
    parts = column if isinstance(column, tuple) else (column,)
    return ", ".join(str(part) for part in parts if part != "")


def _said(value: Any) -> str:
    if isinstance(value, float):
        return "\N{EN DASH}" if value != value else f"{value:g}"
    return str(value)


def tutorial(asked: Asked) -> str:
    """A tutorial with its code and results."""
    from edgeopt.tutorials import tutorials

    [name] = asked.arguments
    [one] = [known for known in tutorials() if known.path.stem == name]
    app = importlib.import_module(f"edgeopt.tutorials.{name}").app
    first, *parts = ran(app, one.path)
    command = f"`edgeopt tutorial {one.number}`"
    made = [f"{command} opens this page as a notebook, in which you can change it."]
    held = [written(asked, name, *first)]  # what is imported stands below the introduction
    for kind, what in parts:
        text = written(asked, f"{name}-{len(made)}", kind, what)
        if kind == "markdown" and held and "\n## " in f"\n{text}":
            introduction, _, rest = f"\n{text}".partition("\n## ")
            made += [introduction.strip(), *held, f"## {rest}"]
            held = []
        else:
            made.append(text)
    return "\n\n".join(part.strip() for part in made if part.strip())


def written(asked: Asked, name: str, kind: str, what: Any) -> str:
    """A part of a tutorial as Markdown."""
    if kind == "markdown":
        return str(what)
    if kind == "picture":
        drawn, label = sized(what[0]), what[1].splitlines()[0]
        return picture(drawn, f"tutorial-{name}", label, keep=asked.keep)
    if kind == "table":
        headings, numbers, *rows = what
        # Texts with quotes are of programs, and stay as they are.
        cells = [[code(one) if "'" in one else plain(one) for one in row] for row in rows]
        left = numbers.index(True) if True in numbers else len(numbers)
        return table(headings, cells, left=left)
    return fence(str(what), "python" if kind == "code" else "text")
