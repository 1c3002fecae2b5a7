"""How much faster is the default relaxation solver than the best general-purpose algorithm?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.peers import linear_solver
from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

ALGORITHMS: dict[str, dict[str, Any]] = {
    "HiGHS ipm, no crossover": {"algorithm": "ipm", "run_crossover": "off"},
    "HiGHS ipm": {"algorithm": "ipm"},
    "HiGHS dual simplex": {"algorithm": "simplex"},
    "HiGHS primal simplex": {"algorithm": "simplex", "simplex_strategy": 4},
    "HiGHS PDLP": {"algorithm": "pdlp"},
}


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Give the peers the finished matrix; only edgeopt's own call includes building its program."""
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import p1_lp_matrix, solve_p1_lp

    instance = generate(**size)
    if candidate == BENCHMARK.subject:

        def ours(_: float | None) -> Reading:
            watch = Stopwatch()
            with watch("proof"):
                plan = solve_p1_lp(instance)
            build, solve = plan.solution.seconds
            proof = watch.phases["proof"] - build - solve
            phases = {"build": build, "solve": solve, "proof": proof}
            return Reading(objective=plan.objective, gap=plan.gap, phases=phases)

        return ours

    return linear_solver(p1_lp_matrix(instance), **ALGORITHMS[candidate])


BENCHMARK = Benchmark(
    name="rescue-lp",
    question="Solving the relaxation, 201,600 columns: default method against HiGHS on the full LP",
    build=build,
    sizes={
        "full": {"servers": 7, "devices": 18, "profiles": 8, "horizon": 200, "reserved": 28},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="solve_p1_lp",
    peers=tuple(ALGORITHMS),
    phases=("build", "load", "solve", "proof"),
    goals=(Goal("ratio", at_least=50.0), Goal("gap", at_most=1e-6)),
    peer_repeats=1,
    peer_warm=False,
    race=1.3,
    processor=True,
    ladder=Ladder.over(
        "horizon", (80, 160, 320, 640), axis="slots", servers=3, devices=8, profiles=4
    ),
)

COLUMNS = replace(
    BENCHMARK,
    name="rescue-lp-columns",
    question="Solving the relaxation as columns multiply, by devices on the same servers",
    peers=(),
    goals=(Goal("gap", at_most=1e-6),),
    race=None,
    ladder=Ladder.over(
        "devices", (16, 32, 64, 128), axis="devices", servers=3, horizon=60, profiles=4
    ),
)
