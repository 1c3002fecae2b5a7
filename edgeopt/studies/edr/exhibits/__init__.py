"""The figures of EDR's evaluation."""

from __future__ import annotations

from edgeopt.studies.edr.exhibits import costs, proposed, varied

__all__ = ["EXHIBITS"]

EXHIBITS = tuple(
    sorted((*costs.FIGURES, *proposed.FIGURES, *varied.FIGURES), key=lambda one: one.number)
)
"""In the order of the paper."""
