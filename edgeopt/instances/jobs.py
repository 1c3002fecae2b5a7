"""Lists of jobs: who arrived when and ran how long on what; whatever is left out is counted."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.labels import (
    extract_labels,
    is_dataset,
    is_time,
    listed,
    seconds_of,
    stamped,
)
from edgeopt.instances.numerals import is_hole, real_of
from edgeopt.instances.plausibility import stands_in
from edgeopt.instances.traces.columns import entry_error, find_column, read_fields
from edgeopt.instances.traces.times import parsed_times
from edgeopt.instances.units import factor, measures_time
from edgeopt.instances.validate import (
    frozen,
    frozen_array,
    frozen_number,
    require,
    require_positive,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas
    import xarray
    from numpy.typing import NDArray

    from edgeopt.arrays import Flags, Floats, Ints

__all__ = ["Jobs", "slots_at"]

DONE: Final = "done"
CUT: Final = "cut"
NEVER: Final = "never"

STATES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("succeeded", "success", "completed", "complete", "finished", "done", "pass", "passed",
         "failed", "fail", "failure", "error", "killed", "cancelled", "canceled", "stopped",
         "terminated", "timeout", "node_fail"),
        DONE,
    ),
    "running": CUT,
    **dict.fromkeys(("pending", "waiting", "queued", "ready"), NEVER),
}  # fmt: skip
"""What states of schedulers mean: the job ended, was still running, or never ran."""

_COLUMNS: Final = ("arrival", "start", "end", "cut", "cpu", "gpu", "group")
_DAY: Final = 86400.0
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_HOLES: Final = frozenset(("", "nan", "none", "null", "na", "n/a", "nat", "-"))
"""What tables write for an entry that is none."""

_WHEN: Final = "must be a number, or a date and time such as 2024-01-31 12:00:00"
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SPAN: Final = re.compile(r"\s*([0-9.]+)\s*([A-Za-z]+)\s*")


@dataclass(frozen=True, eq=False, repr=False)
class Jobs:
    """Jobs that ran, in the order of their arrival.

    Times are seconds: from the midnight before the first arrival where they were timestamps, and
    as they stand otherwise.

    Attributes
    ----------
    arrival
        When a job arrived, s, ascending, shape [J].
    start
        When it began to run, s, shape [J].
    end
        When it ended, or until when it ran on record, s, shape [J]; NaN if no durations were given.
    cut
        Whether it was still running when the record ended, shape [J].
    cpu, gpu
        CPU cores and GPUs that it ran on, parts of them too, shape [J].
    group
        Its group, such as a user, a queue or a site, shape [J].
    span
        First and last moment in which arrivals are on record, s.
    since
        The midnight from which seconds count, a timestamp, or None if times were numbers.
    notes
        What was read, left out, and why.

    Examples
    --------
    >>> import pandas
    >>> from edgeopt.instances import Jobs
    >>> table = pandas.DataFrame({"sent": [0, 60], "ran": [65, 30], "who": ["b", "a"]})
    >>> seconds = {"sent": "s", "ran": "s"}
    >>> jobs = Jobs.read(table, arrival="sent", duration="ran", group="who", units=seconds)
    >>> jobs.end, jobs.group.tolist()
    (array([65., 90.]), ['b', 'a'])
    """

    arrival: Floats
    start: Floats
    end: Floats
    cut: Flags
    cpu: Floats
    gpu: Floats
    group: NDArray[np.str_]
    span: tuple[float, float]
    since: Any = None
    notes: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        data: str | os.PathLike[str] | pandas.DataFrame | xarray.Dataset,
        *,
        arrival: str,
        start: str | None = None,
        end: str | None = None,
        duration: str | None = None,
        cpu: str | None = None,
        gpu: str | None = None,
        state: str | None = None,
        group: str | None = None,
        units: Mapping[str, str] = _NONE,
        states: Mapping[str, str] = _NONE,
    ) -> Jobs:
        """Read a list of jobs, one per line; those that cannot be used are counted in the notes.

        Parameters
        ----------
        data
            Path of a CSV file with a header, a ``pandas.DataFrame``, or an ``xarray.Dataset``.
        arrival
            Name of the column that says when jobs arrived.
        start
            When they began to run; by default they do so when they arrive.
        end, duration
            When they ended, or how long they ran; without either, jobs have no durations, as
            requests to a service have none.
        cpu, gpu
            How many CPU cores and GPUs they had; by default a core and none.
        state
            How they ended. An end on record counts more than a state that says "running".
        group
            What they are grouped by, such as users or queues.
        units
            Unit of a column: one of time, such as ``"ms"``, ``"s"``, ``"min"``, ``"h"`` or
            ``"d"``, or ``"milli"`` of a thousandth of a core. Times that are numbers need one, if
            not here, then in the column's name, ``"submitted [s]"``, as ``attrs["units"]`` of a
            variable of xarray, or in ``attrs["units"]`` of a frame, a mapping from columns.
            Timestamps need none.
        states
            What further states mean: ``"done"``, ``"cut"`` (still running) or ``"never"`` (never
            ran); upper and lower case are the same.

        Raises
        ------
        InstanceError
            If the file cannot be read, a column is missing, an entry is neither a number nor a
            time, a unit is missing, unknown or contradicts the data, a state is unknown, or no job
            is left.

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({
        ...     "submitted": [0, 60, 90], "started": [5, 60, None], "ended": [65, None, None],
        ...     "cores": [500, 2000, 1000], "phase": ["Failed", "Running", "Pending"]})
        >>> jobs = Jobs.read(
        ...     table, arrival="submitted", start="started", end="ended", cpu="cores",
        ...     state="phase", units={"submitted": "s", "started": "s", "ended": "s",
        ...     "cores": "milli"})
        >>> jobs.seconds.tolist(), jobs.cut.tolist(), jobs.cpu.tolist()
        ([60.0, 30.0], [False, True], [0.5, 2.0])
        >>> for note in jobs.notes:
        ...     print(note)
        jobs: 2 of 3 read
        jobs: 1 of 3 left out: they never ran
        jobs: 1 cut off by the end of the record: they last longer than they had run by then
        """
        if end is not None and duration is not None:
            raise InstanceError("jobs", "give end or duration, not both")
        roles = {
            "arrival": arrival, "start": start, "end": end, "duration": duration, "cpu": cpu,
            "gpu": gpu, "state": state, "group": group,
        }  # fmt: skip
        table = _Table.of(data, {role: one for role, one in roles.items() if one}, units)
        clock = _Clock({one: table.times(one) for one in (arrival, start, end) if one}, table)
        rows = _Rows(table, clock.seconds[arrival])
        rows.leave(np.isnan(rows.at), "no arrival is on record")
        timed = end is not None or duration is not None
        meant = table.states(state, states)
        if meant is not None:
            rows.leave(meant == NEVER, "they never ran")
        begun = clock.seconds[start] if start else rows.at.copy()
        rows.leave(np.isnan(begun), "no start is on record")
        if duration is not None:
            ended = begun + table.numbers(duration, "s")
        else:
            ended = clock.seconds[end] if end else np.full(rows.count, np.nan)
        cut = np.zeros(rows.count, dtype=np.bool_)
        if timed:
            ended, cut = rows.ends(begun, ended, meant, zoned=clock.zoned)
        cores, cards = table.numbers(cpu, "1", 1.0), table.numbers(gpu, "1", 0.0)
        without = np.count_nonzero(rows.kept & np.isnan(cards))
        if without:
            rows.notes.append(f"jobs: {without} have no number of GPUs on record: they had none")
        cards = np.nan_to_num(cards)
        rows.leave(np.isnan(cores), "no number of CPU cores is on record")
        rows.leave((cores < 0) | (cards < 0), "they ask for less than nothing")
        rows.leave((cores == 0) & (cards == 0), "they ask for neither a CPU core nor a GPU")
        order = rows.order()
        early = np.count_nonzero(begun[order] < rows.at[order])
        if early:
            rows.notes.append(f"jobs: {early} begin before they arrive; both times are kept")
        if cut[order].any():
            rows.notes.append(
                f"jobs: {np.count_nonzero(cut[order])} cut off by the end of the record: they "
                "last longer than they had run by then"
            )
        if timed and clock.stamps and not clock.zoned:
            rows.notes.append(
                "jobs: times have no zone; they are read as those of a clock that never changes"
            )
        groups = table.groups(group)
        arrays = (rows.at, begun, ended, cut, cores, cards, groups)
        columns = {name: frozen(one[order]) for name, one in zip(_COLUMNS, arrays, strict=True)}
        span = float(columns["arrival"][0]), float(columns["arrival"][-1])
        said = f"jobs: {order.size} of {rows.count}{table.file} read"
        notes = (said, *rows.notes, *table.notes)
        return cls(**columns, span=span, since=clock.since, notes=notes)

    def __len__(self) -> int:
        return int(self.arrival.size)

    def __repr__(self) -> str:
        days = (self.span[1] - self.span[0]) / _DAY
        return f"Jobs({len(self)} jobs in {days:.3g} days, groups={listed(self.groups)})"

    @property
    def seconds(self) -> Floats:
        """How long jobs ran, s, shape [J]; those that were cut off at least so long."""
        return self.end - self.start

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, those with most jobs first."""
        counts = Counter(self.group.tolist())
        return tuple(sorted(counts, key=lambda one: (-counts[one], one)))

    def window(self, first: Any, last: Any) -> Jobs:
        """Return the jobs that arrive in a span of time, its end excluded, as long as they last.

        Parameters
        ----------
        first, last
            Seconds, as those of the arrivals, or timestamps.

        Raises
        ------
        InstanceError
            If no job arrives then.
        """
        low, high = self.moment("first", first), self.moment("last", last)
        inside = (self.arrival >= low) & (self.arrival < high)
        if not inside.any():
            raise InstanceError("jobs", f"none arrives between {first} and {last}")
        note = (
            f"jobs: {np.count_nonzero(inside)} of {len(self)} arrive between {first} and {last}; "
            "the others are left out"
        )
        after = np.count_nonzero(inside & (self.end > high))
        more = [f"jobs: {after} of these still ran at {last}; durations are as on record"] * bool(
            after
        )
        return self._where(inside, (low, high), note, *more)

    def of_groups(self, groups: Sequence[str]) -> Jobs:
        """Return the jobs of some groups.

        Parameters
        ----------
        groups
            Their names.
        """
        inside = np.isin(self.group, list(groups))
        note = (
            f"jobs: {np.count_nonzero(~inside)} of {len(self)} left out: they are of other groups"
        )
        return self._where(inside, self.span, *([note] if not inside.all() else []))

    def _where(self, chosen: Flags, span: tuple[float, float], *notes: str) -> Jobs:
        columns = {name: frozen(getattr(self, name)[chosen]) for name in _COLUMNS}
        return dataclasses.replace(self, **columns, span=span, notes=(*self.notes, *notes))

    def counts(self, slot_seconds: Any) -> Ints:
        """Count the arrivals of each of `groups` in the slots of `span`, shape [T, G].

        Parameters
        ----------
        slot_seconds
            Length of a slot: seconds, or a text such as ``"10 min"``.
        """
        length = span_seconds("slot_seconds", slot_seconds)
        slot = slots_before(self.arrival - self.span[0], length)
        names = np.array(self.groups)
        slots = max(slot.max() + 1, slots_of(self.span[1] - self.span[0], length))
        counted = np.zeros((slots, names.size), dtype=np.int64)
        for n, name in enumerate(names):
            np.add.at(counted[:, n], slot[self.group == name], 1)
        return frozen(counted)

    def moment(self, field: str, time: Any) -> float:
        """Return the seconds of a time that is one of them already, or a timestamp."""
        seconds = real_of(time) if not isinstance(time, str) else None
        if seconds is not None:
            return seconds
        if self.since is None:
            raise InstanceError(field, "must be seconds, as the times of the jobs are", value=time)
        return float((_stamp(field, time, self.since.tz) - self.since).total_seconds())

    def local(self, seconds: Floats) -> Floats:
        """Return what clocks at the place show, in seconds since the midnight of `since`."""
        if self.since is None or self.since.tzinfo is None:
            return seconds
        import pandas

        times = self.since + pandas.to_timedelta(seconds, unit="s")
        shown = times.tz_localize(None) - self.since.tz_localize(None)
        return np.asarray(shown.total_seconds(), dtype=np.float64)

    def require_durations(self) -> None:
        """Refuse jobs without durations."""
        if np.isnan(self.end).any():
            raise InstanceError("jobs", "have no durations; give end= or duration= to Jobs.read")


def span_seconds(field: str, value: Any) -> float:
    """Return a positive length of time, s, given as a number of s, a text or a `timedelta`."""
    said = _SPAN.fullmatch(value) if isinstance(value, str) else None
    if said is not None and (number := real_of(said[1])) is not None:
        seconds: float | None = number * factor(field, said[2], "s")
    elif isinstance(value, timedelta):
        seconds = value.total_seconds()
    else:
        seconds = None if isinstance(value, str) else seconds_of(field, value)
    if seconds is None:
        raise InstanceError(field, "must be seconds, or a text such as '10 min'", value=value)
    require_positive(field, seconds)
    return seconds


def slots_at(
    times: Any, *, slot_seconds: float | str, origin: Any = None, field: str = "times"
) -> Ints:
    """Return the slots in which times lie, such as the ends of windows and outages, shape [N].

    Parameters
    ----------
    times
        Timestamps, or texts such as ``"2024-01-31 12:00"``, or a table of numbers with a unit of
        time in ``attrs["units"]``, shape [N].
    slot_seconds
        Length of a slot: seconds, or a text such as ``"10 min"``.
    origin
        When slot 0 begins: a timestamp, by default the first of the times, or seconds, by
        default 0.
    field
        What errors call the times.

    Returns
    -------
    Slots, shape [N].

    Raises
    ------
    InstanceError
        If times are numbers without a unit, of several zones, or come before the origin.

    Examples
    --------
    >>> ends = ["2024-01-31 12:00", "2024-01-31 13:25"]
    >>> slots_at(ends, slot_seconds="10 min", origin="2024-01-31").tolist()
    [72, 80]
    """
    length, given = span_seconds("slot_seconds", slot_seconds), extract_labels(field, times)
    listing = np.atleast_1d(np.asarray(times if given is None else given.values, dtype=object))
    entries, unit = listing.tolist(), None if given is None else given.unit
    if listing.ndim == 1 and entries and all(isinstance(one, str) for one in entries):
        stamps = parsed_times(
            entries, lambda n, rule, text: InstanceError(field, rule, index=(n,), value=text)
        )
    elif listing.ndim == 1 and is_time(entries):
        stamps = stamped(field, entries)
    elif unit is None:
        rule = "must be timestamps, or a table of numbers with a unit of time in attrs['units']"
        raise InstanceError(field, rule)
    else:
        first = 0.0 if origin is None else frozen_number("origin", origin)
        seconds = frozen_array(field, listing.astype(np.float64), ("time",), empty=True)
        seconds = seconds * factor(field, unit, "s") - first
        stamps = None
    if stamps is not None:
        begin = stamps.min() if origin is None else _stamp("origin", origin, stamps.tz)
        seconds = np.asarray((stamps - begin).total_seconds(), dtype=np.float64)
    slots = slots_before(seconds, length)
    require(field, slots >= 0, slots, "lies before slot 0; choose origin=")
    return frozen(slots)


def _stamp(field: str, time: Any, zone: Any) -> Any:
    """Return a timestamp in a zone, that of a text without one."""
    import pandas

    try:
        # Whatever else pandas reads may mean another day elsewhere, or now.
        sound = isinstance(time, date | np.datetime64) or _DATE.match(str(time))
        stamp = pandas.Timestamp(time if sound else "")
        if stamp.tzinfo is None and zone is not None:
            stamp = stamp.tz_localize(zone)
        if pandas.isna(stamp) or (stamp.tzinfo is None) != (zone is None):
            raise ValueError
    except (ValueError, TypeError):
        rule = f"must be a timestamp in the zone of the other times, {zone}"
        raise InstanceError(field, rule, value=time) from None
    return stamp


def slots_before(seconds: Floats, length: float) -> Ints:
    """Return the slots in which times lie."""
    return np.floor(seconds / length + 1e-9).astype(np.int64)


def slots_of(seconds: Floats | float, length: float) -> Ints:
    """Return how many slots spans of time take, rounded up, at least one."""
    return np.maximum(1, np.ceil(seconds / length - 1e-9)).astype(np.int64)


@dataclass(frozen=True)
class _Table:
    """Some columns of a table, as they were handed over."""

    where: str
    file: str  # in words
    columns: Mapping[str, Any]
    lines: Sequence[int]  # of the rows, as errors name them
    units: Mapping[str, str]
    notes: list[str] = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, data: Any, roles: Mapping[str, str], units: Mapping[str, str]) -> _Table:
        import pandas

        names = list(roles.values())
        given: dict[str, str] = {}
        where, file = "jobs", ""
        if is_dataset(data):
            given = {str(one): v.attrs["units"] for one, v in data.items() if "units" in v.attrs}
            data = data.to_dataframe().reset_index()
        if isinstance(data, pandas.DataFrame):
            said = data.attrs.get("units")
            given |= said if isinstance(said, dict) else {}
            header = list(map(str, data.columns))
            places = {name: find_column(where, header, name) for name in names}
            columns = {name: data.iloc[:, place] for name, place in places.items()}
            lines: Sequence[int] = range(len(data))
        else:
            fields = read_fields(data, names)
            where, lines = fields.path, fields.line
            file = f" rows of {Path(where).name}"
            columns = {one: pandas.Series(fields.texts[one], dtype=object) for one in names}
        if not len(lines):
            raise InstanceError(where, "has a header but no data")
        for name, unit in units.items():
            if name in names:
                continue
            rule = f"has a unit, but is no column that is read; these are {listed(names)}"
            if name in roles:
                rule = f"units go by the names of columns: say units={{{roles[name]!r}: {unit!r}}}"
            raise InstanceError(f"{where}:{name}", rule)
        for name in names:
            in_name = re.fullmatch(r".*\[(.+)\]\s*", name)
            found = in_name[1] if in_name else given.get(name)
            if found is not None and units.get(name, found) != found:
                rule = f"is in {found} by itself, and in {units[name]} by units=; correct one"
                raise InstanceError(f"{where}:{name}", rule)
            units = units if found is None else {**units, name: found}
        return cls(where, file, columns, lines, units)

    def error(self, column: str, row: int, rule: str, value: object) -> InstanceError:
        return entry_error(self.where, column, self.lines[row], rule, value)

    def times(self, column: str) -> Any:
        """Return a column of times: seconds, NaN where there is none, or an index of timestamps."""
        import pandas

        entries = self._entries(column, _WHEN)
        if isinstance(entries, np.ndarray):
            return self._in_unit(column, entries, "s")
        rows = [n for n, entry in enumerate(entries) if entry is not None]
        known = [entries[n] for n in rows]
        texts = isinstance(known[0], str)
        for n, one in zip(rows, known, strict=True):
            if not (isinstance(one, str) if texts else is_time([one])):
                raise self.error(column, n, _WHEN, repr(str(one)[:80]))
        if texts:
            stamps = parsed_times(known, lambda n, *why: self.error(column, rows[n], *why), _WHEN)
        else:
            stamps = stamped(f"{self.where}:{column}", known)
        self._no_unit(column, "timestamps")
        return pandas.DatetimeIndex(pandas.Series(stamps, rows).reindex(range(len(entries))))

    def numbers(self, column: str | None, unit: str, usual: float = np.nan) -> Floats:
        """Return a column of numbers, NaN where there is none; the usual one without a column."""
        if column is None:
            return np.full(len(self.lines), usual)
        entries = self._entries(column, "must be a number")
        if not isinstance(entries, np.ndarray):
            raise InstanceError(f"{self.where}:{column}", "holds times where numbers belong")
        return self._in_unit(column, entries, unit)

    def states(self, column: str | None, more: Mapping[str, str]) -> NDArray[Any] | None:
        """Return what states mean, None without a column of them."""
        if column is None:
            return None
        for name, meaning in more.items():
            if meaning not in (DONE, CUT, NEVER):
                rule = f"state {name!r} must mean 'done', 'cut' or 'never', not {meaning!r}"
                raise InstanceError("states", rule)
        known = {**STATES, **{str(name).lower(): meaning for name, meaning in more.items()}}
        said = ["" if is_hole(one) else str(one).strip() for one in self.columns[column].tolist()]
        strange = Counter(one for one in said if one.lower() not in known)
        if strange:
            names = ", ".join(f"{one!r} ({n} jobs)" for one, n in strange.most_common(6))
            rule = "unknown; say what it means, states={'...': 'done', 'cut' or 'never'}"
            raise InstanceError(f"{self.where}:{column}", f"{rule}: {names}")
        return np.array([known[one.lower()] for one in said])

    def groups(self, column: str | None) -> NDArray[np.str_]:
        """Return the names of groups, ``"all"`` without a column of them."""
        if column is None:
            return np.full(len(self.lines), "all")
        listing = self.columns[column].tolist()
        return np.array(["none" if is_hole(one) else str(one).strip() or "none" for one in listing])

    def _entries(self, column: str, rule: str) -> Floats | list[Any]:
        """Return numbers with NaN for holes, or else texts and times with None for them."""
        values = self.columns[column]
        kind = getattr(values.dtype, "kind", "O")
        if kind == "m":
            self._no_unit(column, "spans of time")
            return np.asarray(values.dt.total_seconds(), dtype=np.float64)
        if kind in "uif":
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        listing = [
            None if is_hole(one) or (isinstance(one, str) and one.strip().lower() in _HOLES)
            else one.strip() if isinstance(one, str) else one
            for one in values.tolist()
        ]  # fmt: skip
        first = next((one for one in listing if one is not None), 0.0)
        if is_time([first]) or (isinstance(first, str) and real_of(first) is None):
            return listing
        numbers = [np.nan if one is None else real_of(one) for one in listing]
        for n, number in enumerate(numbers):
            if number is None:
                raise self.error(column, n, rule, repr(str(listing[n])[:80]))
        return np.array(numbers, dtype=np.float64)

    def _no_unit(self, column: str, what: str) -> None:
        if column in self.units:
            rule = f"has the unit {self.units[column]!r}, but holds {what}; leave one out"
            raise InstanceError(f"{self.where}:{column}", rule)

    def _in_unit(self, column: str, numbers: Floats, wanted: str) -> Floats:
        where, unit = f"{self.where}:{column}", self.units.get(column)
        spans = getattr(self.columns[column].dtype, "kind", "O") == "m"
        if unit is None and wanted == "s" and not (spans or np.isnan(numbers).all()):
            named = re.fullmatch(r".*[( _]([^( _)]+)\)?\s*", column)  # `Runtime (min)`, `wait_s`
            meant = named[1] if named and measures_time(named[1]) else "s"
            say = f"say units={{{column!r}: {meant!r}}}"
            rule = f"is numbers without a unit: {say}, or give timestamps"
            raise InstanceError(where, f"{rule} (numbers are never taken for slots)")
        odd = stands_in(numbers) | (numbers == -1) | np.isinf(numbers)
        if odd.any():
            some = numbers[np.argmax(odd)]
            said = f"{column}: {np.count_nonzero(odd)} entries such as {some:g} taken as missing"
            self.notes.append(said)
        by = 1.0 if unit is None else factor(where, unit, wanted)
        return np.where(odd, np.nan, numbers) * by


class _Clock:
    """Columns of times as seconds of one clock."""

    def __init__(self, columns: Mapping[str, Any], table: _Table) -> None:
        # A column that is empty is of any kind.
        full = {
            name: one
            for name, one in columns.items()
            if not (isinstance(one, np.ndarray) and np.isnan(one).all())
        }
        first = next(iter(full), "")
        for name, one in full.items():
            kinds = ["numbers" if isinstance(each, np.ndarray) else "timestamps"
                     for each in (one, full[first])]  # fmt: skip
            if kinds[0] != kinds[1]:
                rule = f"holds {kinds[0]}, but {first} {kinds[1]}; give one kind"
                raise InstanceError(f"{table.where}:{name}", rule)
        self.since, self.zoned, self.seconds = None, False, dict(columns)
        self.stamps = bool(full) and not isinstance(full[first], np.ndarray)
        if not self.stamps:
            return
        zones = {name: one.tz for name, one in full.items()}
        for name, zone in zones.items():
            if (zone is None) != (zones[first] is None):
                rule = f"is in zone {zone}, but {first} in {zones[first]}; give both one"
                raise InstanceError(f"{table.where}:{name}", rule)
        self.zoned = zones[first] is not None
        self.since = full[first].min().normalize()
        for name, one in full.items():
            spans = one - self.since
            self.seconds[name] = np.asarray(spans.total_seconds(), dtype=np.float64)


class _Rows:
    """Which rows of a table are kept, and why the others are not."""

    def __init__(self, table: _Table, at: Floats) -> None:
        self.table, self.at, self.count = table, at, at.size
        self.kept = np.ones(at.size, dtype=np.bool_)
        self.notes: list[str] = []

    def leave(self, wrong: Flags, why: str) -> None:
        """Leave rows out, and note how many for the first time."""
        lost = np.count_nonzero(self.kept & wrong)
        if lost:
            self.notes.append(f"jobs: {lost} of {self.count} left out: {why}")
        self.kept &= ~wrong

    def ends(
        self, begun: Floats, ended: Floats, meant: NDArray[Any] | None, *, zoned: bool
    ) -> tuple[Floats, Flags]:
        """Return until when jobs ran on record, and whether they were still running then."""
        hint = "" if zoned else ", as times without a zone do when clocks are set back"
        self.leave(ended < begun, f"they end before they begin{hint}")
        # What never ran tells as well until when there is a record.
        sound = ~(ended < begun)
        last = float(np.nanmax([self.at[sound], begun[sound], ended[sound]], initial=-np.inf))
        cut = np.isnan(ended)
        if meant is not None:
            self.leave(cut & (meant == DONE), "they ended, but no end is on record")
            cut |= (meant == CUT) & (ended >= last)
            early = np.count_nonzero(self.kept & (meant == CUT) & ~cut)
            if early:
                said = f"jobs: {early} have a state that says they run, and an end on record: the "
                self.notes.append(f"{said}end counts")
        ended = np.where(cut, last, ended)
        self.leave((ended == begun) & ~cut, "they took no time")
        return ended, cut

    def order(self) -> Ints:
        """Return the rows that are kept, by arrival."""
        if not self.kept.any():
            rule = "no job is left: " + "; ".join(one.removeprefix("jobs: ") for one in self.notes)
            raise InstanceError(self.table.where, rule)
        return np.flatnonzero(self.kept)[np.argsort(self.at[self.kept], kind="stable")]
