"""Tolerances, named once, and how far a proven bound is from a value: numbers without a unit.

A tolerance is relative: to what meets in a constraint, to the larger of objective and bound. A
number that has a unit is never compared with one of these as it stands. Multiplying objective and
bound by the same positive number leaves their gap as it is; the one allowance is the rounding of
the sums that both numbers come from, which scales with them.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

LOOSE: Final = 1e-4
"""For first-order methods, simulations and what a person reads off a picture."""

DEFAULT: Final = 1e-6
"""For certificates: residuals and gaps of every solution that is called optimal."""

TIGHT: Final = 1e-9
"""For data that must agree to rounding: probabilities that sum to one, the guard's remainders."""


EPSILON: Final = 2.0**-52  # distance from 1 to the next double
ROUNDING_UNITS: Final = 64.0
"""How many units in the last place of their terms two sums may differ by and count as equal."""


class Sum(NamedTuple):
    """A sum, and that of the absolute values of its terms: what its rounding is measured by."""

    value: float
    size: float


def rounding_floor(
    objective: float,
    bound: float,
    *,
    objective_size: float | None = None,
    bound_size: float | None = None,
) -> float:
    """Return by how much objective and bound may differ through rounding alone."""
    sizes = (
        abs(objective) if objective_size is None else objective_size,
        abs(bound) if bound_size is None else bound_size,
    )
    return ROUNDING_UNITS * EPSILON * (sizes[0] + sizes[1])


def relative_gap(
    objective: float,
    bound: float,
    *,
    objective_size: float | None = None,
    bound_size: float | None = None,
) -> float:
    r"""Return :math:`|b - o| / \max(|o|, |b|)`, between 0 and 2, whatever the unit.

    Examples
    --------
    >>> relative_gap(3.0, 4.0), relative_gap(3.0 * 2**-40, 4.0 * 2**-40), relative_gap(0.0, 0.0)
    (0.25, 0.25, 0.0)
    """
    objective, bound = float(objective), float(bound)
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return math.inf
    difference = abs(bound - objective)
    floor = rounding_floor(objective, bound, objective_size=objective_size, bound_size=bound_size)
    if difference <= floor:
        return 0.0
    return difference / max(abs(objective), abs(bound))


def gap_closed(
    objective: float,
    bound: float,
    gap: float,
    *,
    absolute_gap: float = 0.0,
    objective_size: float | None = None,
    bound_size: float | None = None,
) -> bool:
    """Return whether a bound is as close to a value as requested."""
    reached = relative_gap(objective, bound, objective_size=objective_size, bound_size=bound_size)
    return reached <= gap or abs(bound - objective) <= absolute_gap
