"""What does laziness buy the static greedy placement, at equal result?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn import Demand

TEXTBOOK = "plain, every candidate at every step"


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.idn import generate
    from edgeopt.models.idn import Demand, average_gain, greedy

    instance = generate(popularity="sliding", arrivals="multinomial", **size)
    demand = Demand.of(instance, normalised=True)

    def call(_: float | None) -> Reading:
        if candidate == TEXTBOOK:
            placement = textbook(instance, demand)
        else:
            placement = greedy(instance, demand)
        return Reading(objective=average_gain(instance, demand, placement))

    return call


def textbook(instance: IdnInstance, demand: Demand) -> np.ndarray:
    """Grow the same placement from the marginal gains of all candidates, step by step."""
    from edgeopt.models.idn import marginal_gains

    chosen, left = instance.empty.copy(), instance.budget.copy()
    while True:
        worth = marginal_gains(instance, demand, chosen) / instance.size
        worth[instance.size > left[:, np.newaxis] * (1 + 1e-12)] = 0.0
        best = worth.max()
        if best <= 1e-12:
            return chosen
        v, m = np.unravel_index(np.argmax(worth >= best * (1 - 1e-9)), worth.shape)
        chosen[v, m] = True
        left[v] -= instance.size[v, m]


BENCHMARK = Benchmark(
    name="idn-greedy",
    question="Static greedy on 36 nodes, 600 models and 300 distinct slots: lazy against plain",
    build=build,
    sizes={
        "full": {"topology": 1, "horizon": 300},
        "smoke": {"topology": 2, "tasks": 3, "replicas": 2, "horizon": 3},
    },
    subject="lazy",
    peers=(TEXTBOOK,),
    goals=(Goal("ratio", at_least=20.0),),
    repeats=15,
    peer_repeats=3,
    tolerance=1e-12,
    ladder=Ladder.over("tasks", (5, 10, 20, 40), topology=1, horizon=50),
)
