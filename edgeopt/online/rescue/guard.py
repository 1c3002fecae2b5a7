"""The guard: no run may begin that could make a reserved task miss its deadline.

A run is safe if the remaining reserved work of its server can still meet all deadlines when the
server is blocked for the longest duration that the profile can have. Real blocking is never longer
than that, and earliest deadline first is optimal on one divisible resource; so if every accepted
run is safe and the reserved tasks are jointly feasible at first, none ever fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.edf import edf_feasible, edf_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["Guard"]


@dataclass(frozen=True, eq=False)
class Guard:
    """Tells which runs are safe.

    Attributes
    ----------
    order, offset
        Reserved tasks by server and deadline, see `edgeopt.instances.edf.edf_order`.
    start, end
        Windows, shape [H], both ends inclusive.
    demand
        Work that every task asked for, TMAC, shape [H].
    capacity
        Shape [K, T].
    longest
        Longest duration of every profile, in slots; shape [L].
    """

    order: NDArray[np.int64]
    offset: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    demand: NDArray[np.float64]
    capacity: NDArray[np.float64]
    longest: NDArray[np.int64]

    @classmethod
    def of(cls, instance: RescueInstance) -> Guard:
        """Prepare the guard of an instance."""
        tasks = instance.reserved
        order, offset = edf_order(tasks.server, tasks.end, instance.servers)
        tables = tasks.start, tasks.end, tasks.demand, instance.capacity, instance.longest
        return cls(order, offset, *tables)

    def safe(self, server: int, profile: int, slot: int, remaining: NDArray[np.float64]) -> bool:
        """Tell whether a run may begin on an idle server.

        Parameters
        ----------
        server, profile, slot
            The run.
        remaining
            Reserved work left at the start of `slot`, shape [H], in TMAC.
        """
        return bool(
            edf_feasible(
                self.order[self.offset[server] : self.offset[server + 1]],
                self.start,
                self.end,
                self.demand,
                remaining,
                self.capacity[server],
                slot,
                slot + self.longest[profile],
            )
        )

    def permitted(
        self, idle: NDArray[np.bool_], slot: int, remaining: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell for all servers and profiles whether a run may begin; shape [K, L]."""
        profiles = range(self.longest.size)
        return np.array(
            [
                [bool(free) and self.safe(k, profile, slot, remaining) for profile in profiles]
                for k, free in enumerate(idle)
            ]
        )
