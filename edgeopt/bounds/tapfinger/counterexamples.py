"""The smallest cases that refute a printed statement about tasks and plans.

Numbers in the docstrings are exact. Tasks arrive in slot 0 at a cluster of their own and weigh 1,
unless said otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.named import ParameterSpace, kept
from edgeopt.bounds.tapfinger.plan import Plan
from edgeopt.instances.tapfinger import TapFingerInstance, mixed_bundles, synthetic_workload
from edgeopt.models.tapfinger import Schedule, SchedulingProblem

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def drawn_tasks(seed: int) -> SchedulingProblem:
    """Draw up to four tasks of two kinds on one or two clusters of up to three units.

    Every other seed allows one start per cluster and slot; some have weights, and clusters that
    are busy at first.
    """
    draw = np.random.default_rng(seed)
    tasks, clusters = int(draw.integers(1, 5)), int(draw.integers(1, 3))
    capacity = draw.integers(1, 4, (clusters, 2))
    capacity[int(draw.integers(clusters))] = [2, 3]
    minimum = np.array([[1, 1], [int(draw.integers(2)), 2]])
    cpu, gpu = np.indices((3, 4))
    # Random durations, so that a larger bundle may be slower.
    duration = draw.integers(1, 7, (clusters, 2, 3, 4))
    duration[:, (cpu < minimum[:, 0, None, None]) | (gpu < minimum[:, 1, None, None])] = 0
    large = (cpu > capacity[:, 0, None, None]) | (gpu > capacity[:, 1, None, None])
    duration[large[:, None].repeat(2, axis=1)] = 0
    kind = draw.integers(0, 2, tasks)
    eligible = draw.random((tasks, clusters)) < 0.6
    runs = eligible & np.asarray((duration > 0).any(axis=(2, 3))).T[kind]
    eligible[~runs.any(axis=1)] = True
    busy = draw.integers(0, 3) if seed % 3 == 0 else 0
    return SchedulingProblem(
        capacity=capacity,
        duration=duration,
        arrival=np.sort(draw.integers(0, 4, tasks)),
        kind=kind,
        eligible=eligible,
        weight=draw.integers(0, 4, tasks).astype(float) if seed % 4 == 0 else np.ones(tasks),
        single_start=bool(seed % 2),
        occupied=draw.integers(0, capacity + 1, (int(busy), clusters, 2)),
        started=draw.random(clusters) < 0.5 if busy else np.zeros(clusters, dtype=bool),
    )


def drawn_instance(seed: int) -> TapFingerInstance:
    """Draw up to four tasks, one kind slowing down, on one or two clusters of up to three units."""
    draw = np.random.default_rng(seed)
    tasks, clusters = int(draw.integers(1, 5)), int(draw.integers(1, 3))
    capacity = np.vstack([[[2, 3]], draw.integers(1, 4, (clusters - 1, 2))])
    gpu = np.arange(4)
    grows = np.tanh(gpu / draw.uniform(2, 8)) * draw.uniform(0.6, 1.0)
    speed = np.stack([np.tile(grows, (3, 1)), np.full((3, 4), draw.choice([0.25, 0.5, 1.0]))])
    return TapFingerInstance(
        capacity=capacity,
        minimum=np.array([[0, 1], [1, 1]]),
        speed=np.maximum(speed, 1e-3),
        arrival=np.sort(draw.integers(0, 4, tasks)),
        kind=draw.integers(0, 2, tasks),
        eligible=(draw.random((tasks, clusters)) < 0.5) | (np.arange(clusters) == 0),
        slowing=np.array([bool(seed % 3), False]),
        switching=float(draw.choice([0.5, 1.0])),
        single_start=bool(seed % 2),
    )


TASKS: ParameterSpace = {f"drawn_tasks({seed})": kept(drawn_tasks, seed) for seed in range(9)}
"""Random tasks, few enough to try every plan."""


def noisy_instance(seed: int) -> TapFingerInstance:
    """Draw an instance with noise."""
    return drawn_instance(seed).replace(noise=(0.05, 0.1, 0.3)[seed % 3])


INSTANCES: ParameterSpace = {
    f"drawn_instance({seed})": kept(drawn_instance, seed) for seed in range(6)
}
"""Random instances with as few tasks."""

NOISY: ParameterSpace = {f"noisy_instance({seed})": kept(noisy_instance, seed) for seed in range(4)}
"""Random instances with noise."""
