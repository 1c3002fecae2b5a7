"""What the tasks of a slot share: the rows on which prices of relaxations rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Limits", "Prices", "shared_limits"]


class Limits(NamedTuple):
    """What the tasks that run in a slot, and those that start in it, may take together.

    Attributes
    ----------
    size
        How much of each shared thing a bundle takes, shape [I, A, B]: CPU cores, GPUs, and one of
        the places for tasks where places bind before cores and GPUs do.
    room
        How much of it a pool of clusters has in each slot, shape [I, G, T].
    starts
        How many tasks may start in a pool in each slot, shape [G, T]; [G, 0] if any number may.
    """

    size: Ints
    room: Ints
    starts: Ints

    @property
    def rows(self) -> int:
        """Number of limits, in the order of `room` and then `starts`, flattened."""
        return self.room.size + self.starts.size

    def sides(self) -> Floats:
        """Return the room in all rows, shape [rows]."""
        return np.concatenate([self.room.ravel(), self.starts.ravel()]).astype(np.float64)

    def prices(self, flat: Floats) -> Prices:
        """Return prices of rows, shape [rows], as prices of resources and starts."""
        cut = self.room.size
        return Prices(flat[:cut].reshape(self.room.shape), flat[cut:].reshape(self.starts.shape))


class Prices(NamedTuple):
    """Prices of what is shared, none negative; after the last slot everything is free.

    Attributes
    ----------
    resource
        Price of a unit in a slot, shape [I, G, T].
    start
        Price of a start, shape [G, T], or [G, 0].
    """

    resource: Floats
    start: Floats


def shared_limits(problem: SchedulingProblem, pool: Ints, slots: int) -> Limits:
    r"""Return the limits of pools of clusters in the first slots.

    A cluster has places for :math:`\min_r \lfloor C_r / b_r \rfloor` tasks, b being the smallest
    amount that any bundle takes; they are kept where that is less than cores and GPUs say.

    Parameters
    ----------
    problem
        The tasks.
    pool
        Pool of each cluster, from 0, shape [N].
    slots
        Number of slots T.
    """
    assert problem.occupied is not None
    assert problem.started is not None
    pools = int(pool.max()) + 1
    free = np.repeat(problem.capacity[None], slots, axis=0)
    busy = min(slots, problem.occupied.shape[0])
    free[:busy] -= problem.occupied[:busy]
    room = [_by_pool(free[:, :, r], pool, pools) for r in range(2)]
    size = [np.asarray(one) for one in np.indices(problem.duration.shape[2:])]
    allowed = np.asarray((problem.duration > 0).any(axis=(0, 1)))
    smallest = np.array([one[allowed].min(initial=one.max()) for one in size])
    asked = np.flatnonzero(smallest > 0)
    if asked.size:
        places = np.asarray((free[:, :, asked] // smallest[asked]).min(axis=2))
        count = _by_pool(places, pool, pools)
        if any((count < room[r] / smallest[r]).any() for r in asked.tolist()):
            size.append(np.ones_like(size[0]))
            room.append(count)
    starts = np.zeros((pools, 0), dtype=np.int64)
    if problem.single_start:
        each = np.ones((slots, problem.clusters), dtype=np.int64)
        each[:1] -= problem.started
        starts = _by_pool(each, pool, pools)
    return Limits(np.array(size), np.array(room), starts)


def _by_pool(value: Ints, pool: Ints, pools: int) -> Ints:
    """Add up what the clusters of a pool have, shape [T, N] to [G, T]."""
    total = np.zeros((pools, value.shape[0]), dtype=np.int64)
    np.add.at(total, pool, value.T)
    return total
