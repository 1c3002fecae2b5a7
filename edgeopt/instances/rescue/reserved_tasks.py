"""Reserved tasks: work promised in advance, with a window and a demand each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.edf import demand_criterion, edf_feasible, edf_order, interval_loads
from edgeopt.instances.fields import Floats, Integers, field
from edgeopt.instances.records import Record, Size, rule
from edgeopt.instances.validate import require

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray


class ReservedTasks(Record, prefix="reserved.", axes={"task": "H"}, empty=("task",)):
    """Reserved tasks of all servers, one entry per task; windows include both of their slots."""

    server: Integers = field(
        "task", symbol="k_i", least=0, says="must be a server, counted from 0", of="server",
        doc="Server of a reserved task.",
    )  # fmt: skip
    start: Integers = field(
        "task", unit="slot", symbol="s_i", least=0, says="must be a slot, counted from 0",
        of="slot", doc="First slot of its window.",
    )  # fmt: skip
    end: Integers = field(
        "task", unit="slot", symbol="e_i", of="slot", doc="Last slot of its window."
    )
    demand: Floats = field(
        "task", unit="TMAC", symbol=r"\phi_i", above=0, rounds="less",
        says="must be positive (leave empty tasks out)", doc="Work it needs.",
    )  # fmt: skip

    tasks = Size("task", "Number of tasks H.")

    @rule
    def _check_windows(self) -> None:
        """Check that a window does not end before it begins."""
        says = "must not lie before the start of the window"
        require("reserved.end", self.end >= self.start, self.end, says)

    @classmethod
    def none(cls) -> Self:
        """Return the empty set of reserved tasks."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, np.zeros(0))

    def __len__(self) -> int:
        return self.server.size

    def of_server(self, k: int) -> NDArray[np.int64]:
        """Return the indices of the tasks of server ``k``, in order of index."""
        return np.flatnonzero(self.server == k).astype(np.int64)

    def check(
        self,
        capacity: NDArray[np.float64],
        names: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
    ) -> None:
        """Check that the tasks fit on servers that do nothing else.

        Parameters
        ----------
        capacity
            Work that each server does per slot, TMAC, shape [K, T].
        names
            What errors call the servers; by default their numbers.
        tasks
            What errors call the tasks; by default their numbers.

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
                name = f"server {k}" if names is None else names[k]
                self._raise_conflict(k, capacity[k], name, tasks)

    def _raise_conflict(
        self, k: int, capacity: NDArray[np.float64], name: str, called: Sequence[str] | None
    ) -> None:
        mine = self.of_server(k)
        load = self.start[mine], self.end[mine], self.demand[mine], capacity
        # A task much smaller than its neighbours may fail by their rounding alone.
        conflict = demand_criterion(*load) or max(
            interval_loads(*load), key=lambda one: one.demand / one.offer
        )
        tasks = [int(mine[i]) for i in conflict.tasks]
        those = ", ".join(str(i) if called is None else called[i] for i in tasks)
        one = len(tasks) == 1
        raise InstanceError(
            "reserved.demand",
            f"{'task' if one else 'tasks'} {those} of {name} cannot {'' if one else 'all '}be "
            f"finished: {'it needs' if one else 'together they need'} {conflict.demand:g} TMAC "
            f"within slots {conflict.first}..{conflict.last}, which offer {conflict.offer:g}",
        )
