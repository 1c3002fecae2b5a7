"""How long does it take to place a whole workload of TapFinger with reservations?

The subject simulates the run: every round is planned anew by ReservationSpt, and checked and
carried out by the environment. The peer makes the same decisions in plain Python, everything anew
for every pick, in the same environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the instance; the timed call simulates it."""
    from edgeopt import simulate
    from edgeopt.instances.tapfinger import generate
    from edgeopt.online.tapfinger import TapFingerEnvironment
    from edgeopt.online.tapfinger.policies.reservation import ReservationSpt

    instance = generate(**size)
    environment = TapFingerEnvironment(instance)
    if candidate == BENCHMARK.subject:

        def ours(_: float | None) -> Reading:
            trajectory = simulate(environment, ReservationSpt(), rng=0, runs=1)
            return Reading(objective=float(trajectory.total[0]), work=instance.tasks)

        return ours

    def peer(_: float | None) -> Reading:
        from tests.tapfinger.plain_policies import bundle_lists, reserved

        lists = bundle_lists(instance)
        episode = environment.episode(0)
        while (seen := episode.observe()) is not None:
            episode.act(reserved(instance, seen, lists=lists))
        total = (episode.task["completion"] - instance.arrival).sum()
        return Reading(objective=float(total), work=instance.tasks)

    return peer


BENCHMARK = Benchmark(
    name="tapfinger-reservation",
    question="ReservationSpt places 192 tasks on 3 clusters, several starts in a slot",
    build=build,
    sizes={"full": {"clusters": 3, "tasks": 192}, "smoke": {"clusters": 2, "tasks": 8}},
    subject="ReservationSpt",
    peers=("lists and loops",),
    goals=(Goal("seconds", at_most=0.2), Goal("ratio", at_least=20.0)),
    unit="tasks",
    repeats=21,
    peer_repeats=1,
    peer_warm=False,
    ladder=Ladder.over("tasks", (24, 48, 96, 192, 384), clusters=3),
)

MANY = Benchmark(
    name="tapfinger-reservation-many",
    question="ReservationSpt places 10,000 tasks on 60 clusters",
    build=build,
    sizes={"full": {"clusters": 60, "tasks": 10_000}, "smoke": {"clusters": 3, "tasks": 12}},
    subject="ReservationSpt",
    goals=(Goal("seconds", at_most=0.5),),
    unit="tasks",
    processor=True,
    ladder=Ladder.over("tasks", (1_250, 2_500, 5_000, 10_000, 20_000), clusters=60),
)
