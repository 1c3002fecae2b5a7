"""Baselines for containers, which keep what they have: Optimus and Tiresias without preemption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.optimus import (
    Expectations,
    Fit,
    check_fit,
    chosen_by_any,
    fitted_slots,
    hand_out_by_gain,
    oldest,
)
from edgeopt.options import check_flag, check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.policies.efficient_bundles import Told

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class OptimusContainers(Titled, Deterministic, IgnoresFeedback):
    """Start the pending task that marginal gains would give the most GPUs.

    Clusters choose from the last to the first. Each imagines that all its pending tasks, without
    those that a cluster before it starts, had their smallest bundles, and hands out what is free
    to them, unit by unit, to the task and resource with the largest gain: the expected slots that
    the unit saves per unit of that resource that the task has, and an offset. The task with the
    most GPUs, of equals the oldest, is started with its bundle, as far as that is free; if less
    than its smallest bundle is, none is.

    Parameters
    ----------
    fit
        How the formula for the time of a task is fitted to the table of speeds, ``"correct"`` or
        ``"published"``.
    offset
        What every unit gains beside the slots that it saves: 1 in the authors' program, so that
        all that is free is handed out, and 0 in the text.
    take_back
        Whether one unit of the resource that was handed out last is taken back from a bundle of
        several GPUs, as in the authors' program and not in the text.

    Raises
    ------
    OptionError
        If the fit is unknown, the offset negative or not finite, or `take_back` no flag.

    Notes
    -----
    The baseline "Optimus" of Li et al., section V-D, where running containers keep what they have.
    In the program a bundle begins with one CPU core and one GPU, the smallest bundle of all its
    containers.
    """

    title: ClassVar[str] = "Optimus containers"
    preemptive: ClassVar[bool] = False
    told: ClassVar[Told] = "durations"

    fit: Fit = "correct"
    offset: float = 1.0
    take_back: bool = True

    def __post_init__(self) -> None:
        check_fit(self.fit)
        check_real("offset", self.offset, "[0, inf)")
        check_flag("take_back", self.take_back)

    def start(self, instance: TapFingerInstance) -> Expectations:
        """Fit the formula."""
        return Expectations(instance, fitted_slots(instance, self.fit))

    def decide(
        self, state: Expectations, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Expectations]:
        """Start at most one task on each cluster."""
        task, bundle = _most_gpus(
            observation.pending, observation.free, observation.tasks.kind,
            state.instance.minimum, state.slots, float(self.offset), bool(self.take_back),
        )  # fmt: skip
        return Decision(task, bundle), state


@compiled
def _most_gpus(
    pending: Ints, free: Ints, kind: Ints, minimum: Ints, slots: Floats, offset: float,
    take_back: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
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
        last = hand_out_by_gain(
            slots[n], kinds[:count], np.ones(count, dtype=np.float64), imagined, free[n, 0],
            free[n, 1], offset,
        )  # fmt: skip
        best = -1
        for i in range(count):
            if best < 0 or imagined[i, 1] > imagined[best, 1]:
                best = i
        if best < 0:
            continue
        given, fits = np.empty(2, dtype=np.int64), True
        for r in range(2):
            given[r] = min(imagined[best, r], free[n, r])
        if take_back and given[1] > 1 and last >= 0:
            given[last] -= 1
        for r in range(2):
            fits &= given[r] >= minimum[kinds[best], r]
        if fits:
            task[n] = waiting[best]
            put(given, bundle[n])
    return task, bundle


@dataclass(frozen=True, eq=False, kw_only=True)
class TiresiasContainers(Titled, Deterministic, IgnoresFeedback):
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
    told: ClassVar[Told] = "nothing"

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
