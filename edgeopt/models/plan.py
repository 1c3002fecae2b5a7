"""What the solutions of all systems share: a bound with its checks, and a policy that follows it.

Policies and checks are parts of layers above: they are named in `edgeopt.registry`, and loaded when
asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from edgeopt import registry
from edgeopt.errors import InputError, OptionError, SolverError
from edgeopt.models.rows import Extension, compare
from edgeopt.models.tabular import Tabular
from edgeopt.solvers import Solution, solve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.models.tabular import Labels


@dataclass(frozen=True, eq=False, kw_only=True)
class ProgramPlan(Tabular):
    """A solved program of a system: a bound, and what a policy can follow.

    Parameters
    ----------
    instance
        What it is a plan for; None where it was not said.
    extension
        What its program has beside the one that edgeopt builds.
    """

    system: ClassVar[str]
    """The system's name in `edgeopt.registry`."""

    instance: Any = field(default=None, repr=False)
    extension: Extension = field(default_factory=Extension, repr=False)

    def _labels(self) -> Labels:
        return getattr(self.instance, "labels", {})

    @property
    def program(self) -> Literal["as it is", "extended", "other"]:
        """Whether it is the program that edgeopt builds, has more constraints, or is another."""
        return self.extension.program

    @property
    def added(self) -> tuple[str, ...]:
        """Names of the constraints that the program has beside those of edgeopt."""
        return tuple(rows.name for rows in self.extension.rows)

    @property
    def changed(self) -> tuple[str, ...]:
        """What is missing, weaker or another, so that the bound is valid for nobody."""
        return self.extension.changed

    @property
    def checks(self) -> tuple[Any, ...]:
        """What runs have to keep beside what the program of edgeopt asks for, as `Check`.

        No run tells whether it keeps rows that are not linear, or have variables of one's own.
        """
        if not self.extension.rows:
            return ()
        check = registry.CHECK.load()
        return tuple(
            check(rows.name, None, per=None)
            if rows.nonlinear or rows.variables & self.extension.own
            else check.of(rows)
            for rows in self.extension.rows
        )

    @property
    def scope(self) -> str:
        """Whose value the bound limits, as the end of "it bounds ..."."""
        if self.changed:
            return f"nobody: {'; '.join(self.changed)}"
        kept = f" and keep {', '.join(self.added)}" if self.added else ""
        return f"policies that do what the program of edgeopt asks for{kept}"

    def duals_of(self, name: str) -> dict[str, float]:
        """Return the duals of a constraint, by its tag or the name that the user gave it.

        Parameters
        ----------
        name
            Of a constraint component, such as ``"eq_3b"``, or of one of its rows.

        Returns
        -------
        dict of str to float
            Derivative of the optimum by the right-hand side of each row, by the row's name.

        Raises
        ------
        OptionError
            If there are no duals, as with whole numbers, or none of that name.
        """
        duals = self._named_duals
        if duals is None:
            raise OptionError(
                f"duals_of({name!r}): no duals by name are known: only programs of one's own that "
                "have no whole numbers leave them, see `of`"
            )
        found = {row: dual for row, dual in duals.items() if row.partition("[")[0] == name}
        found = found or {row: dual for row, dual in duals.items() if row == name}
        if not found:
            known = ", ".join(dict.fromkeys(row.partition("[")[0] for row in duals))
            raise OptionError(f"duals_of({name!r}): no such constraint; there are {known}")
        return found

    @property
    def _named_duals(self) -> Mapping[str, float] | None:
        duals = getattr(getattr(self, "solution", None), "duals", None)
        return duals if isinstance(duals, dict) else None

    def policy(self, **options: Any) -> Any:
        """Return a policy that follows the plan.

        Parameters
        ----------
        **options
            Of the policy, such as ``guarded=True`` of `edgeopt.online.rescue.Rescue`.

        Raises
        ------
        OptionError
            If the plan cannot be followed as it is; the text says why.
        """
        return registry.built_in(registry.FOLLOWERS)[self.system].load()(plan=self, **options)


def solved(
    program: Any, base: Callable[[], Any], options: Mapping[str, Any]
) -> tuple[Solution, Extension]:
    """Solve a user's Pyomo model, or take its solution, and compare it with the one built anew."""
    from edgeopt.solvers.registry import Kind, LeftBehind, kind_of

    given = program.problem if isinstance(program, Solution) else program
    if isinstance(given, LeftBehind):
        raise OptionError(f"program: {given!r}")
    if kind_of(given) is not Kind.PYOMO:
        raise OptionError(
            f"program: must be a Pyomo model built by edgeopt, or its solution, not a "
            f"{type(given).__name__}"
        )
    if not isinstance(program, Solution):
        solution = solve(program, **options)
    elif options:
        raise OptionError(f"{', '.join(options)}: the program is solved already; pass the model")
    else:
        solution = program
        _require_unchanged(solution)
    if not solution.quality.usable:
        raise SolverError(
            f"program: no usable point is in hand ({solution.status.value}); "
            "edgeopt.solvers.explain says which constraints clash",
            solution,
        )
    return solution, compare(given, base())


def _require_unchanged(solution: Solution) -> None:
    """Raise if a linear model was changed since it was solved: its bound would be another's."""
    from edgeopt.solvers.pyomo_program import compile_model

    if solution.evidence is None:
        return
    then, now = solution.evidence.problem, compile_model(solution.problem).program
    same = then.shape == now.shape and (then.matrix != now.matrix).nnz == 0
    for name in ("cost", "row_lower", "row_upper", "lower", "upper", "integer"):
        same = same and np.array_equal(getattr(then, name), getattr(now, name))
    if not same or (then.sense, then.offset) != (now.sense, now.offset):
        raise OptionError("program: the model has changed since it was solved; solve it again")


def values_of(solution: Solution, variable: str) -> dict[Any, float]:
    """Return the values of a variable by its index; what is in no row is nearest to 0.

    Fixed variables are no columns of the solver: they have the value that they are fixed at.
    """
    component = solution.problem.component(variable)
    if component is None:
        raise InputError("program", "has no such variable; edgeopt builds it", value=variable)
    found = {}
    for key, one in component.items():
        value = one.value if one.fixed else solution.values.get(one.name)
        if value is None:
            low, high = one.bounds
            value = min(max(0.0, -np.inf if low is None else low), np.inf if high is None else high)
        found[key] = float(value)
    return found


def array_of(solution: Solution, variable: str, shape: Sequence[int]) -> NDArray[np.float64]:
    """Return the values of a variable as an array, 0 where it has no entry."""
    out = np.zeros(shape)
    for key, value in values_of(solution, variable).items():
        index = key if isinstance(key, tuple) else (key,)
        if len(index) != out.ndim or any(i >= n for i, n in zip(index, out.shape, strict=True)):
            raise InputError(
                "program", f"has {variable}{list(index)}, the instance has not: build it from this"
            )
        out[index] = value
    return out
