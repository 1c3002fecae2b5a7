"""How much faster are the shares of one site found by two multipliers than by a cone program?

Eight requests share a site; some objectives bind in every draw. Two peers are built once, with the
draw as parameters, and only solve: a cone program by CVXPY and Clarabel, and a smooth program by
CasADi and Ipopt. The third is built for every draw, as a modelling layer is used at first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Solver = Callable[..., float]

ROOM = 0.7

SMOOTH = "CasADi with Ipopt, kept"
CONE = "CVXPY, kept"
BUILT = "CVXPY, built for every draw"


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
    from edgeopt.models.oinc.programs import allocation_program

    return float(allocation_program(sending, computing, slo, room=ROOM).solve(solver="CLARABEL"))


def kept_cone(requests: int) -> Solver:
    """Return a cone program with parameters, compiled by CVXPY in its first solve."""
    import cvxpy as cp

    sending, computing, slo = (cp.Parameter(requests, nonneg=True) for _ in range(3))
    band, cpu = cp.Variable(requests), cp.Variable(requests)
    latency = cp.multiply(sending, cp.inv_pos(band)) + cp.multiply(computing, cp.inv_pos(cpu))
    rows = [latency <= slo, cp.sum(band) <= 1.0, cp.sum(cpu) <= ROOM]
    problem = cp.Problem(cp.Minimize(cp.sum(latency)), rows)

    def solve(*drawn: Any) -> float:
        sending.value, computing.value, slo.value = drawn
        return float(problem.solve(solver="CLARABEL"))

    return solve


def kept_smooth(requests: int) -> Solver:
    """Return Ipopt on a problem with parameters, built once."""
    import casadi

    shares, drawn = casadi.SX.sym("shares", 2 * requests), casadi.SX.sym("drawn", 3 * requests)
    band, cpu = casadi.vertsplit(shares, requests)
    sending, computing, slo = casadi.vertsplit(drawn, requests)
    latency = sending / band + computing / cpu
    problem = {
        "x": shares,
        "p": drawn,
        "f": casadi.sum1(latency),
        "g": casadi.vertcat(latency - slo, casadi.sum1(band) - 1.0, casadi.sum1(cpu) - ROOM),
    }
    options = {"print_level": 0, "sb": "yes", "tol": 1e-9, "bound_relax_factor": 0.0}
    solver = casadi.nlpsol("shares", "ipopt", problem, {"print_time": False, "ipopt": options})
    even = np.repeat([1.0 / requests, ROOM / requests], requests)

    def solve(*drawn: Any) -> float:
        return float(solver(x0=even, p=np.concatenate(drawn), lbx=1e-6, ubg=0.0)["f"])

    return solve


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.models.oinc.slot import allocate

    drawn = list(draws(**size))
    makers: dict[str, Callable[[], Solver]] = {
        BENCHMARK.subject: lambda: lambda *one: allocate(*one, room=ROOM).objective,
        SMOOTH: lambda: kept_smooth(size["requests"]),
        CONE: lambda: kept_cone(size["requests"]),
        BUILT: lambda: built,
    }
    solve = makers[candidate]()

    def run(_: float | None) -> Reading:
        total = sum(solve(*one) for one in drawn)
        return Reading(objective=total, work=float(len(drawn)))

    return run


BENCHMARK = Benchmark(
    name="oinc-allocation",
    question="Shares of one site for 8 requests with binding objectives: multipliers, cone program",
    build=build,
    sizes={"full": {"requests": 8, "count": 20}, "smoke": {"requests": 3, "count": 2}},
    subject="allocate",
    peers=(SMOOTH, CONE, BUILT),
    goals=(Goal("ratio", at_least=1000.0, peer=BUILT),),
    unit="sites",
    repeats=51,
    peer_repeats=5,
    ladder=Ladder.over("requests", (4, 8, 16, 32, 64), axis="requests at the site", count=5),
)
