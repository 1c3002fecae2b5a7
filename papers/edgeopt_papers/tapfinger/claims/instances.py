"""The instances of TapFinger's claims: counterexamples and drawn ones; `spaces` has a search's.

Numbers in the docstrings are exact. Tasks arrive in slot 0 at a cluster of their own and weigh 1,
unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.instances.tapfinger.durations import progress_gain
from edgeopt.instances.tapfinger.generate import synthetic_workload
from edgeopt.models.tapfinger import Schedule, SchedulingProblem
from edgeopt.online.tapfinger import Decision, TapFingerEnvironment
from edgeopt_papers.claims.paper import named_instances
from edgeopt_papers.tapfinger.claims.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger.generate import Law


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


def two_kinds() -> TapFingerInstance:
    """Let two tasks of different kinds and equal smallest bundles wait for the only cluster."""
    return overtaken().replace(arrival=np.array([0, 0]))


def mixed_bundles(law: Law = "sqrt", gpus: int = 7) -> TapFingerInstance:
    """Return the instance whose only task needs the fewest GPU-slots if its bundle changes.

    With progress that slows down, the task takes 21 slots with one GPU, then 10, 7, 5, 4, 4 and 3
    with seven: 20 GPU-slots or more with any fixed bundle. With 5 GPUs in the first slot and 7 in
    the next two it takes 19, where a change costs no progress. What fixed bundles need is no bound
    on what preemption needs. With constant progress it takes 17 GPU-slots.
    """
    made = synthetic_workload(law)
    return TapFingerInstance(
        capacity=np.array([[2, gpus]]),
        minimum=made.minimum[1:],
        speed=made.speed[1:],
        slowing=made.slowing[1:],
        kinds=made.kinds[1:],
        arrival=np.array([0]),
        kind=np.array([0]),
        eligible=np.array([[True]]),
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


def noisy_instance(seed: int) -> TapFingerInstance:
    """Draw an instance with noise."""
    return drawn_instance(seed).replace(noise=(0.05, 0.1, 0.3)[seed % 3])


@dataclass(frozen=True)
class Rivals:
    """Clusters that all pick the only task there is, which needs a CPU core and a GPU."""

    score: tuple[float, ...]  # probability with which each cluster picks it, \hat z_{j,n}
    room: tuple[int, ...]  # GPUs of each cluster, and as many CPU cores
    # Whether it gives the task its smallest bundle, or nothing; all of them do by default
    gives: tuple[bool, ...] | None = None

    @property
    def product(self) -> NDArray[np.float64]:
        """Numerator of (11), the number of such tasks a cluster has room for being Pr(n)."""
        return np.asarray(np.array(self.score) * np.array(self.room))

    def winner(
        self, conflict: Literal["count", "ratio"] = "count", *, pass_on: bool = False
    ) -> int:
        """Return which cluster has started the task in the environment, -1 if none has."""
        clusters, largest = len(self.room), max(self.room) + 1
        instance = TapFingerInstance(
            capacity=np.repeat(np.array(self.room)[:, None], 2, axis=1),
            minimum=np.array([[1, 1]]),
            speed=np.ones((1, largest, largest)),
            arrival=np.array([0]),
            kind=np.array([0]),
            eligible=np.ones((1, clusters), dtype=bool),
        )
        environment = TapFingerEnvironment(instance, conflict=conflict, pass_on=pass_on)
        gives = np.ones(clusters, dtype=bool) if self.gives is None else np.array(self.gives)
        bundle = np.repeat(gives[:, None], 2, axis=1).astype(np.int64)
        decision = Decision(np.zeros(clusters, dtype=np.int64), bundle, np.array(self.score))
        started = environment.episode(0).act(decision).started
        return int(np.argmax(started)) if (started >= 0).any() else -1


def keen_or_roomy() -> Rivals:
    """Let one cluster pick a task with probability 0.9 and have room for 1, the other 0.2 and 3.

    The products are 0.9 and 0.6. With exponentials of the room they are 0.9 e and 0.2 e^3.
    """
    return Rivals((0.9, 0.2), (1, 3))


def empty_handed() -> Rivals:
    """Let the cluster with more room give nothing, and the other one a bundle."""
    return Rivals((1.0, 1.0), (1, 2), (True, False))


def drawn_rivals(seed: int) -> Rivals:
    """Draw up to four clusters, half of the time some that give nothing."""
    draw = np.random.default_rng(seed)
    clusters = int(draw.integers(1, 5))
    gives = draw.random(clusters) < 0.6 if seed % 2 else np.ones(clusters, dtype=bool)
    return Rivals(
        tuple(draw.uniform(0.05, 1.0, clusters).tolist()),
        tuple(draw.integers(1, 5, clusters).tolist()),
        tuple(gives.tolist()),
    )


@dataclass(frozen=True)
class Changes:
    """The first task of an instance on cluster 0, without noise."""

    instance: TapFingerInstance
    # CPU cores and GPUs that it holds in one slot after the other
    bundles: tuple[tuple[int, int], ...]

    @property
    def progress(self) -> float:
        """Progress after the last of these slots."""
        assert self.instance.slowing is not None
        kind = int(self.instance.kind[0])
        done, before = 0.0, self.bundles[0]
        for bundle in self.bundles:
            speed = float(self.instance.speed[0, kind, bundle[0], bundle[1]])
            gain = progress_gain(speed, bool(self.instance.slowing[kind]), min(done, 1.0))
            done += gain * (1.0 if bundle == before else self.instance.switching)
            before = bundle
        return done


def five_and_twice_seven() -> Changes:
    """Let the task of `mixed_bundles` hold 5, 7 and 7 GPUs: 19 GPU-slots in sum.

    With 1 to 7 GPUs all the time it takes 21, 10, 7, 5, 4, 4 and 3 slots: 20 GPU-slots at least.
    """
    return Changes(mixed_bundles(), ((2, 5), (2, 7), (2, 7)))


TASKS = named_instances(drawn_tasks, range(9))
"""Random tasks, few enough to try every plan."""

INSTANCES = named_instances(drawn_instance, range(6))
"""Random instances with as few tasks."""

NOISY = named_instances(noisy_instance, range(4))
"""Random instances with noise."""
