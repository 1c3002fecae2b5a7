r"""Preemptive earliest-deadline-first service of windowed work on one divisible resource.

A task :math:`i` may be served in its inclusive window :math:`s_i..e_i` and needs :math:`\phi_i`
units; slot :math:`\tau` offers :math:`c_\tau` units that may be split at will. Serving the released
task with the earliest deadline first meets every deadline whenever any schedule does, and that
is so exactly when the *demand criterion* holds,

.. math::

    \sum_{i:\, s_i \ge a,\ e_i \le b} \phi_i \;\le\; \sum_{\tau=a}^{b} c_\tau
    \qquad \text{for every release } a \text{ and deadline } b.

The functions whose first argument is ``order`` are compiled and can be called from other compiled
code; they see the tasks of one server only, as a slice of indices sorted by deadline (`edf_order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.arrays import Floats, Ints

__all__ = [
    "IntervalLoad",
    "demand_criterion",
    "edf_feasible",
    "edf_order",
    "edf_serve",
    "interval_loads",
]

FEASIBLE: Final = 1e-9
"""Share of its demand that a task may lack at its deadline in a plan that counts as feasible."""

VIOLATED: Final = 1e-7
"""Share of its demand that a task may lack at its deadline before it has failed; above `FEASIBLE`,
so no plan that was judged feasible can fail by rounding."""

ROUNDING: Final = 16.0 * 2.0**-52
"""Share of an interval's capacity by which sums of work over it may be off."""


@compact_repr
class IntervalLoad(NamedTuple):
    """An interval of slots, the tasks that must be served within it, and what it offers.

    Attributes
    ----------
    first, last
        The interval of slots, both inclusive.
    tasks
        Indices of the tasks whose windows lie inside.
    demand, offer
        What they need together and what the interval offers.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edf import demand_criterion
    >>> end, demand, offer = np.array([1, 2]), np.array([3.0, 4.0]), np.full(3, 2.0)
    >>> load = demand_criterion(np.array([0, 0]), end, demand, offer)
    >>> load.tasks, load.demand - load.offer
    ((0, 1), 1.0)
    """

    first: int
    last: int
    tasks: tuple[int, ...]
    demand: float
    offer: float


def edf_order(server: Ints, end: Ints, servers: int) -> tuple[Ints, Ints]:
    """Sort tasks by server, then deadline, then index.

    Parameters
    ----------
    server, end
        Server and last slot of each task, shape [H].
    servers
        Number of servers K.

    Returns
    -------
    order
        Task indices, shape [H].
    offset
        Shape [K+1]; the tasks of server k are ``order[offset[k]:offset[k+1]]``.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edf import edf_order
    >>> order, offset = edf_order(np.array([0, 1, 0]), np.array([5, 2, 3]), 2)
    >>> order, offset
    (array([2, 0, 1]), array([0, 2, 3]))
    """
    order = np.lexsort((end, server)).astype(np.int64)
    offset = np.searchsorted(server[order], np.arange(servers + 1)).astype(np.int64)
    return order, offset


@compiled(writes="remaining")
def edf_serve(
    order: Ints, start: Ints, end: Ints, remaining: Floats, slot: int, capacity: float
) -> float:
    """Serve one slot and subtract the work done from ``remaining``, in place (compiled).

    Parameters
    ----------
    order
        Indices of the server's tasks by deadline, ties by index, shape [n].
    start, end
        Inclusive windows of all tasks, shape [H].
    remaining
        Work left of all tasks, shape [H].
    slot
        The slot to serve; tasks outside their window get nothing.
    capacity
        What the slot offers.

    Returns
    -------
    The work done.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edf import edf_serve
    >>> remaining = np.array([2.0, 3.0])
    >>> edf_serve(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]), remaining, 0, 2.5)
    2.5
    >>> remaining
    array([0. , 2.5])
    """
    left = capacity
    for i in order:
        if start[i] <= slot <= end[i] and remaining[i] > 0.0:
            if remaining[i] >= left:
                remaining[i] -= left
                return capacity
            left -= remaining[i]
            remaining[i] = 0.0
    return capacity - left


@compiled
def edf_feasible(
    order: Ints,
    start: Ints,
    end: Ints,
    demand: Floats,
    remaining: Floats,
    capacity: Floats,
    slot: int,
    free: int,
) -> bool:
    """Return whether the remaining work meets every deadline if the server is blocked for a while.

    The server offers nothing in ``slot..free-1`` and ``capacity`` from slot ``free`` on (compiled).

    Parameters
    ----------
    order
        Indices of the server's tasks by deadline, ties by index, shape [n].
    start, end
        Inclusive windows of all tasks, shape [H].
    demand
        Work that all tasks asked for, shape [H]: what is left is judged as a share of it.
    remaining
        Work left of all tasks at the start of ``slot``, shape [H]; not changed.
    capacity
        What each slot of the horizon offers, shape [T].
    slot
        The first slot that is still to come; tasks whose window has passed are ignored.
    free
        The first slot that offers anything; ``free <= slot`` for a server that is not blocked.

    Returns
    -------
    Whether EDF leaves at most the share `FEASIBLE` of each task's demand at its deadline.

    Notes
    -----
    The plan is served by the very operations of `edf_serve`, which are monotone in floating point
    too: a server that is blocked for less time than assumed has no more left of any task, to the
    last bit. So what is accepted here never fails, in whatever unit work is measured.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edf import edf_feasible
    >>> order, start, end = np.array([0, 1]), np.array([0, 0]), np.array([1, 3])
    >>> demand, capacity = np.array([2.0, 3.0]), np.full(4, 2.0)
    >>> [
    ...     edf_feasible(order, start, end, demand, demand.copy(), capacity, 0, free)
    ...     for free in (0, 1, 2)
    ... ]
    [True, True, False]
    """
    n = order.size
    if n == 0:
        return True
    work = np.empty(n, dtype=np.float64)
    for m in range(n):
        work[m] = remaining[order[m]]
    head = 0  # tasks before it are past, or done for good
    while head < n and end[order[head]] < slot:
        head += 1
    tau = max(slot, free)
    while head < n:
        due = order[head]
        if end[due] < tau:  # over, with what is left of it
            if work[head] > FEASIBLE * demand[due]:
                return False
            head += 1
            continue
        if work[head] <= 0.0:
            head += 1
            continue
        left = capacity[tau]
        upcoming = capacity.size  # earliest release of unfinished work after tau
        busy = False
        for m in range(head, n):
            i = order[m]
            if work[m] <= 0.0:
                continue
            if start[i] > tau:
                upcoming = min(upcoming, start[i])
                continue
            if work[m] > left:
                work[m] -= left
                busy = True
                break
            left -= work[m]
            work[m] = 0.0
        # Nothing released is left: jump to the next release.
        tau = tau + 1 if busy else max(tau + 1, upcoming)
    return True


def demand_criterion(
    start: Ints,
    end: Ints,
    demand: Floats,
    capacity: Floats,
    *,
    remaining: Floats | None = None,
    slot: int = 0,
    free: int = 0,
) -> IntervalLoad | None:
    """Look for an interval whose tasks need more than it offers.

    Need and offer are sums over the interval, which `ROUNDING` of its capacity may falsify; and a
    task may lack the share `FEASIBLE` of its demand. An excess below the larger of both is none.

    Parameters
    ----------
    start, end
        Inclusive windows of the tasks of one server, shape [n].
    demand
        Work that each task asked for, shape [n].
    capacity
        What each slot offers, shape [T].
    remaining
        Work left of each task at the start of ``slot``, shape [n]; all of it by default.
    slot
        The first slot still to come; tasks whose window has passed are ignored.
    free
        The first slot that offers anything.

    Returns
    -------
    None if every deadline can be met; otherwise the conflict of fewest tasks, the most overloaded
    one among those.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edf import demand_criterion
    >>> demand_criterion(
    ...     np.array([0, 0]), np.array([1, 2]), np.array([3.0, 4.0]), np.full(3, 2.0)
    ... )
    IntervalLoad(first=0, last=2, tasks=(0, 1), demand=7, offer=6)
    """
    left = demand if remaining is None else remaining
    ahead = np.flatnonzero(end >= slot)
    release, due = np.maximum(start, slot)[ahead], end[ahead]
    open_capacity = np.where(np.arange(capacity.size) < free, 0.0, capacity)
    worst: tuple[int, float] | None = None
    found: IntervalLoad | None = None
    for load in interval_loads(release, due, left[ahead], open_capacity):
        tasks = ahead[list(load.tasks)]
        whole = float(capacity[load.first : load.last + 1].sum())
        allowed = max(FEASIBLE * float(demand[tasks].min()), ROUNDING * whole)
        if load.demand - load.offer > allowed:
            rank = (len(load.tasks), load.offer - load.demand)
            if worst is None or rank < worst:
                worst, found = rank, load._replace(tasks=tuple(tasks.tolist()))
    return found


def interval_loads(
    start: Ints, end: Ints, demand: Floats, capacity: Floats
) -> Iterator[IntervalLoad]:
    """Yield what the tasks of one server need and what is offered, for all intervals that matter.

    These are the intervals from a release to a deadline that hold at least one window.

    Parameters
    ----------
    start, end
        Inclusive windows, shape [n].
    demand
        Work that each task needs, shape [n].
    capacity
        What each slot offers, shape [T].

    Returns
    -------
    Demand and offer of one interval after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edf import interval_loads
    >>> loads = interval_loads(
    ...     np.array([0, 1]), np.array([1, 2]), np.array([3.0, 2.0]), np.full(3, 2.0)
    ... )
    >>> for load in loads:
    ...     print(load)
    IntervalLoad(first=0, last=1, tasks=(0,), demand=3, offer=4)
    IntervalLoad(first=0, last=2, tasks=(0, 1), demand=5, offer=6)
    IntervalLoad(first=1, last=2, tasks=(1,), demand=2, offer=4)
    """
    offered = np.concatenate(([0.0], np.cumsum(capacity)))
    for a in np.unique(start):
        for b in np.unique(end[end >= a]):
            inside = np.flatnonzero((start >= a) & (end <= b))
            if inside.size:
                need, offer = float(demand[inside].sum()), float(offered[b + 1] - offered[a])
                yield IntervalLoad(int(a), int(b), tuple(inside.tolist()), need, offer)
