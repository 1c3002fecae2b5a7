"""The two schedulers that know durations, in plain Python: everything anew for every pick."""

from __future__ import annotations

from itertools import product
from math import ceil, sqrt
from typing import TYPE_CHECKING, NamedTuple

from edgeopt.instances.tapfinger.durations import expected_durations
from edgeopt.online.tapfinger.events import Decision

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round

Bundle = tuple[int, int]


def whole(slots: float) -> int:
    return ceil(slots - 1e-9)


class Pick(NamedTuple):
    """A task, where, when and with what; smaller is better."""

    cost: float
    choice: int
    full: int
    task: int
    cluster: int
    duration: float
    size: tuple[int, int, int]

    @property
    def bundle(self) -> Bundle:
        return self.size[1], self.size[2]


def slots_left(instance: TapFingerInstance, n: int, k: int, bundle: Bundle, progress: float) -> int:
    speed, slots = float(instance.speed[n, k][bundle]), 0
    while progress < 1 - 1e-9:
        progress += speed * (sqrt(max(0.0, 1.2 - progress)) if instance.slowing[k] else 1.0)
        slots += 1
    return slots


def unbeaten(instance: TapFingerInstance, n: int, k: int) -> dict[Bundle, float]:
    """Return the bundles that no other beats, and what they take, on average if there is noise."""
    ends = [min(instance.largest[r], int(instance.capacity[n, r])) for r in range(2)]
    low = [int(least) for least in instance.minimum[k]]
    mean = expected_durations(instance)[n, k] if instance.noise else None
    takes = {
        x: slots_left(instance, n, k, x, 0.0) if mean is None else float(mean[x])
        for x in product(range(low[0], ends[0] + 1), range(low[1], ends[1] + 1))
    }
    return {
        x: d
        for x, d in takes.items()
        if not any(y != x and y[0] <= x[0] and y[1] <= x[1] and takes[y] <= d for y in takes)
    }


Lists = dict[tuple[int, int], dict[Bundle, float]]


def bundle_lists(instance: TapFingerInstance) -> Lists:
    return {
        (n, k): unbeaten(instance, n, k)
        for n in range(instance.clusters)
        for k in range(instance.task_kinds)
    }


class PlainScheduler:
    """What both have in common: the tasks that wait, and prices."""

    def __init__(
        self, instance: TapFingerInstance, seen: Round, pressure: float, lists: Lists | None
    ) -> None:
        self.instance, self.seen, self.pressure = instance, seen, pressure
        self.clusters = range(instance.clusters)
        self.lists = bundle_lists(instance) if lists is None else lists
        self.waiting = [int(j) for j in seen.tasks.waits.nonzero()[0]]
        self.pending = [[int(j) for j in row if j >= 0] for row in seen.pending]
        self.may = [[bool(e) for e in row] for row in seen.tasks.eligible]

    def share(self, n: int, bundle: Bundle) -> float:
        room = self.instance.capacity[n]
        return max(bundle[r] / int(room[r]) for r in range(2) if room[r])

    def price(self, j: int, n: int, bundle: Bundle) -> float:
        others = sum(1 / sum(self.may[i]) for i in self.waiting if self.may[i][n] and i != j)
        return self.pressure * others * self.share(n, bundle)

    def pick(self, j: int, n: int, wait: int, bundle: Bundle, d: float, full: int) -> Pick:
        cost = (wait + d * (1 + self.price(j, n, bundle))) / max(
            1e-280, float(self.seen.tasks.weight[j])
        )
        size = (sum(bundle), *bundle)
        return Pick(float(f"{cost:.11e}"), sum(self.may[j]), full, j, n, d, size)

    def remove(self, j: int) -> None:
        self.waiting.remove(j)
        for row in self.pending:
            if j in row:
                row.remove(j)


def priced(
    instance: TapFingerInstance, seen: Round, pressure: float = 1.0, *, lists: Lists | None = None
) -> Decision:
    """Answer a round as `PricedSpt` does."""
    plain = PlainScheduler(instance, seen, pressure, lists)
    free = [[int(units) for units in row] for row in seen.free]
    decision = Decision.void(instance.clusters)
    while True:
        picks = [
            plain.pick(j, n, 0, x, d, -sum(free[n]))
            for n in plain.clusters
            if decision.task[n] < 0 and not (instance.single_start and seen.started[n])
            for j in plain.pending[n]
            for x, d in plain.lists[n, int(seen.tasks.kind[j])].items()
            if x[0] <= free[n][0] and x[1] <= free[n][1]
        ]
        if not picks:
            return decision
        best = min(picks)
        decision.task[best.cluster], decision.bundle[best.cluster] = best.task, best.bundle
        for r in range(2):
            free[best.cluster][r] -= best.bundle[r]
        plain.remove(best.task)


def reserved(
    instance: TapFingerInstance,
    seen: Round,
    pressure: float = 1.0,
    look: int | None = None,
    *,
    lists: Lists | None = None,
) -> Decision:
    """Answer a round as `ReservationSpt` does."""
    plain = PlainScheduler(instance, seen, pressure, lists)
    if look is None:
        longest = max(d for found in plain.lists.values() for d in found.values())
        look = max(30, 2 * whole(longest))
    free = [[[int(units) for units in row] for _ in range(look)] for row in seen.free]
    for i, j in enumerate(seen.running.task.tolist()):
        n, bundle = int(seen.running.cluster[i]), tuple(seen.running.bundle[i].tolist())
        left = slots_left(
            instance, n, int(seen.tasks.kind[j]), bundle, float(seen.running.progress[i])
        )
        for t in range(left, look):
            for r in range(2):
                free[n][t][r] += bundle[r]
    blocked = {(n, 0) for n in plain.clusters if instance.single_start and seen.started[n]}
    decision = Decision.void(instance.clusters)

    def earliest(n: int, bundle: Bundle, d: int) -> int | None:
        for s in range(look - d + 1):
            fits = all(free[n][t][r] >= bundle[r] for t in range(s, s + d) for r in range(2))
            if fits and (n, s) not in blocked:
                return s
        return None

    while True:
        picks = []
        for n in plain.clusters:
            for j in plain.pending[n]:
                for x, d in plain.lists[n, int(seen.tasks.kind[j])].items():
                    s = earliest(n, x, whole(d))
                    if s is not None:
                        picks.append((plain.pick(j, n, s, x, d, -sum(free[n][0])), s))
        if not picks:
            return decision
        best, s = min(picks)
        n = best.cluster
        for t in range(s, s + whole(best.duration)):
            for r in range(2):
                free[n][t][r] -= best.bundle[r]
        if instance.single_start:
            blocked.add((n, s))
        if s == 0 and decision.task[n] < 0:
            decision.task[n], decision.bundle[n] = best.task, best.bundle
        plain.remove(best.task)
