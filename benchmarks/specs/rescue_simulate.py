"""How many slots does the simulator run per second, reserved work served by EDF?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Solve the policy's plan beforehand; the timed call draws scenarios and runs the policy."""
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import solve_p1_lp
    from edgeopt.online import simulate
    from edgeopt.online.rescue import Rescue, RescueEnvironment

    of_instance = {key: value for key, value in size.items() if key != "runs"}
    instance = generate(**of_instance)
    environment = RescueEnvironment(instance)
    policy = Rescue(plan=solve_p1_lp(instance))
    runs = size["runs"]
    compiled = candidate == BENCHMARK.subject

    def call(_: float | None) -> Reading:
        trajectory = simulate(environment, policy, rng=0, runs=runs, compiled=compiled)
        return Reading(
            objective=float(trajectory.total.mean()), work=float(runs * trajectory.horizon)
        )

    return call


BENCHMARK = Benchmark(
    name="rescue-simulate",
    question="Simulating the unguarded policy: compiled kernel against the plain loop",
    build=build,
    sizes={
        "full": {"servers": 4, "devices": 14, "profiles": 5, "horizon": 100, "runs": 1000},
        "smoke": {
            "servers": 2,
            "devices": 3,
            "profiles": 2,
            "horizon": 12,
            "reserved": 2,
            "runs": 3,
        },
    },
    subject="compiled kernel",
    peers=("plain loop",),
    goals=(Goal("rate", at_least=200_000.0),),
    unit="slots",
    repeats=7,
    ladder=Ladder.over(
        "horizon", (20, 40, 80, 160, 320), axis="slots", servers=3, devices=8, profiles=4, runs=100
    ),
)
