"""How much faster is the next slot routed than a slot from scratch?

Slot follows slot, each with its own delays, demand and routes; both candidates route the same ones.
The linear program stays in HiGHS and goes on from the last basis and the routes needed so far, or
begins anew with a few routes of every row. The network method is timed in `edr-slot`: its cold
start takes a tenth of a second, half of the rest is finding the routes.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Reading
from benchmarks.specs.edr_slot import SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

SLOTS = 8
"""More than any candidate is called, so that no slot comes twice."""


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Route the first slot, which the others follow."""
    from edgeopt.instances.edr import generate
    from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing
    from edgeopt.models.edr.routing.highs import RoutingColumns

    instance = generate(frames=1, slots=SLOTS, tasks=1, reuse="none", **size)
    price = float(instance.price[0])
    free = solve_routing(routing_problem(instance, conditions(instance, 0, 0), price=price))
    kept = RoutingColumns()
    slots = itertools.count()

    def run(_: float | None) -> Reading:
        slot = conditions(instance, 0, next(slots))
        problem = routing_problem(instance, slot, price=price, budget=SHARE * free.energy)
        solver = kept if candidate == BENCHMARK.subject else RoutingColumns()
        plan = solver.solve(problem, problem.penalties())
        return Reading(objective=plan.objective, gap=plan.gap)

    run(None)
    return run


BENCHMARK = Benchmark(
    name="edr-next-slot",
    question="Routing slot after slot of 1000 sites by column generation",
    build=build,
    sizes={"full": {"sites": 1000}, "smoke": {"sites": 20}},
    subject="HiGHS columns, kept",
    peers=("HiGHS columns, cold",),
    goals=(Goal("ratio", at_least=4.0), Goal("gap", at_most=1e-6)),
    tolerance=1e-6,
    # Equally many calls, so that both end with the same slot.
    repeats=4,
    peer_repeats=4,
)
