"""Templates of pages, and LaTeX formulas as MathML or text."""
# ruff: noqa: RUF001 - some signs look like letters.

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies import wording
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import jinja2

SYMBOLS: Final = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "kappa": "κ", "varkappa": "ϰ", "lambda": "λ", "mu": "μ",
    "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "varphi": "ϕ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "infty": "∞", "ell": "ℓ", "emptyset": "∅",
}  # fmt: skip
"""Letters."""

OPERATORS: Final = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "in": "∈", "ni": "∋",
    "notin": "∉", "subseteq": "⊆", "propto": "∝", "to": "→", "cdot": "·", "times": "×", "pm": "±",
    "approx": "≈", "ldots": "…", "dots": "…", "|": "‖", "{": "{", "}": "}", "lfloor": "⌊",
    "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", ",": "\N{THIN SPACE}", ";": " ", " ": " ",
    "%": "%", "forall": "∀", "cup": "∪", "cap": "∩", "setminus": "∖", "mid": "|",
}  # fmt: skip
"""Relations, brackets and the like."""

LARGE: Final = {"sum": "∑", "prod": "∏", "int": "∫"}
"""Signs with limits."""

FUNCTIONS: Final = ("max", "min", "log", "exp", "Pr", "arg", "tanh", "sup", "inf", "lim")
"""Functions that are written upright."""

ACCENTS: Final = {
    "bar": ("¯", "\u0304"), "overline": ("¯", "\u0304"), "hat": ("^", "\u0302"),
    "tilde": ("~", "\u0303"), "widetilde": ("~", "\u0303"), "dot": ("˙", "\u0307"),
}  # fmt: skip
"""Marks above a letter: by themselves, and as a sign that joins the letter before it."""

PRIME: Final = "′"

SIGNS: Final = {"-": "−", "*": "∗"}
"""Signs that replace those of the keyboard."""

SPACED: Final = frozenset("=<>≤≥+−∈∋⊆∝→·≈≠")
"""Signs with a space on both sides in plain text."""

BREAKING: Final = ("=", "<", ">", "≤", "≥", "+", "−", "·", "∝", "→", "⊆")
"""Signs that a line may be broken before."""

RAISED: Final = {"2": "²", "3": "³", "∗": "*", PRIME: PRIME, "+": "⁺", "−": "⁻"}
"""Exponents that are characters of their own."""

_SCRIPT: Final = {"B": "ℬ", "E": "ℰ", "F": "ℱ", "H": "ℋ", "I": "ℐ", "L": "ℒ", "M": "ℳ", "R": "ℛ"}
_DOUBLE: Final = {
    "C": "ℂ", "H": "ℍ", "N": "ℕ", "P": "ℙ", "Q": "ℚ", "R": "ℝ", "Z": "ℤ", "1": "𝟙",
}  # fmt: skip


def styled(style: str, letters: str) -> str:
    """Return letters in a style: ``mathbb``, ``mathcal``, or upright ones as they are."""
    if style == "mathcal":
        return "".join(_SCRIPT.get(one) or _shifted(one, "𝒜") for one in letters)
    if style == "mathbb":
        return "".join(_DOUBLE.get(one) or _shifted(one, "𝔸") for one in letters)
    return letters


def _shifted(letter: str, first: str) -> str:
    return chr(ord(first) + ord(letter) - ord("A")) if "A" <= letter <= "Z" else letter


_TOKEN: Final = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\S")
_STYLES: Final = ("mathrm", "mathbb", "mathcal", "text")


def in_html(statement: str) -> str:
    """Write a statement as HTML, its formulas as MathML."""
    return _written(statement, lambda words: escape(words, quote=False), _mathml)


def in_text(statement: str) -> str:
    """Write a statement in plain text."""
    return _written(statement, str, _text)


def _written(statement: str, words: Callable[[str], str], formula: Callable[[Node], str]) -> str:
    parts = statement.split("$")
    quoted = [
        re.sub(
            r"`([^`']*)'", "\N{LEFT SINGLE QUOTATION MARK}\\1\N{RIGHT SINGLE QUOTATION MARK}", part
        )
        for part in parts
    ]
    return "".join(
        formula(_parsed(parts[place])) if place % 2 else words(quoted[place])
        for place in range(len(parts))
    )


class Node:
    """A piece of a formula: its kind, its text, and the pieces that it is made of."""

    def __init__(self, kind: str, text: str = "", *parts: Node) -> None:
        self.kind, self.text, self.parts = kind, text, parts


def _parsed(formula: str) -> Node:
    tokens = _TOKEN.findall(formula)
    tokens.reverse()
    return _row(tokens)


def _row(tokens: list[str]) -> Node:
    parts: list[Node] = []
    while tokens and tokens[-1] != "}":
        parts.append(_scripted(tokens))
    if tokens:
        tokens.pop()
    return parts[0] if len(parts) == 1 else Node("row", "", *parts)


def _scripted(tokens: list[str]) -> Node:
    base = Node("row") if tokens[-1] in "_^" else _atom(tokens)
    scripts: dict[str, Node] = {}
    while tokens and (tokens[-1] in ("_", "^") or tokens[-1] == "'"):
        mark = tokens.pop()
        if mark == "'":
            base = Node("row", "", base, Node("prime", PRIME))
        else:
            scripts[mark] = _atom(tokens)
    if not scripts:
        return base
    kind = "both" if len(scripts) == 2 else "sub" if "_" in scripts else "sup"
    return Node(kind, "", base, *(scripts[mark] for mark in "_^" if mark in scripts))


def _atom(tokens: list[str]) -> Node:
    token = tokens.pop() if tokens else ""
    if token == "{":
        return _row(tokens)
    if not token.startswith("\\"):
        return _plain(token)
    name = token[1:]
    if name == "frac":
        # \frac12 is one half: of a number without braces only the first digit is meant.
        return Node("frac", "", _argument(tokens), _argument(tokens))
    if name == "sqrt":
        return Node("sqrt", "", _argument(tokens))
    if name in ACCENTS:
        return Node("accent", name, _argument(tokens))
    if name in _STYLES:
        return Node("name", styled(name, "".join(_letters(tokens))))
    if name in LARGE:
        return Node("large", LARGE[name])
    if name in FUNCTIONS:
        return Node("function", name)
    if name in OPERATORS:
        return Node("operator", OPERATORS[name])
    return Node("name", SYMBOLS.get(name, name))


def _plain(token: str) -> Node:
    if token.isdigit() or "." in token[:-1]:
        return Node("number", token)
    if token.isalpha():
        return Node("name", token)
    return Node("operator", SIGNS.get(token, token))


def _argument(tokens: list[str]) -> Node:
    if tokens and tokens[-1].isdigit() and len(tokens[-1]) > 1:
        digits = tokens.pop()
        tokens.append(digits[1:])
        return Node("number", digits[0])
    return _atom(tokens)


def _letters(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens in the braces that follow, or the next token."""
    token = tokens.pop()
    if token != "{":
        yield token
        return
    while tokens:
        token = tokens.pop()
        if token == "}":
            return
        yield " " if token == "\\ " else token


def _mathml(node: Node) -> str:
    """Write a formula as one piece or several: browsers break lines between pieces alone."""
    parts = node.parts if node.kind == "row" else (node,)
    pieces: list[list[str]] = [[]]
    depth, signs = 0, [_sign(text) for text in BREAKING]
    for part in parts:
        sign = part.text if part.kind == "operator" else ""
        depth += (sign in _OPENING) - (sign in _CLOSING)
        first = part.parts[0] if part.kind in ("sub", "sup", "both") else part
        # Behind a sign no line is broken before the sum that it takes.
        taken = first.kind == "large" and pieces[-1] and pieces[-1][-1] not in signs
        if depth == 0 and pieces[-1] and (sign in BREAKING or taken):
            pieces.append([])
        pieces[-1].append(_sign(sign) if sign in BREAKING else _element(part))
    return "<wbr/>".join(f"<math>{''.join(piece)}</math>" for piece in pieces)


def _sign(text: str) -> str:
    # An infix sign, also at the beginning of a piece.
    return f'<mo form="infix" stretchy="false">{escape(text)}</mo>'


_OPENING: Final = ("(", "[", "{", "⌊", "⌈")
_CLOSING: Final = (")", "]", "}", "⌋", "⌉")

_TAGS: Final = {"row": "mrow", "frac": "mfrac", "sqrt": "msqrt", "sub": "msub", "sup": "msup",
                "both": "msubsup"}  # fmt: skip


def _element(node: Node) -> str:
    if node.kind in _TAGS:
        tag = _TAGS[node.kind]
        return f"<{tag}>{''.join(map(_element, node.parts))}</{tag}>"
    if node.kind == "accent":
        mark = f'<mo stretchy="false">{ACCENTS[node.text][0]}</mo>'
        return f'<mover accent="true">{_element(node.parts[0])}{mark}</mover>'
    text = escape(node.text, quote=False)
    if node.kind == "number":
        return f"<mn>{text}</mn>"
    if node.kind in ("name", "function"):
        return f"<mi>{text}</mi>"
    if node.kind == "prime":
        return f'<mo lspace="0" rspace="0">{text}</mo>'
    # Brackets and bars keep the height of the line.
    return f"<mo>{text}</mo>" if node.kind == "large" else f'<mo stretchy="false">{text}</mo>'


def _text(node: Node) -> str:
    inner = [_text(part) for part in node.parts]
    match node.kind:
        case "row":
            return _joined(node.parts, inner)
        case "frac":
            return f"{_grouped(node.parts[0], inner[0])}/{_grouped(node.parts[1], inner[1])}"
        case "sqrt":
            return f"√{_grouped(node.parts[0], inner[0])}"
        case "accent":
            return f"{inner[0][:1]}{ACCENTS[node.text][1]}{inner[0][1:]}"
        case "sub":
            return f"{inner[0]}_{_lowered(node.parts[1], inner[1])}"
        case "sup":
            return inner[0] + _raised(node.parts[1], inner[1])
        case "both":
            low = _lowered(node.parts[1], inner[1])
            return f"{inner[0]}_{low}" + _raised(node.parts[2], inner[2])
    return node.text


def _raised(node: Node, text: str) -> str:
    return RAISED.get(text) or f"^{_grouped(node, text)}"


def _lowered(node: Node, text: str) -> str:
    return text if text.isalnum() else _grouped(node, text)


def _grouped(node: Node, text: str) -> str:
    return f"({text})" if node.kind in ("row", "frac") and len(text.rstrip(PRIME)) > 1 else text


def _joined(parts: tuple[Node, ...], texts: list[str]) -> str:
    out = ""
    for place, (part, text) in enumerate(zip(parts, texts, strict=True)):
        # A sign with nothing before it belongs to the number behind it.
        before = out.rstrip()[-1:]
        alone = before in ("", *"([{,") or (before in SPACED and text in SIGNS.values())
        if part.kind == "operator" and text in SPACED and not alone:
            out += f" {text} "
        elif part.kind == "operator" and text in ",;:":
            out += f"{text} "
        else:
            large = part.kind in ("function", "large") or (
                part.kind in ("sub", "sup", "both") and part.parts[0].kind in ("function", "large")
            )
            wordy = out and (out[-1].isalnum() or out[-1] in ")}]") and (large or len(text) > 1)
            wordy = wordy or (place > 0 and parts[place - 1].kind == "frac")
            out += (" " if wordy and text[:1] not in "([{)]}|‖" else "") + text
            out += " " if large and place + 1 < len(parts) else ""
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
