"""Linear programs through a nonlinear interior-point method: a third opinion."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import casadi
import numpy as np

from edgeopt.solvers.backend.assembly import assemble
from edgeopt.solvers.backend.casadi import run
from edgeopt.solvers.nonlinear import CasadiNlp
from edgeopt.solvers.status import Status

if TYPE_CHECKING:
    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.request import Request
    from edgeopt.solvers.solution import Solution

__all__ = ["solve"]

_CONSTANT_DERIVATIVES = {
    "hessian_constant": "yes",
    "jac_c_constant": "yes",
    "jac_d_constant": "yes",
}


def solve(program: LinearProgram, request: Request) -> Solution:
    """Solve a continuous linear program."""
    point = casadi.MX.sym("x", program.shape[1])
    matrix = program.matrix
    # CasADi's interface counts with plain integers of the machine.
    pattern = casadi.Sparsity(
        *program.shape, matrix.indptr.astype(int).tolist(), matrix.indices.astype(int).tolist()
    )
    rows = None
    if program.shape[0]:
        rows = casadi.densify(casadi.mtimes(casadi.DM(pattern, matrix.data), point))
    problem = CasadiNlp(
        point,
        casadi.dot(casadi.DM(program.cost), point),
        rows,
        program.row_lower,
        program.row_upper,
        program.lower,
        program.upper,
        sense=program.sense,
        convex=True,
    )
    if request.solver.endswith("ipopt"):
        request = replace(request, options=_CONSTANT_DERIVATIVES | request.options)
    stop = run(problem, request)
    status = Status.PROVEN_INFEASIBLE if stop.infeasible_point else stop.status
    unsolvable = status in (Status.PROVEN_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
    values = None if unsolvable else stop.values
    return assemble(
        program,
        request,
        status,
        sign=program.sign,
        seconds=(stop.build, stop.solve),
        version=f"CasADi {version('casadi')}",
        objective=float("nan") if values is None else program.objective(np.asarray(values)),
        values=values,
        duals=None
        if values is None or stop.multipliers is None
        else program.sign * stop.multipliers,
        settings=stop.settings,
    )
