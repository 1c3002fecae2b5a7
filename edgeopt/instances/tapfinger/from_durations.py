"""Instances from a table of how long tasks take with which bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.tapfinger.instance import TapFingerInstance
from edgeopt.instances.validate import (
    frozen_array,
    frozen_flags,
    frozen_integers,
    frozen_number,
    real_numbers,
    require,
    require_positive,
)
from edgeopt.options import LARGEST, SMALLEST

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def from_durations(
    duration: ArrayLike,
    *,
    minimum: ArrayLike,
    capacity: ArrayLike,
    arrival: ArrayLike,
    kind: ArrayLike,
    eligible: ArrayLike | None = None,
    seconds: bool = False,
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
        Arrival slot, ascending, and kind of each task, shape [J].
    eligible
        Clusters on which a task may run, shape [J, N]; by default all.
    seconds
        Whether durations are in seconds, not in slots.
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
        If the table has a hole: a duration that is missing, infinite, zero or negative at or above
        the smallest bundle, named by its index; or a field breaks a rule of the instance.

    Examples
    --------
    Two kinds of tasks that need a CPU core; the second one is faster with a GPU.

    >>> table = [[[None, None], [3, 3]], [[None, None], [6, 2]]]
    >>> tasks = {"arrival": [0, 0, 1], "kind": [0, 1, 1]}
    >>> instance = from_durations(table, minimum=[[1, 0]] * 2, capacity=[[2, 1]], **tasks)
    >>> instance.duration[0, :, 1].tolist()
    [[3, 3], [6, 2]]
    """
    least = frozen_integers("minimum", minimum, ("kind", "resource"), {"resource": 2})
    slots = _numbers(duration, least.shape[0])
    cpu, gpu = np.indices(slots.shape[-2:])
    below = (cpu < least[:, 0, None, None]) | (gpu < least[:, 1, None, None])
    sound = (slots >= SMALLEST) & (slots <= LARGEST)
    rule = "must be a positive number from the smallest bundle on: a hole in the table"
    require("duration", sound | below, slots, rule)
    length = frozen_number("slot_seconds", slot_seconds)
    require_positive("slot_seconds", length)
    own = np.ones_like(slots)
    unit = length if frozen_flags("seconds", seconds, ()) else 1.0
    np.divide(unit, slots, out=own, where=sound & ~below)
    room = frozen_integers("capacity", capacity, ("cluster", "resource"), {"resource": 2})
    comes = frozen_integers("arrival", arrival, ("task",), empty=True)
    sizes = {"task": comes.size, "cluster": room.shape[0]}
    may = np.ones((comes.size, room.shape[0]), dtype=bool) if eligible is None else eligible
    return TapFingerInstance(
        capacity=room,
        minimum=least,
        speed=own,
        arrival=comes,
        kind=frozen_integers("kind", kind, ("task",), sizes, empty=True),
        eligible=frozen_flags("eligible", may, ("task", "cluster"), sizes, empty=True),
        slot_seconds=length,
        **fields,
    )


def _numbers(duration: ArrayLike, kinds: int) -> NDArray[np.float64]:
    axes: tuple[str, ...] = ("kind", "cpu", "gpu")
    table = real_numbers("duration", _known(duration))
    if table.ndim == 4:
        axes = ("cluster", *axes)
    # Only the shape matters here: holes are named by their own rule.
    frozen_array("duration", np.zeros(table.shape), axes, {"kind": kinds})
    return table


def _known(duration: Any) -> Any:
    """Write NaN for None, in lists of lists and in arrays of objects."""
    if isinstance(duration, np.ndarray) and duration.dtype == np.object_:
        duration = duration.tolist()
    if isinstance(duration, list | tuple):
        return [_known(entry) for entry in duration]
    return np.nan if duration is None else duration
