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
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeopt.arrays import Floats


class Rows(Protocol):
    """The rows of a linear program in standard form, known by what they do to vectors.

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


class StandardForm(Rows, Protocol):
    """A linear program in standard form with its normal equations."""

    def factorise(self, weight: Floats) -> None:
        """Prepare `solve` for positive column weights, shape [n]."""

    def solve(self, right: Floats) -> tuple[Floats, Floats]:
        r"""Solve :math:`A\,\mathrm{diag}(weight)\,A^\top \pi = right`; return prices as well."""


FormT = TypeVar("FormT", bound=Rows)


# Sums in any order; numbers are finite where kernels run, and a division by zero gives infinity.
# A loop that sums stores nothing: with stores, its order would depend on where the arrays lie.
FAST: Final[Any] = {
    "fastmath": {"contract", "reassoc", "nsz", "nnan"},
    "error_model": "numpy",
}


class Aim(NamedTuple):
    """What a direction is to do to the complementarity products, beside what the last one was to.

    They are to grow by `base` less `second` times the last direction's own products. Those of a
    trial step are brought into the box `[low, high]`; ones above it are pulled down by at most
    `high`, so that few large ones do not dominate.
    """

    base: float = 0.0
    second: float = 0.0
    primal_length: float = 0.0
    dual_length: float = 0.0
    low: float = -np.inf
    high: float = np.inf


@compiled(**FAST)
def retarget(
    primal: float, slack: float, primal_step: float, slack_step: float, target: float, aim: Aim
) -> float:
    """Return the change of a column's product that a direction is to bring about."""
    product = (primal + aim.primal_length * primal_step) * (slack + aim.dual_length * slack_step)
    push = max(aim.low - product, 0.0) + max(min(aim.high - product, 0.0), -aim.high)
    return target + aim.base - aim.second * primal_step * slack_step + push


@compiled(writes="target shift", **FAST)
def begin_direction(
    primal: Floats,
    slack: Floats,
    residual: Floats,
    primal_step: Floats,
    slack_step: Floats,
    aim: Aim,
    target: Floats,
    shift: Floats,
) -> None:
    """Set the targets, and the part of the primal step that does not depend on prices, negated."""
    for i in range(primal.size):
        goal = retarget(primal[i], slack[i], primal_step[i], slack_step[i], target[i], aim)
        target[i] = goal
        shift[i] = (primal[i] * residual[i] - goal) / slack[i]


class Reach(NamedTuple):
    """How far a direction goes before it meets a boundary, and what it does on the way.

    The first two are one over the step lengths; the others are sums of products with the steps.
    """

    primal: float
    slack: float
    by_slack: float
    by_primal: float
    by_both: float

    def joined(self, other: Reach) -> Reach:
        """Return that of two parts of the columns together."""
        sums = (a + b for a, b in zip(self[2:], other[2:], strict=True))
        return Reach(max(self[0], other[0]), max(self[1], other[1]), *sums)


@compiled(writes="primal_step slack_step", **FAST)
def finish_direction(
    primal: Floats,
    slack: Floats,
    residual: Floats,
    target: Floats,
    price: Floats,
    primal_step: Floats,
    slack_step: Floats,
) -> tuple[float, float, float, float, float]:
    """Complete a direction by its prices and return the fields of its `Reach`."""
    most_primal = most_slack = 1.0
    by_slack = by_primal = by_both = 0.0
    for i in range(primal.size):
        dz = residual[i] - price[i]
        primal_step[i] = (target[i] - primal[i] * dz) / slack[i]
        slack_step[i] = dz
    for i in range(primal.size):
        dx, dz = primal_step[i], slack_step[i]
        most_primal = max(most_primal, -dx / primal[i])
        most_slack = max(most_slack, -dz / slack[i])
        by_slack += primal[i] * dz
        by_primal += dx * slack[i]
        by_both += dx * dz
    return most_primal, most_slack, by_slack, by_primal, by_both


# Complementarity products are corrected into [BOX_LOW, BOX_HIGH] times their target.
BOX_LOW, BOX_HIGH = 0.1, 10.0
# Part of the way to the boundary that a step takes. Longer steps end off the central path, and the
# next ones are short: with .9995 P1-LP takes 1.5 times as many iterations.
BACKOFF = 0.9
# The product to aim at is the part of the present one that the predictor leaves, to this power.
CENTRING = 5
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


class InteriorPoint(Generic[FormT]):
    """The method for one program: points go in, better points come out.

    The more ``correctors`` a step may take, the dearer a factorisation is against a solve. A form
    that can do more in one pass over its columns brings its own ``newton``.
    """

    def __init__(
        self, form: FormT, *, correctors: int = 3, newton: type[Newton[FormT]] | None = None
    ) -> None:
        self.form, self.correctors = form, correctors
        self._newton = (newton or Newton)(form)

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
        newton = self._newton
        newton.prepare(point)
        newton.direct(Aim())  # Mehrotra's predictor, then his corrector of second order
        goal = newton.goal()
        newton.direct(Aim(base=goal, second=1.0))
        # Gondzio's correctors, one after the other, from a trial step beyond the last one.
        for _ in range(self.correctors):
            before = newton.longest
            if min(before) > 0.95:
                break
            primal, dual = (min(1.0, 1.3 * length + 0.1) for length in before)
            newton.direct(Aim(0.0, 0.0, primal, dual, BOX_LOW * goal, BOX_HIGH * goal))
            if all(a < b + WORTHWHILE for a, b in zip(newton.longest, before, strict=True)):
                newton.take_back()
                break
        return newton.moved()


@dataclass
class _Direction:
    """A Newton direction and its reach."""

    primal: Floats
    slack: Floats
    multipliers: Floats
    reach: Reach


class Newton(Generic[FormT]):
    """The Newton system at a point, and the last two directions computed from it.

    Its memory serves one point after the other.
    """

    point: Point

    def __init__(self, form: FormT) -> None:
        self.form = form
        columns, nowhere = form.cost.size, Reach(1.0, 1.0, 0.0, 0.0, 0.0)
        self.now, self.before = (
            _Direction(np.zeros(columns), np.zeros(columns), np.zeros(form.right.size), nowhere)
            for _ in range(2)
        )
        self.target = np.empty(columns)  # change of each product that the direction aims at
        self.residual = np.empty(columns)  # dual residual

    def prepare(self, point: Point) -> None:
        """Go to a point: residuals, factorised normal equations, products to be brought to 0."""
        form: Any = self.form
        self.point = point
        self.missing = form.right - form.rows(point.primal)
        self.residual = form.cost - form.prices(point.multipliers) - point.slack
        np.multiply(point.primal, -point.slack, out=self.target)
        form.factorise(point.primal / point.slack)

    def direct(self, aim: Aim) -> None:
        """Compute the next direction."""
        self.before, self.now = self.now, self.before
        form: Any = self.form
        point, before = self.point, self.before
        shift = np.empty_like(self.target)
        begin_direction(
            point.primal, point.slack, self.residual, before.primal, before.slack, aim,
            self.target, shift,
        )  # fmt: skip
        self.now.multipliers, price = form.solve(self.missing + form.rows(shift))
        self.check()
        reach = finish_direction(
            point.primal, point.slack, self.residual, self.target, price,
            self.now.primal, self.now.slack,
        )  # fmt: skip
        self.now.reach = Reach(*reach)

    def check(self) -> None:
        """Refuse a direction that is not finite."""
        if not np.isfinite(self.now.multipliers).all():
            raise FloatingPointError("the normal equations have no finite solution")

    @property
    def longest(self) -> tuple[float, float]:
        """How far the direction can be followed, primal and dual, at most 1."""
        return 1.0 / self.now.reach.primal, 1.0 / self.now.reach.slack

    def goal(self) -> float:
        """Return the complementarity product to aim at, by the predictor, as Mehrotra does."""
        centre, reach = self.point.centre, self.now.reach
        primal, dual = self.longest
        change = dual * reach.by_slack + primal * reach.by_primal + primal * dual * reach.by_both
        ahead = max(0.0, centre + change / self.target.size)
        return (ahead / centre) ** CENTRING * centre

    def take_back(self) -> None:
        """Return to the direction before."""
        self.before, self.now = self.now, self.before

    def moved(self) -> Point:
        """Return the point reached along the direction."""
        primal_length, dual_length = (BACKOFF * length for length in self.longest)
        return Point(
            self.point.primal + primal_length * self.now.primal,
            self.point.slack + dual_length * self.now.slack,
            self.point.multipliers + dual_length * self.now.multipliers,
        )


# Row activities may miss their right-hand sides by this much: points are repaired afterwards.
PRIMAL_ACCURACY = 1e-8


def approach(
    method: InteriorPoint[Any],
    point: Point,
    gap: float,
    *,
    max_iterations: int = 300,
    time_limit: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[tuple[Point, float]]:
    """Yield the start and every point after it, each with its relative gap, until one will do.

    The walk ends as well when iterations are used up, when another one as long as the longest would
    end after the time limit, or when the normal equations have become unsolvable: the last point
    yielded is then the best there is.
    """
    began = before_step = clock()
    longest = 0.0
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
        now = clock()
        longest = max(longest, now - before_step) if iteration else 0.0
        late = time_limit is not None and now - began + longest > time_limit
        if late or iteration == max_iterations:
            return
        before_step = now
        try:
            point = method.step(point)
        except FloatingPointError:
            return
