"""Signs of formulas by their names in LaTeX."""
# ruff: noqa: RUF001 - they are meant although they look like letters.

from __future__ import annotations

from typing import Final

__all__ = [
    "ACCENTS",
    "BREAKING",
    "FUNCTIONS",
    "LARGE",
    "OPERATORS",
    "PRIME",
    "RAISED",
    "SIGNS",
    "SPACED",
    "SYMBOLS",
    "styled",
]

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
"""Signs that take limits."""

FUNCTIONS: Final = ("max", "min", "log", "exp", "Pr", "arg", "tanh", "sup", "inf", "lim")
"""Functions that are written upright."""

ACCENTS: Final = {
    "bar": ("¯", "\u0304"), "overline": ("¯", "\u0304"), "hat": ("^", "\u0302"),
    "tilde": ("~", "\u0303"), "widetilde": ("~", "\u0303"), "dot": ("˙", "\u0307"),
}  # fmt: skip
"""Marks above a letter: by themselves, and as a sign that joins the letter before it."""

PRIME: Final = "′"

SIGNS: Final = {"-": "−", "*": "∗"}
"""What stands for signs of the keyboard."""

SPACED: Final = frozenset("=<>≤≥+−∈∋⊆∝→·≈≠")
"""Signs that have room on both sides in plain text."""

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
