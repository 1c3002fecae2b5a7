"""What a policy did with every task, slot by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.online.simulate import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.held import Held

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["TapFingerTrajectory"]


@dataclass(frozen=True, eq=False)
class TapFingerTrajectory(Trajectory):
    """A trajectory of TapFinger; less is better.

    The reward of a slot is the number of tasks in the system during it, those that wait included,
    so that the rewards of a run in which all tasks are complete sum to the sum of their flow times.
    There are no promises to break. T' is the number of slots of the longest run.

    Attributes
    ----------
    instance
        The instance that was lived through, with its future.
    cluster
        Where each task was placed, shape [runs, J]; -1 where it never was.
    start
        Slot in which each task was placed, shape [runs, J]; -1 where it never was.
    completion
        When each task was complete, slots since the start, shape [runs, J]; infinite where it was
        not when the run ended.
    preemptions
        Slots in which the bundle of each task was another one than in the slot before, [runs, J].
    used
        CPU cores and GPUs that were held during each slot, shape [runs, T', N, 2].
    end
        Number of slots of each run, shape [runs].
    lost
        How often a cluster did not start a task that it would have started because another one that
        named it too had won it, shape [runs].
    held
        Recorded only on request: what every task of the first run held when.
    """

    instance: TapFingerInstance
    cluster: Ints
    start: Ints
    completion: Floats
    preemptions: Ints
    used: Ints
    end: Ints
    lost: Ints
    held: Held | None = None

    @property
    def accumulation(self) -> Floats:
        """Number of tasks in the system during each slot, shape [runs, T']."""
        return self.reward

    @property
    def complete(self) -> Flags:
        """Whether each task was complete when the run ended, shape [runs, J]."""
        return np.asarray(np.isfinite(self.completion))

    @property
    def flow_time(self) -> Floats:
        """Slots from the arrival of each task to its completion, shape [runs, J]."""
        return np.asarray(self.completion - self.instance.arrival)

    def mean_flow_time(self) -> Floats:
        """Return the mean flow time of the tasks, slots, shape [runs]; NaN without tasks.

        Infinite where a task was not complete when the run ended.
        """
        if not self.instance.tasks:
            return np.full(self.runs, np.nan)
        return np.asarray(self.flow_time.mean(axis=1))

    def weighted_flow_time(self) -> Floats:
        """Return the weighted sum of the flow times, slots, shape [runs]."""
        assert self.instance.weight is not None
        heavy = self.instance.weight > 0  # the others may never be complete
        return np.asarray(self.flow_time[:, heavy] @ self.instance.weight[heavy])

    def utilisation(self) -> Floats:
        """Return the mean share of each cluster that was held, shape [runs, N, 2].

        Over the slots of the run, those included in which no task was in the system; NaN where a
        cluster has nothing of a resource.
        """
        capacity = self.instance.capacity.astype(np.float64)
        slots = np.maximum(self.end, 1)[:, None, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.used.sum(axis=1) / slots / capacity)
