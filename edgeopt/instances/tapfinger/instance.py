"""The instance of TapFinger: tasks that ask for CPU cores and GPUs of edge clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.identity import Identified
from edgeopt.instances.tapfinger import rules
from edgeopt.instances.tapfinger.laws import solo_durations
from edgeopt.instances.validate import (
    frozen,
    frozen_array,
    frozen_flags,
    frozen_integers,
    frozen_number,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["TapFingerInstance"]


@dataclass(frozen=True, eq=False, repr=False)
class TapFingerInstance(Identified, files="edgeopt.instances.tapfinger.files"):
    r"""Everything that placement and allocation across clusters are given, read-only.

    Slots, clusters, tasks and kinds of tasks count from 0. A task runs on one cluster with a
    *bundle* of CPU cores and GPUs, which sets how fast it makes progress.

    Parameters
    ----------
    capacity
        CPU cores and GPUs of each cluster, :math:`C_{nr} \ge 0`, at most a million, shape [N, 2].
    minimum
        Smallest bundle with which a kind of task makes progress, :math:`b_{kr} \ge 0`, not (0, 0),
        shape [K, 2].
    speed
        Progress per slot of a kind of task with a bundle when it starts, shape [N, K, A, B], or
        [K, A, B] if all clusters are alike. Entry (cpu, gpu) is that of cpu cores and gpu GPUs;
        no task is given more than (A - 1, B - 1). Positive from the smallest bundle on; entries
        below it mean nothing and become 0.
    arrival
        Slot at whose beginning each task becomes known, ascending, at most a million, shape [J].
    kind
        Kind of each task, shape [J].
    eligible
        Clusters on which a task may run, shape [J, N]. Clusters that cannot hold its smallest
        bundle are taken out; one must remain.
    slowing
        Whether the progress of a kind slows down as ``speed * sqrt(1.2 - progress)``, shape [K];
        otherwise it is the speed in every slot, which is the default.
    weight
        Weight :math:`w_j \ge 0` of the flow time of each task, at most 1e200, shape [J]; 1 by
        default.
    noise
        The progress of a slot differs from the law by at most this, uniformly, and is never
        negative; in [0, 1].
    switching
        Part of a slot's progress that a running task makes in a slot in which its bundle is
        another one than in the slot before, in [0, 1].
    pending
        Most tasks that a cluster chooses from at a time; the others queue behind them.
    single_start
        Whether a cluster may start at most one task per slot (the paper's single-task mode).
    slot_seconds
        Length of a slot, s.
    names
        Name of each cluster.
    kinds
        Name of each kind of task.
    origin
        Where the data come from, in sentences that a study shows.

    Raises
    ------
    InstanceError
        If a rule above is broken: a task that no cluster can hold, no eligible cluster, a smallest
        bundle above all capacities, a hole in the table of speeds; with field, index, value, rule.

    Notes
    -----
    Li et al., section III. Task completion there counts from the arrival: it is a flow time.
    """

    capacity: NDArray[np.int64]
    minimum: NDArray[np.int64]
    speed: NDArray[np.float64]
    arrival: NDArray[np.int64]
    kind: NDArray[np.int64]
    eligible: NDArray[np.bool_]
    slowing: NDArray[np.bool_] | None = None
    weight: NDArray[np.float64] | None = None
    noise: float = 0.0
    switching: float = 0.5
    pending: int = 10
    single_start: bool = False
    slot_seconds: float = 10.0
    names: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        self._set_clusters()
        self._set_tasks()
        for name in ("noise", "switching", "slot_seconds"):
            self._set(**{name: frozen_number(name, getattr(self, name))})
        self._set(pending=int(frozen_integers("pending", self.pending, ())))
        self._set(single_start=bool(frozen_flags("single_start", self.single_start, ())))
        rules.check_numbers(self)
        self._set(**rules.own_labels(self))

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _set_clusters(self) -> None:
        resources = {"resource": 2}
        capacity = frozen_integers("capacity", self.capacity, ("cluster", "resource"), resources)
        minimum = frozen_integers("minimum", self.minimum, ("kind", "resource"), resources)
        sizes = {"cluster": capacity.shape[0], "kind": minimum.shape[0]}
        slow = np.zeros(sizes["kind"], dtype=bool) if self.slowing is None else self.slowing
        slowing = frozen_flags("slowing", slow, ("kind",), sizes)
        self._set(capacity=capacity, minimum=minimum, slowing=slowing)
        rules.check_bundles(self)
        self._set(speed=rules.own_speeds(self.speed, minimum, sizes))
        rules.check_durations(self.speed, self._solo)

    def _set_tasks(self) -> None:
        per_task = ("task",)
        arrival = frozen_integers("arrival", self.arrival, per_task, empty=True)
        sizes = {"task": arrival.size, "cluster": self.clusters}
        weight = np.ones(arrival.size) if self.weight is None else self.weight
        self._set(
            arrival=arrival,
            kind=frozen_integers("kind", self.kind, per_task, sizes, empty=True),
            weight=frozen_array("weight", weight, per_task, sizes, empty=True),
        )
        rules.check_tasks(self)
        self._set(eligible=rules.own_eligibility(self, sizes))

    # --- sizes -----------------------------------------------------------------------------

    @property
    def clusters(self) -> int:
        """Number of clusters N."""
        return int(self.capacity.shape[0])

    @property
    def task_kinds(self) -> int:
        """Number of kinds of tasks K."""
        return int(self.minimum.shape[0])

    @property
    def tasks(self) -> int:
        """Number of tasks J."""
        return int(self.arrival.size)

    @property
    def largest(self) -> tuple[int, int]:
        """CPU cores and GPUs that a task is given at most."""
        return self.speed.shape[2] - 1, self.speed.shape[3] - 1

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def _solo(self) -> NDArray[np.int64]:
        """Slots that a task takes with a bundle whatever the capacity, shape [N, K, A, B]."""
        assert self.slowing is not None
        return frozen(solo_durations(self.speed, self.slowing))

    @cached_property
    def duration(self) -> NDArray[np.int64]:
        """Slots that a task takes with a bundle if nothing disturbs it, shape [N, K, A, B].

        0 where the bundle is below the smallest one or above the cluster's capacity.
        """
        fits = rules.holdable(self.capacity, self.speed.shape[2:])[:, None]
        return frozen(np.where(fits, self._solo, 0))

    def __repr__(self) -> str:
        return (
            f"TapFingerInstance(clusters={self.clusters}, tasks={self.tasks}, "
            f"kinds={self.task_kinds}, largest={self.largest})"
        )
