"""CVXPY problems and Pyomo models that are compiled once and solved for many parameters."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError, ProblemTypeError
from edgeopt.solvers.dispatch import certify_claim, gone_on, usable
from edgeopt.solvers.pyomo_updates import PyomoUpdates
from edgeopt.solvers.registry import default_solver, find_backend
from edgeopt.solvers.request import Kind, ProgressCallback, Request
from edgeopt.solvers.reusable import Reusable, kept_by_highs
from edgeopt.solvers.solution import Seconds

if TYPE_CHECKING:
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution


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
        if program.parameters() and not program.is_dpp():
            raise ProblemTypeError(
                "the problem is not DPP, so that CVXPY compiles it for every value of a parameter: "
                "state it with each parameter affine, or solve it by solve(...)"
            )
        name = default_solver(program, Kind.CVXPY) if solver is None else solver
        self._backend = find_backend(name)
        if Kind.CVXPY not in self._backend.warm:
            raise OptionError(f"solver = {name!r}: keeps nothing of a solve; take highs, clarabel, "
                              "osqp or scs")  # fmt: skip
        self._run = self._backend.solve_function(Kind.CVXPY)
        self._problem, self._solved = program, False
        self._request = Request(
            name, algorithm, time_limit, gap, tolerance, threads, log, progress, options
        )

    @property
    def program(self) -> LinearProgram:
        """Raise: CVXPY compiles to cone programs."""
        raise ProblemTypeError("a CVXPY problem has no LinearProgram")

    def solve(self, *, raises: bool = True, warm: bool = True) -> Solution:
        """Solve the problem at the values that its parameters have."""
        # What others have left of this problem is no state of ours.
        request = replace(self._request, warm=warm and self._solved)
        proven = gone_on(self._run, self._problem, request)
        self._solved = True
        if proven is not None:
            return proven
        claimed = self._run(self._problem, request)
        return certify_claim(claimed, request, raises=raises, stacklevel=2)


class ReusableModel(_OfModel):
    """A linear Pyomo model that stays loaded in HiGHS."""

    def __init__(self, program: Any, solver: str | None = None, **arguments: Any) -> None:
        kept_by_highs(solver, Kind.PYOMO)
        self._arguments, self._problem = arguments, program
        self._compile()

    def _compile(self) -> None:
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
