"""How close to a plan is what is proven about a slot, and how fast?

The gap is that between the bounds and the plans of the search, on average over the slots; the plans
are found before the clock starts. The peer is the continuous relaxation with cones, solved by
Clarabel. The other benchmark proves the best plan itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def slots(devices: int, sites: int, count: int, duty: float) -> list[Any]:
    from edgeopt.instances.oinc import generate
    from edgeopt.models.oinc.slot import slot_problem

    instance = generate(devices=devices, sites=sites, slots=count, jobs=0, duty=duty)
    drawn = [slot_problem(instance, slot) for slot in range(count)]
    return [problem for problem in drawn if problem.requests]


def bounds(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.models.oinc.programs import slot_misocp
    from edgeopt.models.oinc.slot import solve_slot
    from edgeopt.models.oinc.slot.columns import slot_bound
    from edgeopt.solvers import solve

    problems = slots(**size)
    plans = [solve_slot(one, objectives=False) for one in problems]
    known = np.array([plan.objective for plan in plans])

    def bound(problem: Any, plan: Any) -> float:
        if candidate == "slot_bound":
            return slot_bound(problem, site=plan.site).value
        program = slot_misocp(problem, objectives=False, relax=True)
        return float(solve(program, "clarabel").objective)

    def run(_: float | None) -> Reading:
        found = np.array([bound(*pair) for pair in zip(problems, plans, strict=True)])
        gap = float((1.0 - found / known).mean())
        return Reading(objective=float(found.sum()), gap=gap, work=float(len(problems)))

    return run


def proofs(size: Mapping[str, Any], _: str) -> Candidate:
    from edgeopt.models.oinc.slot.columns import solve_by_columns

    problems = slots(**size)

    def run(_: float | None) -> Reading:
        found = [solve_by_columns(one) for one in problems]
        return Reading(
            objective=sum(one.objective for one in found),
            gap=max(one.gap for one in found),
            work=float(len(problems)),
        )

    return run


SMOKE = {"devices": 4, "sites": 2, "count": 2, "duty": 1.0}

BENCHMARK = Benchmark(
    name="oinc-bound",
    question="The proven bound of a slot of 40 requests on 12 sites: gap to a plan, time",
    build=bounds,
    sizes={"full": {"devices": 40, "sites": 12, "count": 5, "duty": 1.0}, "smoke": SMOKE},
    subject="slot_bound",
    peers=("Clarabel",),
    goals=(Goal("gap", at_most=0.005), Goal("rate", at_least=2.0)),
    unit="slots",
    # The peer's bound is lower.
    tolerance=0.05,
    ladder=Ladder.over("devices", (12, 20, 30, 40), axis="requests", sites=12, count=2, duty=1.0),
)

PROOF = Benchmark(
    name="oinc-best",
    question="The best plan of a slot, proven: 24 of 40 devices active on average, 12 sites",
    build=proofs,
    sizes={"full": {"devices": 40, "sites": 12, "count": 20, "duty": 0.6}, "smoke": SMOKE},
    subject="solve_by_columns",
    goals=(Goal("gap", at_most=1e-6), Goal("rate", at_least=4.0)),
    repeats=3,
    unit="slots",
    ladder=Ladder.over("devices", (10, 20, 40), axis="devices", sites=12, count=4, duty=0.6),
)
