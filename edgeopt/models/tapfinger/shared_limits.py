r"""What tasks share: clusters put together into pools, tasks into classes, and rows that all obey.

The rows are those on which prices of relaxations rest. Bundles are whole, so a cluster cannot be
filled with parts of them. A function f with :math:`f(x) + f(y) \le f(x + y)` turns
:math:`\sum x \le C` into :math:`\sum f(x) \le f(C)`, which all sets of bundles obey and many mixes
of parts do not.

References
----------
Carlier, Clautiaux, Moukrim: New reduction procedures and lower bounds for the two-dimensional bin
packing problem with fixed orientation, Computers & Operations Research 34, 2007.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.models.tapfinger.problem import SchedulingProblem


class Classes(NamedTuple):
    """Tasks that arrive together, weigh the same and have the same profile."""

    arrival: Ints  # slot of arrival, ascending, shape [c]
    weight: Floats  # weight of the flow time of each task, shape [c]
    tasks: Ints  # number of tasks, shape [c]
    profile: Ints  # profile of each, shape [c]


def classify(arrival: Ints, weight: Floats, profile: Ints) -> Classes:
    """Return the classes of tasks; those of weight 0 are left out, since no bound needs them."""
    kept = weight > 0
    key = np.stack([arrival[kept], weight[kept], profile[kept]], axis=1).astype(np.float64)
    same, count = np.unique(key, axis=0, return_counts=True)
    whole = same.astype(np.int64)
    return Classes(
        whole[:, 0].copy(), same[:, 1].copy(), count.astype(np.int64), whole[:, 2].copy()
    )


def pooled_profiles(
    table: Floats,
    kind: Ints,
    eligible: Flags,
    pool: Ints,
    merge: Callable[[Floats], Floats],
    label: Ints | None = None,
) -> tuple[Floats, Ints, Ints]:
    """Return what a task can be offered by each pool: the best of its eligible clusters there."""
    clusters, kinds = table.shape[:2]
    pools, shape = int(pool.max()) + 1, table.shape[2:]
    labelled = np.zeros(kinds, dtype=np.int64) if label is None else label
    alike = np.unique(table.reshape(clusters * kinds, -1), axis=0, return_inverse=True)[1]
    # Clusters of a pool that offer the same to a kind are one cluster to it.
    same = np.ravel(alike).reshape(clusters, kinds) + pool[:, None] * (clusters * kinds)
    number = np.unique(same, return_inverse=True)[1].reshape(clusters, kinds)
    present = np.zeros((kind.size, int(number.max()) + 1), dtype=bool)
    j, n = np.nonzero(eligible)
    present[j, number[n, kind[j]]] = True
    key = np.column_stack([present, labelled[kind]])
    _, first, profile = np.unique(key, axis=0, return_index=True, return_inverse=True)
    offers = np.zeros((first.size, pools, *shape))
    for p, j in enumerate(first.tolist()):
        for g in np.unique(pool[eligible[j]]).tolist():
            offers[p, g] = merge(table[eligible[j] & (pool == g), kind[j]])
    flat = offers.reshape(first.size, pools * shape[0] * shape[1])
    owner = np.column_stack([flat, labelled[kind[first]]])
    distinct, merged = np.unique(owner, axis=0, return_inverse=True)
    profiles = distinct[:, :-1].reshape(-1, pools, *shape)
    labels = distinct[:, -1].astype(np.int64)
    return profiles, labels, np.ravel(merged)[np.ravel(profile)]


class Held(NamedTuple):
    """What columns hold, slot by slot; all of the same length."""

    column: Ints
    slot: Ints
    size: Floats  # of each shared thing, shape [h, I]


class Limits(NamedTuple):
    """What the tasks that run in a slot, and those that start in it, may take together."""

    # how much of each shared thing a bundle takes, shape [I, G, A, B]: CPU cores and GPUs, and
    # superadditive functions of them
    size: Ints
    room: Ints  # how much of it a pool of clusters has in each slot, shape [I, G, T]
    # how many tasks may start in a pool in each slot, shape [G, T]; [G, 0] if any number may
    starts: Ints

    @property
    def rows(self) -> int:
        """Number of limits, in the order of `room` and then `starts`, flattened."""
        return self.room.size + self.starts.size

    def sides(self) -> Floats:
        """Return the room in all rows, shape [rows]."""
        return np.concatenate([self.room.ravel(), self.starts.ravel()]).astype(np.float64)

    def used(self, held: Held, pool: Ints, begin: Ints) -> sparse.csc_array:
        """Return what columns take of each row, by the pool of each and its start, shape [n]."""
        resources, pools, slots = self.room.shape
        rows = [(i * pools + pool[held.column]) * slots + held.slot for i in range(resources)]
        columns, values = [held.column] * resources, list(held.size.T)
        if self.starts.size:
            here = np.flatnonzero(begin < slots)
            rows.append(self.room.size + pool[here] * slots + begin[here])
            columns.append(here)
            values.append(np.ones(here.size))
        # One matrix of all: small ones take longer to make than to fill.
        triplets = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        use = sparse.csc_array(triplets, shape=(self.rows, pool.size))
        use.eliminate_zeros()
        return use

    def merging(self, block: int) -> sparse.csr_array:
        """Return which rows become one if a block of slots shares its prices, shape [m, rows]."""
        slots = self.room.shape[2]
        if not slots:
            return sparse.csr_array((0, 0))
        blocks = -(-slots // block)
        row = np.arange(self.rows)
        merged = row // slots * blocks + row % slots // block
        shape = self.rows // slots * blocks, self.rows
        return sparse.csr_array((np.ones(row.size), (merged, row)), shape=shape)

    def prices(self, flat: Floats) -> Prices:
        """Return prices of rows, shape [rows], as prices of resources and starts."""
        cut = self.room.size
        return Prices(flat[:cut].reshape(self.room.shape), flat[cut:].reshape(self.starts.shape))


class Prices(NamedTuple):
    """Prices of what is shared, none negative; after the last slot everything is free."""

    resource: Floats  # price of a unit in a slot, shape [I, G, T]
    start: Floats  # price of a start, shape [G, T], or [G, 0]


def rounded_sizes(capacity: int, step: int) -> Ints:
    r"""Return a superadditive function of what a bundle takes, shape [C + 1].

    .. math::
        f(x) = \begin{cases}
            2 \lfloor x / k \rfloor & x < C / 2 \\
            \lfloor C / k \rfloor & x = C / 2 \\
            2 (\lfloor C / k \rfloor - \lfloor (C - x) / k \rfloor) & x > C / 2
        \end{cases}
    """
    # Dual feasible function of rounding (Lueker, 1983; Carlier et al., 2007).
    x = np.arange(capacity + 1)
    all_steps = capacity // step
    large = 2 * (all_steps - (capacity - x) // step)
    return np.where(2 * x > capacity, large, np.where(2 * x < capacity, 2 * (x // step), all_steps))


def shared_limits(
    problem: SchedulingProblem, pool: Ints, slots: int, used: Flags | None = None
) -> Limits:
    """Return the limits of pools of clusters in the first slots."""
    pools = int(pool.max()) + 1
    free = np.repeat(problem.capacity[None], slots, axis=0)
    busy = min(slots, problem.occupied.shape[0])
    free[:busy] -= problem.occupied[:busy]
    some = np.asarray((problem.duration > 0).any(axis=(0, 1))) if used is None else used
    sizes: list[list[Ints]] = []
    rooms: list[list[Ints]] = []
    full: list[list[int]] = []
    whole: list[int] = []
    for r in range(2):
        amount, capacity = np.indices(some.shape)[r], problem.capacity[:, r]
        whole.append(len(sizes))
        for step in range(1, _steps(int(capacity.max()), int(amount[some].max(initial=0))) + 1):
            steps = [
                _stepped(capacity[pool == g], free[:, pool == g, r], step, amount)
                for g in range(pools)
            ]
            sizes.append([size for size, _, _ in steps])
            rooms.append([room for _, room, _ in steps])
            full.append([most for _, _, most in steps])
    size, room = np.array(sizes), np.array(rooms).reshape(len(rooms), pools, slots)
    share = size[:, :, some] / np.maximum(1, np.array(full))[:, :, None]
    kept = _undominated(share.reshape(len(full), -1))
    starts = np.zeros((pools, 0), dtype=np.int64)
    if problem.single_start:
        each = np.ones((slots, problem.clusters), dtype=np.int64)
        each[:1] -= problem.started
        starts = np.zeros((pools, slots), dtype=np.int64)
        np.add.at(starts, pool, each.T)
    if busy:  # what is left free may bind where a whole cluster would not
        kept[whole] = True
    return Limits(size[kept], room[kept], starts)


def _steps(capacity: int, largest: int) -> int:
    """Return the largest step by which some bundle takes anything, at least 1."""
    return max(1, capacity if capacity < 2 * largest else largest)


def _stepped(capacity: Ints, free: Ints, step: int, amount: Ints) -> tuple[Ints, Ints, int]:
    """Return sizes of bundles, room in every slot and with nothing running, for one pool."""
    total = int(capacity.max())
    if step == 1:
        return amount, free.sum(axis=1), int(capacity.sum())
    if (capacity != total).any():
        return amount // step, np.asarray((free // step).sum(axis=1)), int((capacity // step).sum())
    if 2 * step > total + 1:  # the same as for the largest step below
        return np.zeros_like(amount), np.zeros(free.shape[0], dtype=np.int64), 0
    size = rounded_sizes(total, step)
    # Whatever earlier tasks hold counts as one bundle.
    room = (size[total] - size[total - free]).sum(axis=1)
    return size[np.minimum(amount, total)], np.asarray(room), int(size[total]) * capacity.size


def _undominated(share: Floats) -> Flags:
    """Return the rows that no other row exceeds in all places, the first of equals."""
    # Dominance among rows, the first of equals kept.
    kept = np.ones(share.shape[0], dtype=bool)
    for i in range(share.shape[0]):
        above = np.asarray((share >= share[i] - 1e-12).all(axis=1)) & kept
        above[i] = False
        kept[i] = not above.any()
    return kept
