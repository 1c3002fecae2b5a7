"""The best run with preemption, by going through all that can happen, cheapest first.

More is allowed than the environment allows, so that no run of it can be better: pending sets have
room for all, a task may be placed anywhere where it is eligible, and noise is as kind as can be.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count, product
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.tapfinger import TapFingerInstance

Bundle = tuple[int, int]
WAITS = -1
NOTHING: Bundle = (0, 0)


def least_flow_time(instance: TapFingerInstance) -> float:
    """Return the least weighted sum of flow times of any run whose bundles may change."""
    tasks = range(instance.tasks)
    arrival, weight = instance.arrival.tolist(), instance.weight.tolist()
    # A task is None when complete, else (cluster, bundle in the slot before, progress).
    Task = tuple[int, Bundle | None, float] | None
    first: tuple[Task, ...] = tuple((WAITS, None, 0.0) for _ in tasks)
    order = count()
    heap = [(0.0, 0, next(order), first)]
    seen: set[tuple[int, tuple[Task, ...]]] = set()
    while heap:
        cost, slot, _, state = heappop(heap)
        if all(task is None for task in state):
            return cost
        if (slot, state) in seen:
            continue
        seen.add((slot, state))
        here = [j for j in tasks if state[j] is not None and arrival[j] <= slot]
        paid = sum(weight[j] for j in here)
        for held in _allocations(instance, state, here):
            after = list(state)
            for j in here:
                after[j] = _served(instance, j, state[j], held.get(j))
            heappush(heap, (cost + paid, slot + 1, next(order), tuple(after)))
    raise AssertionError("no run completes all tasks")


def _allocations(instance, state, here) -> Iterator[dict[int, tuple[int, Bundle]]]:
    """Go through what the tasks in the system may hold in a slot."""
    options = []
    for j in here:
        n = state[j][0]
        places = [n] if n != WAITS else [m for m, may in enumerate(instance.eligible[j]) if may]
        kind = instance.kind[j]
        own = [None]
        for m in places:
            own += [(m, bundle) for bundle in _useful(instance, m, kind)]
            if n == WAITS:  # placed to wait there, it leaves a later start to another task
                own.append((m, NOTHING))
        options.append(own)
    for chosen in product(*options):
        held = {j: one for j, one in zip(here, chosen, strict=True) if one is not None}
        if _fits(instance, state, held):
            yield held


def _useful(instance, m, kind) -> list[Bundle]:
    """List the bundles that no smaller one equals in speed.

    Whoever holds another one could hold that smaller one instead, whenever it holds the other: it
    would change no more often.
    """
    cpus, gpus = instance.duration[m, kind].nonzero()
    found = list(zip(cpus.tolist(), gpus.tolist(), strict=True))
    speed = {bundle: float(instance.speed[(m, kind, *bundle)]) for bundle in found}
    return [
        x
        for x in found
        if not any(y != x and y[0] <= x[0] and y[1] <= x[1] and speed[y] >= speed[x] for y in found)
    ]


def _fits(instance, state, held) -> bool:
    for n, capacity in enumerate(instance.capacity.tolist()):
        mine = [bundle for m, bundle in held.values() if m == n]
        if any(sum(bundle[r] for bundle in mine) > capacity[r] for r in (0, 1)):
            return False
        new = sum(m == n and state[j][0] == WAITS for j, (m, _) in held.items())
        if instance.single_start and new > 1:
            return False
    return True


def _served(instance, j, task, holding):
    n, before, progress = task
    if holding is None:
        # A task that has not been placed goes on waiting; one that has been placed is paused.
        return (n, None if n == WAITS else NOTHING, progress)
    m, bundle = holding
    if bundle == NOTHING:
        return (m, NOTHING, progress)
    kind = instance.kind[j]
    gain = float(instance.speed[(m, kind, *bundle)])
    if instance.slowing[kind]:
        gain *= sqrt(1.2 - progress)
    gain += instance.noise
    if before is not None and before != bundle:
        gain *= instance.switching
    progress += gain
    return None if progress >= 1.0 - 1e-9 else (m, bundle, round(progress, 12))
