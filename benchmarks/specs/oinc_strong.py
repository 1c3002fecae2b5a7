"""How fast is the flow time of retraining bounded, by the program with one site at a time?

The bound has to be proven for schedules however long they take; the size tells how many slots the
linear program needs for that. One peer gets it finished, over so many slots; the other over the few
that the jobs can be done in, which proves nothing about those after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from benchmarks.peers import linear_solver
from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

FEW: Final = "HiGHS, slots of a first schedule"
ALL: Final = "HiGHS, slots of the horizon"


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.oinc import generate
    from edgeopt.models.oinc.retraining import (
        flow_bound,
        flow_matrix,
        horizon,
        retraining_problem,
    )

    given = dict(size)
    share, slots = given.pop("share"), given.pop("horizon", None)
    problem = retraining_problem(generate(**given), share)
    if slots not in (None, horizon(problem)):
        raise ValueError(f"the horizon of this problem is {horizon(problem)}, not {slots}")
    slots = horizon(problem)
    if candidate == BENCHMARK.subject:

        def ours(_: float | None) -> Reading:
            bound = flow_bound(problem)
            if bound.violation() > 1e-9:
                raise ArithmeticError(f"prices break a constraint by {bound.violation()}")
            return Reading(objective=bound.value, gap=bound.gap)

        return ours

    if candidate == FEW:
        slots = flow_bound(problem).slots
    return linear_solver(flow_matrix(problem, one_site=True, horizon=slots))


BENCHMARK = Benchmark(
    name="oinc-strong",
    question="Proving the bound on the flow of 24 jobs at 12 sites, each at one site at a time",
    build=build,
    sizes={
        "full": {"sites": 12, "jobs": 24, "share": 0.5, "horizon": 3052},
        "smoke": {"sites": 3, "jobs": 4, "share": 1.0, "horizon": 241},
    },
    subject="flow_bound",
    peers=(FEW, ALL),
    goals=(Goal("seconds", at_most=5.0), Goal("gap", at_most=1e-6)),
    phases=("load", "solve"),
    peer_repeats=1,
    peer_warm=False,
    race=2.0,
    tolerance=2e-6,
    ladder=Ladder.over("jobs", (3, 6, 12, 24), sites=6, share=0.5),
)
