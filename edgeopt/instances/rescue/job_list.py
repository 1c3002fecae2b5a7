"""Instances estimated from lists of jobs: who arrives in a slot of the day, how long runs last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.estimates import LEVEL, duration_estimate, share_interval
from edgeopt.instances.jobs import slots_before, span_seconds
from edgeopt.instances.labels import Given, extract_labels
from edgeopt.instances.rescue.instance import RescueInstance, ReservedTasks
from edgeopt.instances.validate import check_choice, check_sizes
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from edgeopt.arrays import Flags, Floats, Ints
    from edgeopt.instances.jobs import Jobs

_FEWEST: Final = 2
"""Fewest periods from which probabilities are estimated."""

_COLLIDING: Final = 0.1
"""Largest share of arrivals that may meet others in a slot of their device."""

_MOST: Final = 10**8
"""Most slots of devices in all periods on record."""

_LENGTHS: Final = (1, 10, 60, 300, 600, 1800, 3600)
"""Lengths of slots, s, for which a refusal says how many arrivals would meet others."""


def from_jobs(
    jobs: Jobs,
    *,
    capacity: ArrayLike,
    horizon: int,
    slot_seconds: float | str,
    longest: int,
    period: float | str = "1 d",
    devices: int | None = None,
    smooth: int = 1,
    collisions: Literal["refuse", "drop"] = "refuse",
    resample: int | None = None,
    **fields: Any,
) -> RescueInstance:
    r"""Estimate an instance from jobs on record; its notes say how well it is known.

    The probability of an arrival is the share of the periods on record in which one came in that
    slot of the period; durations are estimated by Kaplan and Meier, for all devices together, so
    that jobs that were cut off count for as long as they ran.

    Parameters
    ----------
    jobs
        Jobs with durations; each of their groups is a device.
    capacity
        Work that each server does in a slot, TMAC/slot, shape [K], or [K, T].
    horizon
        Number of slots T, from the beginning of a period; at most a period.
    slot_seconds
        Length of a slot: seconds, or a text such as ``"10 min"``.
    longest
        Largest duration D, in slots; longer runs are taken to last so long.
    period
        After what time arrivals repeat: seconds, or a text such as ``"7 d"``. Periods begin at
        midnight by the clock at the place, or at 0 s where times are numbers.
    devices
        How many groups become devices, those with most jobs first; by default all.
    smooth
        How many neighbouring slots share their counts, an odd number.
    collisions
        What to do if more than a tenth of the arrivals meet another one of their device in a slot,
        of which the model has one at most: ``"refuse"`` them, or ``"drop"`` all but one.
    resample
        Seed by which periods are drawn with replacement, in place of those on record: instances of
        several seeds show how much a result depends on the record.
    **fields
        Other fields of the instance, such as ``reserved`` and ``profit``, which no list of jobs
        tells. By default nothing is reserved, and a run earns its length in slots.

    Returns
    -------
    An instance with labels, and notes on how well it is known.

    Raises
    ------
    InstanceError
        If jobs have no durations, none of them ended, fewer than two whole periods are on record,
        too many arrivals meet others, the horizon is longer than the period, or a field breaks a
        rule of the instance.

    Notes
    -----
    With k hits in n periods the interval of a probability is Jeffreys', the quantiles of
    :math:`\mathrm{Beta}(k + 1/2, n - k + 1/2)`. By Greenwood's formula, with :math:`d_i` of
    :math:`r_i` runs at risk ending at the i-th time, the variance of the probability S to last
    longer is :math:`S^2 \sum_i d_i / (r_i (r_i - d_i))`. To first order, the optimum of the linear
    program errs by the duals of its arrival rows times the errors of the probabilities.

    Examples
    --------
    A job arrives in the first slot of each second day, and in the second one every day.

    >>> import pandas
    >>> from edgeopt.instances import Jobs
    >>> days = [0, 2, 4, 0.5, 1.5, 2.5, 3.5]
    >>> table = pandas.DataFrame({"sent [d]": days, "ran [h]": [6, 20, 6, 6, 6, 6, 6]})
    >>> jobs = Jobs.read(table, arrival="sent [d]", duration="ran [h]")
    >>> instance = from_jobs(
    ...     jobs, capacity=[1.0], horizon=2, slot_seconds="12 h", longest=2)
    >>> instance.arrival.ravel().tolist(), instance.duration.round(2).tolist()
    ([0.5, 1.0], [[0.83, 0.17]])
    """
    jobs.require_durations()
    check_choice("collisions", collisions, ("refuse", "drop"))
    most = 1 if devices is None else devices
    check_sizes(horizon=horizon, longest=longest, smooth=smooth, devices=most)
    if smooth % 2 == 0:
        raise InstanceError("smooth", "must be odd: a slot and as many on both sides", value=smooth)
    length, whole = span_seconds("slot_seconds", slot_seconds), span_seconds("period", period)
    if horizon * length > whole * (1 + 1e-9):
        rule = f"slots of {length:.10g} s are longer than a period of {whole:.10g} s"
        raise InstanceError("horizon", rule, value=horizon)
    chosen = jobs.of_groups(jobs.groups[:devices])
    record = _Record.of(chosen, length, whole, horizon)
    if collisions == "refuse":
        record.refuse_collisions(chosen)
    draws = np.arange(record.periods)
    notes = [*chosen.notes, *record.notes(whole)]
    if resample is not None:
        check_whole("resample", resample, 0)
        rng = np.random.default_rng(resample)
        draws = rng.integers(0, record.periods, record.periods)
        notes.append(f"arrival, duration: periods are drawn with replacement, seed {resample}")
    probability, half = _shares(record.counts[draws] > 0, smooth)
    total = float(probability.sum(axis=1).max())
    arrivals = "exclusive" if total <= 1 else "independent"
    pooled = f", pooled over {smooth} slots" if smooth > 1 else ""
    notes.append(
        f"arrival: shares of {record.periods} periods{pooled}; "
        f"{100 * LEVEL:.0f} % intervals reach at most {half:.2g} to either side; at most "
        f"{total:.2g} tasks are expected in a slot, so arrivals are {arrivals!r}"
    )
    lasting = np.repeat(
        np.arange(len(chosen)), np.bincount(draws, minlength=record.periods + 1)[record.of_job]
    )
    if chosen.cut[lasting].all():
        raise InstanceError(
            "jobs", "none of them ended on record, so nothing tells how long they run"
        )
    found = duration_estimate(chosen.seconds[lasting], chosen.cut[lasting], length, longest)
    notes.append(
        f"duration: Kaplan-Meier estimate from {lasting.size} jobs, "
        f"{np.count_nonzero(chosen.cut[lasting])} of them cut off; the probability to last longer "
        f"is known to {found.error:.2g}; {100 * found.beyond:.2g} % last longer than {longest} "
        f"slots, and are taken to last {longest}"
    )
    usual: dict[str, Any] = {"reserved": ReservedTasks.none(), "arrivals": arrivals}
    if "profit" not in fields:
        usual["profit"] = np.arange(1.0, longest + 1).reshape(1, 1, 1, 1, longest)
        notes.append("profit: a run earns its length in slots; jobs tell nothing else of it")
    made = RescueInstance(
        arrival=probability,
        duration=found.distribution[None],
        capacity=_by_slot(capacity, horizon),
        **usual | fields,
    )
    return made._noted(notes).with_labels({"device": chosen.groups})


class _Record(NamedTuple):
    """Arrivals by period, slot and device."""

    periods: int
    of_job: Ints  # period of each job, or the number of periods if it lies outside
    counts: Ints  # [periods, T, J]
    outside: int  # jobs in whole periods that arrive after the horizon

    @classmethod
    def of(cls, jobs: Jobs, length: float, whole: float, horizon: int) -> _Record:
        local = jobs.local(jobs.arrival)
        first, last = jobs.local(np.array(jobs.span))
        # A period is on record if the first and the last arrival lie in or beyond its ends.
        begin = int(np.ceil(np.floor(first / length + 1e-9) * length / whole - 1e-9))
        stop = int(np.floor((np.floor(last / length + 1e-9) + 1) * length / whole + 1e-9))
        if stop - begin < _FEWEST:
            rule = f"span {max(0, stop - begin)} whole periods of {whole:.10g} s; "
            rule += f"probabilities by slot need at least {_FEWEST}: choose period="
            raise InstanceError("jobs", rule)
        period = np.floor(local / whole + 1e-9).astype(np.int64)
        slot = slots_before(local - period * whole, length)
        inside = (period >= begin) & (period < stop)
        shown = inside & (slot < horizon)
        names = {name: n for n, name in enumerate(jobs.groups)}
        device = np.array([names[one] for one in jobs.group.tolist()])
        shape = stop - begin, horizon, len(names)
        if np.prod(shape, dtype=float) > _MOST:
            rule = f"have more than {_MOST} slots of devices on record: choose fewer devices= or"
            raise InstanceError("jobs", f"{rule} longer slots", value=f"shape {shape}")
        counts = np.zeros(shape, dtype=np.int64)
        np.add.at(counts, (period[shown] - begin, slot[shown], device[shown]), 1)
        if not counts.any():
            raise InstanceError("jobs", "none arrives within the horizon of a whole period")
        of_job = np.where(inside, period - begin, stop - begin)
        return cls(stop - begin, of_job, counts, int((inside & ~shown).sum()))

    @property
    def lost(self) -> int:
        """Arrivals that meet another one of their device in a slot."""
        return int(self.counts.sum() - (self.counts > 0).sum())

    def refuse_collisions(self, jobs: Jobs) -> None:
        """Refuse too many arrivals that meet others, and say how many do in slots of a length."""
        share = self.lost / self.counts.sum()
        if share <= _COLLIDING:
            return
        group = np.unique(jobs.group, return_inverse=True)[1]
        shares = []
        for length in _LENGTHS:
            pairs = np.column_stack([slots_before(jobs.arrival, length), group])
            apart = len(np.unique(pairs, axis=0)) / len(pairs)
            shares.append(f"{length} s {100 * (1 - apart):.1f} %")
        rule = (
            f"{100 * share:.0f} % of the arrivals meet another one of their device in a slot, "
            f"which has one task at most; with slots of {', '.join(shares)}; choose shorter "
            "slots, split the devices, or leave out all but one by collisions='drop'"
        )
        raise InstanceError("jobs", rule)

    def notes(self, whole: float) -> Iterator[str]:
        """Say what is left out."""
        beside = np.count_nonzero(self.of_job == self.periods)
        if beside:
            yield f"jobs: {beside} left out: they arrive outside of whole periods of {whole:.10g} s"
        if self.outside:
            yield f"arrival: {self.outside} jobs come after the horizon, and tell durations alone"
        if self.lost:
            yield (
                f"arrival: {self.lost} of {self.counts.sum()} arrivals left out: another one of "
                "their device comes in that slot"
            )


def _shares(hit: Flags, smooth: int) -> tuple[Floats, float]:
    """Return probabilities of arrivals, shape [T, J], and the widest half of an interval."""
    slots, beside = np.arange(hit.shape[1]), smooth // 2
    below = np.concatenate((np.zeros((1, hit.shape[2])), hit.sum(axis=0).cumsum(axis=0)))
    first, stop = np.maximum(slots - beside, 0), np.minimum(slots + beside + 1, slots.size)
    count, total = below[stop] - below[first], hit.shape[0] * (stop - first)[:, None]
    share = count / total
    low, high = share_interval(count, total)
    return share, float(np.maximum(share - low, high - share).max())


def _by_slot(capacity: Any, horizon: int) -> Any:
    """Return a capacity by server as one by server and slot."""
    given = extract_labels("capacity", capacity)
    if given is None:
        array = np.asarray(capacity)
        return np.repeat(array[:, None], horizon, axis=1) if array.ndim == 1 else capacity
    if len(given.shape) != 1:
        return capacity
    values = np.repeat(given.values[:, None], horizon, axis=1)
    return Given(values, (*given.axes, "slot"), (*given.labels, tuple(range(horizon))), given.unit)
