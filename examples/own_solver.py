"""A solver of your own, checked by the certificate that every solution carries."""

import time

import numpy as np

from edgeopt import solve
from edgeopt.instances.rescue import generate
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.solvers import Backend, Kind, Quality, Status
from edgeopt.solvers.solution import assemble


def first_order(program, request):
    """Primal-dual hybrid gradient with diagonal steps (Pock, Chambolle 2011), from 0.

    The point x descends the Lagrangian and the row prices y ascend it, in proximal steps, until
    the certificate meets the tolerance.
    """
    tolerance = 1e-3 if request.tolerance is None else request.tolerance
    start, matrix, cost = time.perf_counter(), program.matrix, program.sign * program.cost
    step_x = 1.0 / np.maximum(abs(matrix).sum(axis=0), 1e-9)
    step_y = 1.0 / np.maximum(abs(matrix).sum(axis=1), 1e-9)
    x, y = np.clip(0.0, program.lower, program.upper), np.zeros(program.shape[0])
    for count in range(1, 200_001):
        before, x = x, np.clip(x - step_x * (cost - matrix.T @ y), program.lower, program.upper)
        pull = y - step_y * (matrix @ (2 * x - before))
        y = pull + step_y * np.clip(-pull / step_y, program.row_lower, program.row_upper)
        if count % 100 == 0:
            found = assemble(
                program,
                request,
                Status.CONVERGENCE_CRITERIA_SATISFIED,
                sign=program.sign,
                seconds=(0.0, time.perf_counter() - start),
                version=f"after {count} steps",
                objective=program.objective(x),
                values=x,
                duals=program.sign * y,
            )
            if found.certify(tolerance).quality is Quality.OPTIMAL:
                break
    return found


MINE = Backend("first_order", "scipy", "scipy", routes={Kind.LINEAR: first_order})

if __name__ == "__main__":
    program = p1_lp_matrix(generate(servers=2, devices=5, horizon=12, rng=7))
    print(f"{program.shape[0]} rows, {program.shape[1]} columns")
    for solver, tolerance in (("highs", None), (MINE, 1e-2), (MINE, 1e-3)):
        found = solve(program, solver, tolerance=tolerance)
        print(
            f"{found.solver} {found.version}: {found.objective:.5f}, proven to be at most "
            f"{found.bound:.5f}, largest row violation {found.primal_residual():.1e}"
        )
