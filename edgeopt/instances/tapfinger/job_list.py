"""Instances from lists of jobs that ran on clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.fields import Integers, field
from edgeopt.instances.jobs import slots_before, slots_of, span_seconds
from edgeopt.instances.records import Record
from edgeopt.instances.tapfinger.from_durations import from_durations
from edgeopt.instances.tapfinger.instance import AXES, PARTS
from edgeopt.instances.validate import frozen_number, require_positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.jobs import Jobs
    from edgeopt.instances.tapfinger.instance import TapFingerInstance

_HALF: Final = 1.5  # times as long: a duration that whole slots make longer by more than half


class _Clusters(Record, axes=AXES):
    """What clusters have."""

    capacity: Integers = field("cluster", "resource", parts=PARTS, doc="CPU cores and GPUs.")


def from_jobs(
    jobs: Jobs,
    *,
    capacity: ArrayLike,
    slot_seconds: float | str,
    gpu_unit: float = 1.0,
    origin: Any = None,
    **fields: Any,
) -> TapFingerInstance:
    """Build an instance from jobs on record: each takes as long as it did, with what it had.

    A kind of task is a number of CPU cores, of GPUs and of slots; more than that makes it no
    faster. Every change of the record is a note of the instance.

    Parameters
    ----------
    jobs
        Jobs with durations; those that were cut off end with the record.
    capacity
        CPU cores and GPUs of each cluster, shape [N, 2]. Jobs that fit on no cluster are left out.
    slot_seconds
        Length of a slot: seconds, or a text such as ``"10 min"``. Durations are rounded up to it.
    gpu_unit
        Part of a GPU that counts as one, such as 0.1 for tenths; `capacity` counts the same.
    origin
        When slot 0 begins: seconds or a timestamp, by default the first arrival.
    **fields
        Other fields of the instance, such as ``weight``.

    Returns
    -------
    An instance with labels, and notes on what was left out.

    Raises
    ------
    InstanceError
        If jobs have no durations or fit on no cluster, `origin` comes after the first arrival, or
        a field breaks a rule of the instance.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt.instances import Jobs
    >>> table = pandas.DataFrame({"sent [s]": [0, 700], "ran [s]": [1700, 600], "cores": [2, 4]})
    >>> jobs = Jobs.read(table, arrival="sent [s]", duration="ran [s]", cpu="cores")
    >>> instance = from_jobs(jobs, capacity=[[4, 0]], slot_seconds="10 min")
    >>> instance.arrival.tolist(), instance.minimum.tolist()
    ([0, 1], [[2, 0], [4, 0]])
    >>> print(instance.notes[1])
    duration: 1 of 2 jobs rounded up to whole slots of 600 s, by 4.3 % in sum, 0 by more than half
    """
    jobs.require_durations()
    length = span_seconds("slot_seconds", slot_seconds)
    part = frozen_number("gpu_unit", gpu_unit)
    require_positive("gpu_unit", part)
    clusters = _Clusters._with({"capacity": capacity}, {}, ())
    bundle = np.column_stack([_rounded(jobs.cpu), _rounded(jobs.gpu / part)])
    held = np.all(bundle[:, None] <= clusters.capacity, axis=2)
    fits = held.any(axis=1)
    if not fits.any():
        raise InstanceError("capacity", "holds no job: each asks for more than every cluster has")
    first = float(jobs.arrival[fits][0]) if origin is None else jobs.moment("origin", origin)
    arrival = slots_before(jobs.arrival[fits] - first, length)
    if arrival[0] < 0:
        rule = f"comes after the first arrival, at {jobs.arrival[0]:.10g} s; take jobs.window(...)"
        raise InstanceError("origin", rule, value=origin)
    seconds = jobs.seconds[fits]
    slots = slots_of(seconds, length)
    kinds, kind = np.unique(np.column_stack([bundle[fits], slots]), axis=0, return_inverse=True)
    table = np.full((len(kinds), *(kinds[:, :2].max(axis=0) + 1)), np.nan)
    table[np.arange(len(kinds)), kinds[:, 0], kinds[:, 1]] = kinds[:, 2]
    made = from_durations(
        table,
        minimum=kinds[:, :2],
        capacity=clusters.capacity,
        arrival=arrival,
        kind=kind.ravel(),
        holes="smaller",
        slot_seconds=length,
        origin=f"List of {jobs.notes[0]}." if jobs.notes else "",
        **fields,
    )
    said = [*jobs.notes, *clusters._notes]
    said += [_of_slots(seconds, slots, length), _of_bundles(jobs, bundle, part)]
    if jobs.cut[fits].any():
        count = np.count_nonzero(jobs.cut[fits])
        cut = "job that was" if count == 1 else "jobs that were"
        ends = "ends" if count == 1 else "end"
        said.append(f"duration: {count} {cut} cut off by the end of the record {ends} there")
    if not fits.all():
        lost = np.count_nonzero(~fits)
        said.append(f"jobs: {lost} of {len(jobs)} left out: no cluster holds what they ask for")
    start = f"{first:.10g} s" if jobs.since is None else _time(jobs.since, first)
    said.append(
        f"arrival: in slots of {length:.10g} s from {start}; {len(kinds)} kinds of cores, GPUs and "
        "slots"
    )
    return made._noted(filter(None, said)).with_labels(clusters._orders)


def _time(since: Any, seconds: float) -> str:
    import pandas

    return str((since + pandas.Timedelta(seconds, "s")).floor("s"))


def _rounded(amount: Floats) -> Ints:
    return np.ceil(amount - 1e-9).astype(np.int64)


def _of_slots(seconds: Floats, slots: Ints, length: float) -> str:
    """Say by how much whole slots make jobs longer, nothing if they do not."""
    whole, before = slots * length, seconds.sum()
    longer = whole > seconds * (1 + 1e-6)
    if not longer.any():
        return ""
    more = f", by {100 * (whole.sum() / before - 1):.1f} % in sum" if before else ""
    return (
        f"duration: {np.count_nonzero(longer)} of {seconds.size} jobs rounded up to whole slots "
        f"of {length:.10g} s{more}, {np.count_nonzero(whole > _HALF * seconds)} by more than half"
    )


def _of_bundles(jobs: Jobs, bundle: Ints, part: float) -> str:
    """Say how many jobs ask for parts of a core or a GPU."""
    cores = np.count_nonzero(bundle[:, 0] > jobs.cpu + 1e-9)
    cards = np.count_nonzero(bundle[:, 1] * part > jobs.gpu + 1e-9)
    more = [
        f"{count} jobs to whole {name}, {100 * (whole / given - 1):.0f} % more in sum"
        for count, name, whole, given in (
            (cores, "CPU cores", bundle[:, 0].sum(), jobs.cpu.sum()),
            (cards, f"GPUs of {part:g}", part * bundle[:, 1].sum(), jobs.gpu.sum()),
        )
        if count
    ]
    hint = "; gpu_unit=0.1 counts tenths of a GPU" if cards and part == 1 else ""
    return f"minimum: rounded up, {' and '.join(more)}{hint}" if more else ""
