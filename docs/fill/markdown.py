"""Results as plain Markdown: tables, texts with formulas, code, pictures."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DOCS = Path(__file__).resolve().parents[1]
MADE = DOCS / "_static" / "made"
FULL = DOCS / "_static" / "full"

FORMULA = re.compile(r"\$(.+?)\$")

PLACES = re.compile(r'\b(?:d|[xy][12]?|transform|points|width|height)="[^"]*"')
"""Attributes of a picture that hold coordinates."""

PLAIN = {
    r"\,": r"\thinspace ", r"\{": r"\lbrace ", r"\}": r"\rbrace ", r"\|": r"\Vert ",
    "|": r"\vert ", "*": r"\ast ",
}  # fmt: skip
"""What Markdown reads in a formula before its renderer does, and what stands for it."""


@dataclass(frozen=True)
class Asked:
    """What a region asks for: its arguments, the fence before it, the blocks that ran on its page.

    With ``keep`` nothing may be written.
    """

    arguments: list[str]
    language: str
    code: str
    blocks: Any
    keep: bool

    @property
    def words(self) -> list[str]:
        """Arguments without a value."""
        return [one for one in self.arguments if "=" not in one]

    @property
    def options(self) -> dict[str, str]:
        """Arguments of the form ``name=value``."""
        return dict(one.split("=", 1) for one in self.arguments if "=" in one)


def formula(text: str) -> str:
    """A formula in which Markdown finds nothing of its own."""
    plain = re.sub(r"\\[,{}|]|[|*]", lambda sign: PLAIN[sign[0]], text)
    return " ".join(plain.split())


def sentence(text: str) -> str:
    """A text with formulas between dollars and code between backquotes, as Markdown."""
    parts = FORMULA.split(text)
    for place, piece in enumerate(parts):
        if place % 2:
            parts[place] = f"${formula(piece)}$"
            continue
        inner = re.split(r"(`[^`']+`)", piece)
        parts[place] = "".join(one if n % 2 else plain(one) for n, one in enumerate(inner))
    return "".join(parts)


def plain(text: str) -> str:
    """A text of which Markdown must read nothing as its own."""
    quoted = re.sub(
        r"`([^`']*)'", "\N{LEFT SINGLE QUOTATION MARK}\\1\N{RIGHT SINGLE QUOTATION MARK}", text
    )
    return re.sub(r"[*<\[\]|]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", quoted)


def code(text: str) -> str:
    """A name, as code in a cell."""
    return f"`{text}`".replace("|", r"\|")


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> str:
    """A table whose first `left` columns hold text and whose others hold numbers."""
    line = [":--" if place < left else "--:" for place in range(len(headings))]
    every = [[plain(one) for one in headings], line, *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in every)


def fence(text: str, language: str) -> str:
    """A block of code, in the common format, or of output."""
    if language == "python":
        ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "--line-length=100", "-"]
        done = subprocess.run(ruff, input=text, capture_output=True, check=True, text=True)
        text = done.stdout
    return f"```{language}\n{text.rstrip()}\n```"


def picture(svg: str, name: str, label: str, *, keep: bool) -> str:
    """Write a picture beside the pages, and return the line that shows it."""
    from fill.regions import alike

    path = MADE / f"{name}.svg"
    new = shorter(svg)
    if not keep and not (path.is_file() and alike(path.read_text(encoding="utf-8"), new)):
        path.parent.mkdir(exist_ok=True)
        path.write_text(new, encoding="utf-8")
    return f"![{plain(label)}](_static/made/{name}.svg)"


def shorter(svg: str) -> str:
    """A picture with coordinates on one line, to a hundredth of a point."""
    return PLACES.sub(_shorter, svg).rstrip() + "\n"


def _shorter(attribute: re.Match[str]) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", " ".join(attribute[0].split()))


def caption(text: str) -> str:
    """What stands below a table or a picture."""
    return f"*{plain(text)}*"
