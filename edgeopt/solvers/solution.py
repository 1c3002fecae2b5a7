"""A solution that carries its own proof: why a solver stopped, what is in hand, how good it is.

The words of `Status` and `Quality` are those of Pyomo's solver interface, their separation is
MathOptInterface's. `Solution.certificate` imports exact proofs when called: they are solved for,
and end in solutions themselves.
"""

from __future__ import annotations

import copy
import difflib
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InputError, ProblemTypeError, SolverError
from edgeopt.representation import compact_repr
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import portable
from edgeopt.solvers.residuals import residuals_for
from edgeopt.solvers.residuals.linear import few_factorisations
from edgeopt.solvers.tolerance import DEFAULT, ROUNDING_UNITS, Sum, relative_gap

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from edgeopt.solvers.alignment import AxisNames
    from edgeopt.solvers.basis import RangePart
    from edgeopt.solvers.certificates import Certificate
    from edgeopt.solvers.labels import LabelBlock
    from edgeopt.solvers.program import Sense
    from edgeopt.solvers.registry import Request

    Part = Literal["values", "duals"]


class Status(Enum):
    """Why the solver stopped.

    Proven is what was checked on the data of the problem: `Solution.evidence` is the proof. Solvers
    alone only claim it.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.solvers import LinearProgram, Status
    >>> nothing_fits = LinearProgram([1.0], [[1.0]], row_lower=3.0, row_upper=3.0, upper=2.0)
    >>> solution = edgeopt.solve(nothing_fits, raises=False)
    >>> solution.status is Status.PROVEN_INFEASIBLE, solution.status.infeasible
    (True, True)
    """

    CONVERGENCE_CRITERIA_SATISFIED = "convergence criteria satisfied"
    MAX_TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    OBJECTIVE_LIMIT = "objective limit"
    PROVEN_INFEASIBLE = "proven infeasible"
    PROVEN_UNBOUNDED = "proven unbounded"
    CLAIMED_INFEASIBLE = "infeasible by the solver's word"
    CLAIMED_UNBOUNDED = "unbounded by the solver's word"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    UNKNOWN = "unknown"

    @property
    def infeasible(self) -> bool:
        """Whether there is no point, by proof or by the solver's word."""
        return self in (Status.PROVEN_INFEASIBLE, Status.CLAIMED_INFEASIBLE)


class Quality(Enum):
    """What is in hand, judged from the data of the problem.

    Feasible is a point that misses no row by more than the tolerance, relative to the row's size;
    optimal one whose gap is closed as well, by the bound that `Solution.bound_by` answers for.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import p1_lp
    >>> from edgeopt.solvers import Quality
    >>> solution = edgeopt.solve(p1_lp(small(1)))
    >>> solution.quality is Quality.OPTIMAL, Quality.INFEASIBLE.usable
    (True, False)
    """

    NO_SOLUTION = "no solution"
    INFEASIBLE = "infeasible"
    FEASIBLE = "feasible"
    OPTIMAL = "optimal"

    @property
    def usable(self) -> bool:
        """Whether the values satisfy the constraints."""
        return self in (Quality.FEASIBLE, Quality.OPTIMAL)


class Seconds(NamedTuple):
    """Wall-clock seconds that building the solver's model and solving it took.

    Attributes
    ----------
    build, solve
        To build the model of the solver, and to solve it, s.

    Examples
    --------
    >>> import edgeopt
    >>> from edgeopt.solvers import LinearProgram
    >>> solution = edgeopt.solve(LinearProgram([1.0, 2.0], [[1.0, 1.0]], 1.0, 3.0))
    >>> solution.seconds.total == solution.seconds.build + solution.seconds.solve
    True
    """

    build: float
    solve: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.build + self.solve


@compact_repr
@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found, with everything needed to check it.

    Residuals and gap are methods that recompute from the data of the problem. Believed is only what
    no data can tell: the bound of a search, as of a mixed-integer program (`bound_by`).

    A solution can be pickled and copied. A deep copy has the same problem, not a copy of it. A
    problem that cannot be pickled, such as one of CVXPY that holds its solver, is left behind:
    `problem` then says why, and methods that need it raise a `ProblemTypeError`.

    Parameters
    ----------
    status
        Why the solver stopped.
    quality
        What is in hand.
    objective
        Value of the best point found; nan if there is none.
    bound
        Limit of the optimum: below it when minimising, above it when maximising; infinite if there
        is none. For linear and quadratic programs it is recomputed from the duals, for
        mixed-integer programs the solver's: `bound_by` says which.
    values
        The point: an array of shape [n] for a `LinearProgram`; otherwise a mapping from the name
        of a variable to its value. None if there is none.
    duals
        Derivative of the optimum by the right-hand side of each constraint, whatever the sense:
        an array of shape [m], or a mapping from the name of a constraint. None if there are none.
    seconds
        Time to build and to solve.
    solver, version
        Who solved it.
    options
        The request, and its options under the solver's own names.
    problem
        The problem itself, against which the methods check.
    path
        How the solver started: "cold", "warm" (from an earlier basis or point), "in place",
        "start" or "repaired start"; then, if so, that it got the program "equilibrated", and that
        its point was "repaired" until no row was violated.
    bound_by
        Who answers for a finite bound: "proof" (duals, checked on the data) or "solver" (its search
        is not checked); "" if there is none.
    claim
        What the solver said of a problem without a usable point, where that is not proven; "" where
        it said nothing, or it is.
    evidence
        Of a program that is proven infeasible, multipliers of its rows, shape [m], that add the
        sides up to a contradiction (Farkas' lemma); of one proven unbounded, the direction, shape
        [n], in which the objective improves without end. Of other problems the solver's internal
        primal-dual pair where their own form does not carry all duals (a CVXPY problem's cone
        program), or the solution of the linear program that a Pyomo model compiles to. None
        otherwise.
    sense
        Whether the objective is minimised or maximised; None if that is not known.
    sizes
        Sums of the absolute values of the terms that objective and bound are added up from, where
        they are known: differences that are rounding against them count as none.
    others
        Further points of a pool, best first; optima of the objectives before (`solve(then=)`).

    Examples
    --------
    >>> from edgeopt.solvers import LinearProgram, Solution, solve
    >>> solution = solve(LinearProgram([1, 2], [[1, 1]], 3, 3, 0))
    >>> solution.quality.value, solution.objective, solution.bound, solution.values
    ('optimal', 3.0, 3.0, array([3., 0.]))
    """

    status: Status
    quality: Quality
    objective: float
    bound: float
    values: Any
    duals: Any
    seconds: Seconds
    solver: str
    version: str
    options: Mapping[str, Any]
    problem: Any = field(repr=False)
    path: str = "cold"
    bound_by: str = ""
    claim: str = ""
    evidence: Any = field(default=None, repr=False)
    sense: Sense | None = None
    sizes: tuple[float | None, float | None] = field(default=(None, None), repr=False)
    others: tuple[Solution, ...] = field(default=(), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "problem": portable(self.problem)}

    def __copy__(self) -> Solution:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Solution:
        return replace(self, **{
            one.name: copy.deepcopy(getattr(self, one.name), memo)
            for one in fields(self) if one.name != "problem"
        })  # fmt: skip

    def primal_residual(self) -> float:
        """Return the largest constraint violation, relative to what meets in the constraint."""
        if self.values is None:
            return float("inf")
        return residuals_for(self.problem).primal_residual(self)

    def dual_residual(self) -> float:
        """Return the largest violation of dual feasibility, relative to the costs.

        It is nan where the problem has no duals (mixed-integer) or they are not known.
        """
        return residuals_for(self.problem).dual_residual(self)

    def duality_gap(self) -> float:
        """Return ``|bound - objective| / max(|bound|, |objective|)``, a number without a unit.

        The constant of a linear program's objective counts in neither. The gap is 0 where the
        difference is rounding, and infinite where one of both is missing.
        """
        constant = self._constant
        # The constant adds one rounding to each of the two sums, whatever its size.
        part = (1.0 - 1.0 / ROUNDING_UNITS) * abs(constant)
        own, proven = (None if size is None else max(0.0, size - part) for size in self.sizes)
        return relative_gap(
            self.objective - constant, self.bound - constant, objective_size=own, bound_size=proven
        )

    @property
    def _constant(self) -> float:
        """Constant of the objective, which a solver does not see."""
        return self.problem.offset if isinstance(self.problem, LinearProgram) else 0.0

    @property
    def gap(self) -> float:
        """The relative duality gap."""
        return self.duality_gap()

    @property
    def _sign(self) -> float:
        return {"min": 1.0, "max": -1.0, None: 0.0}[self.sense]

    def passes_bound(self, tolerance: float = DEFAULT) -> bool:
        """Return whether the objective is better than the bound by more than the tolerance.

        One of the two is wrong then. Relative to the larger one, and never so by rounding alone.
        """
        return self._sign * (self.bound - self.objective) > 0.0 and self.gap > tolerance

    def reduced_costs(self) -> NDArray[np.float64]:
        """Return the derivative of the optimum by the active bound of each column, shape [n]."""
        if not isinstance(self.problem, LinearProgram) or self.duals is None:
            raise ProblemTypeError("reduced costs need a linear program solved with duals")
        slope = self.problem.cost
        if self.problem.quadratic is not None:
            slope = slope + self.problem.quadratic @ self.values
        reduced: NDArray[np.float64] = slope - self.problem.transposed @ self.duals
        return reduced

    def ranges(self, part: RangePart = "cost") -> pd.DataFrame:
        """Return how far single numbers of a linear program may move before anything else changes.

        While a cost stays within its range, the point stays optimal; while a side or bound does,
        the derivative of the optimum by it stays. They are those of one optimal basis: where there
        are several, the full range may be wider.

        Parameters
        ----------
        part
            "cost", "lower", "upper", "row_lower" or "row_upper". Equal sides move together.

        Returns
        -------
        By label `value`, `derivative` of the optimum by it, and range: `least` and `most`.

        Raises
        ------
        ProblemTypeError
            If the problem is no linear program without whole numbers.

        Examples
        --------
        >>> from edgeopt.solvers import LinearProgram, solve
        >>> program = LinearProgram([3, 2], [[1, 1]], -np.inf, 4, upper=[2, 9], sense="max")
        >>> solve(program).ranges("row_upper").iloc[0].tolist()
        [4.0, 2.0, 2.0, 11.0]
        """
        from edgeopt.solvers.basis import ranges

        return ranges(self, part)

    def write(self, path: str | Path) -> Path:
        """Write the point of a linear program as ``.sol``, or an optimal basis as ``.bas``.

        Names are those of `LinearProgram.write`; `solve` starts there with ``start=path``.
        """
        from edgeopt.solvers.basis import write_solution

        return write_solution(self, path)

    def value(self, label: str) -> Any:
        """Return the value of a column by its label, or of a variable (maybe an array) by name."""
        return self._at("values", label)

    def dual(self, label: str) -> Any:
        """Return the dual of one row by its label, or of one constraint by its name.

        It is a number, or an array where a constraint of CVXPY is one.
        """
        return self._at("duals", label)

    def block(self, name: str) -> NDArray[np.float64]:
        """Return the values of a block of columns as an array of its shape."""
        return self._block("values", name)

    def dual_block(self, name: str) -> NDArray[np.float64]:
        """Return the duals of a block of rows as an array of its shape."""
        return self._block("duals", name)

    def to_series(
        self, name: str, part: Part = "values", at: Mapping[str, Any] | None = None
    ) -> pd.Series:
        """Return one block of columns, or the duals of one of rows, by label.

        Parameters
        ----------
        name
            Of a block of columns of a linear program, or of rows for duals.
        part
            ``"values"`` or ``"duals"``.
        at
            Which labels of an index to return, by index: one (the index is then left out), a list
            in the order wanted, or a slice from a label to another, both included; all by default.

        Returns
        -------
        pandas.Series
            A level for each index of the block, with the names of its entries where it has some.

        Raises
        ------
        ProblemTypeError
            If the problem is no `LinearProgram`; use `to_frame`.
        InputError
            If there is no such block, index or label.
        SolverError
            If the solver left none.

        Examples
        --------
        >>> from edgeopt import solve
        >>> from edgeopt.solvers import LinearProgram
        >>> build = LinearProgram.build()
        >>> build.columns("buy", {"shop": ["a", "b", "c"]}, cost={"c": 3, "a": 1, "b": 2}, upper=2)
        >>> build.rows("need", None, {"buy": 1}, lower=3)
        >>> solve(build.program()).to_series("buy", at={"shop": slice("a", "b")}).to_dict()
        {'a': 2.0, 'b': 1.0}
        """
        from edgeopt.solvers.tables import series_of

        return series_of(*self._found(name, part), at)

    def to_frame(
        self, part: Part = "values", name: str | None = None, at: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return the point, or the duals, by label.

        Parameters
        ----------
        part
            ``"values"`` has a row for every column of a linear program or every variable of a
            model, ``"duals"`` one for every row or constraint.
        name, at
            As of `to_series`, for one block; all by default.

        Returns
        -------
        pandas.DataFrame
            The index has the labels; the one column is `part`, an array in each entry where a
            variable of CVXPY is one. Of one block, its last index stands across.

        Raises
        ------
        SolverError
            If the solver left none.

        Examples
        --------
        >>> from edgeopt import solve
        >>> from edgeopt.solvers import LinearProgram
        >>> names = ["trains", "serves"]
        >>> program = LinearProgram([3, 2], [[1, 1]], 0, [4], 0, [2, 4], sense="max",
        ...                         column_names=names)
        >>> solve(program).to_frame().loc["serves", "values"]
        np.float64(2.0)
        """
        import pandas as pd

        if name is not None:
            from edgeopt.solvers.tables import frame_of

            return frame_of(*self._found(name, part), at)
        if at is not None:
            raise InputError("at", "needs the name of a block")
        held = self._held(part)
        if not isinstance(self.problem, LinearProgram):
            return pd.DataFrame({part: pd.Series(dict(held), dtype=None if held else float)})
        return pd.DataFrame({part: held}, pd.Index(list(self._labels_of(part)), name="label"))

    def to_xarray(
        self, name: str, part: Part = "values", at: Mapping[str, Any] | None = None
    ) -> xr.DataArray:
        """Return what `to_series` does with an axis for each index; NaN where entries are left out.

        Examples
        --------
        >>> from edgeopt import solve
        >>> from edgeopt.instances.idn import generate
        >>> from edgeopt.models.idn import Demand, placement_matrix
        >>> instance = generate(horizon=2, rng=0)
        >>> program = placement_matrix(instance, Demand.of(instance), relax=True)
        >>> solve(program).to_xarray("x").dims
        ('node', 'model')
        """
        from edgeopt.solvers.tables import array_of

        return array_of(*self._found(name, part), at)

    def _found(self, name: str, part: str) -> tuple[LabelBlock, NDArray[np.float64], AxisNames]:
        held = self._block(part, name)
        [block] = [one for one in self._labels_of(part).blocks if one.name == name]
        return block, held, self.problem.labels

    def _labels_of(self, part: str) -> Any:
        return self.problem.column_names if part == "values" else self.problem.row_names

    def _at(self, field: str, label: str) -> Any:
        held = self._held(field)
        if isinstance(self.problem, LinearProgram):
            return float(held[self._labels_of(field).position(label)])
        if label not in held:
            close = ", ".join(difflib.get_close_matches(label, list(held), 3)) or ", ".join(held)
            raise InputError(field, f"there is none; did you mean {close}?", value=label)
        return held[label]

    def _block(self, field: str, name: str) -> NDArray[np.float64]:
        if not isinstance(self.problem, LinearProgram):
            raise ProblemTypeError("blocks need a LinearProgram; take `value` or `dual`")
        span, shape = self._labels_of(field).block(name)
        block: NDArray[np.float64] = self._held(field)[span].reshape(shape)
        return block

    def _held(self, field: str) -> Any:
        held = getattr(self, field)
        if held is None:
            whole = field == "duals" and getattr(self.problem, "is_mixed_integer", False)
            hint = (
                "; a program with whole numbers has none, its relaxation does: "
                "solve(program.relaxed())"
            )
            said = f"{self.solver} left no {field} ({self.status.value})"
            raise SolverError(f"{said}{hint if whole else ''}", self)
        return held

    def certify(
        self, tolerance: float = DEFAULT, *, gap: float | None = None, absolute_gap: float = 0.0
    ) -> Solution:
        """Return this solution with the quality that the problem's data support.

        Objective and bound are recomputed where values and duals allow it. The quality never rises:
        a point that violates a constraint by more than the tolerance is infeasible; one whose
        objective was misstated, or whose gap (and, but for linear and quadratic programs, duals) do
        not prove optimality, is only feasible. A bound that the objective disproves is dropped. The
        point stays what it is: `solve` repairs points, this does not.

        Parameters
        ----------
        tolerance
            Largest residual that is accepted.
        gap
            Largest relative gap that is accepted; the same as the tolerance by default.
        absolute_gap
            Largest difference of bound and objective, in the objective's unit, that is accepted
            whatever the relative gap; needed where the optimum is 0.

        Returns
        -------
        The same solution with objective, bound and quality recomputed.
        """
        with few_factorisations():
            return self.judged(proven_bound(self), tolerance, gap=gap, absolute_gap=absolute_gap)

    def judged(
        self, bound: Sum, tolerance: float, *, gap: float | None = None, absolute_gap: float = 0.0
    ) -> Solution:
        """Return this solution with the quality that a bound on the optimum supports."""
        if isinstance(self.problem, LinearProgram):
            by = "solver" if self.problem.is_mixed_integer else "proof"
        else:
            by = "proof" if self.duals is not None else "solver"
        known: dict[str, Any] = {
            "bound": bound.value,
            "bound_by": by if np.isfinite(bound.value) else "",
            "sizes": (self.sizes[0], bound.size),
        }
        if self.values is None:
            return replace(self, **known, quality=Quality.NO_SOLUTION)
        if not self.primal_residual() <= tolerance:
            return replace(self, **known, quality=Quality.INFEASIBLE)
        found = recomputed_objective(self)
        known |= {"objective": found.value, "sizes": (found.size, bound.size)}
        checked = replace(self, **known)
        misstated = relative_gap(
            self.objective, found.value, objective_size=found.size, bound_size=found.size
        )
        strict = replace(checked, sizes=(0.0, 0.0))
        if checked.gap == 0.0 and strict.gap > tolerance and self._loses_sides():
            checked = strict  # rounding excuses no gap here
        if checked.passes_bound(tolerance):
            # Duals prove their bound, so the point must be off; a search has only its word for it.
            if self.duals is None:
                checked = replace(checked, bound=-checked._sign * np.inf, bound_by="")
            return replace(checked, quality=Quality.FEASIBLE)
        reached = checked.gap <= max(tolerance, gap or 0.0)
        closed = reached or abs(bound.value - found.value) <= absolute_gap
        proven = misstated <= tolerance and closed
        if not isinstance(self.problem, LinearProgram):
            # The gap of a linear or quadratic program is the stronger statement; elsewhere the
            # duals must be right as well, where there are any (nan if not).
            proven = proven and not self.dual_residual() > tolerance
        if self.quality is Quality.OPTIMAL and not proven:
            return replace(checked, quality=Quality.FEASIBLE)
        return checked

    def _loses_sides(self) -> bool:
        """Return whether the values are so large that rows do not notice their sides."""
        if not isinstance(self.problem, LinearProgram):
            return False
        from edgeopt.solvers.residuals.linear import lost_sides

        return bool(lost_sides(self.problem, self.values, self.duals).any())

    @property
    def in_hand(self) -> str:
        """The quality in words, and whose word an optimum stands on."""
        claimed = self.quality is Quality.OPTIMAL and self.bound_by == "solver"
        return self.quality.value + (" (bound by the solver)" if claimed else "")

    def certificate(
        self, *, name: str = "", instance: Any = None, point: bool = True, repair: bool = True
    ) -> Certificate:
        """Return the bound with its proof in exact numbers, which others can check without edgeopt.

        Of a program that is proven to have no point, or no best one, it returns that proof.

        Parameters
        ----------
        name
            Of the problem, for readers.
        instance
            The instance that the problem belongs to: its fingerprint is written down.
        point
            Whether to include the values; without them only the bound is certified. The point from
            which a ray leads on is always included.
        repair
            Whether to move values until they violate no constraint, not even by rounding.

        Raises
        ------
        CertificateError
            If there is none; the text says why.
        """
        from edgeopt.solvers.exact_proofs import certificate_of

        return certificate_of(self, name=name, instance=instance, point=point, repair=repair)

    def _repr_html_(self) -> str:
        """Show why the solver stopped and what is proven, as a table."""
        from edgeopt.writing.results import html_table

        rows = [
            ["solver stopped", self.status.value],
            ["in hand", self.in_hand],
            ["objective", f"{self.objective:.9g}"],
            [
                "proven bound" if self.bound_by != "solver" else "solver's bound",
                f"{self.bound:.9g}",
            ],
            ["relative gap", f"{self.gap:.3g}"],
            ["seconds", f"{self.seconds.build:.3g} to build, {self.seconds.solve:.3g} to solve"],
        ]
        return html_table(f"Solution of {self.solver} {self.version}".strip(), [], rows)

    def __str__(self) -> str:
        parts = [
            f"{self.in_hand}, {self.status.value}, by {self.solver} {self.version}",
            f"objective {self.objective:.10g}",
            f"bound {self.bound:.10g}",
            f"gap {self.duality_gap():.2g}",
            f"{self.seconds.total:.3g} s",
        ]
        return ", ".join(parts)


def proven_bound(solution: Solution) -> Sum:
    """Return the bound that the data of the problem support."""
    return _sum(residuals_for(solution.problem).dual_bound(solution))


def recomputed_objective(solution: Solution) -> Sum:
    """Return the objective at the values of a solution."""
    evaluate = getattr(residuals_for(solution.problem), "objective", None)
    return _sum(evaluate(solution) if callable(evaluate) else solution.objective)


def _sum(number: Sum | float) -> Sum:
    return number if isinstance(number, Sum) else Sum(float(number), abs(number))


def assemble(
    problem: Any,
    request: Request,
    status: Status,
    *,
    sign: float,
    seconds: tuple[float, float],
    version: str,
    objective: float = float("nan"),
    bound: float | None = None,
    values: Any = None,
    duals: Any = None,
    evidence: Any = None,
    path: str = "cold",
    settings: Mapping[str, Any] | None = None,
) -> Solution:
    """Build the solution that a backend claims, not yet certified."""
    if bound is None or np.isnan(bound):
        bound = (1.0 if status is Status.PROVEN_INFEASIBLE else -1.0) * sign * np.inf
    quality = Quality.NO_SOLUTION
    if values is not None:
        converged = status is Status.CONVERGENCE_CRITERIA_SATISFIED
        quality = Quality.OPTIMAL if converged else Quality.FEASIBLE
    return Solution(
        status=status,
        quality=quality,
        objective=objective if values is not None else float("nan"),
        bound=float(bound),
        values=values,
        duals=duals,
        seconds=Seconds(*seconds),
        solver=request.solver,
        version=version,
        options=request.record() | dict(settings or {}),
        problem=problem,
        path=path,
        evidence=evidence,
        sense="max" if sign < 0 else "min",
    )


def answer(
    program: LinearProgram, request: Request, status: Status, *, values: Any, **found: Any
) -> Solution:
    """Build the solution of a program in matrix form, whose values give its objective."""
    objective = float("nan") if values is None else program.objective(np.asarray(values))
    found |= {"sign": program.sign, "objective": objective, "values": values}
    return assemble(program, request, status, **found)
