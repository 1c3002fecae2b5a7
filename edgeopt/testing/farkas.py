r"""Proofs that no point satisfies the rows and bounds of a program, by Farkas' lemma.

Multipliers y of the rows prove it where the bound of the zero objective is positive: with
:math:`r = -A^\top y`,

.. math::
    \sum_i \big( y_i^+ \underline{b}_i - y_i^- \overline{b}_i \big)
    + \sum_j \big( r_j^+ \underline{x}_j - r_j^- \overline{x}_j \big) > 0,

and none of them rests on an infinite side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.errors import CertificateError
from edgeopt.solvers.exact_proofs import infeasibility_certificate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.solvers.program import LinearProgram


def proves_no_point(program: LinearProgram, multipliers: ArrayLike) -> bool:
    """Return whether multipliers of the rows prove that no point satisfies rows and bounds.

    `edgeopt.checker` adds the sum up in rationals, where each double counts as its shortest
    decimal; costs and whole-number conditions count for nothing. Multipliers of a floating-point
    solver leave roundings on infinite sides. So those of rows are dropped there, and reduced costs
    are, if need be, made exactly 0 by a small system in rationals, or moved into a row that implies
    the missing side. A proof is only what then passes, whatever the multipliers came from.
    """
    try:
        infeasibility_certificate(program, multipliers)
    except CertificateError:
        return False
    return True
