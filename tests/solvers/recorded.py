"""MOSEK and cuOpt as modules that write down their calls, and answer by SciPy.

They stand for what cannot be installed or licensed where tests run: names, arguments and order are
those of the vendors' documentation. ``python -m tests.solvers.recorded NAME`` solves two programs
and prints calls and answers as JSON; in a process of its own, as CVXPY looks for solvers once.
"""

from __future__ import annotations

import importlib.machinery
import json
import sys
import types
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

CALLS: list[list[Any]] = []


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


class Names:
    """An enumeration, or a set of statuses: every name stands for itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{self._name}.{name}"


def module(name: str, **content: Any) -> None:
    """Register a module."""
    made = types.ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    made.__path__ = []
    made.__dict__.update(content)
    sys.modules[name] = made


class Task:
    """A task of MOSEK's optimizer interface."""

    def __init__(self) -> None:
        self.maximised = False
        self.whole: list[int] = []

    def __getattr__(self, name: str) -> Any:
        def record(*arguments: Any) -> None:
            CALLS.append([name, *map(plain, arguments)])

        return record

    def appendvars(self, count: int) -> None:
        CALLS.append(["appendvars", count])
        self.cost = np.zeros(count)
        self.low, self.high = np.zeros(count), np.zeros(count)

    def appendcons(self, count: int) -> None:
        CALLS.append(["appendcons", count])
        self.matrix = np.zeros((count, len(self.cost)))
        self.row_low, self.row_high = np.zeros(count), np.zeros(count)

    def putclist(self, places: Any, values: Any) -> None:
        CALLS.append(["putclist", plain(places), plain(values)])
        self.cost[places] = values

    def putaijlist(self, rows: Any, columns: Any, values: Any) -> None:
        CALLS.append(["putaijlist", plain(rows), plain(columns), plain(values)])
        self.matrix[rows, columns] = values

    def putobjsense(self, sense: str) -> None:
        CALLS.append(["putobjsense", sense])
        self.maximised = sense.endswith("maximize")

    def getobjsense(self) -> str:
        return f"objsense.{'maximize' if self.maximised else 'minimize'}"

    @staticmethod
    def _sides(places: Any, keys: Any, low: Any, high: Any, into: tuple[Any, Any]) -> None:
        for place, key, below, above in zip(places, keys, low, high, strict=True):
            kind = key.removeprefix("boundkey.")
            into[0][place] = below if kind in ("lo", "fx", "ra") else -np.inf
            into[1][place] = above if kind in ("up", "fx", "ra") else np.inf

    def putvarboundlist(self, places: Any, keys: Any, low: Any, high: Any) -> None:
        self._sides(places, keys, low, high, (self.low, self.high))

    def putconboundlist(self, places: Any, keys: Any, low: Any, high: Any) -> None:
        self._sides(places, keys, low, high, (self.row_low, self.row_high))

    def putvartypelist(self, places: Any, kinds: Any) -> None:
        CALLS.append(["putvartypelist", plain(places), plain(kinds)])
        self.whole = [p for p, kind in zip(places, kinds, strict=True) if kind.endswith("type_int")]

    def optimize(self) -> None:
        CALLS.append(["optimize"])
        cost = -self.cost if self.maximised else self.cost
        if self.whole:
            integer = np.isin(np.arange(len(cost)), self.whole)
            rows = LinearConstraint(self.matrix, self.row_low, self.row_high)
            found = milp(
                cost, integrality=integer, bounds=Bounds(self.low, self.high), constraints=rows
            )
            self.y = np.zeros(len(self.matrix))
        else:  # CVXPY hands over the dual of a continuous program: equations
            assert np.array_equal(self.row_low, self.row_high)
            pairs = np.column_stack([self.low, self.high])
            found = linprog(cost, A_eq=self.matrix, b_eq=self.row_low, bounds=pairs)
            self.y = (-1.0 if self.maximised else 1.0) * found.eqlin.marginals
        self.x, self.value = found.x, float(self.cost @ found.x)

    def getnumintvar(self) -> int:
        return len(self.whole)

    def getnumcone(self) -> int:
        return 0

    def getnumcon(self) -> int:
        return len(self.matrix)

    def getintparam(self, name: str) -> str:
        return "optimizertype.free"

    def getprosta(self, kind: str) -> str:
        return "prosta.prim_and_dual_feas"

    def getsolsta(self, kind: str) -> str:
        return "solsta.integer_optimal" if self.whole else "solsta.optimal"

    def getprimalobj(self, kind: str) -> float:
        return self.value

    def getdouinf(self, item: str) -> float:
        return self.value if item.endswith("mio_obj_bound") else 0.0

    def getintinf(self, item: str) -> int:
        return 0

    getlintinf = getintinf

    def gety(self, kind: str, into: list[float]) -> None:
        into[:] = self.y

    def getxxslice(self, kind: str, first: int, last: int, into: list[float]) -> None:
        into[:] = self.x[first:last]

    def __exit__(self, *_: Any) -> None:
        self.getdouinf = None  # type: ignore[assignment, method-assign] - the task is gone


def mosek() -> None:
    """Register MOSEK."""
    kinds = (
        "boundkey", "conetype", "objsense", "soltype", "solsta", "prosta", "optimizertype",
        "dinfitem", "iinfitem", "liinfitem", "rescode", "streamtype", "variabletype", "basindtype",
    )  # fmt: skip
    parameters = {name: type(name, (), {"intpnt_basis": 1, "optimizer": 2})
                  for name in ("iparam", "dparam", "sparam")}  # fmt: skip
    module("mosek", Task=Task, **{name: Names(name) for name in kinds}, **parameters)


class Recorded:
    """An object of cuOpt whose setters are written down and kept."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        def record(*arguments: Any, **named: Any) -> None:
            CALLS.append([name, *map(plain, arguments)])
            self.held[name] = arguments

        return record


class Result(types.SimpleNamespace):
    """What cuOpt answers."""

    def __getattr__(self, name: str) -> Any:
        return lambda: self.answers[name.removeprefix("get_")]


def cuopt() -> None:
    """Register cuOpt."""
    from scipy.sparse import csr_array

    def solve(model: Recorded, settings: Recorded) -> Result:
        CALLS.append(["Solve"])
        held = model.held
        cost = held["set_objective_coefficients"][0]
        low, high = (held[f"set_constraint_{side}_bounds"][0] for side in ("lower", "upper"))
        data, indices, starts = held["set_csr_constraint_matrix"]
        rows = csr_array((data, indices, starts), shape=(len(low), len(cost)))
        bounds = Bounds(*(held[f"set_variable_{side}_bounds"][0] for side in ("lower", "upper")))
        integer = held["set_variable_types"][0] == "I"
        found = milp(
            cost, integrality=integer, bounds=bounds, constraints=LinearConstraint(rows, low, high)
        )
        stats = {"num_simplex_iterations": 0, "nb_iterations": 0, "solution_bound": found.fun}
        return Result(answers={
            "error_status": "ErrorStatus.Success", "primal_objective": found.fun,
            "termination_status": f"{'MI' if integer.any() else ''}LPTerminationStatus.Optimal",
            "milp_stats": stats, "lp_stats": stats, "primal_solution": found.x,
            "dual_solution": None, "solve_time": 0.0,
        })  # fmt: skip

    names = (
        "TIME_LIMIT", "MIP_RELATIVE_GAP", "MIP_ABSOLUTE_GAP", "NUM_CPU_THREADS", "LOG_TO_CONSOLE",
        "METHOD", "PDLP_SOLVER_MODE", "ABSOLUTE_PRIMAL_TOLERANCE", "RELATIVE_PRIMAL_TOLERANCE",
        "ABSOLUTE_DUAL_TOLERANCE", "RELATIVE_DUAL_TOLERANCE", "ABSOLUTE_GAP_TOLERANCE",
        "RELATIVE_GAP_TOLERANCE",
    )  # fmt: skip
    root = "cuopt.linear_programming"
    module("cuopt")
    module(root)
    module(f"{root}.solver", Solve=solve)
    parameters = {f"CUOPT_{name}": name.lower() for name in names}
    module(f"{root}.solver.solver_parameters", **parameters)
    held = sys.modules[f"{root}.solver.solver_parameters"]
    sys.modules[f"{root}.solver"].__dict__["solver_parameters"] = held
    statuses = ("ErrorStatus", "LPTerminationStatus", "MILPTerminationStatus")
    module(f"{root}.solver.solver_wrapper", **{name: Names(name) for name in statuses})
    module(
        f"{root}.solver_settings", SolverSettings=Recorded, PDLPSolverMode=Names("mode"),
        SolverMethod=Names("method"),
    )  # fmt: skip
    module(f"{root}.data_model", DataModel=Recorded)


def main(name: str) -> None:
    """Solve two programs and print calls and answers."""
    {"mosek": mosek, "cuopt": cuopt}[name]()
    from edgeopt.errors import OptionError
    from edgeopt.solvers import LinearProgram, solve

    answers = []
    program = LinearProgram(
        [3, 5, 1], [[1, 0, 0], [0, 2, 1], [3, 2, 0]], [-np.inf, 3, -np.inf], [4, 12, 17], 0, 6,
        sense="max",
    )  # fmt: skip
    asked = {"time_limit": 5.0, "gap": 1e-4, "threads": 2}
    for one in (program, program.replace(integer=True, upper=[6, 6, 4])):
        CALLS.append(["begin"])
        found = solve(one, name, **asked)  # type: ignore[arg-type]
        answers.append([found.quality.value, found.objective, found.bound, found.values.tolist()])
    try:
        solve(program, name, no_such_option=1)
        refused = ""
    except OptionError as why:
        refused = str(why)
    print(json.dumps({"calls": CALLS, "answers": answers, "refused": refused}))


if __name__ == "__main__":
    main(sys.argv[1])
