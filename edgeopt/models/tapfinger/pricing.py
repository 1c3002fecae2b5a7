"""Tasks that look for their cheapest start at given prices: what those prices prove."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.limits import classify, pooled_profiles
from edgeopt.models.tapfinger.starts import efficient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.limits import Limits
    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Columns(NamedTuple):
    """Ways to run a task of a class."""

    owner: Ints  # class of each, shape [n]
    cost: Floats  # weighted flow time of it, shape [n]
    use: sparse.csc_array  # what it takes of each limit, shape [rows, n]
    key: Ints  # a number that only equal columns share, shape [n]

    def chosen(self, which: Ints) -> Columns:
        """Return some of them."""
        return Columns(self.owner[which], self.cost[which], self.use[:, which], self.key[which])


def stacked(several: list[Columns]) -> Columns:
    """Put columns together."""
    owner, cost, key = (
        np.concatenate([getattr(one, name) for one in several]) for name in ("owner", "cost", "key")
    )
    use = sparse.hstack([one.use for one in several], format="csc")
    return Columns(owner, cost, use, key)


def joined(several: list[Columns]) -> Columns:
    """Put columns together, each once."""
    everything = stacked(several)
    _, once = np.unique(everything.key, return_index=True)
    return everything.chosen(np.sort(once))


class Menus(NamedTuple):
    """What tasks may take: a list of bundles for each profile, by pool, then by duration."""

    profile: Ints  # profile of each task, shape [J]
    first: Ints  # profile p: entries first[p] to first[p + 1] - 1, shape [P + 1]
    pool: Ints  # pool of each entry, shape [m]
    bundle: Ints  # CPU cores and GPUs, shape [m, 2]
    duration: Ints  # slots, shape [m]


def menus(problem: SchedulingProblem, pool: Ints) -> Menus:
    """Return what the pools offer to tasks; ``pool`` is that of each cluster, from 0, shape [N]."""
    profiles, _, profile = pooled_profiles(
        problem.duration.astype(np.float64), problem.kind, problem.eligible, pool, _quickest
    )
    pools, bundles = profiles.shape[1], efficient(profiles.astype(np.int64))
    place = np.repeat(np.arange(bundles.first.size - 1), np.diff(bundles.first)) % pools
    first = bundles.first[::pools].copy()
    return Menus(profile, first, place, bundles.bundle, bundles.duration)


class StartPricing:
    """The cheapest bundle, pool and start of every class of tasks."""

    def __init__(self, arrival: Ints, weight: Floats, menu: Menus, limits: Limits) -> None:
        self.classes = classify(arrival, weight, menu.profile)
        self.limits = limits
        self.pools = limits.room.shape[1]
        self._first, self._pool, self._duration = menu.first, menu.pool, menu.duration
        cpu, gpu = menu.bundle.T
        self._size = limits.size[:, menu.pool, cpu, gpu].T.astype(np.float64)

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """Return the least cost of a task of each class, prices included, and cheap columns."""
        resource, start = self.limits.prices(prices)
        ahead = np.zeros((*resource.shape[:2], resource.shape[2] + 1))
        np.cumsum(resource, axis=2, out=ahead[:, :, 1:])
        least, entry, begin = _cheapest(
            self.classes.arrival, self.classes.weight, self.classes.profile, self._first,
            self._pool, self._size, self._duration, ahead, start,
        )  # fmt: skip
        owner, place = np.nonzero(begin >= 0)
        return least, self.columns(owner, entry[owner, place], begin[owner, place])

    def respond(self, prices: Floats) -> tuple[float, Floats]:
        """Return what all tasks pay at least, and what they take of each limit as they do so."""
        resource, start = self.limits.prices(prices)
        ahead = np.zeros((*resource.shape[:2], resource.shape[2] + 1))
        np.cumsum(resource, axis=2, out=ahead[:, :, 1:])
        use, begun = np.zeros_like(ahead), np.zeros(start.shape)
        paid = _respond(
            *self.classes, self._first, self._pool, self._size, self._duration, ahead, start, use,
            begun,
        )  # fmt: skip
        held = use[:, :, :-1].cumsum(axis=2)
        return paid, np.concatenate([held.ravel(), begun.ravel()])

    def columns(self, owner: Ints, entry: Ints, begin: Ints) -> Columns:
        """Return the columns of classes that take an entry of their menu in a slot."""
        room, slots = self.limits.room, self.limits.room.shape[2]
        arrival, weight = self.classes.arrival[owner], self.classes.weight[owner]
        cost = weight * (begin + self._duration[entry] - arrival)
        inside = np.clip(np.minimum(begin + self._duration[entry], slots) - begin, 0, None)
        column = np.repeat(np.arange(owner.size), inside)
        slot = np.arange(column.size) - np.repeat(np.cumsum(inside) - inside, inside)
        slot += np.repeat(begin, inside)
        size, pool = self._size[entry][column], self._pool[entry][column]
        rows = [(i * self.pools + pool) * slots + slot for i in range(room.shape[0])]
        values = [size[:, i] for i in range(room.shape[0])]
        columns = [column] * room.shape[0]
        if self.limits.starts.size:
            here = np.flatnonzero(begin < slots)
            rows.append(room.size + self._pool[entry[here]] * slots + begin[here])
            values.append(np.ones(here.size))
            columns.append(here)
        triplets = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        use = sparse.csc_array(triplets, shape=(self.limits.rows, owner.size))
        use.eliminate_zeros()
        last = max(slots, int(self.classes.arrival.max(initial=0))) + 1
        key = (owner * self._duration.size + entry) * last + np.minimum(begin, last - 1)
        return Columns(owner, cost, use, key)

    def first_columns(self, wait: int) -> Columns:
        """Return the columns that start within some slots of arrival, or after all priced slots."""
        count = np.diff(self._first)[self.classes.profile]
        owner = np.repeat(np.arange(count.size), count)
        entry = np.arange(owner.size) - np.repeat(np.cumsum(count) - count, count)
        entry += np.repeat(self._first[self.classes.profile], count)
        begin = self.classes.arrival[owner]
        after = np.maximum(begin, self.limits.room.shape[2])
        begins = [*(begin + waited for waited in range(wait + 1)), after]
        return self.columns(
            np.tile(owner, wait + 2), np.tile(entry, wait + 2), np.concatenate(begins)
        )


def _quickest(tables: Floats) -> Floats:
    """Return the fewest slots that one of several clusters takes, 0 where none can."""
    best = np.where(tables > 0, tables, np.inf).min(axis=0)
    return np.where(np.isfinite(best), best, 0.0)


@compiled
def _cheapest(
    arrival: Ints,
    weight: Floats,
    profile: Ints,
    first: Ints,
    pool: Ints,
    size: Floats,
    duration: Ints,
    ahead: Floats,
    start: Floats,
) -> tuple[Floats, Ints, Ints]:
    """Return the least cost of each class, and the best start with each entry of its menu."""
    classes, widest = arrival.size, 0
    for p in range(first.size - 1):
        widest = max(widest, first[p + 1] - first[p])
    least = np.full(classes, np.inf)
    entry = np.full((classes, widest), -1, dtype=np.int64)
    begin = np.full((classes, widest), -1, dtype=np.int64)
    for c in range(classes):
        low = first[profile[c]]
        for b in range(low, first[profile[c] + 1]):
            cost, begin[c, b - low] = _earliest_of_cheapest(
                arrival[c], weight[c], pool[b], size[b], duration[b], ahead, start, np.inf
            )
            entry[c, b - low] = b
            least[c] = min(least[c], cost)
    return least, entry, begin


@compiled
def _earliest_of_cheapest(
    arrival: int, weight: float, g: int, size: Floats, d: int, ahead: Floats, start: Floats,
    best: float,
) -> tuple[float, int]:  # fmt: skip
    """Return the least cost of an entry of a menu below some cost, and its start, -1 for none."""
    slots, begin, s = ahead.shape[2] - 1, -1, arrival
    while True:
        cost = weight * (s + d - arrival)
        if cost >= best:
            break  # prices are not negative
        if s < slots:
            for i in range(size.size):
                cost += size[i] * (ahead[i, g, min(s + d, slots)] - ahead[i, g, s])
            if start.shape[1] > 0:
                cost += start[g, s]
        if cost < best:
            best, begin = cost, s
        s += 1
        if s > slots and s > arrival:
            break
    return best, begin


@compiled(writes="use begun")
def _respond(
    arrival: Ints, weight: Floats, tasks: Ints, profile: Ints, first: Ints, pool: Ints,
    size: Floats, duration: Ints, ahead: Floats, start: Floats, use: Floats, begun: Floats,
) -> float:  # fmt: skip
    """Add up what the cheapest start of each class pays, and how what it takes changes by slot."""
    paid, slots = 0.0, ahead.shape[2] - 1
    for c in range(arrival.size):
        best, taken, begin = np.inf, -1, -1
        for b in range(first[profile[c]], first[profile[c] + 1]):
            cost, s = _earliest_of_cheapest(
                arrival[c], weight[c], pool[b], size[b], duration[b], ahead, start, best
            )
            if s >= 0:
                best, taken, begin = cost, b, s
        paid += tasks[c] * best
        if begin < slots:
            g, end = pool[taken], min(begin + duration[taken], slots)
            for i in range(size.shape[1]):
                use[i, g, begin] += tasks[c] * size[taken, i]
                use[i, g, end] -= tasks[c] * size[taken, i]
            if start.shape[1] > 0:
                begun[g, begin] += tasks[c]
    return paid
