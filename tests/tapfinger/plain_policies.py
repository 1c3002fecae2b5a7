"""Schedulers once more, in plain Python from their description, and rounds by hand."""

from __future__ import annotations

from itertools import product
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.instances.tapfinger.durations import expected_durations
from edgeopt.online.tapfinger import Decision, Round, Running, Tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.tapfinger import TapFingerInstance


Bundle = tuple[int, int]
Plan = tuple[dict[int, tuple[int, Bundle]], dict[int, Bundle]]
"""What clusters start, ``{cluster: (task, bundle)}``, and other bundles of running tasks."""


class Coins:
    """Random numbers that are known before."""

    def __init__(self, *pairs: tuple[float, float]) -> None:
        self.pairs = pairs

    def random(self, shape: tuple[int, int]) -> Any:
        return np.array(self.pairs).reshape(shape)


def written(decision: Decision) -> Plan:
    """Write a decision as a plan."""
    starts = {
        n: (j, (int(decision.bundle[n, 0]), int(decision.bundle[n, 1])))
        for n, j in enumerate(decision.task.tolist())
        if j >= 0
    }
    if decision.changed is None or decision.other is None:
        return starts, {}
    pairs = zip(decision.changed.tolist(), decision.other.tolist(), strict=True)
    return starts, {j: (bundle[0], bundle[1]) for j, bundle in pairs}


def seen(
    instance: TapFingerInstance,
    pending: list[list[int]],
    running: Mapping[int, dict[str, Any]] | None = None,
    *,
    slot: int = 0,
) -> Round:
    """Write a round of an instance whose tasks have all arrived.

    ``running`` says for each task its ``bundle``, and if need be ``cluster``, ``progress``,
    ``start`` and ``attained`` GPU-slots.
    """
    rows = running or {}
    cluster = np.array([one.get("cluster", 0) for one in rows.values()], dtype=np.int64)
    bundle = np.array([one["bundle"] for one in rows.values()], dtype=np.int64).reshape(-1, 2)
    attained = np.array([(0, one.get("attained", 0)) for one in rows.values()], dtype=np.int64)
    free = instance.capacity.copy()
    np.subtract.at(free, cluster, bundle)
    sets = np.full((instance.clusters, instance.pending), -1)
    for n, tasks in enumerate(pending):
        sets[n, : len(tasks)] = tasks
    waits = np.array([j in sets for j in range(instance.tasks)])
    assert instance.weight is not None
    return Round(
        slot, 0, free, sets, (sets >= 0).sum(axis=1),
        np.zeros((instance.clusters, instance.clusters + 1), dtype=np.int64),
        np.zeros(instance.clusters, dtype=bool),
        Running(
            np.array(list(rows), dtype=np.int64), cluster, bundle,
            np.array([one.get("progress", 0.0) for one in rows.values()], dtype=np.float64),
            np.array([one.get("start", 0) for one in rows.values()], dtype=np.int64),
            attained.reshape(-1, 2),
        ),
        Tasks(instance.arrival, instance.kind, instance.eligible, instance.weight, waits),
    )  # fmt: skip


# --- the baselines ------------------------------------------------------------------------------


def least(instance: TapFingerInstance, view: Round, task: int) -> Bundle:
    """Return the smallest bundle of a task."""
    cpu, gpu = instance.minimum[view.tasks.kind[task]].tolist()
    return cpu, gpu


def by_coins(instance: TapFingerInstance, view: Round, coins: Any, *, smallest: bool) -> Plan:
    """Min, or random allocation."""
    chosen: set[int] = set()
    starts: dict[int, tuple[int, Bundle]] = {}
    for n in range(instance.clusters):
        tasks = [j for j in view.pending[n].tolist() if j >= 0]
        if not tasks:
            continue
        task = tasks[int(coins[n][0] * len(tasks))]
        if task in chosen:
            continue
        chosen.add(task)
        low = least(instance, view, task)
        high = [min(a, b) for a, b in zip(view.free[n].tolist(), instance.largest, strict=True)]
        fitting = [
            (cpu, gpu) for cpu in range(low[0], high[0] + 1) for gpu in range(low[1], high[1] + 1)
        ]
        if smallest:
            options = [low] if low in fitting else [(0, 0)]
            bundle = options[0]
        else:
            options = [(0, 0), *fitting]
            bundle = options[int(coins[n][1] * len(options))]
        if bundle != (0, 0):
            starts[n] = task, bundle
    return starts, {}


def _reassigned(instance: TapFingerInstance, view: Round, share: Any) -> Plan:
    """Let one task join each cluster and share it; `share` gives ``{task: bundle}``."""
    running = view.running
    chosen: set[int] = set()
    starts: dict[int, tuple[int, Bundle]] = {}
    other: dict[int, Bundle] = {}
    for n in range(instance.clusters):
        mine = [int(j) for j, at in zip(running.task, running.cluster, strict=True) if at == n]
        free = [j for j in view.pending[n].tolist() if j >= 0 and j not in chosen]
        joins = free[:1]
        needed = np.array([least(instance, view, j) for j in [*mine, *joins]]).reshape(-1, 2)
        if (needed.sum(axis=0) > instance.capacity[n]).any():
            joins = []
        chosen |= set(joins)
        given = share(n, [*mine, *joins])
        for j in joins:
            if given[j] != (0, 0):
                starts[n] = j, given[j]
        other |= {j: given[j] for j in mine}
    held = dict(zip(running.task.tolist(), map(tuple, running.bundle.tolist()), strict=True))
    return starts, {j: bundle for j, bundle in other.items() if bundle != held[j]}


def _grown(
    instance: TapFingerInstance, view: Round, slots: Any, bundles: dict[int, list[int]],
    remaining: dict[int, float], spare: list[int], offset: float = 0.0,
) -> list[int]:  # fmt: skip
    """Hand units out, one by one, by marginal gains; return the resources in this order."""
    order: list[int] = []
    while True:
        gains = []
        for place, (j, bundle) in enumerate(bundles.items()):
            table = slots[view.tasks.kind[j]]
            for r in range(2):
                more = list(bundle)
                more[r] += 1
                if spare[r] > 0 and more[r] <= instance.largest[r]:
                    saved = remaining[j] * (table[tuple(bundle)] - table[tuple(more)])
                    gains.append((offset + saved / max(1, bundle[r]), -place, -r, j))
        best = max(gains, default=(0.0, 0, 0, 0))
        if best[0] <= 1e-9:
            return order
        order.append(-best[2])
        bundles[best[3]][-best[2]] += 1
        spare[-best[2]] -= 1


def optimus(instance: TapFingerInstance, view: Round, slots: Any) -> Plan:
    """Share clusters by marginal gains; ``slots`` as fitted, shape [N, K, A, B]."""
    progress = dict(zip(view.running.task.tolist(), view.running.progress.tolist(), strict=True))

    def share(n: int, tasks: list[int]) -> dict[int, Bundle]:
        bundles = {j: list(least(instance, view, j)) for j in tasks}
        spare = [
            int(instance.capacity[n, r]) - sum(bundle[r] for bundle in bundles.values())
            for r in range(2)
        ]
        remaining = {j: 1.0 - progress.get(j, 0.0) for j in tasks}
        _grown(instance, view, slots[n], bundles, remaining, spare)
        return {j: (bundle[0], bundle[1]) for j, bundle in bundles.items()}

    return _reassigned(instance, view, share)


def tiresias(
    instance: TapFingerInstance, view: Round, *, elastic: bool, saturated: str = "last"
) -> Plan:
    """Share clusters by attained service."""
    running = view.running
    had = dict(zip(running.task.tolist(), running.attained[:, 1].tolist(), strict=True))
    begun = dict(zip(running.task.tolist(), running.start.tolist(), strict=True))

    def share(n: int, tasks: list[int]) -> dict[int, Bundle]:
        cpus, gpus = instance.capacity[n].tolist()
        low = {j: least(instance, view, j) for j in tasks}
        given = dict.fromkeys(tasks, 0)

        def step(j: int) -> int:
            return 1 if given[j] >= low[j][1] else low[j][1]

        def full(j: int) -> bool:
            return given[j] >= (instance.largest[1] if elastic else low[j][1])

        def wants(j: int) -> bool:
            return not full(j) and step(j) <= gpus

        while True:
            service: dict[int, float] = {j: had.get(j, 0) + given[j] for j in tasks}
            if saturated == "last":
                service |= {j: inf for j in tasks if full(j)}
            order = sorted(tasks, key=lambda j: service[j])
            half = len(tasks) // 2
            queues = [[j for j in queue if wants(j)] for queue in (order[:half], order[half:])]
            queue = queues[0] or queues[1]
            if not queue:
                break
            when = {j: (begun.get(j, view.slot), service[j], tasks.index(j)) for j in queue}
            first = min(queue, key=lambda j: when[j])
            gpus -= step(first)
            given[first] += step(first)
        cores = {j: low[j][0] for j in tasks if given[j] >= low[j][1]}
        for _ in range(cpus - sum(cores.values())):
            fewest = [j for j in cores if cores[j] < instance.largest[0]]
            if fewest:
                cores[min(fewest, key=lambda j: cores[j])] += 1
        return {j: (cores.get(j, 0), given[j]) for j in tasks}

    return _reassigned(instance, view, share)


def most_gpus(
    instance: TapFingerInstance, view: Round, slots: Any, *, offset: float, take_back: bool
) -> Plan:
    """Optimus for containers."""
    starts: dict[int, tuple[int, Bundle]] = {}
    for n in reversed(range(instance.clusters)):
        taken = {j for j, _ in starts.values()}
        tasks = [j for j in view.pending[n].tolist() if j >= 0 and j not in taken]
        bundles = {j: list(least(instance, view, j)) for j in tasks}
        spare = view.free[n].tolist()
        order = _grown(instance, view, slots[n], bundles, dict.fromkeys(tasks, 1.0), spare, offset)
        if tasks:
            task = max(tasks, key=lambda j: bundles[j][1])
            given = [min(a, b) for a, b in zip(bundles[task], view.free[n].tolist(), strict=True)]
            if take_back and order and given[1] > 1:
                given[order[-1]] -= 1
            _start_what_is_free(instance, view, starts, n, task, given)
    return starts, {}


def equal_share(instance: TapFingerInstance, view: Round) -> Plan:
    """Tiresias for containers."""
    starts: dict[int, tuple[int, Bundle]] = {}
    for n in reversed(range(instance.clusters)):
        tasks = [j for j in view.pending[n].tolist() if j >= 0]
        sharers = len(tasks) + int((view.running.cluster == n).sum())
        tasks = [j for j in tasks if j not in {started for started, _ in starts.values()}]
        if tasks:
            low = least(instance, view, tasks[0])
            share = [
                min(max(int(np.ceil(instance.capacity[n, r] / sharers)), low[r]), top)
                for r, top in enumerate(instance.largest)
            ]
            _start_what_is_free(instance, view, starts, n, tasks[0], share)
    return starts, {}


def _start_what_is_free(
    instance: TapFingerInstance, view: Round, starts: dict[int, tuple[int, Bundle]], n: int,
    task: int, bundle: list[int],
) -> None:  # fmt: skip
    cpu, gpu = (min(a, b) for a, b in zip(bundle, view.free[n].tolist(), strict=True))
    low = least(instance, view, task)
    if cpu >= low[0] and gpu >= low[1]:
        starts[n] = task, (cpu, gpu)


def whole(slots: float, early: float = 1e-9) -> int:
    return ceil(slots - early)


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
    remaining: Mapping[int, int] | None = None,
    early: float = 1e-9,
) -> Decision:
    """Answer a round as `ReservationSpt` does, by the slots that it takes to be left of tasks."""
    plain = PlainScheduler(instance, seen, pressure, lists)
    if look is None:
        longest = max(d for found in plain.lists.values() for d in found.values())
        look = max(30, 2 * whole(longest, early))
    free = [[[int(units) for units in row] for _ in range(look)] for row in seen.free]
    for i, j in enumerate(seen.running.task.tolist()):
        n, bundle = int(seen.running.cluster[i]), tuple(seen.running.bundle[i].tolist())
        left = (
            slots_left(
                instance, n, int(seen.tasks.kind[j]), bundle, float(seen.running.progress[i])
            )
            if remaining is None
            else remaining[j]
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
                    s = earliest(n, x, whole(d, early))
                    if s is not None:
                        picks.append((plain.pick(j, n, s, x, d, -sum(free[n][0])), s))
        if not picks:
            return decision
        best, s = min(picks)
        n = best.cluster
        for t in range(s, s + whole(best.duration, early)):
            for r in range(2):
                free[n][t][r] -= best.bundle[r]
        if instance.single_start:
            blocked.add((n, s))
        if s == 0 and decision.task[n] < 0:
            decision.task[n], decision.bundle[n] = best.task, best.bundle
        plain.remove(best.task)
