"""How long does it take to prove a bound on the flow times of a whole workload of TapFinger?

Building is part of it. The peer solves the linear relaxation over all clusters, bundles and slots
that a known plan needs. The subject accounts for bundles being whole, with all clusters as one and
with each by itself, so that its bounds are higher.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from benchmarks.peers import linear_solver
from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

PEER: Final = "HiGHS, all starts"


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    import numpy as np

    from edgeopt.instances.tapfinger import generate
    from edgeopt.models.tapfinger import best_list, pooled_bound, scheduling_problem, start_matrix

    given = dict(size)
    apart = given.pop("apart")
    problem = scheduling_problem(generate(**given))
    pools = np.arange(problem.clusters) if apart else None
    if candidate != PEER:

        def ours(_: float | None) -> Reading:
            bound = pooled_bound(problem, pools)
            return Reading(objective=bound.value, gap=bound.gap, work=problem.tasks)

        return ours

    def peer(time_limit: float | None) -> Reading:
        watch = Stopwatch()
        with watch("build"):
            slots = int(best_list(problem).completion(problem).max())
            program = start_matrix(problem, horizon=slots, relax=True)
        reading = linear_solver(program)(time_limit)
        return replace(reading, phases=watch.phases | reading.phases)

    return peer


BENCHMARK = Benchmark(
    name="tapfinger-pooled",
    question="Proving a bound on the flow times of 192 tasks, 3 clusters as one",
    build=build,
    sizes={
        "full": {"clusters": 3, "tasks": 192, "apart": False},
        "smoke": {"clusters": 2, "tasks": 8, "apart": False},
    },
    subject="pooled_bound",
    peers=(PEER,),
    goals=(Goal("seconds", at_most=3.0), Goal("gap", at_most=1e-4)),
    unit="tasks",
    phases=("build", "load", "solve"),
    peer_repeats=1,
    race=2.0,
    # Two bounds on the same.
    tolerance=0.2,
    ladder=Ladder.over("tasks", (24, 48, 96, 192), clusters=3, apart=False),
)

APART = Benchmark(
    name="tapfinger-apart",
    question="Proving a bound on the flow times of 192 tasks, each of 3 clusters by itself",
    build=build,
    sizes={
        "full": {"clusters": 3, "tasks": 192, "apart": True},
        "smoke": {"clusters": 2, "tasks": 8, "apart": True},
    },
    subject="pooled_bound",
    peers=(PEER,),
    goals=(Goal("ratio", at_least=1.5), Goal("gap", at_most=1e-4)),
    unit="tasks",
    phases=("build", "load", "solve"),
    peer_repeats=1,
    race=2.0,
    # Two bounds on the same.
    tolerance=0.2,
)
