"""Does the compiled build of the RESCUE relaxation spare its users the modelling layer's time?

Every candidate ends with the matrix that a solver reads. Layers first build their own model, which
holds all coefficients (Pyomo) or expressions that are worked out later (CVXPY, linopy).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading
from benchmarks.rescue_models import in_cvxpy, in_linopy
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.rescue import RescueInstance


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate

    instance = generate(**size)
    # Expected profits are cached on the instance; no candidate is charged for them.
    _ = instance.expected_profit

    def call(_: float | None) -> Reading:
        watch = Stopwatch()
        WAYS[candidate](instance, watch)
        return Reading(phases=watch.phases)

    return call


def compiled(instance: RescueInstance, watch: Stopwatch) -> None:
    from edgeopt.models.rescue import p1_lp_matrix

    with watch("matrix"):
        p1_lp_matrix(instance)


def pyomo(instance: RescueInstance, watch: Stopwatch) -> None:
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    from edgeopt.models.rescue import p1_lp

    with watch("model"):
        model = p1_lp(instance)
    with watch("matrix"):
        LinearStandardFormCompiler().write(model, mixed_form=True)


def cvxpy(instance: RescueInstance, watch: Stopwatch) -> None:
    import cvxpy as cp

    with watch("model"):
        problem = in_cvxpy(instance)
    with watch("matrix"):
        problem.get_problem_data(cp.HIGHS, canon_backend=cp.SCIPY_CANON_BACKEND)


def linopy(instance: RescueInstance, watch: Stopwatch) -> None:
    with watch("model"):
        model = in_linopy(instance)
    with watch("matrix"):
        matrices = model.matrices
        _ = matrices.A, matrices.b, matrices.c, matrices.lb, matrices.ub


WAYS = {"compiled": compiled, "linopy": linopy, "CVXPY": cvxpy, "Pyomo": pyomo}

BENCHMARK = Benchmark(
    name="rescue-build",
    question="Building the relaxation: compiled matrix against three modelling layers",
    build=build,
    sizes={
        "full": {"servers": 4, "devices": 14, "profiles": 5, "horizon": 100},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="compiled",
    peers=("linopy", "CVXPY", "Pyomo"),
    goals=(Goal("ratio", at_least=30.0, peer="Pyomo"),),
    phases=("model", "matrix"),
    ladder=Ladder.over(
        "horizon", (25, 50, 100, 200), axis="slots", servers=4, devices=8, profiles=3
    ),
)
