"""Factors that change the unit of an amount and nothing else."""

from __future__ import annotations

from typing import Final

__all__ = ["ANY", "POWERS"]

POWERS: Final = (2.0**-40, 2.0**40)
"""Powers of two, by which all arithmetic scales exactly: not a bit of a decision may change."""

ANY: Final = (1e-8, 1e8)
"""Factors that round."""
