"""Reserved tasks: work promised in advance, with a window and a demand each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.edf import demand_criterion, edf_feasible, edf_order, interval_loads
from edgeopt.instances.validate import frozen_array, frozen_integers, require, require_positive

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

__all__ = ["ReservedTasks"]


@dataclass(frozen=True, eq=False)
class ReservedTasks:
    r"""Reserved tasks :math:`i` of all servers, one entry per task.

    Parameters
    ----------
    server
        Server :math:`k_i` that the task is bound to, shape [H].
    start, end
        First and last slot of the window :math:`[s_i, e_i]`, both inclusive, counted from 0,
        shape [H].
    demand
        Work :math:`\phi_i > 0` to be done within the window, TMAC, shape [H].

    Raises
    ------
    InstanceError
        If a shape is wrong, a window is reversed or begins before slot 0, or a demand is not
        positive and finite.
    """

    server: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    demand: NDArray[np.float64]

    def __post_init__(self) -> None:
        server = frozen_integers("reserved.server", self.server, ("task",), empty=True)
        sizes = {"task": server.size}
        start = frozen_integers("reserved.start", self.start, ("task",), sizes, empty=True)
        end = frozen_integers("reserved.end", self.end, ("task",), sizes, empty=True)
        demand = frozen_array("reserved.demand", self.demand, ("task",), sizes, empty=True)
        require("reserved.server", server >= 0, server, "must be a server, counted from 0")
        require("reserved.start", start >= 0, start, "must be a slot, counted from 0")
        require("reserved.end", end >= start, end, "must not lie before the start of the window")
        require_positive("reserved.demand", demand, "must be positive (leave empty tasks out)")
        for name, array in (("server", server), ("start", start), ("end", end)):
            object.__setattr__(self, name, array)
        object.__setattr__(self, "demand", demand)

    @classmethod
    def none(cls) -> Self:
        """Return the empty set of reserved tasks."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.zeros(0))

    def __len__(self) -> int:
        return self.server.size

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.server, self.start, self.end, self.demand)

    def of_server(self, k: int) -> NDArray[np.int64]:
        """Return the indices of the tasks of server ``k``, in order of index."""
        return np.flatnonzero(self.server == k).astype(np.int64)

    def check(self, capacity: NDArray[np.float64]) -> None:
        """Check that the tasks fit on servers that do nothing else.

        Parameters
        ----------
        capacity
            Work that each server does per slot, TMAC, shape [K, T].

        Raises
        ------
        InstanceError
            If a task names a server that does not exist, a window reaches beyond the horizon, or
            the tasks of a server cannot all be finished in time even by earliest deadline first on
            the empty server; the conflicting tasks are named.
        """
        servers, horizon = capacity.shape
        require(
            "reserved.server",
            self.server < servers,
            self.server,
            f"must be one of the {servers} servers, counted from 0",
        )
        require(
            "reserved.end",
            self.end < horizon,
            self.end,
            f"must lie within the horizon of {horizon} slots, counted from 0",
        )
        order, offset = edf_order(self.server, self.end, servers)
        for k in range(servers):
            mine = order[offset[k] : offset[k + 1]]
            work = self.demand
            if not edf_feasible(mine, self.start, self.end, work, work, capacity[k], 0, 0):
                self._raise_conflict(k, capacity[k])

    def _raise_conflict(self, k: int, capacity: NDArray[np.float64]) -> None:
        mine = self.of_server(k)
        load = self.start[mine], self.end[mine], self.demand[mine], capacity
        # A task that is small beside its neighbours may fail by their rounding alone.
        conflict = demand_criterion(*load) or max(
            interval_loads(*load), key=lambda one: one.demand / one.offer
        )
        tasks = tuple(int(mine[i]) for i in conflict.tasks)
        names = f"task {tasks[0]}" if len(tasks) == 1 else f"tasks {', '.join(map(str, tasks))}"
        raise InstanceError(
            "reserved.demand",
            f"{names} of server {k} cannot all be finished: together they need "
            f"{conflict.demand:g} TMAC within slots {conflict.first}..{conflict.last}, "
            f"which offer {conflict.offer:g}",
            index=tasks,
            value=tuple(self.demand[list(tasks)].tolist()),
        )
