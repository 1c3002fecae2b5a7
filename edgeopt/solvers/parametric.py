"""Problems that stay loaded in their solver while data change."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError, ProblemTypeError
from edgeopt.solvers.alignment import has_labels
from edgeopt.solvers.backend import highs
from edgeopt.solvers.conditions import needs
from edgeopt.solvers.dispatch import (
    best_answer,
    certify_claim,
    delivered,
    resume_first_order,
    usable,
)
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import (
    Kind,
    ProgressCallback,
    Request,
    default_solver,
    find_backend,
    kind_of,
)
from edgeopt.solvers.scaling import objective_exponent, preferred_scaling
from edgeopt.solvers.solution import Seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.solvers.scaling import Scaling
    from edgeopt.solvers.solution import Solution


_NOWHERE: Final = np.zeros(0, dtype=np.int64)


class Reusable:
    """Solve a problem again and again with new data, without building it again.

    A `LinearProgram` is changed by the methods of this class, a CVXPY problem or a linear Pyomo
    model by the values of its own parameters (of variables' bounds, too, in Pyomo); what else
    changes in a model is noticed, and it is compiled anew. The next solve starts from the last
    basis or point where the algorithm can use one. The attribute `path` of each solution says what
    happened: "cold" (first solve), "warm" (changed in place, started from there) or "in place"
    (changed in place, started afresh, as interior-point methods do). An answer that is not
    certified is followed by the further attempts of `solve`.

    Parameters
    ----------
    program
        The problem to begin with. A `LinearProgram` is not changed. A CVXPY problem must follow
        CVXPY's rules for parameters (DPP), a Pyomo model must be linear.
    solver
        For CVXPY, as for `solve`: HiGHS, OSQP and SCS go on from their last point, Clarabel keeps
        its factors' structure. HiGHS holds every other kind.
    algorithm, time_limit, gap, tolerance, threads, log, progress, **options
        As for `solve`; they hold for every solve, the time limit for each by itself.

    Raises
    ------
    ProblemTypeError
        If the problem is of another kind, a CVXPY problem that is not DPP, or a Pyomo model that is
        not linear.
    OptionError
        If the solver cannot hold this kind of problem.

    Examples
    --------
    >>> program = LinearProgram([3, 2], [[1, 1], [1, 0]], -np.inf, [4, 2], sense="max")
    >>> model = Reusable(program)
    >>> model.solve().objective
    10.0
    >>> model.change_sides(row_upper=[5], rows=[0])
    >>> again = model.solve()
    >>> again.objective, again.path
    (12.0, 'warm')
    """

    def __new__(cls, program: Any, *_: Any, **__: Any) -> Reusable:
        """Return the class for this kind of problem."""
        kind = kind_of(program)
        if cls is Reusable and kind is Kind.CVXPY:
            return object.__new__(ReusableConvex)
        if cls is Reusable and kind is Kind.PYOMO:
            return object.__new__(ReusableModel)
        if isinstance(program, LinearProgram) and needs(program):
            raise ProblemTypeError("a program with conditions cannot be kept: solve it again")
        if kind in (Kind.CASADI, Kind.QUADRATIC):
            raise ProblemTypeError(f"a {kind.value} cannot be kept: solve it with start=... again")
        return object.__new__(cls)

    def __init__(
        self,
        program: Any,
        solver: str | None = None,
        *,
        algorithm: str | None = None,
        time_limit: float | None = None,
        gap: float | None = None,
        tolerance: float | None = None,
        threads: int | None = None,
        log: bool = False,
        progress: ProgressCallback | None = None,
        **options: Any,
    ) -> None:
        name = self._holder(program, solver)
        self._request = Request(
            name, algorithm, time_limit, gap, tolerance, threads, log, progress, options
        )
        self._begin(program)

    # Documented is what `__init__` takes, not that `__new__` takes anything.
    __signature__ = Signature(list(signature(__init__).parameters.values())[1:])

    def _holder(self, program: Any, solver: str | None) -> str:
        """Return which solver holds the problem, or raise if it cannot."""
        if solver not in (None, "highs"):
            kind = kind_of(program).value
            raise OptionError(f"solver = {solver!r}: a {kind} is kept by highs; leave solver out")
        return "highs"

    def _begin(self, program: Any) -> None:
        self._program: LinearProgram = program
        self._building = 0.0
        self._load(preferred_scaling(program))

    @property
    def program(self) -> LinearProgram:
        """The program as it stands after all changes."""
        return self._program

    def _load(self, scaling: Scaling) -> None:
        """Hand the program to HiGHS anew."""
        start = time.perf_counter()
        self._scaling = scaling
        self._model = highs.load(scaling.apply(self._program))
        self._configure()
        self._building += time.perf_counter() - start
        self._solved = False

    def change_cost(self, cost: ArrayLike, columns: Sequence[int] | None = None) -> None:
        """Set objective coefficients of the columns named, or of all.

        They may come by label as in `LinearProgram.replace`, as do bounds and sides.
        """
        self._take({"cost": self._renewed("cost", cost, columns)})

    def change_bounds(
        self,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        columns: Sequence[int] | None = None,
    ) -> None:
        """Set bounds of the columns named, or of all; a side that is None stays."""
        self._change_pair("lower", "upper", lower, upper, columns)

    def change_sides(
        self,
        row_lower: ArrayLike | None = None,
        row_upper: ArrayLike | None = None,
        rows: Sequence[int] | None = None,
    ) -> None:
        """Set sides of the rows named, or of all; a side that is None stays."""
        self._change_pair("row_lower", "row_upper", row_lower, row_upper, rows)

    def change_coefficients(
        self, values: ArrayLike, rows: Sequence[int], columns: Sequence[int]
    ) -> None:
        """Set entries of the matrix; only those that it has, which may be stored as 0."""
        matrix = self.program.matrix
        which, new = self._selected("rows", values, rows, self.program.shape[0])
        where, _ = self._selected("columns", 0.0, columns, self.program.shape[1])
        if which.shape != where.shape:
            raise OptionError("rows and columns must be as many")
        number = sparse.csc_array(
            (np.arange(1, matrix.nnz + 1), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        entry = np.asarray(number[which, where]).reshape(-1) - 1
        if (entry < 0).any():
            first = int(np.argmin(entry))
            raise OptionError(f"there is no entry at row {which[first]}, column {where[first]}")
        data = matrix.data.copy()
        data[entry] = new
        self._take({"entries": data}, entry)

    def _take(self, data: dict[str, Any], moving: NDArray[np.integer[Any]] = _NOWHERE) -> None:
        """Change whatever differs in new data; of the matrix, only entries at some positions.

        They are checked by building the program that they lead to.
        """
        old, changes = self.program, dict(data)
        entries = changes.pop("entries", None)
        changes = {
            name: new
            for name, new in changes.items()
            if not np.array_equal(getattr(old, name), new)
        }
        if entries is not None and len(moving):
            moving = moving[old.matrix.data[moving] != entries[moving]]
            if len(moving):
                changes["matrix"] = sparse.csc_array(
                    (entries, old.matrix.indices, old.matrix.indptr), shape=old.shape
                )
        if not changes:
            return
        new = self._program = old.replace(**changes)
        start = time.perf_counter()
        scaling, model = self._scaling, self._model
        if "matrix" in changes:
            column = np.searchsorted(new.matrix.indptr, moving, side="right") - 1
            row = new.matrix.indices[moving]
            scaled = np.ldexp(new.matrix.data[moving], scaling.rows[row] + scaling.columns[column])
            for place in zip(row.tolist(), column.tolist(), scaled.tolist(), strict=True):
                model.changeCoeff(*place)
        for change, exponent, *pair in (
            (model.changeRowsBounds, scaling.rows, "row_lower", "row_upper"),  # type: ignore[attr-defined]
            (model.changeColsBounds, -scaling.columns, "lower", "upper"),
        ):
            which = _differing(old, new, *pair)
            if len(which):
                sides = (np.ldexp(getattr(new, side)[which], exponent[which]) for side in pair)
                change(len(which), which, *sides)
        if "offset" in changes:
            self._scaling = replace(scaling, offset=new.offset)
        if "cost" in changes and not self._rescaled():
            which = _differing(old, new, "cost")
            cost = np.ldexp(new.sign * new.cost, scaling.columns + scaling.objective)
            model.changeColsCost(len(which), which, cost[which])
        self._building += time.perf_counter() - start

    def add_columns(
        self,
        cost: ArrayLike,
        matrix_columns: Any,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        names: Sequence[str] | None = None,
    ) -> None:
        """Append continuous columns; the last basis stays valid, with the new ones out of it.

        ``matrix_columns`` holds their entries in the rows, shape [m, k], in any form that
        `scipy.sparse.csc_array` takes. Without names, the labels of all columns become numbers.
        """
        start = time.perf_counter()
        old = self.program
        # Checks shapes and numbers, and freezes them.
        added = LinearProgram(
            cost, matrix_columns, old.row_lower, old.row_upper, lower, upper, sense=old.sense
        )
        labels = None if names is None else [*old.column_names, *names]
        if names is not None and len(names) != added.shape[1]:
            raise InstanceError("names", f"must name {added.shape[1]} columns", value=len(names))
        self._program = old.replace(
            cost=np.concatenate([old.cost, added.cost]),
            matrix=sparse.hstack([old.matrix, added.matrix], format="csc"),
            lower=np.concatenate([old.lower, added.lower]),
            upper=np.concatenate([old.upper, added.upper]),
            integer=np.concatenate([old.integer, added.integer]),
            column_names=labels,
        )
        if not self._scaling.is_plain:
            self._load(preferred_scaling(self.program))
            return
        self._model.addCols(
            added.shape[1],
            old.sign * np.ldexp(added.cost, self._scaling.objective),
            added.lower,
            added.upper,
            added.matrix.nnz,
            added.matrix.indptr[:-1].astype(np.int32),
            added.matrix.indices.astype(np.int32),
            added.matrix.data,
        )
        none = np.zeros(self.program.shape[1], dtype=np.int32)
        self._scaling = replace(self._scaling, columns=none)
        self._rescaled()
        self._building += time.perf_counter() - start

    def solve(self, *, raises: bool = True, warm: bool = True) -> Solution:
        """Solve the program as it stands.

        Parameters
        ----------
        raises
            Whether to raise when no usable point is in hand.
        warm
            Whether an earlier basis may be used.

        Returns
        -------
        The certified solution; its `path` says how the solve started.

        Raises
        ------
        SolverError
            If `raises` and there is no feasible point.
        """
        program = self.program
        if not warm:
            self._model.clearSolver()
        path = "cold"
        if self._solved:
            uses_basis = self._request.algorithm in (None, "choose", "simplex")
            has_basis = self._model.getBasis().valid and not program.is_mixed_integer
            path = "warm" if warm and uses_basis and has_basis else "in place"
        if self._request.time_limit is not None:
            # HiGHS counts the time of all its runs against the limit.
            spent = self._model.getRunTime()
            self._model.setOptionValue("time_limit", spent + self._request.time_limit)
        start = time.perf_counter()
        request = self._scaling.request(self._request)
        highs.run(self._model, request, program)
        seconds = Seconds(self._building, time.perf_counter() - start)
        self._building, self._solved = 0.0, True
        found = highs.read(self._model, program, request, seconds, path)
        claimed = self._scaling.restore(found, program)
        answer = best_answer(highs.solve, program, self._request, claimed)
        return delivered(answer, self._request, raises=raises, stacklevel=2)

    def _configure(self) -> None:
        request = self._scaling.request(self._request)
        highs.configure(self._model, request, self.program.is_mixed_integer)

    def _rescaled(self) -> bool:
        """Bring the largest cost back to about 1; return whether that changed all costs."""
        program, scaling = self.program, self._scaling
        exponent = objective_exponent(program, scaling.columns)
        if exponent == scaling.objective:
            return False
        self._scaling = scaling = replace(scaling, objective=exponent)
        every = np.arange(program.shape[1], dtype=np.int32)
        cost = np.ldexp(program.sign * program.cost, scaling.columns + exponent)
        self._model.changeColsCost(len(every), every, cost)
        self._configure()
        return True

    def _selected(
        self, field: str, values: ArrayLike, which: Sequence[int] | None, count: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        indices = np.arange(count) if which is None else np.atleast_1d(np.asarray(which))
        if indices.size and (indices.min() < 0 or indices.max() >= count):
            raise OptionError(f"{field}: positions must lie between 0 and {count - 1}")
        new = np.asarray(values, dtype=float)
        if new.ndim and new.shape != indices.shape:
            raise InstanceError(field, f"must have shape {indices.shape}", value=new.shape)
        return indices.astype(np.int32), np.broadcast_to(new, indices.shape).astype(float)

    def _change_pair(
        self,
        low: str,
        high: str,
        below: ArrayLike | None,
        above: ArrayLike | None,
        which: Sequence[int] | None,
    ) -> None:
        """Set lower and upper sides of rows or columns; a side that is None stays."""
        given = {low: below, high: above}.items()
        self._take({
            field: self._renewed(field, values, which)
            for field, values in given if values is not None
        })  # fmt: skip

    def _renewed(self, field: str, values: Any, which: Sequence[int] | None) -> NDArray[Any]:
        """Return a vector of the program with other numbers at some positions, or some labels."""
        current: NDArray[Any] = getattr(self.program, field)
        labels = self.program.row_names if field.startswith("row_") else self.program.column_names
        if which is not None and (isinstance(values, Mapping) or has_labels(values)):
            raise OptionError(f"{field}: numbers that come with labels need no positions")
        if isinstance(values, Mapping):
            return labels.changed(current, values)
        everything = current.copy()
        indices, new = self._selected(field, labels.arranged(field, values), which, len(current))
        everything[indices] = new
        return everything


def _differing(old: LinearProgram, new: LinearProgram, *fields: str) -> NDArray[np.int32]:
    """Return the positions at which any of some vectors of two programs differ."""
    differ = [getattr(old, field) != getattr(new, field) for field in fields]
    return np.flatnonzero(np.any(differ, axis=0)).astype(np.int32)


class _OfModel(Reusable):
    """A problem whose data are changed in its own modelling library."""

    def _changed_elsewhere(self, *_: Any, **__: Any) -> None:
        """Raise: the methods that change a linear program have nothing to change here."""
        raise ProblemTypeError(
            "change the values of the problem's parameters; only a LinearProgram is changed here"
        )

    change_cost = change_bounds = change_sides = _changed_elsewhere
    change_coefficients = add_columns = _changed_elsewhere


class ReusableConvex(_OfModel):
    """A CVXPY problem whose compiled form and solver are kept."""

    def _holder(self, program: Any, solver: str | None) -> str:
        if program.parameters() and not program.is_dpp():
            raise ProblemTypeError(
                "the problem is not DPP, so that CVXPY compiles it for every value of a parameter: "
                "state it with each parameter affine, or solve it by solve(...)"
            )
        name = default_solver(program, Kind.CVXPY) if solver is None else solver
        if Kind.CVXPY not in find_backend(name).warm:
            raise OptionError(f"solver = {name!r}: keeps nothing of a solve; take highs, clarabel, "
                              "osqp or scs")  # fmt: skip
        return name

    def _begin(self, program: Any) -> None:
        self._run = find_backend(self._request.solver).solve_function(Kind.CVXPY)
        self._problem, self._solved = program, False

    @property
    def program(self) -> LinearProgram:
        """Raise: CVXPY compiles to cone programs."""
        raise ProblemTypeError("a CVXPY problem has no LinearProgram")

    def solve(self, *, raises: bool = True, warm: bool = True) -> Solution:
        """Solve the problem at the values that its parameters have."""
        # What others have left of this problem is no state of ours.
        request = replace(self._request, warm=warm and self._solved)
        proven = resume_first_order(self._run, self._problem, request)
        self._solved = True
        if proven is not None:
            return proven
        claimed = self._run(self._problem, request)
        return certify_claim(claimed, request, raises=raises, stacklevel=2)


class ReusableModel(_OfModel):
    """A linear Pyomo model that stays loaded in HiGHS."""

    def __init__(self, program: Any, solver: str | None = None, **arguments: Any) -> None:
        self._holder(program, solver)
        self._arguments, self._problem = arguments, program
        self._compile()

    def _compile(self) -> None:
        """Compile the model; only here, since other problems do without Pyomo."""
        from edgeopt.solvers.pyomo_program import PyomoUpdates

        start = time.perf_counter()
        self._updates = PyomoUpdates(self._problem)
        self._inner = Reusable(self._updates.program, **self._arguments)
        self._building = time.perf_counter() - start

    @property
    def program(self) -> LinearProgram:
        """The program that the model came to when it was last solved."""
        return self._inner.program

    def solve(self, *, raises: bool = True, warm: bool = True) -> Solution:
        """Solve the model at the values that its parameters have; its variables receive them."""
        start = time.perf_counter()
        if not self._updates.same:
            self._compile()
        self._inner._take(self._updates.data(), self._updates.moving_entries)
        spent = time.perf_counter() - start
        found = self._inner.solve(raises=False, warm=warm)
        named = self._updates.named(found.problem)
        if found.values is not None:
            named.load(found.values)
        result = replace(
            found,
            problem=self._problem,
            evidence=found,
            values=None if found.values is None else named.named_values(found.values),
            duals=None if found.duals is None else named.named_duals(found.duals),
            seconds=Seconds(found.seconds.build + spent + self._building, found.seconds.solve),
        )
        self._building = 0.0
        return usable(result) if raises else result
