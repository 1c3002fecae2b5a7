"""What does laziness buy the static greedy placement, at equal result?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.idn import generate
    from edgeopt.models.idn import Demand, average_gain, greedy

    instance = generate(popularity="sliding", arrivals="multinomial", **size)
    demand = Demand.of(instance, normalised=True)
    lazy = candidate == BENCHMARK.subject

    def call(_: float | None) -> Reading:
        placement = greedy(instance, demand, lazy=lazy)
        return Reading(objective=average_gain(instance, demand, placement))

    return call


BENCHMARK = Benchmark(
    name="idn-greedy",
    question="Static greedy on 36 nodes, 600 models and 300 distinct slots: lazy against plain",
    build=build,
    sizes={
        "full": {"topology": 1, "horizon": 300},
        "smoke": {"topology": 2, "tasks": 3, "replicas": 2, "horizon": 3},
    },
    subject="lazy",
    peers=("plain",),
    goals=(Goal("ratio", at_least=20.0),),
    repeats=15,
    peer_repeats=3,
    tolerance=1e-12,
)
