"""Tasks whose bundles may change in every slot, and their cheapest paths at given prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.tapfinger.durations import ENOUGH, largest_gain
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.column_generation import Columns
from edgeopt.models.tapfinger.shared_limits import Held, classify, pooled_profiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.shared_limits import Limits

    Bytes = NDArray[np.uint8]

POINTS: Final = 256
"""Number of values of progress to distinguish, apart from those reached by fixed bundles."""


class _Menu:
    """What a profile is offered by a pool, and where every offer leads from every progress.

    Progress is rounded up to the next of some values, which favours the task.
    """

    def __init__(
        self, pool: int, speed: Floats, slowing: bool, limits: Limits, instance: TapFingerInstance
    ) -> None:
        self.pool, self.profiles = pool, list[int]()
        noise, switching = instance.noise, instance.switching
        cpu, gpu = np.nonzero(worthwhile(speed))
        self.size = limits.size[:, pool, cpu, gpu].T.astype(np.float64)
        speeds = speed[cpu, gpu]
        points = np.concatenate(
            [np.arange(POINTS) / POINTS, _fixed(speeds, slowing, noise).ravel()]
        )
        self.progress = np.unique(points[points < ENOUGH])
        self.keep = _leads(self.progress, speeds, slowing, noise, 1.0)
        self.swap = _leads(self.progress, speeds, slowing, noise, switching)
        self.rest = _rest(self.progress.size, self.keep)


def worthwhile(speed: Floats) -> NDArray[np.bool_]:
    """Return the bundles that are faster than all smaller ones, shape [A, B]."""
    best = np.maximum.accumulate(np.maximum.accumulate(speed, axis=0), axis=1)
    below = np.zeros_like(speed)
    below[1:] = best[:-1]
    below[:, 1:] = np.maximum(below[:, 1:], best[:, :-1])
    return np.asarray(speed > below)


@compiled(writes="speeds")
def _fixed(speeds: Floats, slowing: bool, noise: float) -> Floats:
    """Return the progress after each of a few slots with the same bundle, a row per speed."""
    points = np.zeros((speeds.size, 32), dtype=np.float64)
    for x in range(speeds.size):
        progress = 0.0
        for step in range(32):
            progress += largest_gain(speeds[x], slowing, progress, noise, 1.0)
            points[x, step] = min(progress, 1.0)
    return points


@compiled(writes="speeds")
def _leads(points: Floats, speeds: Floats, slowing: bool, noise: float, factor: float) -> Ints:
    """Return which point a slot with each bundle leads to; their number is the end."""
    leads = np.empty((speeds.size, points.size), dtype=np.int64)
    for x in range(speeds.size):
        for i in range(points.size):
            new = points[i] + largest_gain(speeds[x], slowing, points[i], noise, factor)
            leads[x, i] = points.size
            if new < ENOUGH:
                leads[x, i] = np.searchsorted(points, new - 1e-13)
    return leads


@compiled
def _rest(points: int, keep: Ints) -> Ints:
    """Return the fewest slots to the end from every point."""
    rest = np.zeros(points + 1, dtype=np.int64)
    for i in range(points - 1, -1, -1):
        lead = 0
        for x in range(keep.shape[0]):
            lead = max(lead, keep[x, i])
        rest[i] = 1 + rest[lead]
    return rest


class PathPricing:
    """The cheapest way through slots and bundles of every class of tasks, pauses included.

    ``pool`` is the pool of each cluster, from 0, shape [N].
    """

    def __init__(self, instance: TapFingerInstance, pool: Ints, limits: Limits) -> None:
        speed = np.where(instance.duration > 0, instance.speed, 0.0)
        profiles, labels, profile = pooled_profiles(
            speed, instance.kind, instance.eligible, pool, _fastest,
            instance.slowing.astype(np.int64),
        )  # fmt: skip
        self.classes = classify(instance.arrival, instance.weight, profile)
        self.limits = limits
        # Many profiles share what one pool offers.
        menus: dict[tuple[int, int, bytes], _Menu] = {}
        for p, g in np.argwhere((profiles > 0).any(axis=(2, 3))).tolist():
            key = g, int(labels[p]), profiles[p, g].tobytes()
            if key not in menus:
                menus[key] = _Menu(g, profiles[p, g], bool(labels[p]), limits, instance)
            menus[key].profiles.append(p)
        # The classes of each menu, and those of each weight among them.
        self._menus = [
            (menu, np.flatnonzero(np.isin(self.classes.profile, menu.profiles)))
            for menu in menus.values()
        ]
        self._groups = [
            (menu, weight, mine[self.classes.weight[mine] == weight])
            for menu, mine in self._menus
            for weight in np.unique(self.classes.weight[mine]).tolist()
        ]

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """Return the least cost of a task of each class, prices included, and the ways to it."""
        resource, start = self.limits.prices(prices)
        classes = self.classes
        least = np.full(classes.arrival.size, np.inf)
        found = []
        for menu, weight, mine in self._groups:
            cost = menu.size @ resource[:, menu.pool]
            fee = start[menu.pool] if start.size else np.zeros(cost.shape[1])
            from_slot, place, first, keeps, swaps = _search(
                weight, cost, fee, menu.keep, menu.swap, menu.rest
            )
            begin = np.minimum(classes.arrival[mine], cost.shape[1])
            least[mine] = np.minimum(least[mine], from_slot[begin])
            way = _follow(begin, place, first, keeps, swaps, menu.keep, menu.swap, menu.rest)
            found.append((mine, menu, *way))
        return least, self._columns(found)

    def late_columns(self) -> Columns:
        """Return the columns that run after all priced slots; with them all tasks can be run."""
        slots = self.limits.room.shape[2]
        found = []
        for menu, mine in self._menus:
            begin = np.full(mine.size, slots)
            used = np.full((mine.size, slots), -1, dtype=np.int64)
            found.append((mine, menu, used, begin, begin + menu.rest[0]))
        return self._columns(found)

    def _columns(self, ways: list[tuple[Ints, _Menu, Ints, Ints, Ints]]) -> Columns:
        """Return the columns of classes that follow paths, at most one of a class on a pool.

        A way has classes, their menu, and for each class the bundle in every slot, the slot in
        which it is placed and that after its end.
        """
        slots = self.limits.room.shape[2]
        held, pools, costs, keys, many = list[Held](), [], [], [], 0
        for owner, menu, used, placed, end in ways:
            column, slot = np.nonzero(used >= 0)
            held.append(Held(many + column, slot, menu.size[used[column, slot]]))
            pools.append(np.full(owner.size, menu.pool))
            arrival = self.classes.arrival[owner]
            # They run after all priced slots, as early as ever.
            late = np.maximum(arrival - slots, 0)
            costs.append(self.classes.weight[owner] * (end + late - arrival))
            keys += [
                hash((c, menu.pool, p, u.tobytes()))
                for c, p, u in zip(owner, placed, used, strict=True)
            ]
            many += owner.size
        owners, placed = (np.concatenate([way[i] for way in ways]) for i in (0, 3))
        everything = Held(*map(np.concatenate, zip(*held, strict=True)))
        use = self.limits.used(everything, np.concatenate(pools), placed)
        return Columns(owners, np.concatenate(costs), use, np.array(keys, dtype=np.int64))


def _fastest(tables: Floats) -> Floats:
    """Return the best speed of several clusters."""
    return np.asarray(tables.max(axis=0))


@compiled(writes="cost")
def _search(
    weight: float, cost: Floats, fee: Floats, keep: Ints, swap: Ints, rest: Ints
) -> tuple[Floats, Bytes, Ints, Bytes, Ints]:
    """Return the least cost of a task that arrives in each slot, and what it should do."""
    bundles, slots = cost.shape
    points = rest.size - 1
    after = np.empty((points + 1, bundles + 1), dtype=np.float64)
    now = np.empty((points + 1, bundles + 1), dtype=np.float64)
    for i in range(points + 1):
        after[i] = weight * rest[i]
    now[points] = 0.0
    from_slot = np.empty(slots + 1, dtype=np.float64)
    from_slot[slots] = weight * rest[0]
    place = np.zeros(slots, dtype=np.uint8)
    first = np.zeros(slots, dtype=np.int64)
    keeps = np.zeros((slots, points, bundles + 1), dtype=np.uint8)
    swaps = np.zeros((slots, points), dtype=np.int64)
    # Backward recursion over slots, progress and last bundle (Bellman, 1957).
    for t in range(slots - 1, -1, -1):
        begun, best = np.inf, -1
        for x in range(bundles):
            total = cost[x, t] + after[keep[x, 0], x]
            if total < begun:
                begun, best = total, x
        if after[0, bundles] < begun:
            begun, best = after[0, bundles], bundles
        begun += weight + fee[t]
        waited = weight + from_slot[t + 1]
        first[t], place[t] = best, begun <= waited
        from_slot[t] = min(begun, waited)
        for i in range(points):
            change, to = after[i, bundles], bundles
            for x in range(bundles):
                total = cost[x, t] + after[swap[x, i], x]
                if total < change:
                    change, to = total, x
            swaps[t, i] = to
            for x in range(bundles):
                same = cost[x, t] + after[keep[x, i], x]
                keeps[t, i, x] = same <= change
                now[i, x] = weight + min(same, change)
            keeps[t, i, bundles] = after[i, bundles] <= change
            now[i, bundles] = weight + change
        now, after = after, now
        now[points] = 0.0
    return from_slot, place, first, keeps, swaps


@compiled
def _follow(
    begin: Ints, place: Bytes, first: Ints, keeps: Bytes, swaps: Ints, keep: Ints, swap: Ints,
    rest: Ints,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Return the bundle in every slot, -1 for none, the slot of placing and that after the end."""
    slots, points = swaps.shape
    pause = keep.shape[0]
    used = np.full((begin.size, slots), -1, dtype=np.int64)
    placed, end = begin.copy(), begin.copy()
    for c in range(begin.size):
        t = begin[c]
        while t < slots and not place[t]:
            t += 1
        placed[c] = t
        point, last = 0, -1
        while t < slots and point < points:
            if last < 0:
                last = first[t]
                point = keep[last, 0] if last < pause else 0
            elif keeps[t, point, last]:
                point = keep[last, point] if last < pause else point
            else:
                last = swaps[t, point]
                point = swap[last, point] if last < pause else point
            if last < pause:
                used[c, t] = last
            t += 1
        end[c] = t + rest[point]
    return used, placed, end
