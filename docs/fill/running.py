"""Code of pages: what it prints.

Each block of Python or of commands (of edgeopt, one a line after ``$``) starts in an empty folder;
one that is ``continued`` keeps the folder and the names of the blocks before it. Further words:
``quiet`` (its output is not shown), ``head=N`` (only the first lines are), ``code=N`` (the exit
code of every command). An exception or another exit code is an error.
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
from typing import TYPE_CHECKING, Any

from fill.markdown import DOCS, fence

if TYPE_CHECKING:
    from fill.markdown import Asked

EXAMPLES = DOCS.parent / "examples"

WIDTH = 100
"""Columns at which output is wrapped."""


class Blocks:
    """Blocks that continue each other, with the folder and the names that they share."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew, in an empty folder."""
        self.folder = tempfile.TemporaryDirectory()
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def carry_out(self, language: str, text: str, expected: int = 0) -> str:
        """Run a block and return what it prints."""
        heard = io.StringIO()
        with (
            contextlib.chdir(self.folder.name),
            contextlib.redirect_stdout(heard),
            contextlib.redirect_stderr(heard),
        ):
            if language == "python":
                define(text, self.names)
            else:
                for line in text.splitlines():
                    command(line.removeprefix("$ "), expected)
        return heard.getvalue().replace(self.folder.name + "/", "")


def output(asked: Asked) -> str:
    """What the fence before the region prints."""
    if asked.language not in ("python", "console"):
        raise ValueError("an output needs a fence of python or console right before it")
    options = asked.options
    if "continued" not in asked.words:
        asked.blocks.start()
    code = int(options.get("code", 0))
    printed = asked.blocks.carry_out(asked.language, asked.code, code)
    if "quiet" in asked.words or not printed.strip():
        return ""
    lines = [
        part
        for line in printed.rstrip("\n").splitlines()
        for part in (textwrap.wrap(line, WIDTH) if is_prose(line) else [line.rstrip()])
    ]
    most = int(options.get("head", len(lines)))
    if len(lines) > most:
        lines = [*lines[:most], f"... {len(lines) - most} lines more"]
    return fence("\n".join(lines), "text")


def example(asked: Asked) -> str:
    """The part of an example between its markers, or all of it, and what it prints."""
    [name] = asked.words
    text = marked(name)
    asked.blocks.start()
    printed = asked.blocks.carry_out("python", text).rstrip()
    return f"{fence(text, 'python')}\n\n{fence(printed, 'text')}"


def marked(name: str) -> str:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    part = re.search(r"^# start of .*?\n(.*?)^# end of ", text, re.MULTILINE | re.DOTALL)
    return (part[1] if part else text).rstrip("\n")


def is_prose(line: str) -> bool:
    """Whether a line may be wrapped: a long one that is not a row of a table."""
    return len(line) > WIDTH and "  " not in line and not re.search("[\u2500-\u257f]", line)


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
