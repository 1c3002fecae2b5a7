"""How fast is a slot of a thousand sites routed, the first time and then slot after slot?

The plan of the one slot leads the way into the next, whose delays, demand and routes differ. The
peer solves the same linear program with HiGHS. `build` is part of every time: finding the routes of
a slot is part of routing it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

CANDIDATES = ("network, cold", "network, next slot", "HiGHS whole")
SHARE = 0.97
"""Budget as a share of the energy that the cheapest routes would use: the budget binds."""


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Solve the slot before, which `next slot` starts from."""
    from edgeopt.instances.edr import generate
    from edgeopt.models.edr.routing import (
        conditions,
        routing_matrix,
        routing_problem,
        solve_routing,
    )
    from edgeopt.solvers import solve

    instance = generate(frames=1, slots=2, tasks=1, reuse="none", **size)
    price = float(instance.price[0])
    before, now = (conditions(instance, 0, slot) for slot in (0, 1))
    free = solve_routing(routing_problem(instance, before, price=price))
    budget = SHARE * free.energy
    first = None
    if candidate == "network, next slot":
        first = solve_routing(routing_problem(instance, before, price=price, budget=budget))

    def run(_: float | None) -> Reading:
        problem = routing_problem(instance, now, price=price, budget=budget)
        if candidate == "HiGHS whole":
            solution = solve(routing_matrix(problem))
            return Reading(objective=solution.objective, gap=solution.duality_gap())
        plan = solve_routing(problem, start=first, gap=1e-6)
        return Reading(objective=plan.objective, gap=plan.gap)

    return run


BENCHMARK = Benchmark(
    name="edr-slot",
    question="Routing a slot of 1000 sites and 4 types, about 1.2 million routes, proven to 1e-6",
    build=build,
    sizes={"full": {"sites": 1000}, "smoke": {"sites": 20}},
    subject="network, cold",
    peers=CANDIDATES[1:],
    variants=("network, next slot",),
    goals=(Goal("seconds", at_most=4.0), Goal("gap", at_most=1e-6)),
    tolerance=1e-6,
    peer_repeats=1,
    peer_warm=False,
    ladder=Ladder.over("sites", (50, 100, 200, 400)),
)
