"""What does a modelling layer cost on the whole way from the instance to the plan in hand?

All candidates have the same relaxation solved by HiGHS with the same algorithm, each by the way to
HiGHS in memory that its layer offers; the plan is an array y[t, j, k, l] in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Ladder, Reading
from benchmarks.rescue_models import in_cvxpy, in_linopy
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.rescue import RescueInstance

    Array = np.ndarray[Any, Any]

OPTIONS: dict[str, Any] = {"solver": "simplex", "threads": 1}
"""For HiGHS, in all layers."""


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate

    instance = generate(**size)
    profit = instance.expected_profit

    def call(_: float | None) -> Reading:
        watch = Stopwatch()
        y = WAYS[candidate](instance, watch)
        return Reading(objective=float((profit * y).sum()), phases=watch.phases)

    return call


def compiled(instance: RescueInstance, watch: Stopwatch) -> Array:
    from edgeopt.models.rescue import p1_lp_matrix
    from edgeopt.solvers import solve

    with watch("build"):
        program = p1_lp_matrix(instance)
    with watch("solve"):
        solution = solve(program, algorithm="simplex", threads=1)
    with watch("extract"):
        shape = instance.expected_profit.shape
        return np.asarray(solution.values[: instance.expected_profit.size]).reshape(shape)


def pyomo(instance: RescueInstance, watch: Stopwatch) -> Array:
    from pyomo.contrib.solver.common.factory import SolverFactory

    from edgeopt.models.rescue import p1_lp

    with watch("build"):
        model = p1_lp(instance)
    with watch("solve"):
        highs = SolverFactory("highs")
        result = highs.solve(model, solver_options=OPTIONS, load_solutions=False)
    with watch("extract"):
        result.solution_loader.load_vars()
        y = np.fromiter((one.value for one in model.y.values()), dtype=float, count=len(model.y))
        return y.reshape(instance.expected_profit.shape)


def cvxpy(instance: RescueInstance, watch: Stopwatch) -> Array:
    import cvxpy as cp

    with watch("build"):
        problem = in_cvxpy(instance)
        data, chain, inverse = problem.get_problem_data(
            cp.HIGHS, canon_backend=cp.SCIPY_CANON_BACKEND
        )
    with watch("solve"):
        raw = chain.solve_via_data(problem, data, solver_opts=OPTIONS)
    with watch("extract"):
        problem.unpack_results(raw, chain, inverse)
        (y,) = (one for one in problem.variables() if one.ndim == 4)
        return np.asarray(y.value)


def linopy(instance: RescueInstance, watch: Stopwatch) -> Array:
    from linopy.solvers import Highs

    with watch("build"):
        model = in_linopy(instance)
    with watch("solve"):
        options = {**OPTIONS, "output_flag": False}
        solver = Highs.from_model(model, io_api="direct", options=options)
        result = solver.solve()
    with watch("extract"):
        model.assign_result(result)
        return np.asarray(model.solution["y"].values)


WAYS = {"compiled": compiled, "linopy": linopy, "CVXPY": cvxpy, "Pyomo": pyomo}

BENCHMARK = Benchmark(
    name="rescue-layers",
    question="From the instance to the solved relaxation through a modelling layer and HiGHS",
    build=build,
    sizes={
        "full": {"servers": 3, "devices": 8, "profiles": 3, "horizon": 80},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="compiled",
    peers=("linopy", "CVXPY", "Pyomo"),
    phases=("build", "solve", "extract"),
    ladder=Ladder.over("horizon", (10, 20, 40, 80), axis="slots", servers=3, devices=8, profiles=3),
)
