"""What solving P1-LP returns: a feasible point, and prices that prove a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from edgeopt.representation import brief
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.solvers import Certificate, Solution

    Floats = NDArray[np.float64]

Allocation: TypeAlias = Any
"""y as an array of shape [T, J, K, L], or as a `scipy.sparse.csr_array` of shape [T*J, K*L]."""


@in_html
@brief
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


@in_html
@brief
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

    def certificate(
        self, *, name: str = "", point: bool = True, repair: bool = True
    ) -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.
        point
            Whether to include y and x; without them only the bound is certified, in a shorter file.
        repair
            Whether to move the point until it violates no constraint, not even by rounding.
        """
        return self.solution.certificate(name=name, point=point, repair=repair)


@in_html
@brief
@dataclass(frozen=True)
class PricedBound:
    """A proven upper bound on OPT(LP) and the dual feasible point behind it.

    Parameters
    ----------
    value
        The bound.
    size
        Sum of the absolute values of the terms that it is added up from.
    arrival
        Multipliers of (3a), shape [T, J].
    occupancy
        Multipliers of (3b), shape [K, T].
    reserved
        Multipliers of (2d) as derivatives of the optimum by the demand, nonpositive, shape [H].
    """

    value: float
    size: float
    arrival: Floats
    occupancy: Floats
    reserved: Floats
