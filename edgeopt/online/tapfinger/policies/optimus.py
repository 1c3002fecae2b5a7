"""Optimus: all tasks of a cluster share it by marginal gains, and may change bundles every slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.tapfinger.policies.marginal_gain import hand_out_by_gain
from edgeopt.online.tapfinger.policies.reassigning import Reassigning, enter, sharers
from edgeopt.online.tapfinger.policies.speed_fit import Fit, check_fit, fitted_slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Expectations", "Optimus"]


class Expectations(NamedTuple):
    """The instance, and the slots that it expects a whole task to take, shape [N, K, A, B]."""

    instance: TapFingerInstance
    slots: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Optimus(Reassigning):
    """Share every cluster among its tasks by marginal gains.

    In each round the oldest pending task joins a cluster if the smallest bundles of its tasks all
    fit; clusters choose in the order of their numbers. Then every task of the cluster is given its
    smallest bundle, and what is left goes unit by unit to the task and resource with the largest
    expected reduction of the time that is left, per unit of that resource that the task has. So
    bundles of running tasks change, which costs part of a slot.

    Parameters
    ----------
    fit
        How the formula for the time of a task is fitted to the table of speeds: ``"correct"``, or
        ``"printed"`` as behind the paper's figures, where CPU cores and GPUs are mixed up.

    Raises
    ------
    OptionError
        If the fit is unknown.

    Notes
    -----
    The baseline "Optimus" of Li et al., section V-A.
    """

    title: ClassVar[str] = "Optimus"

    fit: Fit = "correct"

    def __post_init__(self) -> None:
        check_fit(self.fit)

    def start(self, instance: TapFingerInstance) -> Expectations:
        """Fit the formula."""
        return Expectations(instance, fitted_slots(instance, self.fit))

    def _assign(self, state: Expectations, observation: Round) -> tuple[Ints, Ints, Ints]:
        running = observation.running
        return _share(
            state.instance.capacity, state.instance.minimum, state.slots, observation.pending,
            observation.tasks.kind, running.task, running.cluster, running.progress,
        )  # fmt: skip


@compiled
def _share(
    capacity: Ints, minimum: Ints, slots: Floats, pending: Ints, kind: Ints,
    task: Ints, cluster: Ints, progress: Floats,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Return the task that would join each cluster, its bundle, and those of running tasks."""
    clusters = capacity.shape[0]
    new, new_bundle = np.full(clusters, -1), np.zeros((clusters, 2), np.int64)
    other = np.zeros((task.size, 2), np.int64)
    for n in range(clusters):
        number, place = sharers(n, capacity, minimum, pending, new, kind, task, cluster)
        kinds, remaining = np.empty(number.size, np.int64), np.ones(number.size)
        bundle = np.empty((number.size, 2), np.int64)
        cpus, gpus = capacity[n, 0], capacity[n, 1]
        for i in range(number.size):
            kinds[i] = kind[number[i]]
            if place[i] >= 0:
                remaining[i] -= progress[place[i]]
            bundle[i, 0], bundle[i, 1] = minimum[kinds[i], 0], minimum[kinds[i], 1]
            cpus -= bundle[i, 0]
            gpus -= bundle[i, 1]
        hand_out_by_gain(slots[n], kinds, remaining, bundle, cpus, gpus)
        enter(n, number, place, bundle, new, new_bundle, other)
    return new, new_bundle, other
