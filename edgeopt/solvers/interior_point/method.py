"""Steps of the method: Mehrotra's predictor-corrector with Gondzio's centrality correctors.

S. Mehrotra, SIAM J. Optim. 2, 1992; J. Gondzio, Comput. Optim. Appl. 6, 1996. A factorisation costs
far more than a solve, so each is used several times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.solvers.interior_point import directions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.interior_point.form import StandardForm

    Floats = NDArray[np.float64]

__all__ = ["InteriorPoint", "Point"]

# Complementarity products are corrected into [BOX_LOW, BOX_HIGH] times their target.
BOX_LOW, BOX_HIGH = 0.1, 10.0
# Part of the way to the boundary that a step takes.
BACKOFF = 0.9995
# A corrector is kept if it lengthens a step by this much.
WORTHWHILE = 0.01


@dataclass(frozen=True)
class Point:
    """Primal values and dual slacks of all columns, and the rows' multipliers.

    Parameters
    ----------
    primal, slack
        Positive, shape [n].
    multipliers
        One number per row, shape [m].
    """

    primal: Floats
    slack: Floats
    multipliers: Floats

    @property
    def centre(self) -> float:
        """Mean complementarity product."""
        return float(self.primal @ self.slack) / self.primal.size


class InteriorPoint:
    """The method for one program: points go in, better points come out, nothing is kept between.

    Parameters
    ----------
    form
        The program.
    correctors
        Largest number of centrality correctors per step: the more, the dearer a factorisation is
        against a solve.
    """

    def __init__(self, form: StandardForm, *, correctors: int = 3) -> None:
        self.form, self.correctors = form, correctors

    def missing(self, point: Point) -> Floats:
        """Return right-hand sides less row activities, shape [m]."""
        return self.form.right - self.form.rows(point.primal)

    def objectives(self, point: Point) -> tuple[float, float]:
        """Return primal and dual objective of the minimisation at a point."""
        return float(self.form.cost @ point.primal), float(self.form.right @ point.multipliers)

    def sizes(self, point: Point) -> tuple[float, float]:
        """Return the sums of the absolute values of the terms of both objectives."""
        form = self.form
        own = float(np.abs(form.cost) @ point.primal)
        return own, float(np.abs(form.right) @ np.abs(point.multipliers))

    def step(self, point: Point) -> Point:
        """Return the next point: predictor, corrector, centrality correctors while they help.

        Raises
        ------
        FloatingPointError
            If the normal equations have become unsolvable; the last point stands.
        """
        newton = _Newton(self, point)
        product = point.primal * point.slack
        newton.direct(-product)
        goal = newton.goal()
        target = goal - product - newton.primal_step * newton.slack_step
        newton.direct(target)
        for _ in range(self.correctors):
            if min(newton.longest) > 0.95:
                break
            before = newton.kept()
            push = np.empty_like(target)
            directions.centrality_push(
                point.primal,
                point.slack,
                newton.primal_step,
                newton.slack_step,
                min(1.0, 1.3 * newton.longest[0] + 0.1),
                min(1.0, 1.3 * newton.longest[1] + 0.1),
                BOX_LOW * goal,
                BOX_HIGH * goal,
                push,
            )
            newton.direct(target + push)
            if all(a < b + WORTHWHILE for a, b in zip(newton.longest, before.longest, strict=True)):
                newton.restore(before)
                break
            target += push
        return newton.moved()


class _Direction(NamedTuple):
    """A Newton direction and how far it can be followed, primal and dual."""

    primal_step: Floats
    slack_step: Floats
    multipliers: Floats
    longest: tuple[float, float]


class _Newton:
    """The Newton system at one point, and the direction last computed from it."""

    def __init__(self, method: InteriorPoint, point: Point) -> None:
        self.form, self.point = method.form, point
        self.missing = method.missing(point)
        self.dual_residual = self.form.cost - self.form.prices(point.multipliers) - point.slack
        self.weight = point.primal / point.slack
        self.form.factorise(self.weight)
        self.primal_step = np.empty_like(point.primal)
        self.slack_step = np.empty_like(point.slack)
        self.multipliers = point.multipliers
        self.longest = (0.0, 0.0)

    def direct(self, target: Floats) -> None:
        """Compute the direction that changes complementarity products by `target`."""
        form, point = self.form, self.point
        shift = self.weight * self.dual_residual - target / point.slack
        self.multipliers, prices = form.solve(self.missing + form.rows(shift))
        if not np.isfinite(self.multipliers).all():
            raise FloatingPointError("the normal equations have no finite solution")
        self.longest = directions.finish_direction(
            point.primal,
            point.slack,
            self.weight,
            shift,
            self.dual_residual,
            prices,
            self.primal_step,
            self.slack_step,
        )

    def goal(self) -> float:
        """Return the complementarity product to aim at, by Mehrotra's rule on the predictor."""
        primal_length, dual_length = self.longest
        ahead = (self.point.primal + primal_length * self.primal_step) @ (
            self.point.slack + dual_length * self.slack_step
        )
        centre = self.point.centre
        return (float(ahead) / self.point.primal.size / centre) ** 3 * centre

    def kept(self) -> _Direction:
        """Return a copy of the direction."""
        return _Direction(
            self.primal_step.copy(), self.slack_step.copy(), self.multipliers, self.longest
        )

    def restore(self, kept: _Direction) -> None:
        """Go back to a direction kept before."""
        self.primal_step, self.slack_step, self.multipliers, self.longest = kept

    def moved(self) -> Point:
        """Return the point reached along the direction."""
        primal_length, dual_length = (BACKOFF * length for length in self.longest)
        return Point(
            self.point.primal + primal_length * self.primal_step,
            self.point.slack + dual_length * self.slack_step,
            self.point.multipliers + dual_length * self.multipliers,
        )
