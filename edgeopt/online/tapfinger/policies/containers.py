"""Optimus and Tiresias for containers, which keep the bundle with which they were started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.simulate import Deterministic
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.estimates import Settled
from edgeopt.online.tapfinger.policies.optimus import (
    Expectations,
    Fit,
    check_fit,
    chosen_by_any,
    fitted_slots,
    hand_out_by_gain,
    oldest,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class OptimusContainers(Settled, Deterministic):
    """Start the pending task that marginal gains would give the most GPUs.

    Clusters choose from the last to the first. Each imagines that all its pending tasks, without
    those that a cluster before it starts, had their smallest bundles, and hands out what is free
    to them, unit by unit, to the task and resource with the largest expected reduction of time per
    unit of that resource that the task has. The task with the most GPUs, of equals the oldest, is
    started with its bundle, as far as that is free; if less than its smallest bundle is, none is.

    Parameters
    ----------
    fit
        How the formula for the time of a task is fitted to the table of speeds, ``"correct"`` or
        ``"published"``.

    Raises
    ------
    OptionError
        If the fit is unknown.

    Notes
    -----
    The baseline "Optimus" of Li et al., section V-D, where running containers keep what they have.
    """

    title: ClassVar[str] = "Optimus containers"
    preemptive: ClassVar[bool] = False

    fit: Fit = "correct"

    def __post_init__(self) -> None:
        check_fit(self.fit)

    def start(self, instance: TapFingerInstance) -> Expectations:
        """Fit the formula."""
        return Expectations(instance, fitted_slots(instance, self.fit))

    def decide(
        self, state: Expectations, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Expectations]:
        """Start at most one task on each cluster."""
        task, bundle = _most_gpus(
            observation.pending, observation.free, observation.tasks.kind,
            state.instance.minimum, state.slots,
        )  # fmt: skip
        return Decision(task, bundle), state


@dataclass(frozen=True, eq=False, kw_only=True)
class TiresiasContainers(Settled, Deterministic):
    """Start the oldest pending task with an equal share of the cluster.

    Clusters choose from the last to the first. The oldest pending task that no cluster before it
    starts is given the capacity divided by the number of tasks that are pending or run there,
    rounded up and at least its smallest bundle, as far as that is free and a task can have it; if
    less than its smallest bundle is free, none is started.

    Notes
    -----
    The baseline "Tiresias" of Li et al., section V-D, where running containers keep what they have.
    """

    title: ClassVar[str] = "Tiresias containers"
    preemptive: ClassVar[bool] = False

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def decide(
        self, state: TapFingerInstance, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        """Start at most one task on each cluster."""
        task, bundle = _equal_share(
            observation.pending, observation.free, observation.tasks.kind,
            observation.running.cluster, state.capacity, state.minimum, state.largest,
        )  # fmt: skip
        return Decision(task, bundle), state


@compiled
def _most_gpus(
    pending: Ints, free: Ints, kind: Ints, minimum: Ints, slots: Floats
) -> tuple[Ints, Ints]:
    """Return the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    for n in range(clusters - 1, -1, -1):
        waiting, kinds = np.empty(places, dtype=np.int64), np.empty(places, dtype=np.int64)
        imagined = np.empty((places, 2), dtype=np.int64)
        count = 0
        for j in pending[n]:
            if j >= 0 and not chosen_by_any(j, task):
                waiting[count], kinds[count] = j, kind[j]
                for r in range(2):
                    imagined[count, r] = minimum[kind[j], r]
                count += 1
        hand_out_by_gain(
            slots[n],
            kinds[:count],
            np.ones(count, dtype=np.float64),
            imagined,
            free[n, 0],
            free[n, 1],
        )
        best = -1
        for i in range(count):
            if best < 0 or imagined[i, 1] > imagined[best, 1]:
                best = i
        if best >= 0:
            cpu, gpu = min(imagined[best, 0], free[n, 0]), min(imagined[best, 1], free[n, 1])
            if cpu >= minimum[kinds[best], 0] and gpu >= minimum[kinds[best], 1]:
                task[n], bundle[n, 0], bundle[n, 1] = waiting[best], cpu, gpu
    return task, bundle


@compiled
def _equal_share(
    pending: Ints, free: Ints, kind: Ints, cluster: Ints, capacity: Ints, minimum: Ints,
    largest: tuple[int, int],
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    for n in range(clusters - 1, -1, -1):
        j = oldest(pending[n], task)
        if j < 0:
            continue
        tasks = 0
        while tasks < places and pending[n, tasks] >= 0:
            tasks += 1
        for other in cluster:
            tasks += other == n
        given, fits = np.empty(2, dtype=np.int64), True
        for r in range(2):
            least = minimum[kind[j], r]
            share = max((capacity[n, r] + tasks - 1) // tasks, least)
            given[r] = min(share, free[n, r], largest[r])
            fits &= given[r] >= least
        if fits:
            task[n] = j
            put(given, bundle[n])
    return task, bundle
