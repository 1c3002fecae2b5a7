"""How much faster are the shares of one site found by two multipliers than by a cone program?

Eight requests share a site; some objectives bind in every draw. The peer is built and solved for
every draw, as a modelling layer is used; its solver is Clarabel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOM = 0.7


def draws(requests: int, count: int) -> Iterator[tuple[Any, Any, Any]]:
    """Draw sites whose objectives bind and can be met."""
    from edgeopt.models.oinc.slot import allocate, fits

    rng = np.random.default_rng(0)
    while count:
        sending = rng.uniform(0.1, 0.2, requests)
        computing = rng.uniform(0.01, 0.04, requests)
        slo = rng.uniform(0.3, 0.9, requests)
        # Objectives that are a little longer than they have to be, and shorter than is best.
        slo *= fits(sending, computing, slo, ROOM).stretch * rng.uniform(1.05, 1.2)
        free = allocate(sending, computing, room=ROOM)
        if (sending / free.band + computing / free.cpu > slo).any():
            count -= 1
            yield sending, computing, slo


def built(sending: Any, computing: Any, slo: Any) -> float:
    """Build and solve the cone program."""
    from edgeopt.models.oinc.cones import allocation_program

    return float(allocation_program(sending, computing, slo, room=ROOM).solve(solver="CLARABEL"))


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.models.oinc.slot import allocate

    drawn = list(draws(**size))

    def run(_: float | None) -> Reading:
        if candidate == BENCHMARK.subject:
            total = sum(allocate(*one, room=ROOM).objective for one in drawn)
        else:
            total = sum(built(*one) for one in drawn)
        return Reading(objective=total, work=float(len(drawn)))

    return run


BENCHMARK = Benchmark(
    name="oinc-allocation",
    question="Shares of one site for 8 requests with binding objectives: multipliers, cone program",
    build=build,
    sizes={"full": {"requests": 8, "count": 20}, "smoke": {"requests": 3, "count": 2}},
    subject="allocate",
    peers=("CVXPY, built for every draw",),
    goals=(Goal("ratio", at_least=1000.0),),
    unit="sites",
    repeats=51,
    peer_repeats=5,
)
