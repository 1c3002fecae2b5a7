r"""A primal-dual interior-point method for linear programs with a structure of their own.

The method sees a program only through `StandardForm`: how to apply the rows and their transpose,
and how to solve the normal equations. Whoever brings a program decides how its normal matrix is
assembled and factorised. The steps are Mehrotra's predictor and corrector (SIAM J. Optim. 2, 1992)
with Gondzio's centrality correctors (Comput. Optim. Appl. 6, 1996): a factorisation costs far more
than a solve, so each is used several times.

The form is the textbook's: minimise :math:`c^\top v` subject to :math:`A v = b, v \ge 0`.

- An inequality is a row with a slack column of its own.
- An upper bound :math:`v_j \le n_j` is a row as well, :math:`v_j + u_j = n_j`, with the slack
  :math:`u_j`. Such a row holds one structural column, so its multiplier is eliminated by hand, at
  the price of a division: the normal matrix that is left to factorise is as small as if the method
  knew bounds, and the steps need no second kind of variable.
- A column that is fixed, and a row whose right-hand side leaves no interior (a capacity of 0), must
  be taken out before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class StandardForm(Protocol):
    """A linear program in standard form, known by what it does to vectors.

    Columns and rows are numbered as the program likes, the same in all methods: a vector of columns
    has shape [n], a vector of rows or multipliers shape [m].
    """

    @property
    def cost(self) -> Floats:
        """Objective coefficients, shape [n]; scaled so that the largest are about 1."""

    @property
    def right(self) -> Floats:
        """Right-hand sides, shape [m]; scaled so that they are about 1."""

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values, shape [m]."""

    def prices(self, multipliers: Floats) -> Floats:
        """Return the price of every column under row multipliers: the transpose of `rows`."""

    def factorise(self, weight: Floats) -> None:
        """Prepare `solve` for positive column weights, shape [n]."""

    def solve(self, right: Floats) -> tuple[Floats, Floats]:
        r"""Solve :math:`A\,\mathrm{diag}(weight)\,A^\top \pi = right`."""


@compiled(writes="primal_step dual_step", fastmath={"contract", "reassoc", "nsz"})
def _finish_direction(
    primal: Floats,
    dual: Floats,
    weight: Floats,
    shift: Floats,
    dual_residual: Floats,
    priced: Floats,
    primal_step: Floats,
    dual_step: Floats,
) -> tuple[float, float]:
    """Complete a Newton direction from its multiplier part and measure how far it can go."""
    longest_primal = 1.0
    longest_dual = 1.0
    for i in range(primal.size):
        dx = weight[i] * priced[i] - shift[i]
        dz = dual_residual[i] - priced[i]
        primal_step[i] = dx
        dual_step[i] = dz
        if dx < 0.0 and -primal[i] > dx * longest_primal:
            longest_primal = -primal[i] / dx
        if dz < 0.0 and -dual[i] > dz * longest_dual:
            longest_dual = -dual[i] / dz
    return longest_primal, longest_dual


@compiled(writes="out", fastmath={"contract", "reassoc", "nsz"})
def _centrality_push(
    primal: Floats,
    slack: Floats,
    primal_step: Floats,
    slack_step: Floats,
    primal_length: float,
    dual_length: float,
    low: float,
    high: float,
    out: Floats,
) -> None:
    """Return by how much a trial step's complementarity products miss the box `[low, high]`.

    Products above the box are pulled down by at most `high`, so that few large ones do not
    dominate.
    """
    for i in range(primal.size):
        product = (primal[i] + primal_length * primal_step[i]) * (
            slack[i] + dual_length * slack_step[i]
        )
        if product < low:
            out[i] = low - product
        elif product > high:
            out[i] = max(high - product, -high)
        else:
            out[i] = 0.0


# Complementarity products are corrected into [BOX_LOW, BOX_HIGH] times their target.
BOX_LOW, BOX_HIGH = 0.1, 10.0
# Part of the way to the boundary that a step takes.
BACKOFF = 0.9995
# A corrector is kept if it lengthens a step by this much.
WORTHWHILE = 0.01


@dataclass(frozen=True)
class Point:
    """Primal values and dual slacks of all columns, and the rows' multipliers."""

    # primal, slack: positive, shape [n]
    primal: Floats
    slack: Floats
    multipliers: Floats  # one number per row, shape [m]

    @property
    def centre(self) -> float:
        """Mean complementarity product."""
        return float(self.primal @ self.slack) / self.primal.size


class InteriorPoint:
    """The method for one program: points go in, better points come out, nothing is kept between.

    The more ``correctors`` a step may take, the dearer a factorisation is against a solve.
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
        """Return the next point: predictor, corrector, centrality correctors while they help."""
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
            _centrality_push(
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
        self.longest = _finish_direction(
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


# Row activities may miss their right-hand sides by this much: points are repaired afterwards.
PRIMAL_ACCURACY = 1e-8


def approach(
    method: InteriorPoint,
    point: Point,
    gap: float,
    *,
    max_iterations: int = 300,
    time_limit: float | None = None,
) -> Iterator[tuple[Point, float]]:
    """Yield the start and every point after it, each with its relative gap, until one will do.

    The walk ends as well when time or iterations are used up, or when the normal equations have
    become unsolvable: the last point yielded is then the best there is.
    """
    began = time.perf_counter()
    missed = np.inf
    for iteration in range(max_iterations + 1):
        primal, dual = method.objectives(point)
        sizes = method.sizes(point)
        reached = relative_gap(primal, dual, objective_size=sizes[0], bound_size=sizes[1])
        yield point, reached
        if reached <= gap:
            # Near the optimum cancellation makes the rows worse again: then it is time to stop.
            before, missed = missed, float(np.abs(method.missing(point)).max(initial=0.0))
            if missed <= PRIMAL_ACCURACY or missed >= before:
                return
        late = time_limit is not None and time.perf_counter() - began > time_limit
        if late or iteration == max_iterations:
            return
        try:
            point = method.step(point)
        except FloatingPointError:
            return
