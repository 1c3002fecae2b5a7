"""What solving P1-LP yields, whichever method solved it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.solvers import Solution

__all__ = ["DENSE_COLUMNS", "Allocation", "P1Duals", "P1Solution"]

DENSE_COLUMNS = 10_000_000
"""Up to this many columns T*J*K*L an allocation is a dense array."""

Allocation: TypeAlias = Any
"""y as an array of shape [T, J, K, L], or as a `scipy.sparse.csr_array` of shape [T*J, K*L]."""


@dataclass(frozen=True)
class P1Duals:
    r"""Derivatives of OPT(LP) by the right-hand sides.

    Parameters
    ----------
    arrival
        By :math:`p_j(t)` in (3a), nonnegative, shape [T, J].
    occupancy
        By the server's time in (3b), nonnegative, shape [K, T].
    reserved
        By the demand :math:`\phi_i` in (2d), nonpositive, profit per TMAC, shape [H].
    """

    arrival: NDArray[np.float64]
    occupancy: NDArray[np.float64]
    reserved: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class P1Solution:
    r"""A feasible point of P1-LP with a proven upper bound on OPT(LP).

    Parameters
    ----------
    x
        Share of the server's slot that serves a reserved task, shape [H, T].
    y
        Probability that device j arrives in slot t and is routed to server k under profile l: shape
        [T, J, K, L], or beyond `DENSE_COLUMNS` a `csr_array` of shape [T*J, K*L].
    objective
        Expected profit of y in the relaxation.
    bound
        Proven upper bound on OPT(LP), from `duals` by weak duality.
    duals
        A dual feasible point.
    solution
        Status, residuals, timings and solver.
    """

    x: NDArray[np.float64]
    y: Allocation = field(repr=False)
    objective: float
    bound: float
    duals: P1Duals = field(repr=False)
    solution: Solution = field(repr=False)

    @property
    def gap(self) -> float:
        """Proven relative gap ``(bound - objective) / bound``; 0 where that is rounding."""
        return self.solution.gap
