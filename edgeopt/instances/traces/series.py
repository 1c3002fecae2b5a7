"""Series of public measurements: prices and loads by the hour, passengers by the quarter."""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.traces.columns import LOAD, PASSENGERS, read_fields
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.traces.columns import Fields, Rule

WEEK_HOURS: Final = 168  # hours of a week in which no clock changes
KILO: Final = 1e3  # Wh in a kWh
_HOUR: Final = timedelta(hours=1)


@compact_repr
class HourlySeries(NamedTuple):
    """One number per hour, without gaps.

    Attributes
    ----------
    start
        Beginning of the first hour, in the clock of the file.
    value
        Numbers of the hours, shape [H].
    """

    start: datetime
    value: Floats


def read_hourly_price(path: str | os.PathLike[str], column: str = "HOEP") -> HourlySeries:
    """Read hourly prices such as those of Ontario, $/Wh in local standard time; some are negative.

    The CSV has the columns date (day/month/year), hour (1 to 24, the hour that ends then) and a
    price in $/kWh; its clock never changes.
    """
    fields = read_fields(path, ("date", "hour", column))
    whole: Rule = (lambda x: x in range(1, 25), "must be an hour, 1 to 24")

    def begin(row: int) -> datetime:
        hour = fields.number("hour", row, whole)
        return _time(fields, "date", row, "%d/%m/%Y") + (int(hour) - 1) * _HOUR

    start = _consecutive(fields, "hour", begin)
    any_price: Rule = (lambda x: True, "must be a price in $/kWh")
    return HourlySeries(start, _numbers(fields, column, any_price) / KILO)


def read_hourly_load(
    path: str | os.PathLike[str], column: str = "cleaned demand (MW)"
) -> HourlySeries:
    """Read hourly loads of a grid, such as the cleaned ones of the United States, MW.

    The CSV has the columns date_time (year-month-day hour:minute:second, in universal time) and a
    load in MW.
    """
    fields = read_fields(path, ("date_time", column))

    def begin(row: int) -> datetime:
        return _time(fields, "date_time", row, "%Y-%m-%d %H:%M:%S")

    start = _consecutive(fields, "date_time", begin)
    return HourlySeries(start, _numbers(fields, column, LOAD))


def week_of(series: HourlySeries, monday: str, zone: str | None = None) -> Floats:
    """Cut the week from a Monday, 0 h local time, out of a series, shape [168].

    A series in universal time needs the zone in which the week begins, ``"America/Chicago"``.
    """
    try:
        day = date.fromisoformat(monday)
    except (TypeError, ValueError):
        raise OptionError(f"needs a day such as '2016-06-20', got {monday!r}") from None
    if day.weekday() != 0:
        raise OptionError(f"a week begins on a Monday, and {monday} is none")
    first = datetime(day.year, day.month, day.day)
    begin, end = first, first + WEEK_HOURS * _HOUR
    if zone is not None:
        begin, end = _universal(begin, zone), _universal(end, zone)
    if end - begin != WEEK_HOURS * _HOUR:
        raise OptionError(f"clocks in {zone} change during the week of {monday}; choose another")
    offset = (begin - series.start) // _HOUR
    if offset < 0 or offset + WEEK_HOURS > series.value.size:
        last = series.start + series.value.size * _HOUR
        raise OptionError(f"the week of {monday} is not on record, {series.start} to {last}")
    return series.value[offset : offset + WEEK_HOURS]


def _universal(local: datetime, zone: str) -> datetime:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        shift = local.replace(tzinfo=ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError):
        raise OptionError(f"no time zone {zone!r}") from None
    return local - (shift or timedelta())


def _consecutive(fields: Fields, column: str, begin: Callable[[int], datetime]) -> datetime:
    """Return the first time after checking that each of the others is an hour after the last."""
    first = last = begin(0)
    if first.minute or first.second:
        raise fields.error(column, 0, "must be a full hour", str(first))
    for row in range(1, len(fields.line)):
        time = begin(row)
        rule = f"must be the hour after {last}: the series has a gap"
        if time == last:
            rule = "occurs twice"
        elif time < last:
            rule = "comes before the line above it"
        if time != last + _HOUR:
            raise fields.error(column, row, rule, str(time))
        last = time
    return first


def _time(fields: Fields, column: str, row: int, form: str) -> datetime:
    text = fields.texts[column][row]
    try:
        return datetime.strptime(text.strip(), form)
    except ValueError:
        rule = f"must be a time written as {datetime(2016, 12, 31).strftime(form)}"
        raise fields.error(column, row, rule, repr(text)) from None


def _numbers(fields: Fields, column: str, rule: Rule) -> Floats:
    return np.array([fields.number(column, row, rule) for row in range(len(fields.line))])


QUARTERS: Final = 84  # quarters of an hour in an operating day of 21 hours
FIRST_QUARTER: Final = 20
"""Quarter of an hour after midnight in which the operating day begins, at 5 h."""

_CODE: Final[Rule] = (lambda x: x >= 0 and x == int(x), "must be the number of a station")


@compact_repr
class Passengers(NamedTuple):
    """Passengers who enter each station on a weekday.

    Attributes
    ----------
    station
        Number of each station, shape [S].
    entering
        Passengers in the quarters of an hour from 5 h to 2 h of the next day, shape [S, 84].
    """

    station: Ints
    entering: Floats


def read_passengers(path: str | os.PathLike[str]) -> Passengers:
    """Read who enters the stations of the London Underground on a typical weekday, [S, 84].

    The CSV has the columns station NLC, AEI (A: entering, E: leaving, I: changing trains) and one
    for each quarter of an hour, 0500-0515 to 0145-0200.
    """
    quarters = [quarter_name(q) for q in range(QUARTERS)]
    fields = read_fields(path, ("station NLC", "AEI", *quarters))
    entering: dict[int, list[float]] = {}
    seen = set()
    for row, kind in enumerate(fields.texts["AEI"]):
        if kind not in ("A", "E", "I"):
            raise fields.error("AEI", row, "must be A, E or I", repr(kind))
        code = int(fields.number("station NLC", row, _CODE))
        if (code, kind) in seen:
            raise fields.error("station NLC", row, f"occurs twice with {kind}", code)
        seen.add((code, kind))
        numbers = [fields.number(q, row, PASSENGERS) for q in quarters]
        if kind == "A":
            entering[code] = numbers
    if not entering:
        raise InstanceError(f"{os.fspath(path)}:AEI", "must be A in some line")
    return Passengers(np.array(list(entering)), np.array(list(entering.values())))


def read_station_names(path: str | os.PathLike[str]) -> dict[int, str]:
    """Read the name of each station by its number, from the columns tfl_nlc_id and name."""
    fields = read_fields(path, ("tfl_nlc_id", "name"))
    names: dict[int, str] = {}
    for row, name in enumerate(fields.texts["name"]):
        code = int(fields.number("tfl_nlc_id", row, _CODE))
        if code in names:
            raise fields.error("tfl_nlc_id", row, "occurs twice", code)
        if not name.strip().isprintable() or not name.strip():
            raise fields.error("name", row, "must be a text", repr(name))
        names[code] = name.strip()
    return names


def quarter_name(number: int) -> str:
    """Return the name of the column of a quarter, the first of the day being 0500-0515."""
    begin, end = ((FIRST_QUARTER + number + k) % 96 for k in (0, 1))
    return "-".join(f"{q // 4:02}{15 * (q % 4):02}" for q in (begin, end))
