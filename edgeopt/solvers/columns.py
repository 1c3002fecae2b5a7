r"""Column generation: solve a few columns, price the rest, stop at a proven gap.

A problem with too many columns to list is solved on a subset, the *restricted
master*. Its duals price the columns left out: the *pricing* routine returns columns that would
improve the master, and a bound that the same duals prove for the whole problem (the Lagrangian
bound). The loop ends when the best such bound and the master's objective meet.

Any duals give a valid bound, so nothing has to be solved exactly on the way. An interior-point
method without crossover is the natural master: its duals lie in the middle of the optimal face
instead of at an arbitrary vertex, and it need not finish before pricing goes on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from edgeopt.errors import SolverError
from edgeopt.options import check_real
from edgeopt.solvers.interior_point import InteriorPoint, Newton, approach
from edgeopt.solvers.registry import Progress
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.solution import Quality, Seconds, Solution, Status
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from edgeopt.solvers.interior_point import Point, Rows
    from edgeopt.solvers.parametric import Reusable
    from edgeopt.solvers.program import LinearProgram, Sense
    from edgeopt.solvers.registry import ProgressCallback
    from edgeopt.solvers.tolerance import Sum

Columns = TypeVar("Columns")
FormT = TypeVar("FormT", bound="Rows")
Contra = TypeVar("Contra", contravariant=True)


@dataclass(frozen=True)
class Restricted:
    """What a master found on the columns it has."""

    # value of a point that is feasible for the whole problem, columns left out being 0
    objective: float
    values: Any  # that point, in the master's own form
    duals: Any  # prices for the pricing routine, in the form it takes
    # Whether the master stopped before the gap asked for, to have its prices looked at on the way.
    early: bool = False


@dataclass(frozen=True)
class Priced(Generic[Columns]):
    """What pricing found."""

    bound: float  # proven bound on the optimum over *all* columns
    columns: Columns | None  # columns worth adding; None when there are none


@dataclass(frozen=True)
class _Round:
    """One round of the loop: the master's objective, the best bound so far, columns added, time."""

    objective: float
    bound: float
    added: int
    seconds: float


class _Master(Protocol[Contra]):
    """A restricted master problem that can be solved and can grow."""

    sense: Sense
    name: str
    version: str

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Solve to about this relative gap, from wherever the last solve ended."""

    def add(self, columns: Contra) -> int:
        """Add columns and return how many were new."""

    def complete(self, values: Any) -> Any:
        """Return values found earlier as a point of the master as it is now, new columns at 0."""

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> Any:
        """Return the problem over all columns, which certifies a `Solution` (see there)."""


def generate_columns(
    master: _Master[Columns],
    pricing: Callable[[Any], Priced[Columns]],
    *,
    gap: float = 1e-6,
    first_gap: float | None = None,
    max_rounds: int = 1000,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    raises: bool = True,
) -> Solution:
    """Generate columns until the objective is proven optimal to a relative gap."""
    check_real("gap", gap, "(0, inf]")
    check_real("time_limit", time_limit, "[0, inf]", none=True)
    sign = 1.0 if master.sense == "min" else -1.0
    began = time.perf_counter()
    state = _State(sign, -sign * np.inf)
    master_gap = gap / 4 if first_gap is None else first_gap
    last_round = 0.0
    status = Status.ITERATION_LIMIT
    try:
        for number in range(1, max_rounds + 1):
            begun = time.perf_counter() - began
            left = None if time_limit is None else time_limit - begun
            if left is not None and left <= last_round:
                status = Status.MAX_TIME_LIMIT
                break
            restricted = master.solve(master_gap, left)
            priced = pricing(restricted.duals)
            proven = state.take(restricted, priced.bound)
            converged = proven <= gap
            added = 0
            if not converged and priced.columns is not None:
                added = master.add(priced.columns)
            seconds = time.perf_counter() - began
            last_round = seconds - begun
            state.rounds.append(_Round(restricted.objective, state.bound, added, seconds))
            if converged:
                status = Status.CONVERGENCE_CRITERIA_SATISFIED
                break
            if progress is not None and progress(
                Progress(seconds, number, restricted.objective, state.bound)
            ):
                status = Status.INTERRUPTED
                break
            if added == 0 and not restricted.early:
                if master_gap <= gap * 1e-3:
                    status = Status.UNKNOWN  # nothing to add, and the master is as exact as it gets
                    break
                master_gap = max(master_gap * 0.1, gap * 1e-3)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    solution = state.solution(status, master, pricing, time.perf_counter() - began, gap)
    if raises and solution.values is None:
        raise SolverError("the first restricted master was not solved; allow more time", solution)
    return solution


@dataclass
class _State:
    """The best point and the best bound so far; they need not come from the same round."""

    sign: float
    bound: float
    best: Restricted | None = None
    prices: Any = None
    rounds: list[_Round] = field(default_factory=list)

    def take(self, restricted: Restricted, bound: float) -> float:
        """Record a round and return the proven relative gap."""
        if self.best is None or self.sign * (restricted.objective - self.best.objective) <= 0.0:
            self.best = restricted
        if self.sign * (bound - self.bound) >= 0.0:
            self.bound, self.prices = bound, restricted.duals
        return relative_gap(self.best.objective, self.bound)

    def solution(
        self,
        status: Status,
        master: _Master[Any],
        pricing: Callable[[Any], Priced[Any]],
        seconds: float,
        gap: float,
    ) -> Solution:
        converged = status is Status.CONVERGENCE_CRITERIA_SATISFIED
        if self.best is None:
            quality = Quality.NO_SOLUTION
        else:
            quality = Quality.OPTIMAL if converged else Quality.FEASIBLE
        values = None if self.best is None else master.complete(self.best.values)
        return Solution(
            status=status,
            quality=quality,
            objective=float("nan") if self.best is None else self.best.objective,
            bound=self.bound,
            values=values,
            duals=self.prices,
            seconds=Seconds(0.0, seconds),
            solver=master.name,
            version=master.version,
            options={"gap": gap},
            problem=master.whole(pricing),
            path="cold",
            evidence=tuple(self.rounds),
            sense=master.sense,
        )


@dataclass(frozen=True, eq=False)
class GeneratedProgram:
    """The whole problem behind a restricted master: its generated part, and pricing for the rest.

    It gives a `Solution` what it needs to be certified against all columns, not only the generated.
    """

    program: LinearProgram
    pricing: Callable[[Any], Priced[Any]]

    def primal_residual(self, solution: Solution) -> float:
        """Return the largest violation in the generated program."""
        return linear.primal_violation(self.program, solution.values)

    def dual_residual(self, solution: Solution) -> float:
        """Return the largest wrong-signed dual or reduced cost of a generated column."""
        return linear.dual_violation(self.program, solution.duals)

    def dual_bound(self, solution: Solution) -> float:
        """Return the bound that pricing proves with the duals of the solution."""
        return self.pricing(solution.duals).bound

    def objective(self, solution: Solution) -> Sum:
        """Return the objective at the values, columns that were not generated being 0."""
        return linear.objective(replace(solution, problem=self.program))


class ReusableMaster:
    """What masters share that stay loaded in HiGHS, to be minimised."""

    sense: Sense = "min"
    name = "column generation"

    def __init__(self, model: Reusable) -> None:
        self._model = model
        self.version = ""

    def solved(self) -> Solution:
        """Solve on the columns so far."""
        solution = self._model.solve()
        self.version = f"{solution.solver} {solution.version}"
        return solution

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Solve on the columns so far; a vertex is exact, whatever the gap."""
        solution = self.solved()
        return Restricted(solution.objective, solution.values, solution.duals)

    def complete(self, values: Any) -> Any:
        """Return values found earlier, columns that joined later at 0."""
        return np.pad(values, (0, self._model.program.shape[1] - values.size))

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> GeneratedProgram:
        """Return the program so far with pricing for all other columns."""
        return GeneratedProgram(self._model.program, pricing)


class InteriorMaster(Generic[FormT]):
    """What masters share that are solved by an interior-point method of their own.

    Every solve goes on from the last point.
    """

    sense: Sense = "max"
    name = "edgeopt structured interior point"
    newton: type[Newton[Any]] = Newton

    def __init__(self, form: FormT, point: Point, *, correctors: int, max_iterations: int) -> None:
        from edgeopt import __version__

        self.version = __version__
        self.form, self.point = form, point
        self.correctors, self.max_iterations = correctors, max_iterations
        self.iterations = 0

    def approach(self, gap: float, time_limit: float | None) -> Iterator[float]:
        """Go on until the relative gap is reached; yield that of every point."""
        walk = approach(
            InteriorPoint(self.form, correctors=self.correctors, newton=self.newton),
            self.point,
            gap,
            max_iterations=self.max_iterations,
            time_limit=time_limit,
        )
        self.iterations -= 1  # the start is no step
        for point, reached in walk:
            self.point = point
            self.iterations += 1
            yield reached

    def complete(self, values: Any) -> Any:
        """Return the values: they have a place for every column from the start."""
        return values
