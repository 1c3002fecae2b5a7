r"""Proofs that no point satisfies the rows and bounds of a program, by Farkas' lemma.

Multipliers y of the rows prove it where the bound of the zero objective is positive: with
:math:`r = -A^\top y`,

.. math::
    \sum_i \big( y_i^+ \underline{b}_i - y_i^- \overline{b}_i \big)
    + \sum_j \big( r_j^+ \underline{x}_j - r_j^- \overline{x}_j \big) > 0,

and none of them rests on an infinite side.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers import exact_duals
from edgeopt.solvers.residuals.multipliers import projected

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.solvers.exact_duals import Exact
    from edgeopt.solvers.program import LinearProgram


def proves_no_point(program: LinearProgram, multipliers: ArrayLike) -> bool:
    """Return whether multipliers of the rows prove that no point satisfies rows and bounds.

    The sum above is added up in rationals, where each double counts as its shortest decimal; costs
    and whole-number conditions count for nothing. Multipliers of a floating-point solver leave
    roundings on infinite sides. So those of rows are dropped there, and reduced costs are, if need
    be, made exactly 0 by a small system in rationals, or moved into a row that implies the missing
    side. A proof is only what then passes: it is one whatever the multipliers came from.
    """
    signed = np.asarray(multipliers, dtype=float)
    if signed.shape != program.row_lower.shape or not np.isfinite(signed).all():
        return False
    rows = program.replace(cost=np.zeros(program.shape[1]), sense="min", quadratic=None)
    signed = projected(rows, signed)
    for exact in exact_duals.nearby(rows, signed):
        if _prove(rows, exact):
            return True
        try:
            moved = exact_duals.rested(rows, exact)
        except CertificateError:
            continue
        if _prove(rows, moved):
            return True
    return False


def _prove(program: LinearProgram, exact: Exact) -> bool:
    """Return whether rational multipliers prove it as they are."""
    reduced = {j: exact_duals.reduced_cost(program, j, exact) for j in range(program.shape[1])}
    total = Fraction(0)
    for multiplier, low, high in (
        (exact, program.row_lower, program.row_upper),
        (reduced, program.lower, program.upper),
    ):
        for place, value in multiplier.items():
            side = (low if value > 0 else high)[place]
            if value and np.isinf(side):
                return False
            total += value * exact_duals.rational(side) if value else 0
    return total > 0
