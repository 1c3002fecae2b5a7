"""How many slots per second does the environment of TapFinger simulate?

The subject is Min as `simulate` runs it, its rounds compiled together with the environment, until
all tasks are complete. The first peer is the plain loop of every other policy: rounds
shown, decided, checked and carried out, with the same trajectory. The second one is the same state
machine in lists and loops, as the tests have it; it checks nothing, and its coins fall otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


PLAIN = "plain loop"
"""The peer that shows every round to the policy."""


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the instance; the timed call simulates it."""
    from edgeopt import simulate
    from edgeopt.instances.tapfinger import generate
    from edgeopt.online.tapfinger import Min, TapFingerEnvironment

    instance = generate(**size)
    environment = TapFingerEnvironment(instance)
    if candidate in (BENCHMARK.subject, PLAIN):
        compiled = candidate == BENCHMARK.subject

        def ours(_: float | None) -> Reading:
            trajectory = simulate(environment, Min(), rng=0, runs=1, compiled=compiled)
            return Reading(work=int(trajectory.end[0]))

        return ours

    def peer(_: float | None) -> Reading:
        import random

        from tests.tapfinger.plain import Choice, PlainEnvironment

        coins = random.Random(0)
        reference = PlainEnvironment(instance)
        smallest = [(cpu, gpu) for cpu, gpu in instance.minimum.tolist()]
        while not reference.over:
            choices, taken = [], set[int]()
            for n in reference.clusters:
                choice = Choice()
                if reference.pending[n]:
                    task = coins.choice(reference.pending[n])
                    demand = smallest[reference.kind[task]]
                    room = reference.free(n)
                    if task not in taken and demand[0] <= room[0] and demand[1] <= room[1]:
                        choice = Choice(task, demand)
                        taken.add(task)
                choices.append(choice)
            reference.act(choices, {})
        return Reading(work=reference.slot)

    return peer


BENCHMARK = Benchmark(
    name="tapfinger-slots",
    question="Slots of 6 clusters under Min, several starts in a slot",
    build=build,
    sizes={
        "full": {"clusters": 6, "tasks": 3840, "rate": 3.0},
        "smoke": {"clusters": 2, "tasks": 8, "rate": 1.0},
    },
    subject="compiled run",
    peers=(PLAIN, "lists and loops"),
    goals=(Goal("rate", at_least=10_000.0),),
    unit="slots",
    repeats=5,
    peer_repeats=3,
    ladder=Ladder.over("tasks", (120, 480, 1_920, 7_680), clusters=6, rate=3.0),
)
