"""Code that the build runs and shows with its output.

``{run}`` runs Python, its body or the marked part of an example (``{run} ten_lines``), whose body
then is the command that a viewer of plain Markdown shows instead; ``{shell}`` runs commands of
edgeopt, one per line. Each block starts in an empty folder. With the option ``continued`` it keeps
the folder and the names of the blocks before it. An exception, or an exit code other than that of
the option ``code``, stops the build.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
import textwrap
import types
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from kept import HERE, kept
from shown import code
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx

EXAMPLES = HERE.parents[1] / "examples"

WIDTH = 100
"""Columns at which output is wrapped."""

Step = tuple[str, str, int]
"""Kind (``"python"`` or ``"shell"``), text and expected exit code."""


class Block(SphinxDirective):
    """A block of Python with its output."""

    has_content = True
    optional_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "continued": directives.flag,
        "code": directives.nonnegative_int,
        "quiet": directives.flag,
        "head": directives.positive_int,
    }
    kind = "python"

    def run(self) -> list[nodes.Node]:
        text = example(self.arguments[0]) if self.arguments else "\n".join(self.content)
        held = self.env.temp_data
        if "continued" not in self.options:
            held["edgeopt-blocks"] = Blocks()
        blocks = held["edgeopt-blocks"]
        blocks.steps.append((self.kind, text, self.options.get("code", 0)))
        *_, printed = kept(["run", blocks.steps], blocks.carry_out)
        shown = self.show(text, printed)
        return shown if "quiet" not in self.options else shown[:1]

    def show(self, text: str, printed: str) -> list[nodes.Node]:
        found: list[nodes.Node] = [code(text, "python")]
        if printed.strip():
            found.append(self.output(printed))
        return found

    def output(self, printed: str) -> nodes.container:
        lines = [
            part
            for line in printed.rstrip("\n").splitlines()
            for part in (textwrap.wrap(line, WIDTH) if is_prose(line) else [line.rstrip()])
        ]
        most = self.options.get("head", len(lines))
        if len(lines) > most:
            lines = [*lines[:most], f"... {len(lines) - most} lines more"]
        block = code("\n".join(lines), "none")
        return nodes.container("", block, classes=["made-output"])


class Shell(Block):
    """Commands of edgeopt with their output."""

    kind = "shell"

    def show(self, text: str, printed: str) -> list[nodes.Node]:
        prompted = "\n".join(f"$ {line}" for line in text.splitlines())
        found: list[nodes.Node] = [code(prompted, "console")]
        if printed.strip():
            found.append(self.output(printed))
        return found


def is_prose(line: str) -> bool:
    """Whether a line may be wrapped: a long one that is not a row of a table."""
    return len(line) > WIDTH and "  " not in line and not re.search("[\u2500-\u257f]", line)


def example(name: str) -> str:
    """The part of an example between its markers, or all of it."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    marked = re.search(r"^# start of .*?\n(.*?)^# end of ", text, re.MULTILINE | re.DOTALL)
    return (marked[1] if marked else text).rstrip("\n")


class Blocks:
    """Blocks that continue each other: their steps, and the folder and names that they share."""

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = list(steps)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed: list[str] = []
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def carry_out(self) -> list[str]:
        """Run the steps that have not run yet, and return what each of all prints."""
        self.folder = self.folder or tempfile.TemporaryDirectory()
        with contextlib.chdir(self.folder.name):
            for kind, text, expected in self.steps[len(self.printed) :]:
                heard = io.StringIO()
                with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
                    if kind == "python":
                        define(text, self.names)
                    else:
                        for line in text.splitlines():
                            command(line, expected)
                self.printed.append(heard.getvalue().replace(self.folder.name + "/", ""))
        return self.printed


def define(text: str, names: dict[str, Any]) -> None:
    """Run Python as a module, so that its classes can be pickled."""
    module = types.ModuleType("page")
    module.__dict__.update(names)
    sys.modules["page"] = module
    # Examples import each other, as they do when run as scripts.
    sys.path.insert(0, str(EXAMPLES))
    module.__dict__["__name__"] = "__main__" if "__main__" in text else "page"
    try:
        exec(compile(text, "a block of this page", "exec"), module.__dict__)
    finally:
        sys.path.remove(str(EXAMPLES))
        sys.modules.pop("page")
    names.update(module.__dict__)


def command(line: str, expected: int) -> None:
    from edgeopt.cli.main import run

    program, *arguments = shlex.split(line)
    if program != "edgeopt":
        raise ValueError(f"{line}: pages may run commands of edgeopt only")
    left = run(arguments)
    if left != expected:
        raise ValueError(f"{line}: exit code {left}, {expected} was expected")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("run", Block)
    app.add_directive("shell", Shell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
