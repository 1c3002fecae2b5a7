"""The figures of EDR's evaluation."""

from __future__ import annotations

from edgeopt_papers.edr.figures import alone, varied, weekly

__all__ = ["PAPER_FIGURES"]

PAPER_FIGURES = tuple(
    sorted((*weekly.FIGURES, *alone.FIGURES, *varied.FIGURES), key=lambda one: one.number)
)
"""In the order of the paper."""
