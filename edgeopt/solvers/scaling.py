"""A look at the coefficients before a solver loses digits on them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import ScalingWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram

__all__ = ["LARGEST_RATIO", "coefficient_ranges", "warn_if_badly_scaled"]

LARGEST_RATIO: Final = 1e9
"""Largest over smallest coefficient beyond which double precision leaves a feasibility tolerance
of 1e-6 fewer than one safe digit."""


def coefficient_ranges(program: LinearProgram) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest nonzero magnitude in each part of a program.

    Infinite sides are left out; a part without nonzeros is absent.
    """
    sides = np.concatenate([program.row_lower, program.row_upper])
    bounds = np.concatenate([program.lower, program.upper])
    parts: dict[str, NDArray[Any]] = {
        "matrix": program.matrix.data,
        "cost": program.cost,
        "row sides": sides,
        "column bounds": bounds,
    }
    ranges = {}
    for name, data in parts.items():
        magnitude = np.abs(data[np.isfinite(data) & (data != 0.0)])
        if magnitude.size:
            ranges[name] = (float(magnitude.min()), float(magnitude.max()))
    return ranges


def warn_if_badly_scaled(program: LinearProgram, *, stacklevel: int = 2) -> None:
    """Warn about each part of a program that spans more than `LARGEST_RATIO`.

    Warns
    -----
    ScalingWarning
        Names the part and its extremes.
    """
    for name, (smallest, largest) in coefficient_ranges(program).items():
        if largest > LARGEST_RATIO * smallest:
            warnings.warn(
                f"the {name} spans {smallest:.1e} to {largest:.1e}: more than {LARGEST_RATIO:.0e}; "
                "choose units that bring it closer together, or drop the smallest entries",
                ScalingWarning,
                stacklevel=stacklevel + 1,
            )
