"""A policy of your own, compared with the published ones on the same scenarios."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import edgeopt
from edgeopt.instances.rescue import RescueInstance, generate
from edgeopt.online.rescue import Placement


@dataclass(frozen=True)
class Memory:
    """The state of the policy; never changed in place."""

    instance: RescueInstance
    earned: float = 0.0
    busy: int = 0

    @property
    def usual(self) -> float:
        """Profit per busy slot of the runs that have ended."""
        return self.earned / self.busy if self.busy else 0.0


@dataclass(frozen=True)
class Selective:
    """Accept the run with the best profit per slot, unless it pays far less than earlier runs."""

    name: str = "Selective"
    share: float = 0.5

    def start(self, instance):
        return Memory(instance)

    def decide(self, memory, arrival, rng=None):
        instance = memory.instance
        profit = instance.expected_profit[arrival.slot, arrival.device]  # [servers, profiles]
        rate = np.where(arrival.idle[:, None], profit / instance.mean_duration, 0.0)
        server, profile = np.unravel_index(rate.argmax(), rate.shape)
        if rate[server, profile] <= self.share * memory.usual:
            return None, memory
        return Placement(int(server), int(profile)), memory

    def learn(self, memory, arrival, decision, finished):
        return replace(
            memory,
            earned=memory.earned + sum(run.profit for run in finished),
            busy=memory.busy + sum(run.duration for run in finished),
        )


def main() -> None:
    # All policies get the same scenarios and the same certified bound. live_events.py runs this
    # class on a stream of events.
    study = edgeopt.study(generate(horizon=50, rng=7), [Selective(), "rescue", "srs"], runs=100)
    print(study.table[["policy", "value", "value_se", "gap", "violated"]])


if __name__ == "__main__":
    main()
