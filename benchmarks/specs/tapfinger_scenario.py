"""How long does it take to bound the flow times of a scenario of TapFinger?

With the noise of a scenario every task has durations of its own. The subject draws the noise, takes
bundles as whole, and bounds the scenario and, as a floor, any noise. The peer solves the linear
relaxation over all clusters, bundles and slots that a known plan needs; its bound is lower.
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
    """Draw the instance; the timed call draws the scenario and bounds it."""
    from edgeopt.instances.tapfinger import generate
    from edgeopt.models.tapfinger import best_list, scenario_bound, scenario_problem, start_matrix

    instance = generate(single_start=True, **size)
    if candidate != PEER:

        def ours(_: float | None) -> Reading:
            bound = scenario_bound(instance, [5])
            return Reading(objective=bound.value, work=instance.tasks)

        return ours

    def peer(time_limit: float | None) -> Reading:
        watch = Stopwatch()
        with watch("build"):
            problem = scenario_problem(instance, 5)
            slots = int(best_list(problem).completion(problem).max())
            program = start_matrix(problem, horizon=slots, relax=True)
        reading = linear_solver(program)(time_limit)
        return replace(reading, phases=watch.phases | reading.phases)

    return peer


BENCHMARK = Benchmark(
    name="tapfinger-scenario",
    question="Bounding the flow times of a scenario of 192 tasks, each of 3 clusters by itself",
    build=build,
    sizes={"full": {"clusters": 3, "tasks": 192}, "smoke": {"clusters": 2, "tasks": 8}},
    subject="scenario_bound",
    peers=(PEER,),
    goals=(Goal("seconds", at_most=1.5),),
    unit="tasks",
    phases=("build", "load", "solve"),
    peer_repeats=1,
    race=2.0,
    # Two bounds on the same.
    tolerance=0.2,
)

MANY = Benchmark(
    name="tapfinger-scenario-many",
    question="Bounding the flow times of a scenario of 10,000 tasks on 60 clusters",
    build=build,
    sizes={"full": {"clusters": 60, "tasks": 10_000}, "smoke": {"clusters": 3, "tasks": 12}},
    subject="scenario_bound",
    goals=(Goal("seconds", at_most=60.0),),
    unit="tasks",
    ladder=Ladder(
        "tasks",
        tuple(
            (tasks, {"clusters": clusters, "tasks": tasks})
            for tasks, clusters in ((2500, 15), (5000, 30), (7500, 45), (10_000, 60))
        ),
        limit=60.0,
    ),
)
