"""Named sets of tasks on which the claims are checked when the caller brings none."""

from __future__ import annotations

import numpy as np

from edgeopt.bounds.named import Family, kept
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.tapfinger import SchedulingProblem

__all__ = ["INSTANCES", "NOISY", "TASKS", "drawn_instance", "drawn_tasks", "noisy_instance"]


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
        weight=draw.integers(0, 4, tasks).astype(float) if seed % 4 == 0 else None,
        single_start=bool(seed % 2),
        occupied=draw.integers(0, capacity + 1, (int(busy), clusters, 2)),
        started=draw.random(clusters) < 0.5 if busy else None,
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


TASKS: Family = {f"drawn_tasks({seed})": kept(drawn_tasks, seed) for seed in range(9)}
"""Random tasks, few enough to try every plan."""


def noisy_instance(seed: int) -> TapFingerInstance:
    """Draw an instance with noise."""
    return drawn_instance(seed).replace(noise=(0.05, 0.1, 0.3)[seed % 3])


INSTANCES: Family = {f"drawn_instance({seed})": kept(drawn_instance, seed) for seed in range(6)}
"""Random instances with as few tasks."""

NOISY: Family = {f"noisy_instance({seed})": kept(noisy_instance, seed) for seed in range(4)}
"""Random instances with noise."""
