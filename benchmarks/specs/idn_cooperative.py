"""How fast is the cooperative bound proven, and how fast by general-purpose algorithms?

The peers stop at their own accuracy: none can be told to stop at a proven gap of 0.1 %. HiGHS's
pdlp is left out: nearly a minute at its finest tolerance, and no useful bound at coarser ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers import linear_solver
from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

ALGORITHMS: dict[str, dict[str, Any]] = {
    "HiGHS simplex": {"algorithm": "simplex"},
    "HiGHS ipm, no crossover": {"algorithm": "ipm", "run_crossover": "off"},
}

GAP = 1e-3


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Give the peers the finished matrix; only edgeopt's own call includes building its program."""
    from edgeopt.instances.idn import generate
    from edgeopt.models.idn import Demand, cooperative_matrix
    from edgeopt.models.idn.bounds import solve_cooperative

    instance = generate(arrivals="multinomial", **size)
    # Mean gain per request, in ms; all slots differ.
    demand = Demand.of(instance, normalised=True)
    if candidate == BENCHMARK.subject:

        def ours(_: float | None) -> Reading:
            plan = solve_cooperative(instance, demand, method="structured", gap=GAP)
            return Reading(objective=plan.objective, gap=plan.gap)

        return ours

    return linear_solver(cooperative_matrix(instance, demand, relax=True), **ALGORITHMS[candidate])


BENCHMARK = Benchmark(
    name="idn-cooperative",
    question="Proving the cooperative bound over 60 distinct slots, 97,203 columns, within 0.1 %",
    build=build,
    sizes={
        "full": {"topology": 1, "horizon": 60},
        "smoke": {"topology": 2, "horizon": 2, "tasks": 2},
    },
    subject="solve_cooperative",
    peers=tuple(ALGORITHMS),
    goals=(Goal("seconds", at_most=2.0), Goal("gap", at_most=GAP)),
    phases=("load", "solve"),
    peer_repeats=1,
    peer_warm=False,
    race=4.0,
    tolerance=2 * GAP,
    ladder=Ladder.over("horizon", (5, 10, 20, 40), axis="slots", topology=1),
)
