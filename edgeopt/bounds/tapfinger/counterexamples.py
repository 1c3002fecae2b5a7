"""The smallest cases that refute a printed statement about tasks and plans.

Numbers in the docstrings are exact. Tasks arrive in slot 0 at a cluster of their own and weigh 1,
unless said otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.tapfinger.plan import Plan
from edgeopt.instances.tapfinger import TapFingerInstance, mixed_bundles, synthetic_workload
from edgeopt.models.tapfinger import Schedule, SchedulingProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "at_once",
    "both_or_halves",
    "by_gpus",
    "cut_off",
    
    "insensitive",
    "last_unit",
    "late_arrivals",
    "lone_task",
    "of_gpus",
    "one_gpu",
    "overtaken",
    "sensitive_task",
    "started_at_once",
    "waiting_twice",
]


def by_gpus(
    slots: Sequence[int],
    arrival: Sequence[int],
    *,
    single_start: bool = False,
) -> SchedulingProblem:
    """Let tasks need one CPU core, of which there are plenty, and take so long by their GPUs."""
    gpus, tasks = len(slots), len(arrival)
    duration = np.zeros((1, 1, 2, gpus + 1), dtype=np.int64)
    duration[0, 0, 1, 1:] = slots
    return SchedulingProblem(
        capacity=np.array([[tasks + 1, gpus]]),
        duration=duration,
        arrival=np.array(arrival, dtype=np.int64),
        kind=np.zeros(tasks, dtype=np.int64),
        eligible=np.ones((tasks, 1), dtype=bool),
        single_start=single_start,
    )


def of_gpus(problem: SchedulingProblem, start: Sequence[int], gpus: Sequence[int]) -> Plan:
    """Return a plan for tasks of `by_gpus`."""
    bundle = np.stack([np.ones(len(gpus), dtype=np.int64), np.array(gpus)], axis=1)
    return Plan(problem, Schedule(np.zeros(len(gpus), dtype=np.int64), bundle, np.array(start)))


def lone_task() -> SchedulingProblem:
    """Let a single task take one slot."""
    return by_gpus([1], [0])


def started_at_once() -> Plan:
    """Let that task start when it arrives: it flows for 1."""
    return of_gpus(lone_task(), [0], [1])


def at_once() -> SchedulingProblem:
    """Let two tasks take one slot each, with room for both: they flow for 2, one by one for 3."""
    return by_gpus([1, 1], [0, 0])


def both_or_halves() -> SchedulingProblem:
    """Let two tasks take 4 slots with one GPU and 3 with both.

    Side by side they flow for 8; one after the other for 3 + 6, though they run for 6 slots only.
    """
    return by_gpus([4, 3], [0, 0])


def last_unit() -> SchedulingProblem:
    """Let a task take 2 slots with one GPU and 1 with both that there are."""
    return by_gpus([2, 1], [0])


def late_arrivals() -> Plan:
    """Let tasks of one slot arrive in slots 1 and 2 at a GPU, and start at once."""
    return of_gpus(by_gpus([1], [1, 2]), [1, 2], [1, 1])


def cut_off() -> Plan:
    """Let two tasks of two slots wait for a slot and two, and then run on one GPU at a time."""
    return of_gpus(by_gpus([2], [0, 0]), [1, 2], [1, 1])


def waiting_twice() -> Plan:
    """Let a task of one slot wait for a slot, though there are two clusters for it.

    It flows for 2. In the slot in which it waits both clusters count it.
    """
    alone = by_gpus([1], [0])
    problem = SchedulingProblem(
        capacity=np.repeat(alone.capacity, 2, axis=0),
        duration=np.repeat(alone.duration, 2, axis=0),
        arrival=alone.arrival,
        kind=alone.kind,
        eligible=np.ones((1, 2), dtype=bool),
    )
    return of_gpus(problem, [1], [1])


def overtaken(slots: int = 3) -> TapFingerInstance:
    """Let a task of one slot arrive a slot after a longer one on a GPU, and changes be free.

    If the longer one pauses they flow for 1 + (n + 1), otherwise for 1 more.
    """
    speed = np.array([1.0 / slots, 1.0])
    return TapFingerInstance(
        capacity=np.array([[1, 1]]),
        minimum=np.array([[1, 1], [1, 1]]),
        speed=np.broadcast_to(speed[:, None, None], (2, 2, 2)),
        arrival=np.array([0, 1]),
        kind=np.array([0, 1]),
        eligible=np.ones((2, 1), dtype=bool),
        switching=1.0,
    )


def one_gpu(noise: float = 0.1) -> TapFingerInstance:
    """Return an instance whose only task has a GPU and takes 21 slots without noise."""
    return mixed_bundles(gpus=1).replace(noise=noise)


def insensitive(noise: float = 0.1) -> TapFingerInstance:
    """Return an instance whose only task takes 4 slots without noise, exactly complete then."""
    made = synthetic_workload()
    return one_gpu(noise).replace(speed=made.speed[:1, :, :2], slowing=made.slowing[:1])


def sensitive_task() -> TapFingerInstance:
    """Return an instance of 16 CPU cores and GPUs whose only task is faster by GPUs alone."""
    return mixed_bundles(gpus=16).replace(capacity=np.array([[16, 16]]))
