"""SCIP through PySCIPOpt."""

from __future__ import annotations

import contextlib
import logging
import time
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pyscipopt import Conshdlr, Eventhdlr, Expr, Model
from pyscipopt.scip import PY_SCIP_EVENTTYPE as SCIP_EVENTTYPE
from pyscipopt.scip import PY_SCIP_PARAMSETTING as SCIP_PARAMSETTING
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT
from pyscipopt.scip import Term

from edgeopt.errors import EdgeOptError, OptionError
from edgeopt.solvers.backend.assembly import LogStream, refusal
from edgeopt.solvers.conditions import CURVED_SEARCH, QUADRATIC_ROWS, needs
from edgeopt.solvers.quadratic import upper_triangle
from edgeopt.solvers.registry import Progress, Reports
from edgeopt.solvers.solution import Status, answer
from edgeopt.solvers.tolerance import DEFAULT, TIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.registry import Request
    from edgeopt.solvers.solution import Solution

STATUS: Final[Mapping[str, Status]] = MappingProxyType(
    {
        "optimal": Status.CONVERGENCE_CRITERIA_SATISFIED,
        "gaplimit": Status.CONVERGENCE_CRITERIA_SATISFIED,
        "infeasible": Status.CLAIMED_INFEASIBLE,
        "unbounded": Status.CLAIMED_UNBOUNDED,
        "inforunbd": Status.INFEASIBLE_OR_UNBOUNDED,
        "timelimit": Status.MAX_TIME_LIMIT,
        "nodelimit": Status.ITERATION_LIMIT,
        "totalnodelimit": Status.ITERATION_LIMIT,
        "stallnodelimit": Status.ITERATION_LIMIT,
        "restartlimit": Status.ITERATION_LIMIT,
        "sollimit": Status.ITERATION_LIMIT,
        "bestsollimit": Status.ITERATION_LIMIT,
        "primallimit": Status.OBJECTIVE_LIMIT,
        "duallimit": Status.OBJECTIVE_LIMIT,
        "userinterrupt": Status.INTERRUPTED,
        "terminate": Status.INTERRUPTED,
        "memlimit": Status.ERROR,
        "unknown": Status.UNKNOWN,
    }
)

logger = logging.getLogger("edgeopt.solvers")


_UNSOLVABLE: Final = (
    Status.CLAIMED_INFEASIBLE, Status.CLAIMED_UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED,
)  # fmt: skip


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a linear or mixed-integer program.

    Ctrl-C is SCIP's own to catch: it then hands over its incumbent.
    """
    if request.algorithm is not None:
        raise OptionError("SCIP has no common name for algorithms; pass its own parameters")
    reports = Reports(request.progress)
    try:
        found = _solve(program, request, reports)
    except EdgeOptError:
        raise
    except Exception as failure:  # PySCIPOpt raises many types for SCIP's codes, mostly this one
        reports.raise_kept()
        raise refusal("SCIP", program, failure) from failure
    reports.raise_kept()
    return found


def _solve(program: LinearProgram, request: Request, reports: Reports) -> Solution:
    start = time.perf_counter()
    model, columns, rows = _build(program)
    settings = _configure(
        model,
        request,
        continuous=not program.is_mixed_integer,
        curved=bool({CURVED_SEARCH, QUADRATIC_ROWS} & {*needs(program)}),
    )
    if reports.wanted:
        watcher = _Watcher(reports, program.sign)
        model.includeEventhdlr(watcher, "edgeopt_progress", "reports progress to the caller")
    if request.lazy is not None:
        handler = _LazyRows(columns, request.lazy, reports)
        model.includeConshdlr(
            handler, "edgeopt_lazy", "rows asked for", enfopriority=-10, chckpriority=-10,
            needscons=False,
        )  # fmt: skip
        for reduction in ("misc/allowstrongdualreds", "misc/allowweakdualreds"):
            model.setParam(reduction, False)  # they go by the rows that are there
    if request.start is not None:
        _set_start(model, columns, program, request)
    built = time.perf_counter()
    with contextlib.redirect_stdout(LogStream()) if request.log else contextlib.nullcontext():
        model.optimize()
    seconds = (built - start, time.perf_counter() - built)
    status = STATUS.get(model.getStatus(), Status.UNKNOWN)
    values = None
    if status not in _UNSOLVABLE and model.getNSols() > 0:
        best = model.getBestSol()
        values = np.array([model.getSolVal(best, column) for column in columns])
    duals = None
    if values is not None and not program.is_mixed_integer and model.getStatus() == "optimal":
        duals = program.sign * np.array([model.getDualsolLinear(row) for row in rows])
    bound = model.getDualbound() if status is not Status.CLAIMED_UNBOUNDED else np.nan
    if abs(bound) >= model.infinity():
        bound = np.nan
    return answer(
        program,
        request,
        status,
        seconds=seconds,
        version=version("pyscipopt"),
        bound=program.sign * bound,
        values=values,
        duals=duals,
        settings=settings,
    )


def _build(program: LinearProgram) -> tuple[Any, list[Any], list[Any]]:
    """Return the minimisation in SCIP, its variables and its constraints."""
    model = Model("edgeopt")
    columns = [
        model.addVar(
            vtype="I" if whole else "C",
            lb=None if np.isneginf(low) else low,
            ub=None if np.isposinf(high) else high,
            obj=cost,
        )
        for whole, low, high, cost in zip(
            program.integer.tolist(),
            program.lower.tolist(),
            program.upper.tolist(),
            (program.sign * program.cost).tolist(),
            strict=True,
        )
    ]
    model.addObjoffset(program.sign * program.offset)
    terms = [Term(column) for column in columns]
    by_row = program.matrix.tocsr()
    rows = []
    for row in range(program.shape[0]):
        span = slice(by_row.indptr[row], by_row.indptr[row + 1])
        entries = zip(by_row.indices[span].tolist(), by_row.data[span].tolist(), strict=True)
        body = Expr({terms[column]: value for column, value in entries})
        low, high = float(program.row_lower[row]), float(program.row_upper[row])
        rows.append(_add_row(model, body, low, high, keep=not program.is_mixed_integer))
    if program.quadratic is not None:
        _add_quadratic(model, columns, program)
    _add_conditions(model, columns, program)
    return model, columns, rows


def _add_quadratic(model: Any, columns: list[Any], program: LinearProgram) -> None:
    """Minimise a column that is at least the quadratic term: SCIP's objectives are linear."""
    above = model.addVar(lb=0.0, obj=1.0)
    entries = upper_triangle(program).tocoo()
    products = {
        Term(columns[a], columns[b]): value if a != b else 0.5 * value
        for a, b, value in zip(entries.row, entries.col, entries.data.tolist(), strict=True)
    }
    model.addCons(Expr(products | {Term(above): -1.0}) <= 0.0)


def _add_conditions(model: Any, columns: list[Any], program: LinearProgram) -> None:
    for place, least in program.conditions.semicontinuous.items():
        used, column = model.addVar(vtype="B"), columns[place]
        model.addCons(column - least * used >= 0.0)
        model.addCons(column - float(program.upper[place]) * used <= 0.0)
    for one in program.conditions.sos:
        add = model.addConsSOS1 if one.kind == 1 else model.addConsSOS2
        add([columns[place] for place in one.columns], list(range(1, len(one.columns) + 1)))
    for row in program.conditions.indicators:
        body = Expr({Term(columns[place]): size for place, size in row.terms.items()})
        for signed, side in ((body, row.upper), (-1.0 * body, -row.lower)):
            if np.isfinite(side):
                model.addConsIndicator(
                    signed <= side, columns[row.column], activeone=bool(row.value)
                )
    for row in program.conditions.quadratic:
        sizes: dict[Any, float] = {}
        for (a, b), size in row.products.items():
            pair = Term(columns[a], columns[b])
            sizes[pair] = sizes.get(pair, 0.0) + size
        sizes |= {Term(columns[place]): size for place, size in row.terms.items()}
        _add_row(model, Expr(sizes), row.lower, row.upper, keep=False)


def _set_start(model: Any, columns: list[Any], program: LinearProgram, request: Request) -> None:
    """Give SCIP its first incumbent."""
    if not program.is_mixed_integer:
        raise OptionError("start: SCIP starts mixed-integer programs from a point, no linear ones")
    known = np.flatnonzero(np.isfinite(request.start))
    point = model.createPartialSol() if len(known) < len(columns) else model.createSol()
    for column in known.tolist():
        model.setSolVal(point, columns[column], float(request.start[column]))
    model.addSol(point)


def _add_row(model: Any, body: Any, low: float, high: float, *, keep: bool) -> Any:
    # SCIP turns a row of one column into a bound and its dual is lost, unless the row might grow.
    if np.isinf(low) and np.isinf(high):
        low = -model.infinity()
    if low == high:
        return model.addCons(body == low, modifiable=keep)
    if np.isposinf(high):
        return model.addCons(body >= low, modifiable=keep)
    row = model.addCons(body <= high, modifiable=keep)
    if np.isfinite(low):
        model.chgLhs(row, low)
    return row


def _configure(model: Any, request: Request, *, continuous: bool, curved: bool) -> dict[str, Any]:
    if not request.log:
        model.hideOutput()
    else:
        model.redirectOutput()
    settings: dict[str, Any] = {"limits/gap": DEFAULT if request.gap is None else request.gap}
    settings["limits/absgap"] = float(request.absolute_gap)
    if request.time_limit is not None:
        settings["limits/time"] = float(request.time_limit)
    if request.threads is not None:
        settings["parallel/maxnthreads"] = int(request.threads)
        settings["lp/threads"] = int(request.threads)
    if request.tolerance is not None:
        settings["numerics/feastol"] = float(request.tolerance)
        settings["numerics/dualfeastol"] = float(request.tolerance)
    if curved and request.tolerance is None:
        # Rows of products miss their side by this, and the objective is such a row.
        settings |= {"numerics/feastol": TIGHT, "limits/gap": settings["limits/gap"] / 2.0}
    if continuous:
        # Duals refer to the rows as given only if nothing rewrites them before the simplex method.
        model.setPresolve(SCIP_PARAMSETTING.OFF)
        model.setHeuristics(SCIP_PARAMSETTING.OFF)
        model.disablePropagation()
        settings["limits/gap"] = 0.0
    for name, value in (settings | request.options).items():
        try:
            model.setParam(name, value)
        except (KeyError, ValueError, LookupError) as failure:
            raise OptionError(f"SCIP does not take {name}={value!r}") from failure
    if continuous:
        settings |= {"presolving/maxrounds": 0, "heuristics": "off", "propagation": "off"}
    return settings | request.options


class _LazyRows(Conshdlr):
    """Adds rows that the caller's function returns for a point with whole numbers."""

    def __init__(self, columns: list[Any], lazy: Any, reports: Reports) -> None:
        self._columns, self._lazy, self._reports = columns, lazy, reports
        self._failed = False

    def _broken(self, solution: Any) -> list[Any]:
        if self._failed:
            return []
        values = np.array([self.model.getSolVal(solution, column) for column in self._columns])
        try:
            return list(self._lazy(values))
        except BaseException as raised:
            self._failed = True
            self._reports.keep(raised)
            self.model.interruptSolve()
            return []

    def conscheck(self, constraints: Any, solution: Any, *_: Any) -> dict[str, Any]:
        """Refuse a point that breaks a row."""
        broken = self._broken(solution)
        return {"result": SCIP_RESULT.INFEASIBLE if broken else SCIP_RESULT.FEASIBLE}

    def consenfolp(self, *_: Any) -> dict[str, Any]:
        """Add the rows that the relaxation's point breaks."""
        rows = self._broken(None)
        for terms, low, high in rows:
            body = Expr({Term(self._columns[place]): size for place, size in terms.items()})
            if np.isfinite(high):
                self.model.addCons(body <= high)
            if np.isfinite(low):
                self.model.addCons(body >= low)
        return {"result": SCIP_RESULT.CONSADDED if rows else SCIP_RESULT.FEASIBLE}

    def consenfops(self, *_: Any) -> dict[str, Any]:
        """Refuse a pseudo solution that breaks a row."""
        broken = self._broken(None)
        return {"result": SCIP_RESULT.INFEASIBLE if broken else SCIP_RESULT.FEASIBLE}

    def conslock(self, *_: Any) -> None:
        """Lock nothing: no reduction goes by locks."""


class _Watcher(Eventhdlr):
    """Reports each solved node and each better solution."""

    _EVENTS = SCIP_EVENTTYPE.NODESOLVED | SCIP_EVENTTYPE.BESTSOLFOUND

    def __init__(self, reports: Reports, sign: float) -> None:
        self._reports = reports
        self._sign = sign

    def eventinit(self) -> None:
        self.model.catchEvent(self._EVENTS, self)

    def eventexit(self) -> None:
        self.model.dropEvent(self._EVENTS, self)

    def eventexec(self, _: Any) -> None:
        model = self.model
        stop = self._reports(
            Progress.of(
                model.getSolvingTime(),
                model.getNNodes(),
                self._sign,
                model.getPrimalbound(),
                model.getDualbound(),
            )
        )
        if stop:
            model.interruptSolve()
