"""A caller's request of a solver: the kind of problem, and how to solve it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from numbers import Real
from typing import Any

from edgeopt.errors import OptionError, ProblemTypeError
from edgeopt.options import check_flag, check_text, check_whole
from edgeopt.solvers.program import LinearProgram

_UNKNOWN = float("nan")
_INFINITE = 1e20


class Kind(Enum):
    """A class of problems."""

    LINEAR = "linear program"
    MIXED_INTEGER = "mixed-integer linear program"
    QUADRATIC = "convex quadratic program"
    PYOMO = "Pyomo model"
    CVXPY = "CVXPY problem"
    CASADI = "CasADi nonlinear program"


def kind_of(problem: Any) -> Kind:
    """Return the kind of a problem."""
    if isinstance(problem, LinearProgram):
        if problem.quadratic is not None:
            if problem.is_mixed_integer:
                raise ProblemTypeError(
                    "no solver takes whole numbers with a quadratic objective here: solve "
                    "problem.relaxed(), or state the objective by linear pieces"
                )
            return Kind.QUADRATIC
        return Kind.MIXED_INTEGER if problem.is_mixed_integer else Kind.LINEAR
    if isinstance(problem, LeftBehind):
        if problem.kind is None:
            raise ProblemTypeError(repr(problem))
        return problem.kind
    from edgeopt.solvers.nonlinear import CasadiNlp

    if isinstance(problem, CasadiNlp):
        return Kind.CASADI
    # A problem can only come from a library that is loaded already: its class says which.
    roots = {cls.__module__.partition(".")[0] for cls in type(problem).__mro__}
    if "pyomo" in roots and hasattr(problem, "component_data_objects"):
        return Kind.PYOMO
    if "cvxpy" in roots and hasattr(problem, "get_problem_data"):
        return Kind.CVXPY
    raise ProblemTypeError(
        f"cannot solve a {type(problem).__name__}: pass a LinearProgram, a Pyomo model, "
        "a CVXPY problem or a CasadiNlp"
    )


@dataclass(frozen=True, repr=False)
class LeftBehind:
    """Stands for a problem that could not pass to another process, and says so when it is used."""

    what: str
    why: str
    kind: Kind | None

    def __repr__(self) -> str:
        return (
            f"the {self.what} was left behind in the process that solved it, since it cannot be "
            f"pickled ({self.why}); ask there for what needs it"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols of Python ask for what may be missing
            raise AttributeError(name)
        raise ProblemTypeError(repr(self))


def portable(problem: Any) -> Any:
    """Return a problem that can be pickled: itself, or what says why it was left behind."""
    if isinstance(problem, LinearProgram | LeftBehind):
        return problem
    try:
        pickle.dumps(problem, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # of any type: most hold objects of solvers in other languages
        why = str(error).partition("\n")[0].rstrip(".:")
    else:
        return problem
    try:
        kind = kind_of(problem)
    except ProblemTypeError:
        return LeftBehind(type(problem).__name__, why, None)
    return LeftBehind(kind.value, why, kind)


@dataclass(frozen=True)
class Progress:
    """Where a running solver stands.

    Parameters
    ----------
    seconds
        Time since the solver started.
    iterations
        Iterations of the method, or nodes of the search tree.
    objective, bound
        Best known ones, in the caller's sense; nan where not known yet.
    """

    seconds: float
    iterations: int
    objective: float = float("nan")
    bound: float = float("nan")

    @classmethod
    def of(
        cls, seconds: float, iterations: int, sign: float, objective: float, bound: float = _UNKNOWN
    ) -> Progress:
        """Build a report from what a solver of minimisations says; infinity means not known yet."""
        known = [
            sign * value if abs(value) < _INFINITE else _UNKNOWN for value in (objective, bound)
        ]
        return cls(float(seconds), int(iterations), *known)


ProgressCallback = Callable[[Progress], bool | None]
"""Called now and then while a solver runs; returning True stops it."""


@dataclass(frozen=True)
class Request:
    """How a problem is to be solved; the arguments of `solve` without the problem."""

    solver: str = "highs"
    algorithm: str | None = None
    time_limit: float | None = None
    gap: float | None = None
    tolerance: float | None = None
    threads: int | None = None
    log: bool = False
    progress: ProgressCallback | None = None
    options: dict[str, Any] = field(default_factory=dict)
    absolute_gap: float = 0.0
    warm: bool = False
    # where to start: a vector of the columns, nan where not told, or values by names of variables
    start: Any = None

    def __post_init__(self) -> None:
        for name in ("time_limit", "gap", "tolerance", "absolute_gap"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and float(value) >= 0):
                raise OptionError(f"{name} is {value!r}; it must be a number >= 0")
        check_whole("threads", self.threads, 1, none=True)
        check_flag("log", self.log)
        check_flag("warm", self.warm)
        if self.warm and self.start is not None:
            raise OptionError("warm = True: goes on from the last point; leave start out")
        if self.algorithm is not None:
            check_text("algorithm", self.algorithm)

    def record(self) -> dict[str, Any]:
        """Return the request as it is kept in the solution."""
        asked: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        own: dict[str, Any] = dict(asked.pop("options"))
        for name in ("solver", "progress", "log", "warm", "start"):
            asked.pop(name)
        if not self.absolute_gap:
            asked.pop("absolute_gap")
        return {name: value for name, value in asked.items() if value is not None} | own
