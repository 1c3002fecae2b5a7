"""Templates of pages, and LaTeX formulas as MathML or text."""
# ruff: noqa: RUF001 - some signs look like letters.

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from edgeopt.studies import wording
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from xml.etree.ElementTree import Element

    import jinja2
    from math_core import LatexToMathML

BREAKING: Final = "=<>≤≥+−⋅∝→⊆"
"""Signs that a line may be broken before."""

SPACED: Final = frozenset("=<>≤≥+−∈∋⊆∝→·≈≠")
"""Signs with a space on both sides in plain text."""

RAISED: Final = {"2": "²", "3": "³", "∗": "*", "′": "′", "+": "⁺", "−": "⁻"}
"""Exponents that are characters of their own."""

PLAIN: Final = {
    "¯": "\u0304", "\u0332": "\u0304", "ˆ": "\u0302", "˜": "\u0303", "˙": "\u0307",
    "⋅": "·", "ϵ": "ε", "...": "…", "\N{FUNCTION APPLICATION}": " ", "\N{NO-BREAK SPACE}": " ",
}  # fmt: skip
"""What stands for a sign in plain text; for an accent, one that joins the letter before it."""


def in_html(statement: str) -> str:
    """Write a statement as HTML, its formulas as MathML."""
    return _written(statement, lambda words: escape(words, quote=False), _pieces)


def in_text(statement: str) -> str:
    """Write a statement in plain text."""
    return _written(statement, str, lambda formula: _text(_parsed(formula)))


def _written(statement: str, words: Callable[[str], str], formula: Callable[[str], str]) -> str:
    parts = statement.split("$")
    quoted = [
        re.sub(
            r"`([^`']*)'", "\N{LEFT SINGLE QUOTATION MARK}\\1\N{RIGHT SINGLE QUOTATION MARK}", part
        )
        for part in parts
    ]
    return "".join(
        formula(parts[place]) if place % 2 else words(quoted[place]) for place in range(len(parts))
    )


@cache
def _converter() -> LatexToMathML:
    from math_core import LatexToMathML

    # Browsers stretch an accent by themselves.
    return LatexToMathML(macros={"widetilde": r"\tilde{#1}"}, continue_on_error=True)


def mathml(formula: str, *, block: bool = False) -> str:
    """Convert a formula, inside a line or on lines of its own; of a wrong one, say what is."""
    found = _converter().convert_with_local_state(formula, displaystyle=block)
    return found.replace("&ApplyFunction;", "\N{FUNCTION APPLICATION}")


def _parsed(formula: str) -> Element:
    return ElementTree.fromstring(mathml(formula))


def _pieces(formula: str) -> str:
    """Write a formula as one piece or several: browsers break lines between pieces alone."""
    pieces = [ElementTree.Element("math")]
    depth = 0
    for part in _parsed(formula):
        sign = (part.text or "") if part.tag == "mo" else ""
        depth += (sign in _OPENING) - (sign in _CLOSING)
        if sign and sign in BREAKING and depth == 0 and len(pieces[-1]):
            part.set("form", "infix")  # also at the beginning of a piece
            pieces.append(ElementTree.Element("math"))
        pieces[-1].append(part)
    return "<wbr/>".join(ElementTree.tostring(piece, "unicode") for piece in pieces)


_OPENING: Final = ("(", "[", "{", "⌊", "⌈")
_CLOSING: Final = (")", "]", "}", "⌋", "⌉")


def _text(node: Element) -> str:
    parts = _parts(node)
    match node.tag, [_text(part) for part in parts]:
        case "mfrac", _:
            return "/".join(map(_grouped, parts))
        case "msqrt", _:
            return f"√{_grouped(node if len(parts) > 1 else parts[0])}"
        case "mover", [base, mark] if "accent" in node.attrib:
            return f"{base[:1]}{mark}{base[1:]}"
        case "msub" | "munder", [base, _]:
            return f"{base}_{_lowered(parts[1])}"
        case "msup" | "mover", [base, _]:
            return base + _raised(parts[1])
        case "msubsup" | "munderover", [base, _, _]:
            low, high = f"_{_lowered(parts[1])}", _raised(parts[2])
            return base + (high + low if high == "′" else low + high)
        case "mspace", _:
            return " "
        case _, []:
            text = (node.text or "").replace("\N{VARIATION SELECTOR-1}", "")
            return PLAIN.get(text, text)
    return _row(parts)


def _parts(node: Element) -> list[Element]:
    """Return what a node is made of, without what only keeps a style."""
    parts = [part for part in node if part.tag != "mspace" or part.attrib]
    rows = [_parts(part) if part.tag == "mrow" else [] for part in parts]
    return [row[0] if len(row) == 1 else part for row, part in zip(rows, parts, strict=True)]


def _raised(node: Element) -> str:
    return RAISED.get(_text(node)) or f"^{_grouped(node)}"


def _lowered(node: Element) -> str:
    text = _text(node)
    return text if text.isalnum() else _grouped(node)


def _grouped(node: Element) -> str:
    text = _row(_parts(node)) if node.tag == "msqrt" else _text(node)
    whole = node.tag in ("mrow", "mfrac", "msqrt") and len(text.rstrip("′")) > 1
    return f"({text})" if whole else text


def _row(parts: Iterable[Element]) -> str:
    """Join what stands in a row, with spaces around relations, functions and sums."""
    out, last = "", ""
    for part in parts:
        text = _text(part)
        # A sign with nothing before it belongs to the number behind it.
        alone = out.rstrip()[-1:] in ("", *"([{,") or (out[-2:-1] in SPACED and text in "−∗")
        if part.tag == "mo" and text in SPACED and not alone:
            out += f" {text} "
        elif part.tag == "mo" and text in ",;:":
            out += f"{text} "
        else:
            large = text[:1] in "∑∏∫"
            wordy = (out[-1:].isalnum() or out[-1:] in ")]}") and (large or len(text) > 1)
            wordy = (wordy and bool(out)) or last == "mfrac"
            out += (" " if wordy and text[:1] not in "([{)]}|‖" else "") + text
            out += " " if large else ""
        last = part.tag
    return re.sub(r" {2,}", " ", out).strip()


def render(template: str, *, package: str = "edgeopt.studies", **context: Any) -> str:
    """Write a self-contained page: no network, no other file."""
    return printable(_environment(package).get_template(template).render(**context))


@cache
def _environment(package: str) -> jinja2.Environment:
    import jinja2
    import markupsafe

    import edgeopt

    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(one, "template") for one in (package, "edgeopt.studies")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {name: getattr(wording, name) for name in wording.__all__}
    environment.filters["formulas"] = lambda statement: markupsafe.Markup(in_html(statement))
    environment.globals["version"] = edgeopt.__version__
    return environment
