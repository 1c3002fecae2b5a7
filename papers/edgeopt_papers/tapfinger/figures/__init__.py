"""The figures and tables of TapFinger's evaluation, and those before it that show measurements."""

from __future__ import annotations

from edgeopt_papers.tapfinger.figures import completion, containers, measured

__all__ = ["PAPER_FIGURES"]

_ORDER = (
    "2", "4", "II", "5ab", "5cd", "6", "7", "8", "9ab", "9cd", "10", "11", "12", "13", "14", "15",
)  # fmt: skip

PAPER_FIGURES = tuple(
    sorted(
        (*measured.FIGURES, *completion.FIGURES, *containers.FIGURES),
        key=lambda one: _ORDER.index(one.number),
    )
)
"""In the order of the paper."""
