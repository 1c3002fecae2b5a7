"""The three tolerances of edgeopt, named once.

A tolerance is relative: to what meets in a constraint, to the larger of objective and bound. A
number that has a unit is never compared with one of these as it stands.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULT", "LOOSE", "TIGHT"]

LOOSE: Final = 1e-4
"""For first-order methods, simulations and what a person reads off a picture."""

DEFAULT: Final = 1e-6
"""For certificates: residuals and gaps of every solution that is called optimal."""

TIGHT: Final = 1e-9
"""For data that must agree to rounding: probabilities that sum to one, the guard's remainders."""
