"""The instance of TapFinger: tasks that need CPU cores and GPUs of edge clusters."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.fields import Flags, Floats, Integers, Names, field
from edgeopt.instances.instance import Instance
from edgeopt.instances.labels import seconds_of
from edgeopt.instances.records import Size, rule
from edgeopt.instances.tapfinger.durations import longest_durations, solo_durations
from edgeopt.instances.validate import frozen, frozen_flags, real_numbers, require
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    from numpy.typing import ArrayLike


MANY: Final = 1_000_000
"""Most CPU cores, GPUs, and slots before the last arrival: arrays are as long."""

_FAR: Final = 4
"""How many times as long as all tasks one after another arrivals may last without a note."""

PARTS: Final = (
    "for parts of a GPU or core, count smaller ones such as tenths in minimum, capacity and tables"
)
"""What to do about parts of a core or GPU."""

AXES: Final[dict[str, str | int]] = {
    "cluster": "N", "kind": "K", "task": "J", "resource": 2, "cpu": "A", "gpu": "B",
    "outage_slot": "L",
}  # fmt: skip


def holdable(capacity: Integers, shape: tuple[int, ...]) -> Flags:
    """Return which bundles fit into an empty cluster, shape [N, A, B]."""
    cpus, gpus = np.arange(shape[0]), np.arange(shape[1])
    fits_cpu = cpus <= capacity[:, 0, None]
    fits_gpu = gpus <= capacity[:, 1, None]
    return np.asarray(fits_cpu[:, :, None] & fits_gpu[:, None, :])


def _held_somewhere(instance: TapFingerInstance) -> Flags:
    """Return of which kinds some cluster can hold the smallest bundle, shape [K]."""
    holds = (instance.minimum[:, None] <= instance.capacity).all(axis=2)
    return np.asarray(np.any(holds, axis=1))


def left_out(table: Floats) -> Flags:
    """Return which kinds have no entry at all on a cluster, shape [..., K]."""
    return np.asarray((np.isnan(table) | (table == 0)).all(axis=(-2, -1)))


def _on_all_clusters(instance: TapFingerInstance, values: ArrayLike) -> Floats:
    """Repeat a table without clusters, and empty what lies below the smallest bundle.

    A kind of which a cluster has no entry at all does not run there.
    """
    table, minimum = real_numbers("speed", values), instance.minimum
    if table.ndim == 3:
        table = np.repeat(table[None], instance.clusters, axis=0)
    if table.ndim == 4 and table.shape[1] == instance.task_kinds:
        largest = np.array(table.shape[2:]) - 1
        says = f"must be at most the largest bundle of the table, {tuple(largest.tolist())}"
        fits = (minimum <= largest) | ~_held_somewhere(instance)[:, None]
        require("minimum", fits, minimum, says)
        cpus, gpus = np.arange(table.shape[2]), np.arange(table.shape[3])
        below = (cpus < minimum[:, 0, None])[:, :, None] | (gpus < minimum[:, 1, None])[:, None, :]
        table[:, below] = 0.0
        table[left_out(table)] = 0.0
        hole = ~(np.isfinite(table) & (table > 0)) & ~below & ~left_out(table)[..., None, None]
        require("speed", ~hole, table, "must be positive from the smallest bundle on: a hole")
    return table


def _that_can_hold(instance: TapFingerInstance, values: ArrayLike) -> Flags:
    """Take out the clusters that cannot hold a task; one must remain."""
    axes = ("task", "cluster")
    asked = frozen_flags("eligible", values, axes, instance._sizes, empty=True)
    chosen = asked.sum(axis=1)
    require("eligible", chosen > 0, chosen, "must name a cluster on which the task may run")
    holds = np.asarray((instance.minimum[:, None] <= instance.capacity).all(axis=2))
    eligible = asked & holds[instance.kind]
    runs = ~left_out(instance.speed).T[instance.kind]
    says = "names a cluster where the task has no speed: give it, or let it run elsewhere alone"
    require("eligible", runs | ~eligible, asked, says)
    for j in np.flatnonzero(~eligible.any(axis=1)).tolist():
        raise InstanceError(
            "eligible",
            "must name a cluster that can hold the smallest bundle of the task, "
            f"{tuple(instance.minimum[instance.kind[j]].tolist())} CPU cores and GPUs",
            index=(j,),
            value=f"clusters {np.flatnonzero(asked[j]).tolist()}",
        )
    return eligible


def _to_the_last(instance: TapFingerInstance, values: ArrayLike) -> Flags | None:
    """Return outages up to the last slot that has any, None without one."""
    down = frozen_flags("outage", values, ("cluster", "outage_slot"), dict(instance._sizes))
    slots = np.flatnonzero(down.any(axis=0))
    if not slots.size:
        return None
    last = int(slots[-1])
    require("outage", slots <= MANY, slots, f"must be at most slot {MANY}")
    return down[:, : last + 1]


class TapFingerInstance(Instance, kind="tapfinger", axes=AXES, empty=("task",)):
    r"""Everything that placement and allocation across clusters are given, read-only.

    Slots, clusters, tasks and kinds of tasks count from 0. A task runs on one cluster with a
    *bundle* of CPU cores and GPUs, which sets how fast it makes progress.

    Notes
    -----
    Li et al., section III. Task completion there counts from the arrival: it is a flow time.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import TapFingerInstance, small
    >>> instance = small(1)
    >>> instance.duration.shape, instance.capacity.shape
    ((2, 2, 4, 4), (2, 2))
    """

    capacity: Integers = field(
        "cluster", "resource", symbol="C_{nr}", least=0, parts=PARTS,
        doc="CPU cores and GPUs of a cluster.",
    )  # fmt: skip
    minimum: Integers = field(
        "kind", "resource", symbol="b_{kr}", least=0, parts=PARTS,
        doc="Smallest bundle of a kind of task. Not (0, 0).",
    )  # fmt: skip

    @rule
    def _check_bundles(self) -> None:
        """Check that a smallest bundle asks for something."""
        capacity, minimum = self.capacity, self.minimum
        require("capacity", capacity <= MANY, capacity, f"must be at most {MANY}")
        asked = minimum.sum(axis=1)
        require("minimum", asked > 0, asked, "must ask for a CPU core or a GPU")

    speed: Floats = field(
        "cluster", "kind", "cpu", "gpu", prepare=_on_all_clusters, broadcastable=("cluster",),
        missing=np.nan, rounds="up",
        doc="Progress per slot at the start. Shape [K, A, B] if all clusters are alike. Entry "
        "(cpu, gpu) is that of cpu cores and gpu GPUs; no task is given more than (A - 1, B - 1). "
        "Positive from the smallest bundle on; entries below it mean nothing and become 0. A kind "
        "that no task may run on a cluster has no entry there, or 0 everywhere.",
    )  # fmt: skip
    arrival: Integers = field(
        "task", least=0, of="slot", ascending=True,
        doc="Slot in which a task arrives. Ascending, at most a million.",
    )  # fmt: skip
    kind: Integers = field("task", of="kind", doc="Kind of a task.")

    @rule
    def _check_tasks(self) -> None:
        """Check that tasks arrive in due time, and that some cluster holds their bundle."""
        require("arrival", self.arrival <= MANY, self.arrival, f"must be at most {MANY}")
        minimum, held = self.minimum, _held_somewhere(self)
        for k in np.unique(self.kind[~held[self.kind]]).tolist():
            says = "must be at most the capacity of some cluster: none can hold a task of this kind"
            raise InstanceError("minimum", says, index=(k,), value=tuple(minimum[k].tolist()))

    eligible: Flags = field(
        "task", "cluster", prepare=_that_can_hold,
        doc="Whether a task may run on a cluster. Clusters that cannot hold its smallest bundle "
        "are taken out; one must remain.",
    )  # fmt: skip
    slowing: Flags = field(
        "kind", default=None, fill=False, always=True,
        doc="Whether progress slows down. As ``speed * sqrt(1.2 - progress)``; otherwise it is the "
        "speed in every slot.",
    )  # fmt: skip
    weight: Floats = field(
        "task", symbol="w_j", least=0, default=None, fill=1.0, always=True,
        doc="Weight of a flow time.",
    )  # fmt: skip
    noise: float = field(
        least=0, most=1, message="must lie in [0, 1]", default=0.0, always=True,
        doc="Most by which the progress of a slot differs from the law. Uniformly; progress is "
        "never negative.",
    )  # fmt: skip
    switching: float = field(
        least=0, most=1, message="must lie in [0, 1]", default=0.5, always=True,
        doc="Part of a slot's progress when the bundle has changed.",
    )  # fmt: skip
    pending: int = field(
        least=1, default=10, always=True,
        doc="Most tasks that a cluster chooses from. The others queue behind them.",
    )  # fmt: skip
    single_start: bool = field(
        default=False, always=True,
        doc="Whether a cluster starts at most one task per slot. The paper's single-task mode.",
    )  # fmt: skip
    slot_seconds: float = field(
        unit="s", above=0, default=10.0, always=True, doc="Length of a slot."
    )
    names: Names | None = field("cluster", default=None, doc="Name of a cluster.")
    kinds: Names | None = field("kind", default=None, doc="Name of a kind of task.")
    origin: str = field(
        default="", always=True,
        doc="Where the data come from. In sentences that a study shows.",
    )  # fmt: skip

    outage: Flags | None = field(
        "cluster", "outage_slot", default=None, prepare=_to_the_last,
        doc="Whether a cluster is down in a slot, known in advance. No run may meet an outage: a "
        "task that might not be complete before one, whatever the noise, waits. A cluster is up in "
        "all slots after the last. None: no cluster is ever down.",
    )  # fmt: skip

    @rule
    def _check_durations(self) -> None:
        """Check that every bundle completes a task within a million slots."""
        ends = (self._solo > 0) | (self.speed == 0)
        require("speed", ends, self.speed, "must complete a task within a million slots")

    def _remarks(self) -> Iterator[str]:
        """Say that tasks arrive so late that each is long complete when the next one comes."""
        longest = self.duration.max(axis=(2, 3))[:, self.kind]
        work = int(np.where(self.eligible.T, longest, 0).max(axis=0, initial=0).sum())
        latest = int(self.arrival.max(initial=0))
        if latest > _FAR * work > 0:
            yield (
                f"arrival: the last task arrives in slot {latest}, far beyond the {work} slots "
                "that all take one after another; if they are in another unit, such as s, give it"
            )

    def _seconds(self, axis: str, lengths: Mapping[str, int]) -> float | None:
        return seconds_of("slot_seconds", self.slot_seconds) if axis == "slot" else None

    clusters = Size("cluster", "Number of clusters N.")
    task_kinds = Size("kind", "Number of kinds of tasks K.")
    tasks = Size("task", "Number of tasks J.")

    @property
    def largest(self) -> tuple[int, int]:
        """CPU cores and GPUs that a task is given at most."""
        return self.speed.shape[2] - 1, self.speed.shape[3] - 1

    # --- what follows from the data --------------------------------------------------------

    @cached_property
    def _solo(self) -> Integers:
        """Slots that a task takes with a bundle whatever the capacity, shape [N, K, A, B]."""
        return frozen(solo_durations(self.speed, self.slowing))

    @cached_property
    def duration(self) -> Integers:
        """Slots that a task takes with a bundle if nothing disturbs it, shape [N, K, A, B].

        0 where the bundle is below the smallest one or above the cluster's capacity.
        """
        fits = holdable(self.capacity, self.speed.shape[2:])[:, None]
        return frozen(np.where(fits, self._solo, 0))

    @cached_property
    def longest(self) -> Integers:
        """Most slots that a task takes with a bundle, whatever the noise, shape [N, K, A, B].

        A million where it need not ever be complete, 0 where it has no such bundle.
        """
        return longest_durations(self)

    def down(self, cluster: int, first: int, last: int) -> Self:
        """Return a copy in which a cluster is down in some slots more, both ends included.

        Raises
        ------
        OptionError
            If there is no such cluster or slot, or the last slot comes before the first.
        """
        check_whole("cluster", cluster, 0, self.clusters - 1)
        check_whole("first", first, 0, MANY)
        check_whole("last", last, first, MANY)
        known = 0 if self.outage is None else self.outage.shape[1]
        outage = np.zeros((self.clusters, max(known, last + 1)), dtype=np.bool_)
        if self.outage is not None:
            outage[:, :known] = self.outage
        outage[cluster, first : last + 1] = True
        return self.replace(outage=outage)

    def __repr__(self) -> str:
        return (
            f"TapFingerInstance(clusters={self.clusters}, tasks={self.tasks}, "
            f"kinds={self.task_kinds}, largest={self.largest})"
        )
