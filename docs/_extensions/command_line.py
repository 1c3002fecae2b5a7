"""``{command} NAME``: the help of a command; ``{commands}``: a table of all commands.

The body is the command whose help this is, for viewers of plain Markdown.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from shown import paragraph, sentence, table
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def known() -> dict[str, Any]:
    """The commands of the program by name."""
    import typer

    from edgeopt.cli.main import app

    return dict(typer.main.get_command(app).commands)


class Commands(SphinxDirective):
    """Table of all commands, each with its first sentence and a link to its section."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        rows = []
        for name, command in known().items():
            literal = nodes.literal("", f"edgeopt {name}")
            link = nodes.reference("", "", literal, refid=f"edgeopt-{name}", internal=True)
            rows.append([paragraph(link), inspect.cleandoc(command.help).split("\n")[0]])
        return [table(["command", "what it does"], rows, left=2)]


class Command(SphinxDirective):
    """Usage, text and options of one command."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        command = known()[name]
        usage = " ".join(["edgeopt", name, *(shown(one) for one in command.params if one.required)])
        rows = [
            [
                paragraph(nodes.literal("", shown(one))),
                paragraph(inline(getattr(one, "help", "") or "")),
                paragraph(nodes.literal("", default(one))) if default(one) else "",
            ]
            for one in command.params
            if "--help" not in one.opts
        ]
        text = [
            paragraph(inline(" ".join(part.split())))
            for part in inspect.cleandoc(command.help).split("\n\n")
        ]
        return [
            nodes.literal_block("", f"{usage} [options]", language="none"),
            *text,
            table(["option", "meaning", "default"], rows, left=3),
        ]


def inline(text: str) -> list[nodes.Node]:
    """A help text, with options as code."""
    return sentence(re.sub(r"(?<!\S)(--[a-z]+)", r"`\1`", text))


def shown(parameter: Any) -> str:
    """How a parameter is written: ``SYSTEM``, ``--out PATH``, ``--json``."""
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name).upper()
        return f"{name} ..." if parameter.nargs == -1 else name
    names = ", ".join(parameter.opts)
    if parameter.is_flag:
        return names
    return f"{names} {parameter.metavar or parameter.name.upper()}"


def default(parameter: Any) -> str:
    value = parameter.default
    if parameter.param_type_name == "argument" or value is None or value is False or value == ():
        return ""
    return str(value)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
