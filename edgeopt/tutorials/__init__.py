"""Tutorials: notebooks of marimo that also run as scripts; `edgeopt tutorial` opens them.

They are read here, not imported: what lists them needs no marimo.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final, NamedTuple

from edgeopt.errors import OptionError

NAMES: Final = ("comparison", "tables", "policy", "certificate", "claim")
"""Files of the tutorials, in the order in which they build on each other."""


class Tutorial(NamedTuple):
    """A tutorial: its number, title, what it does in a line, and its file."""

    number: int
    title: str
    text: str
    path: Path


def tutorials() -> list[Tutorial]:
    """Return all tutorials."""
    return [_read(number) for number in range(1, len(NAMES) + 1)]


def find_tutorial(number: int) -> Tutorial:
    """Return the tutorial of a number."""
    if not 1 <= number <= len(NAMES):
        raise OptionError(f"tutorial {number}: there are tutorials 1 to {len(NAMES)}")
    return _read(number)


def _read(number: int) -> Tutorial:
    path = Path(__file__).with_name(f"{NAMES[number - 1]}.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    [title] = (
        str(ast.literal_eval(keyword.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "app_title"
    )
    return Tutorial(number, title, ast.get_docstring(tree) or "", path)
