"""What a caller asks for, and which backends there are: kinds of problem, requests, the table.

One explicit table, and the entry-point group ``edgeopt.solvers`` for a user's own: there, a name
stands for a `Backend`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
import math
import pickle
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from edgeopt import plugins
from edgeopt.errors import MissingDependencyError, OptionError, ProblemTypeError, SolverError
from edgeopt.options import check_flag, check_text, check_whole
from edgeopt.representation import compact_repr
from edgeopt.solvers.backend import or_tools
from edgeopt.solvers.conditions import (
    CURVED_SEARCH,
    INDICATORS,
    QUADRATIC_ROWS,
    SEMICONTINUOUS,
    SOS,
    needs,
)
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.solvers.solution import Solution


_UNKNOWN = float("nan")
_INFINITE = 1e20


class Kind(Enum):
    """A class of problems.

    Examples
    --------
    >>> from edgeopt.solvers import Kind
    >>> Kind.LINEAR.value, Kind("convex quadratic program").name
    ('linear program', 'QUADRATIC')
    """

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
            return Kind.MIXED_INTEGER if problem.is_mixed_integer else Kind.QUADRATIC
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
    """Stands for what could not pass to another process or to disk, and says so when it is used."""

    what: str
    why: str
    kind: Kind | None

    def __repr__(self) -> str:
        return (
            f"the {self.what} was left behind in the process that solved it, since {self.why}; "
            "ask there for what needs it"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols of Python ask for what may be missing
            raise AttributeError(name)
        raise ProblemTypeError(repr(self))

    def __call__(self, *_given: Any, **_more: Any) -> Any:
        """Refuse: a function was left behind."""
        raise ProblemTypeError(repr(self))


def portable(problem: Any) -> Any:
    """Return a problem that can be pickled: itself, or what says why it was left behind."""
    if isinstance(problem, LinearProgram | LeftBehind):
        return problem
    try:
        pickle.dumps(problem, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # of any type: most hold objects of solvers in other languages
        why = f"it cannot be pickled ({str(error).partition(chr(10))[0].rstrip('.:')})"
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

    Examples
    --------
    >>> from edgeopt.solvers import LinearProgram, Progress, solve
    >>> reports = []
    >>> found = solve(LinearProgram([1, 2], [[1, 1]], 3, 3, 0), progress=reports.append)
    >>> all(isinstance(report, Progress) for report in reports)
    True
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

    @property
    def gap(self) -> float:
        """Difference of objective and bound over the larger one; nan where one is not known."""
        largest = max(abs(self.objective), abs(self.bound))
        difference = abs(self.objective - self.bound)
        return difference / largest if difference else difference

    def __str__(self) -> str:
        known = {"objective": self.objective, "bound": self.bound, "gap": self.gap}
        parts = [f"{self.seconds:.1f} s", f"{self.iterations} iterations"]
        parts += [
            f"{name} {value:.2%}" if name == "gap" else f"{name} {value:.8g}"
            for name, value in known.items()
            if not math.isnan(value)
        ]
        return ", ".join(parts)


class ProgressLine:
    """Shows reports in one line on standard error, or one after the other where that is a file."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, report: Progress) -> None:
        """Show a report in place of the last one."""
        text, stream = str(report), sys.stderr
        if stream.isatty():
            stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            stream.write(text + "\n")
        stream.flush()

    def end(self) -> None:
        """Leave the line, if there is one."""
        if self._width:
            sys.stderr.write("\n")


ProgressCallback = Callable[[Progress], bool | None]
"""Called now and then while a solver runs; returning True stops it."""


class Reports:
    """Hands progress to the caller, and keeps what it raises until the solver has come to rest.

    Solvers in other languages swallow an exception that passes through them, or end the process.
    """

    def __init__(self, progress: ProgressCallback | None) -> None:
        self.wanted = progress is not None
        self._progress = progress
        self._raised: BaseException | None = None

    def __call__(self, report: Progress) -> bool:
        """Return whether the solver has to stop; after an exception, nothing more is reported."""
        if self._progress is None:
            return False
        if self._raised is None:
            try:
                return bool(self._progress(report))
            except BaseException as raised:
                self.keep(raised)
        return True

    def keep(self, raised: BaseException) -> None:
        """Keep what another function of the caller raised."""
        self._raised = self._raised or raised

    def raise_kept(self) -> None:
        """Raise what the caller's function raised, as it was."""
        if self._raised is not None:
            raise self._raised


@dataclass(frozen=True, eq=False)
class Basis:
    """Where every column, shape [n], and every row, shape [m], of a linear program stands."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]


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
    # where to start: a vector of the columns, nan where not known, a `Basis`, or values by names of
    # variables
    start: Any = None
    # rows that a point breaks, for solvers that ask while they search: the others are asked again
    lazy: Callable[[Any], list[Any]] | None = None

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

    @contextmanager
    def listening(self, file: str | PathLike[str] | None = None) -> Iterator[None]:
        """Write the log to a file meanwhile, if one is named, and end the line of progress."""
        handler = None
        if file is not None:
            logger = logging.getLogger("edgeopt.solvers")
            level = logger.level
            try:
                handler = logging.FileHandler(file, mode="w", encoding="utf-8")
            except (OSError, TypeError) as failure:
                raise OptionError(f"log: cannot be written: {failure}") from None
            logger.addHandler(handler)
            logger.setLevel(min(logging.INFO, level or logging.INFO))
        try:
            yield
        finally:
            if handler is not None:
                logger.removeHandler(handler)
                logger.setLevel(level)
                handler.close()
            if isinstance(self.progress, ProgressLine):
                self.progress.end()

    @property
    def accepted(self) -> float:
        """Largest residual and gap that a certificate accepts."""
        return max(DEFAULT, self.tolerance or 0.0)

    def since(self, begun: float) -> Request:
        """Return the request with what is left of its time limit since a solve began."""
        if self.time_limit is None:
            return self
        left = max(0.0, self.time_limit - (time.perf_counter() - begun))
        return replace(self, time_limit=left)

    def record(self) -> dict[str, Any]:
        """Return the request as it is kept in the solution."""
        asked: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        own: dict[str, Any] = dict(asked.pop("options"))
        for name in ("solver", "progress", "log", "warm", "start", "lazy"):
            asked.pop(name)
        if not self.absolute_gap:
            asked.pop("absolute_gap")
        return {name: value for name, value in asked.items() if value is not None} | own


ENTRY_POINTS: Final = "edgeopt.solvers"

FIRST_ORDER: Final = frozenset({"OSQP", "SCS", "PDLP"})
"""Methods of many cheap iterations, whose accuracy is a question of time, as CVXPY calls them."""

_BESIDE: Final = (
    " beside what this process has loaded. highspy and OR-Tools bring different releases of one "
    "library: import highspy before OR-Tools, leave LD_BIND_NOW unset, or give each a process of "
    "its own"
)

BackendSolve = Callable[[Any, Request], "Solution"]
"""Solves one problem as requested; never raises because of how the solve ended."""


@compact_repr
@dataclass(frozen=True)
class Backend:
    """A solver that `solve` can reach.

    What its functions return is a claim. A point may miss its rows by a tolerance, and
    "infeasible" or "unbounded" is `Status.CLAIMED_INFEASIBLE` or `Status.CLAIMED_UNBOUNDED`, of
    which `solve` looks for the proof. Of one program they may be asked several times: as it stands
    and equilibrated, always without the objective's constant.

    Parameters
    ----------
    name
        What `solve` is given.
    package
        Module whose presence means that the solver is installed.
    distribution
        Distribution that brings it, for version and advice.
    routes
        For each kind of problem the function that solves it, or ``"module:function"``, which is
        imported when first used.
    starts
        Kinds of problem that it can solve from a point which the caller gives (`solve(start=...)`):
        a basis close to it, a first incumbent, or a first iterate.
    warm
        Kinds of problem of which it keeps its own last state, to go on from when only data have
        changed (`Reusable`, and `solve(warm=True)` where the problem itself stays).
    tested
        How far it is tested where its licence or its hardware is not at hand; "" where the test
        suite solves with it.
    takes
        What else it takes: "semi-continuous columns", "SOS", "indicators", "quadratic rows", or
        "whole numbers with a quadratic objective".

    Examples
    --------
    >>> from edgeopt.solvers import Backend, backends
    >>> one = backends()[0]
    >>> one.name, one.distribution, one.installed
    ('highs', 'highspy', True)
    """

    name: str
    package: str
    distribution: str
    routes: Mapping[Kind, str | BackendSolve]
    starts: Collection[Kind] = ()
    warm: Collection[Kind] = ()
    takes: Collection[str] = ()
    tested: str = ""

    @property
    def installed(self) -> bool:
        """Whether the solver's package can be imported."""
        try:
            return importlib.util.find_spec(self.package) is not None
        except ModuleNotFoundError:  # of "package.module" not even the package is there
            return False

    @property
    def fault(self) -> str | None:
        """Why the package, though installed, cannot be imported; None if it can, or is absent."""
        try:
            if self.installed:
                load(self.package)
        except (ImportError, OSError) as why:
            advice = _BESIDE if self.distribution in ("highspy", or_tools.PACKAGE) else ""
            return f"{self.distribution} is installed, but cannot be loaded{advice}: {why}"
        return None

    @property
    def version(self) -> str | None:
        """Version of the distribution, None if not installed."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def install(self) -> str:
        """The line that installs it."""
        return f"pip install {self.distribution}"

    @property
    def default_for(self) -> dict[str, str]:
        """Kinds of problem, in words, that it solves if nobody is named, each with the reason."""
        return {kind.value: REASONS[kind] for kind, name in DEFAULTS.items() if name == self.name}

    def __str__(self) -> str:
        state = f"{self.version}" if self.installed else f"not installed: {self.install}"
        tested = f"; tested {self.tested}" if self.tested else ""
        reasons = [f"default for a {kind}: {why}" for kind, why in self.default_for.items()]
        return "; ".join([f"{self.name} ({state}{tested}): {', '.join(self.problems)}", *reasons])

    @property
    def problems(self) -> tuple[str, ...]:
        """Kinds of problem that it takes, in words."""
        return tuple(kind.value for kind in self.routes)

    def solve_function(self, kind: Kind) -> BackendSolve:
        """Return the function that solves this kind of problem."""
        if kind not in self.routes:
            raise ProblemTypeError(
                f"{self.name} does not take a {kind.value}; it takes: {', '.join(self.problems)}"
            )
        if not self.installed:
            raise MissingDependencyError(
                f"solver {self.name!r} needs the package {self.distribution}, which is not "
                f"installed: {self.install}"
            )
        fault = self.fault
        if fault is not None:
            raise SolverError(f"solver {self.name!r}: {fault}")
        target = self.routes[kind]
        if callable(target):
            return target
        module, _, function = target.partition(":")
        found = getattr(importlib.import_module(module), function, None)
        if not callable(found):
            raise OptionError(f"solver {self.name!r}: there is no function {target}")
        solve: BackendSolve = found
        return solve

    def check_conditions(self, program: LinearProgram) -> None:
        """Raise unless the solver takes all conditions of a program."""
        for need in needs(program):
            if need not in self.takes:
                able = [one for one in _TABLE if need in one.takes]
                names = ", ".join(f"{one.name} (pip install {one.distribution})" for one in able)
                raise ProblemTypeError(f"{self.name} does not take {need}; take {names}")

    def check_start(self, kind: Kind) -> None:
        """Raise unless the solver can start this kind of problem from a point."""
        if kind not in self.starts:
            able = ", ".join(one.name for one in _TABLE if kind in one.starts) or "none"
            raise OptionError(
                f"start: {self.name} cannot start a {kind.value} from a point; those that can: "
                f"{able}"
            )


def load(package: str) -> None:
    """Import a solver's package."""
    if package.partition(".")[0] == or_tools.PACKAGE:
        or_tools.load(package)
    else:
        importlib.import_module(package)


def _routes(target: str, *kinds: Kind) -> dict[Kind, str]:
    return dict.fromkeys(kinds, f"edgeopt.solvers.backend.{target}")


_LINEAR = (Kind.LINEAR, Kind.MIXED_INTEGER)
_PYOMO, _CVXPY = _routes("pyomo:solve", Kind.PYOMO), _routes("cvxpy:solve", Kind.CVXPY)
_MODELS = _PYOMO | _CVXPY
_BY_CVXPY = "cvxpy:solve_linear"
_ALL = _routes(_BY_CVXPY, *_LINEAR, Kind.QUADRATIC) | _MODELS
_SMOOTH = _routes("casadi:solve_linear", Kind.LINEAR, Kind.QUADRATIC)
_SMOOTH |= _routes("casadi:solve", Kind.CASADI)

_SMALL: Final = "with the licence in its package, for small programs"
_RECORDED: Final = "against recorded calls, which SciPy answers"

_TABLE: Final[tuple[Backend, ...]] = (
    Backend(
        "highs", "highspy", "highspy", _routes("highs:solve", *_LINEAR, Kind.QUADRATIC) | _MODELS,
        starts=(*_LINEAR, Kind.PYOMO, Kind.CVXPY), warm=(*_LINEAR, Kind.PYOMO, Kind.CVXPY),
        takes=(SEMICONTINUOUS,),
    ),
    Backend("scipy", "scipy", "scipy", _routes("scipy:solve", *_LINEAR) | _MODELS),
    Backend(
        "clarabel", "clarabel", "clarabel",
        _routes("clarabel:solve", Kind.LINEAR, Kind.QUADRATIC) | _MODELS, warm=(Kind.CVXPY,),
    ),
    Backend(
        "osqp", "osqp", "osqp",
        _routes(_BY_CVXPY, Kind.LINEAR) | _routes("osqp:solve", Kind.QUADRATIC) | _MODELS,
        starts=(Kind.LINEAR, Kind.QUADRATIC, Kind.PYOMO, Kind.CVXPY), warm=(Kind.CVXPY,),
    ),
    Backend(
        "scs", "scs", "scs", _routes(_BY_CVXPY, Kind.LINEAR, Kind.QUADRATIC) | _MODELS,
        starts=(Kind.LINEAR, Kind.QUADRATIC, Kind.PYOMO, Kind.CVXPY), warm=(Kind.CVXPY,),
    ),
    Backend(
        "scip", "pyscipopt", "pyscipopt", _routes("scip:solve", *_LINEAR) | _MODELS,
        starts=(Kind.MIXED_INTEGER, Kind.PYOMO),
        takes=(SEMICONTINUOUS, SOS, INDICATORS, QUADRATIC_ROWS, CURVED_SEARCH),
    ),
    Backend(
        "ipopt", "casadi", "casadi", _SMOOTH | _PYOMO,
        starts=(Kind.LINEAR, Kind.QUADRATIC, Kind.CASADI, Kind.PYOMO),
    ),
    *(
        Backend(name, package, package, _ALL, takes=takes, tested=_SMALL)
        for name, package, takes in (
            ("gurobi", "gurobipy", (CURVED_SEARCH,)), ("cplex", "cplex", (CURVED_SEARCH,)),
            ("xpress", "xpress", ()), ("copt", "coptpy", (CURVED_SEARCH,)),
        )
    ),
    Backend("mosek", "mosek", "mosek", _ALL, tested=_RECORDED),
    Backend("cuopt", "cuopt", "cuopt-cu12", _ALL, tested=_RECORDED),
    Backend(
        "cbc", or_tools.MODULE, or_tools.PACKAGE,
        _routes("linear_solver:solve", Kind.MIXED_INTEGER),
    ),
    Backend(
        "cp-sat", or_tools.MODULE, or_tools.PACKAGE,
        _routes("linear_solver:solve", Kind.MIXED_INTEGER), starts=(Kind.MIXED_INTEGER,),
    ),
    Backend("glop", or_tools.MODULE, or_tools.PACKAGE, _routes(_BY_CVXPY, Kind.LINEAR) | _CVXPY),
    Backend("pdlp", or_tools.MODULE, or_tools.PACKAGE, _routes(_BY_CVXPY, Kind.LINEAR) | _CVXPY),
)  # fmt: skip
"""Only what has been tried: where commercial solvers can start from a point is not stated."""

DEFAULTS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.LINEAR: "highs",
        Kind.MIXED_INTEGER: "highs",
        Kind.QUADRATIC: "clarabel",
        Kind.PYOMO: "highs",
        Kind.CVXPY: "clarabel",
        Kind.CASADI: "ipopt",
    }
)
"""Who solves a kind of problem if nobody is named; see `default_solver`."""

REASONS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.LINEAR: "proven on all 42 programs of Netlib, in the least time of those installed",
        Kind.MIXED_INTEGER: "all 22 programs of MIPLIB 3 in half the time of SCIP, free of charge",
        Kind.QUADRATIC: "51 of 51 programs of Maros and Meszaros right, 48 proven; HiGHS 44",
        Kind.PYOMO: "as for linear programs; what it refuses goes to SCIP",
        Kind.CVXPY: "takes every cone; what is linear or has whole numbers goes to HiGHS",
        Kind.CASADI: "takes derivatives of CasADi, second ones too",
    }
)
"""Why, as measured in docs/solvers.md."""

NONLINEAR: Final = "scip"
"""Who solves what HiGHS refuses, such as cones with whole numbers, if nobody is named."""

_LIBRARIES: Final = {
    "cvxpy": ("cvxpy", _routes(_BY_CVXPY, *_LINEAR) | _CVXPY),
    "pyomo": ("pyomo", _PYOMO),
    "casadi": ("casadi", _SMOOTH),
    "qpsolvers": ("qpsolvers", _routes("qpsolvers:solve", Kind.LINEAR, Kind.QUADRATIC)),
}
"""``"library:solver"`` reaches a solver through one library explicitly, listed or not."""


def find_backend(solver: str | Backend) -> Backend:
    """Return the backend of that name."""
    if isinstance(solver, Backend):
        return solver
    if not isinstance(solver, str):
        kind = type(solver).__name__  # type: ignore[unreachable]
        raise OptionError(f"solver: must be a name or a Backend, not a {kind}")
    for backend in _TABLE:
        if backend.name == solver:
            return backend
    library, colon, name = solver.partition(":")
    if colon and library in _LIBRARIES:
        package, routes = _LIBRARIES[library]
        known = {row.name: row for row in _TABLE if library == "cvxpy"}.get(name)
        needs = (known.package, known.distribution) if known else (package, package)
        like = known or {row.package: row for row in _TABLE}.get(library)
        starts = [kind for kind in routes if like is None or kind in like.starts]
        return Backend(solver, *needs, routes, starts, like.warm if like else ())
    offered = list(importlib.metadata.entry_points(group=ENTRY_POINTS, name=solver))
    if offered:
        return _load(plugins.only(offered))
    names = ", ".join(backend.name for backend in _TABLE)
    raise OptionError(
        f"there is no solver {solver!r}; choose one of {names}, or library:solver with the "
        f"library {', '.join(_LIBRARIES)}"
    )


def _load(entry: importlib.metadata.EntryPoint) -> Backend:
    backend = plugins.load(entry, Backend)
    if backend.name != entry.name:
        raise plugins.refusal(entry, f"the backend calls itself {backend.name!r}; use one name")
    return backend


def default_solver(problem: Any, kind: Kind) -> str:
    """Return who solves a problem if nobody is named.

    HiGHS takes what is linear, with whole numbers or without, also in CVXPY; Clarabel quadratic
    programs and the other CVXPY problems, Ipopt those of CasADi. What HiGHS refuses
    goes to `NONLINEAR`, where that is installed.
    """
    default = find_backend(DEFAULTS[kind])
    if isinstance(problem, LinearProgram) and not set(needs(problem)) <= set(default.takes):
        return NONLINEAR
    if kind is Kind.CVXPY and (problem.is_mixed_integer() or problem.is_lp()):
        return DEFAULTS[Kind.LINEAR]
    return DEFAULTS[kind]


def backends(*, installed: bool | None = None) -> list[Backend]:
    """List the backends, the user's own included.

    Parameters
    ----------
    installed
        True for those that are installed, False for those that are not; all by default.

    Returns
    -------
    Backends with `name`, `installed`, `version` and `problems`, the line to `install` them, how
    far they are `tested`, and what they are the `default_for`, with the reason. Each prints so.

    Warns
    -----
    PluginWarning
        If an installed backend is faulty, or has a name that is in use. It is left out.

    Examples
    --------
    >>> from edgeopt.solvers import backends
    >>> [one.name for one in backends() if one.name in ("highs", "scip", "gurobi")]
    ['highs', 'scip', 'gurobi']
    """
    known = {backend.name: backend for backend in _TABLE}
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            if entry.name in known:
                raise plugins.refusal(entry, f"the solver name {entry.name} is taken")
            known[entry.name] = _load(entry)
        except OptionError as why:
            plugins.leave_out(why)
    return [one for one in known.values() if installed is None or one.installed is installed]
