r"""What RESCUE's policies prepare: routes, tables over slots, the guard, and value functions.

The value functions are those of the policy that routes every task at random by a relaxed
assignment y. For a server that is idle at the start of slot t, with one arrival at most per slot,

.. math::

    A_{jkl}(t) &= R_{jkl}(t) + \sum_{d \ge 1,\; t + d \le T} q_l(d)\, B_k(t + d), \\
    B_k(t) &= \sum_{j,l} y_{jkl}(t) \max\{A_{jkl}(t), B_k(t+1)\}
        + \Bigl(1 - \sum_{j,l} y_{jkl}(t)\Bigr) B_k(t+1), \qquad B_k(T+1) = 0 .

With independent arrivals the tasks of a slot are handled in the order of their device index; every
device is a step of its own, and :math:`B_k(t+1)` becomes the value :math:`M_k(t, j+1)` of being
idle when the next device's turn comes.

Source: Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on
Underutilized Edges, equations (4)-(8), Algorithm 2. The order within a slot is ours: with several
arrivals per slot the printed policy has no guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edf import VIOLATED, edf_feasible, edf_order, edf_serve
from edgeopt.kernels import compiled
from edgeopt.models.rescue.server_states import fixed
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance


ENTRIES = 2**24
"""Entries that a block may have: 128 MB of float64."""


def slot_blocks(instance: RescueInstance) -> tuple[slice, ...]:
    """Cut the horizon into the fewest blocks of which profits and scores fit into memory."""
    width = max(instance.profiles, instance.max_duration)
    step = max(1, ENTRIES // (instance.devices * instance.servers * width))
    return tuple(
        slice(first, min(first + step, instance.horizon))
        for first in range(0, instance.horizon, step)
    )


class SlotTable:
    """An array whose first axis is the slot, computed by blocks; the latest block is kept."""

    def __init__(
        self, compute: Callable[[slice], NDArray[np.float64]], blocks: tuple[slice, ...]
    ) -> None:
        self._compute = compute
        self._step = blocks[0].stop
        self.blocks = blocks
        self._latest: tuple[slice, NDArray[np.float64]] | None = None

    def block(self, slots: slice) -> NDArray[np.float64]:
        """Return the rows of one of the blocks."""
        if self._latest is None or self._latest[0] != slots:
            self._latest = slots, self._compute(slots)
        return self._latest[1]

    def at(self, slot: int) -> NDArray[np.float64]:
        """Return the row of one slot."""
        require_within(slot, self.blocks[-1].stop)
        slots = self.blocks[slot // self._step]
        row: NDArray[np.float64] = self.block(slots)[slot - slots.start]
        return row


def require_within(slot: int, horizon: int) -> None:
    """Check that a slot lies within the horizon that a table is made for."""
    if slot >= horizon:
        raise OptionError(f"slot {slot}: the horizon has {horizon} slots; start the policy anew")


@dataclass(frozen=True, eq=False)
class Routes:
    """The pairs (server, profile) that an arrival may be sent to, row by row in CSR form.

    A *row* is ``slot * devices + device``, a *pair* is ``server * profiles + profile``;
    both orders are row-major.
    """

    first: NDArray[np.int64]  # routes of a row are first[row]..first[row+1]-1; [T*J+1]
    pair: NDArray[np.int64]  # pair of every route, ascending within a row; [routes]
    mass: NDArray[np.float64]  # y[t, j, k, l]: the task arrives and takes the route; [routes]
    cumulative: NDArray[np.float64]  # running sum over the row of y / p; [routes]; 0 where p is

    @classmethod
    def of(cls, instance: RescueInstance, y: Any) -> Routes:
        """Read an assignment."""
        rows = instance.horizon * instance.devices
        pairs = instance.servers * instance.profiles
        if hasattr(y, "tocsr"):
            if y.shape != (rows, pairs):
                raise OptionError(f"y has shape {y.shape}; sparse it must be {(rows, pairs)}")
            y = y.tocsr()
            if not y.has_canonical_format:
                y = y.copy()
                y.sum_duplicates()
            first, pair = y.indptr.astype(np.int64), y.indices.astype(np.int64)
            mass = y.data.astype(np.float64)
        else:
            y = np.asarray(y, dtype=np.float64)
            shape = (instance.horizon, instance.devices, instance.servers, instance.profiles)
            if y.shape != shape:
                raise OptionError(f"y has shape {y.shape}; it must be [T, J, K, L] = {shape}")
            place = np.flatnonzero(y)  # in one dimension: several times faster than in two
            # Compressed sparse rows: where each row begins among the entries.
            first = np.searchsorted(place, np.arange(rows + 1) * pairs).astype(np.int64)
            pair = place - np.repeat(np.arange(rows) * pairs, np.diff(first))
            mass = y.ravel()[place]
        if not (np.isfinite(mass).all() and (mass >= 0).all()):
            raise OptionError("y must be finite and nonnegative")
        arrival = np.ascontiguousarray(instance.arrival).ravel()
        cumulative, excess = _accumulate(first, mass, arrival)
        if excess > DEFAULT:
            raise OptionError(f"y assigns {1.0 + excess:.7g} times what arrives of a task")
        return cls(first, pair.astype(np.int64), mass, cumulative)

    def shares(self, row: int) -> list[tuple[int, float]]:
        """Return positions of the routes of a row and their probabilities given the arrival."""
        if row + 1 >= self.first.size:
            raise OptionError(f"row {row}: beyond the horizon of y; start the policy anew")
        low, high = int(self.first[row]), int(self.first[row + 1])
        share = np.diff(self.cumulative[low:high], prepend=0.0)
        return list(zip(range(low, high), share.tolist(), strict=True))

    def expected_profit(self, instance: RescueInstance) -> NDArray[np.float64]:
        """Return R[t, j, k, l] at every route, shape [routes], without the whole of R in memory."""
        profit = np.empty(self.mass.size)
        for slots in slot_blocks(instance):
            low, high = (slots.start * instance.devices, slots.stop * instance.devices)
            part = slice(int(self.first[low]), int(self.first[high]))
            if part.start == part.stop:
                continue
            block = instance.expected_profit_block(slots)
            pairs = instance.servers * instance.profiles
            row = np.repeat(np.arange(high - low) * pairs, np.diff(self.first[low : high + 1]))
            profit[part] = np.take(block.reshape(-1), row + self.pair[part])
        return profit


@compiled
def _accumulate(
    first: NDArray[np.int64], mass: NDArray[np.float64], arrival: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Sum y / p along each row; also return the largest excess of a row's sum over p, in p."""
    cumulative = np.zeros(mass.size, dtype=np.float64)
    excess = 0.0
    for row in range(first.size - 1):
        total = 0.0
        share = 0.0
        for m in range(first[row], first[row + 1]):
            total += mass[m]
            if arrival[row] > 0.0:
                share += mass[m] / arrival[row]
                cumulative[m] = share
        if total > arrival[row]:
            excess = max(excess, total / arrival[row] - 1.0 if arrival[row] > 0.0 else np.inf)
    return cumulative, excess


@compact_repr
class Guard(NamedTuple):
    """Service of reserved work, and the test which runs are safe.

    A run is safe if the remaining reserved work of its server can still meet all deadlines when the
    server is blocked for the longest duration that the profile can have. Real blocking is never
    longer than that, and earliest deadline first is optimal on one divisible resource; so if every
    accepted run is safe and the reserved tasks are jointly feasible at first, none ever fails.

    Attributes
    ----------
    order, offset
        Reserved tasks by server and deadline, shapes [H] and [K + 1], see
        `edgeopt.instances.edf.edf_order`.
    start, end
        Windows, shape [H], both ends inclusive.
    demand
        Work of every task, TMAC, shape [H].
    capacity
        Shape [K, T].
    longest
        Longest duration of every profile, in slots; shape [L].

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.online.rescue import Guard
    >>> instance = small(1)
    >>> guard = Guard.of(instance)
    >>> guard.safe(0, 0, 0, instance.reserved.demand)
    False
    """

    order: NDArray[np.int64]
    offset: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    demand: NDArray[np.float64]
    capacity: NDArray[np.float64]
    longest: NDArray[np.int64]

    @classmethod
    def of(cls, instance: RescueInstance, *, outages_only: bool = False) -> Guard:
        """Prepare the guard of an instance, or one of its outages alone."""
        tasks, given = instance.promised, len(instance.reserved)
        outage = np.arange(len(tasks)) >= given
        # Of what is due in a slot, an outage comes first.
        mine = np.flatnonzero(outage | (not outages_only))
        order, offset = edf_order(
            tasks.server[mine], 2 * tasks.end[mine] + ~outage[mine], instance.servers
        )
        order = mine[order]
        tables = tasks.start, tasks.end, tasks.demand, instance.capacity, instance.longest
        return cls(*map(fixed, (order, offset, *tables)))

    @property
    def outages_only(self) -> bool:
        """Whether it lets reserved tasks fail; what is left of their work then does not matter."""
        return self.order.size < self.demand.size

    def safe(self, server: int, profile: int, slot: int, remaining: NDArray[np.float64]) -> bool:
        """Tell whether a run may begin on an idle server; `remaining` work is that of now, TMAC."""
        return bool(safe_run(self, remaining, slot, server, profile))

    def permitted(
        self, idle: NDArray[np.bool_], slot: int, remaining: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell for all servers and profiles whether a run may begin; shape [K, L]."""
        profiles = range(self.longest.size)
        left = self.demand if self.outages_only else remaining  # of outages that are to come
        return np.array(
            [
                [bool(free) and self.safe(k, profile, slot, left) for profile in profiles]
                for k, free in enumerate(idle)
            ]
        )

    def serve(
        self, slot: int, idle: NDArray[np.bool_], remaining: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Let idle servers work for a slot, changing `remaining`; return what each did, [K]."""
        work = np.zeros(idle.size)
        for k in np.flatnonzero(idle):
            mine = self.order[self.offset[k] : self.offset[k + 1]]
            room = float(self.capacity[k, slot])
            work[k] = edf_serve(mine, self.start, self.end, remaining, slot, room)
        return work

    def failed(
        self, slot: int, remaining: NDArray[np.float64], tolerance: float = VIOLATED
    ) -> NDArray[np.bool_]:
        """Tell which tasks miss their deadline at the end of a slot by more than a share, [H]."""
        return np.asarray((remaining > tolerance * self.demand) & (self.end == slot))

    def elapse(
        self,
        slot: int,
        idle: NDArray[np.bool_],
        remaining: tuple[float, ...],
        tolerance: float = VIOLATED,
    ) -> tuple[tuple[float, ...], int]:
        """Return what is left after a slot, 0 of what is past, and the number of tasks that fail.

        What is left of a past task changes nothing any more.
        """
        left = np.array(remaining)
        self.serve(slot, idle, left)
        failures = np.count_nonzero(self.failed(slot, left, tolerance))
        left[self.end <= slot] = 0.0
        return tuple(left.tolist()), int(failures)


@compiled
def safe_run(
    guard: Guard, remaining: NDArray[np.float64], slot: int, server: int, profile: int
) -> bool:
    """Tell whether a run may begin on an idle server (compiled)."""
    mine = guard.order[guard.offset[server] : guard.offset[server + 1]]
    room, free = guard.capacity[server], slot + guard.longest[profile]
    return edf_feasible(mine, guard.start, guard.end, guard.demand, remaining, room, slot, free)


@compact_repr
class ValueFunctions(NamedTuple):
    """Activation and baseline values.

    Attributes
    ----------
    activation
        A[t, j, k, l], expected profit on server k from slot t on if the task of device j begins
        there in t with profile l; an array [T, J, K, L], or a sparse array [T*J, K*L] with the
        pattern of a sparse y.
    baseline
        B[k, t], expected profit on server k from slot t on if it is idle at the start of t; array
        [K, T+1]. With independent arrivals this is before the first device of the slot.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import solve_p1_lp
    >>> from edgeopt.online.rescue import value_functions
    >>> values = value_functions(small(1), solve_p1_lp(small(1)).y)
    >>> values.activation.shape, values.baseline.shape
    ((4, 2, 1, 1), (1, 5))
    """

    activation: Any
    baseline: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RouteValues:
    """Value functions where a routed policy needs them."""

    routes: Routes
    profit: NDArray[np.float64]  # expected; [routes]
    continuation: NDArray[np.float64]  # expected profit after a run, [T, K, L]
    waiting: NDArray[np.float64]  # of a server that is idle before a step; [T*steps+1, K]
    steps: int  # 1 for exclusive arrivals, J for independent ones

    @property
    def baseline(self) -> NDArray[np.float64]:
        """B[k, t], shape [K, T+1]."""
        return np.ascontiguousarray(self.waiting[:: self.steps].T)

    @property
    def after(self) -> NDArray[np.float64]:
        """Value of turning the task down, shape [T, S, K]: that of being idle at the next step."""
        return self.waiting[1:].reshape(-1, self.steps, self.waiting.shape[1])

    def margin(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return activation and value of turning down at every route, both of shape [routes]."""
        horizon, _, profiles = self.continuation.shape
        rows = self.routes.first.size - 1
        row = np.repeat(np.arange(rows), np.diff(self.routes.first))
        server, profile = np.divmod(self.routes.pair, profiles)
        slot = row // (rows // horizon)
        step = row if self.steps > 1 else slot
        activation = self.profit + self.continuation[slot, server, profile]
        return activation, self.waiting[step + 1, server]


def route_values(instance: RescueInstance, y: Any) -> RouteValues:
    """Run the backward induction on the routes of y only."""
    routes = Routes.of(instance, y)
    server, profile = np.divmod(routes.pair, instance.profiles)
    profit = routes.expected_profit(instance)
    steps = steps_per_slot(instance)
    first = routes.first if steps > 1 else routes.first[:: instance.devices]
    offers = np.ascontiguousarray(first), server, profile, routes.mass, profit
    waiting, continuation = renewal_values(
        offers, instance.duration, instance.longest, resources=instance.servers, steps=steps
    )
    return RouteValues(routes, profit, continuation, waiting, steps)


def steps_per_slot(instance: RescueInstance) -> int:
    """Return 1 for exclusive arrivals, the number of devices for independent ones."""
    return instance.devices if instance.arrivals == "independent" else 1


def value_functions(instance: RescueInstance, y: Any) -> ValueFunctions:
    """Compute activation and baseline values of an assignment.

    Parameters
    ----------
    instance
        The instance.
    y
        Feasible assignment of the relaxation: array [T, J, K, L], or a scipy.sparse array
        [T*J, K*L] when the whole would not fit into memory.

    Returns
    -------
    ValueFunctions
        `activation` and `baseline`; a sparse y gives a sparse activation with the same pattern.

    Raises
    ------
    OptionError
        If y has the wrong shape, is negative, or assigns more of a task than arrives.

    Notes
    -----
    Huang, Liu, Shan: RESCUE, equations (4) to (6) and Algorithm 2; with independent arrivals the
    order within a slot is ours.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.models.rescue import solve_p1_lp
    >>> instance = tight(0.5)
    >>> activation, baseline = value_functions(instance, solve_p1_lp(instance).y)
    >>> round(float(baseline[:, 0].sum()), 6)
    1.0
    """
    values = route_values(instance, y)
    if hasattr(y, "tocsr"):
        from scipy.sparse import csr_array

        activation, _ = values.margin()
        pattern = values.routes
        return ValueFunctions(
            csr_array((activation, pattern.pair, pattern.first), shape=y.shape), values.baseline
        )
    return ValueFunctions(
        instance.expected_profit + values.continuation[:, np.newaxis], values.baseline
    )


def renewal_values(
    offers: tuple[NDArray[Any], ...],
    duration: NDArray[np.float64],
    longest: NDArray[np.int64],
    *,
    resources: int,
    steps: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve the recursion of this module backwards; return W_k(n) and F_k(l, t).

    `offers` are the first offer of every step [N+1], and the resource, kind, probability and
    expected reward of every offer; offers of one step exclude one another on a resource. Takes time
    proportional to their number plus slots x resources x (total length of the durations), and
    memory for the results, [N+1, resources] and [T, resources, kinds].
    """
    count = offers[0].size - 1
    waiting = np.zeros((count + 1, resources))
    continuation = np.empty((count // steps, resources, longest.size))
    _recur(*offers, duration, longest, steps, waiting, continuation)
    return waiting, continuation


@compiled(writes="waiting continuation")
def _recur(
    first: NDArray[np.int64],
    resource: NDArray[np.int64],
    kind: NDArray[np.int64],
    probability: NDArray[np.float64],
    reward: NDArray[np.float64],
    duration: NDArray[np.float64],
    support: NDArray[np.int64],
    steps: int,
    waiting: NDArray[np.float64],
    continuation: NDArray[np.float64],
) -> None:
    slots, resources, kinds = continuation.shape
    # Values at the start of slots once more, one row per resource: the sums over d run along it.
    renewed = np.zeros((resources, slots + 1), dtype=np.float64)
    # Backward induction, Algorithm 2 of the paper.
    for t in range(slots - 1, -1, -1):
        for k in range(resources):
            for j in range(kinds):
                total = 0.0
                for d in range(1, min(support[j], slots - 1 - t) + 1):
                    total += duration[j, d - 1] * renewed[k, t + d]
                continuation[t, k, j] = total
        for n in range((t + 1) * steps - 1, t * steps - 1, -1):
            for k in range(resources):
                waiting[n, k] = waiting[n + 1, k]
            for o in range(first[n], first[n + 1]):
                k = resource[o]
                gain = reward[o] + continuation[t, k, kind[o]] - waiting[n + 1, k]
                if gain > 0.0:
                    waiting[n, k] += probability[o] * gain
        for k in range(resources):
            renewed[k, t] = waiting[t * steps, k]
