r"""Constants of the analysis of Algorithm 1: how large multipliers, fit and regret can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from edgeopt.bounds.edr.play import theory_sizes
from edgeopt.online.primal_dual import fit_bound, multiplier_bound

if TYPE_CHECKING:
    from edgeopt.bounds.edr.relaxed import Relaxed
    from edgeopt.online.primal_dual import StepSizes

__all__ = ["Constants"]


@dataclass(frozen=True)
class Constants:
    r"""What the bounds of the analysis are made of.

    Parameters
    ----------
    frames
        Length T of the horizon.
    sizes
        Sizes of the steps.
    gradient, constraints, diameter
        Largest norm F of a cost gradient, U of the constraints, and largest distance of two points.
    slack
        The :math:`\epsilon` of Assumption 2.
    largest_drift, drift
        Largest growth of the constraints from one frame to the next, and the sum of all.
    path
        Length of the path of the comparators.
    """

    frames: int
    sizes: StepSizes
    gradient: float
    constraints: float
    diameter: float
    slack: float
    largest_drift: float
    drift: float
    path: float

    @classmethod
    def of(cls, problem: Relaxed, horizon: int | None = None) -> Constants:
        """Read them off a problem, for another horizon with the same frames if one is given."""
        return cls(
            frames=horizon or problem.frames,
            sizes=theory_sizes(problem, horizon),
            gradient=problem.gradient,
            constraints=problem.constraints,
            diameter=problem.diameter,
            slack=problem.slack,
            largest_drift=float(problem.drift.max(initial=0.0)),
            drift=float(problem.drift.sum()),
            path=problem.path,
        )

    def replace(self, **changes: Any) -> Constants:
        """Return a copy with other numbers."""
        return replace(self, **changes)

    @property
    def multiplier(self) -> float:
        r"""The :math:`\bar\lambda` of Lemma 3, equation (23)."""
        return multiplier_bound(
            self.sizes,
            gradient=self.gradient,
            constraints=self.constraints,
            diameter=self.diameter,
            slack=self.slack,
            drift=self.largest_drift,
        )

    @property
    def fit(self) -> float:
        """Bound of the fit, Theorem 2."""
        return fit_bound(self.multiplier, self.sizes.dual)

    @property
    def regret(self) -> float:
        r"""Bound :math:`A_T` of the regret of training, Lemma 4, equation (34)."""
        alpha, mu = self.sizes
        steps = (
            mu * self.constraints**2 * (self.frames + 1) + alpha * self.gradient**2 * self.frames
        )
        moves = self.diameter * self.path + self.diameter**2 / 2
        return steps / 2 + self.multiplier * self.drift + moves / alpha
