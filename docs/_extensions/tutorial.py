"""``{tutorial} NAME``: a tutorial as the build runs it; ``{tutorials}``: a table of all of them.

Prose and code of the cells stand in their order, each result below its cell. The body is the
command that opens it, for viewers of plain Markdown.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
import tempfile
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from docutils import nodes
from kept import kept
from shown import code, paragraph, sentence, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

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
    if hasattr(output, "_repr_html_"):
        return "html", output._repr_html_()
    return "text", str(output)


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


class TutorialDirective(SphinxDirective):
    """A tutorial with its code and results."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        from edgeopt.tutorials import tutorials

        [name] = self.arguments
        [one] = [known for known in tutorials() if known.path.stem == name]
        app = importlib.import_module(f"edgeopt.tutorials.{name}").app
        parts = kept(["tutorial", name], lambda: ran(app, one.path))
        top = nodes.container()
        here: nodes.Element = top
        command = nodes.literal("", f"edgeopt tutorial {one.number}")
        top += paragraph(command, " opens this page as a notebook, in which you can change it.")
        held = self.node(*parts[0])  # what is imported stands below the introduction
        for kind, what in parts[1:]:
            if kind != "markdown":
                here += self.node(kind, what)
                continue
            for place, piece in enumerate(re.split(r"^## (.*)$", what, flags=re.MULTILINE)):
                if place % 2:
                    here += held
                    held = []
                    here = nodes.section(ids=[nodes.make_id(piece)])
                    here += nodes.title(piece, piece)
                    self.state.document.note_implicit_target(here, here)
                    top += here
                elif piece.strip():
                    here += self.parse_text_to_nodes(piece)
        return top.children

    def node(self, kind: str, what: Any) -> list[nodes.Node]:
        if kind == "code":
            return [code(what, "python")]
        if kind == "html":
            return [nodes.raw("", f'<div class="made-result">{what}</div>', format="html")]
        if kind == "table":
            headings, numbers, *rows = what
            # Texts with quotes are of programs, and stay as they are.
            written = [
                [nodes.literal("", one) if "'" in one else one for one in row] for row in rows
            ]
            whole = table(headings, written, left=len(headings), classes=["made"])
            for row in whole.findall(nodes.row):
                for entry, number in zip(row, numbers, strict=True):
                    entry["classes"] = ["number"] if number else []
            return [nodes.container("", whole, classes=["made-result"])]
        return [nodes.container("", code(what, "none"), classes=["made-output"])]


class Tutorials(SphinxDirective):
    """Table of all tutorials, each with a link to its page."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        from edgeopt.tutorials import tutorials

        rows = []
        for one in tutorials():
            page = f"tutorial-{one.path.stem}.html"
            link = nodes.reference("", one.title, refuri=page, internal=True)
            rows.append([paragraph(str(one.number)), paragraph(link), sentence(one.text)])
        return [table(["", "tutorial", "what you do"], rows, left=3)]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("tutorial", TutorialDirective)
    app.add_directive("tutorials", Tutorials)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
