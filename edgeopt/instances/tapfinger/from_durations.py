"""Instances from a table of how long tasks take with which bundle."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.instances.fields import Flags, Floats, Integers, field
from edgeopt.instances.labels import extract_labels
from edgeopt.instances.nesting import require_shallow
from edgeopt.instances.numerals import is_hole
from edgeopt.instances.records import Record, rule
from edgeopt.instances.tapfinger.instance import AXES, PARTS, TapFingerInstance, left_out
from edgeopt.instances.units import factor, measures_time
from edgeopt.instances.validate import (
    frozen_array,
    frozen_flags,
    frozen_number,
    real_numbers,
    require,
    require_positive,
)
from edgeopt.options import LARGEST, SMALLEST, check_choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from edgeopt.arrays import Ints


_EVEN: Final = 1e-6  # by which part a duration may differ from whole slots
_HOLE: Final = 'give it, give the cluster less capacity, or pass holes="smaller"'


def from_durations(
    duration: ArrayLike,
    *,
    minimum: ArrayLike,
    capacity: ArrayLike,
    arrival: ArrayLike,
    kind: ArrayLike,
    eligible: ArrayLike | None = None,
    seconds: bool = False,
    holes: Literal["refuse", "smaller"] = "refuse",
    slot_seconds: float = 10.0,
    **fields: Any,
) -> TapFingerInstance:
    """Build an instance from measured or estimated durations.

    A task makes even progress, the inverse of its duration in each slot, so that it takes the
    duration rounded up to whole slots.

    Parameters
    ----------
    duration
        Slots that a kind of task takes with a bundle, shape [K, A, B], or [N, K, A, B] if clusters
        differ; entry (cpu, gpu) is that of cpu cores and gpu GPUs. Whatever stands below the
        smallest bundle means nothing; None and NaN mark what is missing.
    minimum
        Smallest bundle of each kind, shape [K, 2].
    capacity
        CPU cores and GPUs of each cluster, shape [N, 2].
    arrival, kind
        Arrival slot, ascending, and kind of each task, shape [J]. Arrivals that are timestamps, or
        a table with a unit of time, become the slots in which they lie; the first timestamp is
        where slot 0 begins.
    eligible
        Clusters on which a task may run, shape [J, N]; by default all.
    seconds
        Whether durations are in seconds, not in slots; a table that says its unit needs no word.
    holes
        ``"refuse"`` a table in which a duration is missing, or let a task with such a bundle use
        the fastest ``"smaller"`` one of the table and leave the rest idle.
    slot_seconds
        Length of a slot, s.
    **fields
        Other fields of the instance but for ``speed`` and ``slowing``, such as ``weight``.

    Returns
    -------
    A validated instance.

    Raises
    ------
    InstanceError
        If the table has a hole: a duration that is missing or infinite at or above the smallest
        bundle, named by its index, but for a kind on a cluster where no task of it may run; one is
        not positive; or a field breaks a rule of the instance.
    OptionError
        If it is not said what to do with holes.

    Examples
    --------
    Two kinds of tasks that need a CPU core; the second one is faster with a GPU.

    >>> table = [[[None, None], [3, 3]], [[None, None], [6, 2]]]
    >>> tasks = {"arrival": [0, 0, 1], "kind": [0, 1, 1]}
    >>> instance = from_durations(table, minimum=[[1, 0]] * 2, capacity=[[2, 1]], **tasks)
    >>> instance.duration[0, :, 1].tolist()
    [[3, 3], [6, 2]]

    Measured with 1, 2 and 4 cores: with 3 of them a task is as fast as with 2.

    >>> table = [[[None], [8], [4], [None], [2]]]
    >>> one = {"minimum": [[1, 0]], "capacity": [[4, 0]], "arrival": [0], "kind": [0]}
    >>> from_durations(table, holes="smaller", **one).duration[0, 0, :, 0].tolist()
    [0, 8, 4, 4, 2]
    """
    check_choice("holes", holes, ("refuse", "smaller"))
    require_shallow("duration", duration)
    length = frozen_number("slot_seconds", slot_seconds)
    require_positive("slot_seconds", length)
    in_seconds, table = _in_unit(_known(duration), bool(frozen_flags("seconds", seconds, ())))
    fields_of_table = {
        "minimum": minimum, "duration": table, "filled": holes == "smaller", "capacity": capacity,
        "arrival": arrival, "kind": kind, "eligible": eligible, "slot_seconds": length,
    }  # fmt: skip
    given = _Durations._with(fields_of_table, {}, ())
    slots = given.table
    own = np.zeros_like(slots)
    unit = length if in_seconds else 1.0
    np.divide(unit, slots, out=own, where=given.sound & ~given.below)
    data = {
        "capacity": given.capacity,
        "minimum": given.minimum,
        "speed": own,
        "arrival": given.arrival,
        "kind": given.kind,
        "eligible": given.eligible,
        "slot_seconds": length,
        **fields,
    }
    made = TapFingerInstance._with(data, given._orders, given._notes)
    note = _rounded_up(made.duration, slots, length, in_seconds)
    return made._noted([note]) if note else made


def _rounded_up(whole: Ints, given: Floats, slot: float, seconds: bool) -> str:
    """Say how many durations whole slots made longer, and by how much in sum; nothing if none."""
    whole = whole if given.ndim == 4 else whole.max(axis=0)
    length, unit = (slot, "s") if seconds else (1.0, "slots")
    used = whole > 0
    before, after = given[used], whole[used] * length
    longer = after > before * (1 + _EVEN)
    if not longer.any():
        return ""
    many, total, more = np.count_nonzero(longer), before.sum(), after.sum()
    return (
        f"duration: {many} of {before.size} durations rounded up to whole slots "
        f"of {slot:g} s, from {total:.6g} to {more:.6g} {unit} in sum ({more / total:.3g} times)"
    )


def _as_table(record: _Durations, duration: Any) -> Floats:
    table = real_numbers("duration", duration)
    # Only the shape matters here: holes are named by their own rule.
    axes = ("cluster", "kind", "cpu", "gpu")[table.ndim != 4 :]
    frozen_array("duration", np.zeros(table.shape), axes, {"kind": record.minimum.shape[0]})
    return table


class _Durations(Record, axes=AXES, empty=("task",)):
    """What `from_durations` is given."""

    minimum: Integers = field("kind", "resource", parts=PARTS, doc="Smallest bundle.")
    duration: Floats | object = field(
        "cluster", "kind", "cpu", "gpu", broadcastable=("cluster",), missing=np.nan,
        prepare=_as_table, doc="Slots or seconds.",
    )  # fmt: skip
    filled: bool = field(doc="Whether holes are filled from smaller bundles.")
    capacity: Integers = field("cluster", "resource", parts=PARTS, doc="CPU cores and GPUs.")
    arrival: Integers = field("task", of="slot", ascending=True, doc="Slot of arrival.")
    kind: Integers = field("task", doc="Kind of a task.", of="kind")
    slot_seconds: float = field(unit="s", doc="Length of a slot.")
    eligible: Flags = field("task", "cluster", default=None, fill=True, doc="Where a task may run.")

    def _seconds(self, axis: str, lengths: Mapping[str, int]) -> float | None:
        return self.slot_seconds if axis == "slot" else None

    @cached_property
    def table(self) -> Floats:
        """Durations, and whatever stands below the smallest bundle."""
        table = np.asarray(self.duration)
        if not self.filled:
            return table
        hole = np.isnan(table) & ~self.below
        best = np.where(np.isnan(table) | self.below, np.inf, table)
        for axis in (-2, -1):
            best = np.minimum.accumulate(best, axis=axis)
        return np.where(hole, best, table)

    @property
    def below(self) -> Flags:
        """Whether a bundle lies below the smallest one, shape [K, A, B]."""
        cpu, gpu = np.indices(np.asarray(self.duration).shape[-2:])
        least = self.minimum[:, :, None, None]
        return np.asarray((cpu < least[:, 0]) | (gpu < least[:, 1]))

    @property
    def sound(self) -> Flags:
        """Whether an entry is a duration, in the shape of the table."""
        return np.asarray((self.table >= SMALLEST) & (self.table <= LARGEST))

    @property
    def unused(self) -> Flags:
        """Whether an entry is that of a kind without any, on a cluster where no task runs it."""
        holds = (self.minimum[:, None] <= self.capacity).all(axis=2).T
        used: Flags = np.zeros(holds.shape, dtype=np.bool_)
        task, cluster = np.nonzero(self.eligible)
        used[cluster, self.kind[task]] = True
        table = np.where(self.below, np.nan, np.asarray(self.duration))
        used = np.asarray(used & holds if table.ndim == 4 else (used & holds).any(axis=0))
        if used.shape != table.shape[:-2]:  # which the instance refuses
            return np.zeros((1, 1, 1), dtype=np.bool_)
        return np.asarray(left_out(table) & ~used)[..., None, None]

    @rule
    def _check_holes(self) -> None:
        """Check that the table has no holes."""
        given = np.asarray(self.duration)
        hole, free = ~(given <= LARGEST), self.below | self.unused
        require("duration", (given > 0) | hole | free, given, "must be positive")
        says = f"is a hole in the table, at or above the smallest bundle; {_HOLE}"
        if self.filled:
            says = "is a hole in the table, and so is every smaller bundle; give one of them"
        require("duration", self.sound | ~hole | free, given, says)
        require("duration", self.sound | free, given, f"must be at least {SMALLEST:g}")


def _in_unit(duration: Any, seconds: bool) -> tuple[bool, Any]:
    """Return whether durations are in seconds, not in slots, and the table in that unit."""
    given = extract_labels("duration", duration)
    if given is None or given.unit is None:
        return seconds, duration
    seconds = seconds or measures_time(given.unit)
    by = factor("duration", given.unit, "s" if seconds else "slot")
    values = real_numbers("duration", _known(given.values))
    table = replace(given, values=values * by, unit=None)
    return seconds, table


def _known(duration: Any) -> Any:
    """Write NaN for None, in lists of lists and in arrays of objects."""
    if isinstance(duration, np.ndarray) and duration.dtype == np.object_:
        duration = duration.tolist()
    if isinstance(duration, list | tuple):
        return [_known(entry) for entry in duration]
    return np.nan if is_hole(duration) else duration
