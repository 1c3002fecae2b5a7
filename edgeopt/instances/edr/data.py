"""Measurements of sites, prices and loads as tables, and EDR instances built from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.edr.channel import BANDWIDTH, NOISE
from edgeopt.instances.edr.generate import drafted, finish
from edgeopt.instances.tables import FOLDER, write_table
from edgeopt.instances.traces import read_columns, read_fields, read_points
from edgeopt.instances.traces.columns import (
    LOAD,
    PASSENGERS,
    great_circle_kilometres,
    plane_kilometres,
    read_matrix,
    source_paths,
)
from edgeopt.instances.traces.series import (
    FIRST_QUARTER,
    QUARTERS,
    WEEK_HOURS,
    quarter_name,
    read_hourly_load,
    read_hourly_price,
    read_passengers,
    read_station_names,
    week_of,
)
from edgeopt.instances.validate import check_sizes, check_span, frozen_array, path_of
from edgeopt.options import check_real, check_room, check_whole, generator

if TYPE_CHECKING:
    import os

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr.channel import Reuse
    from edgeopt.instances.edr.generate import Weights
    from edgeopt.instances.edr.instance import EdrInstance
    from edgeopt.instances.edr.random_parts import RoundsBound
    from edgeopt.instances.traces import Rule

PRICE_WEEK: Final = "2016-06-20"
"""Monday of the week of prices: the one of 2016 that is nearest to the paper's dates."""

LOAD_WEEK: Final = "2023-06-19"
"""Monday of the week of loads: the one that is nearest to the paper's 18 to 24 June 2023."""

_LOAD_ZONE: Final = "America/Chicago"
_STATIONS: Final = 30
_QUARTERS: Final = tuple(map(quarter_name, range(QUARTERS)))
_PRICE, _LOAD = "dollar_per_watt_hour", "megawatt"


class Measured(NamedTuple):
    """The measurements that instances are built from."""

    # price_week, load_week: first day, a Monday, of the two weeks, year-month-day
    price_week: str
    load_week: str
    price: Floats  # price of energy by local hour of the week, $/Wh, shape [168]
    load: Floats  # load of a grid by local hour of the week, MW, shape [168]
    stations: tuple[str, ...]  # names of underground stations, the busiest first
    # passengers who enter them on a weekday in the quarters of an hour from 5 h to 2 h of the next
    # day, shape [S, 84]
    passengers: Floats
    sites: Floats  # latitude and longitude of base stations, degrees, shape [M, 2]


def measure(
    directory: str | os.PathLike[str], *, price_week: str = PRICE_WEEK, load_week: str = LOAD_WEEK
) -> Measured:
    """Reduce the raw files to what instances need."""
    _, prices, loads, flows, stations, sites = source_paths(
        directory, "edr", "electricity_price/ontario_price2016.csv",
        "eia_hourly_demand/PJM-CE_2020_2025.csv", "london_underground/stationflows_aut2015.csv",
        "london_underground/stations.csv", "eua/site-optus-melbCBD.csv",
    )  # fmt: skip
    price, load = read_hourly_price(prices), read_hourly_load(loads)
    station, entering = read_passengers(flows)
    names = read_station_names(stations)
    for code in station.tolist():
        if code not in names:
            raise InstanceError(f"{flows}:station NLC", "must be in stations.csv", value=code)
    busiest = np.argsort(-entering.sum(axis=1), kind="stable")
    return Measured(
        price_week=price_week,
        load_week=load_week,
        price=week_of(price, price_week),
        load=week_of(load, load_week, _LOAD_ZONE),
        stations=tuple(names[code] for code in station[busiest].tolist()),
        passengers=entering[busiest],
        sites=np.round(read_points(sites), 5),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back exactly."""
    root = path_of(directory, "directory")
    weeks = measured.price_week, measured.load_week
    write_table(
        root / "week.csv",
        ["price_week", _PRICE, "load_week", _LOAD],
        [
            (weeks[0], price, weeks[1], load)
            for price, load in zip(measured.price.tolist(), measured.load.tolist(), strict=True)
        ],
    )
    names, counts = measured.stations[:_STATIONS], measured.passengers[:_STATIONS]
    write_table(
        root / "stations.csv",
        ["station", *_QUARTERS],
        [(name, *map(_short, row)) for name, row in zip(names, counts.tolist(), strict=True)],
    )
    write_table(root / "sites.csv", ["latitude", "longitude"], measured.sites.tolist())


def _short(number: float) -> int | float:
    return int(number) if number == int(number) else number


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read the tables that `write_tables` has written."""
    root = path_of(directory, "directory")
    any_price: Rule = (lambda x: True, "must be a price in $/Wh")
    week = root / "week.csv"
    series = read_columns(week, {_PRICE: any_price, _LOAD: LOAD})
    if series[_PRICE].size != WEEK_HOURS:
        raise InstanceError(str(week), f"must have the {WEEK_HOURS} hours of a week")
    days = read_fields(week, ("price_week", "load_week")).texts
    return Measured(
        price_week=days["price_week"][0],
        load_week=days["load_week"][0],
        price=series[_PRICE],
        load=series[_LOAD],
        stations=tuple(read_fields(root / "stations.csv", ("station",)).texts["station"]),
        passengers=read_matrix(root / "stations.csv", _QUARTERS, PASSENGERS),
        sites=read_points(root / "sites.csv", "latitude", "longitude"),
    )


DAY_QUARTERS: Final = 96  # quarters of an hour in a day


def from_bundled(**options: Any) -> EdrInstance:
    """Build the composite week from the small tables that come with the package.

    Takes the settings of `build`, with up to 30 sites; without any, the default instance is the
    same every time. It equals what `from_raw` builds from the raw files with the same settings.

    Parameters
    ----------
    **options
        Those of `from_raw`.

    Returns
    -------
    An instance from the traces that come with the package.

    Examples
    --------
    >>> from edgeopt.instances.edr import from_bundled
    >>> from_bundled(sites=2, frames=24)
    EdrInstance(frames=24, slots=12, sites=2, tasks=60, types=4)
    """
    return build(read_tables(FOLDER), **options)


def from_raw(
    directory: str | os.PathLike[str],
    *,
    price_week: str = PRICE_WEEK,
    load_week: str = LOAD_WEEK,
    **options: Any,
) -> EdrInstance:
    """Build a composite week from the raw measurement files.

    Parameters
    ----------
    directory
        Folder with the sources as `measure` expects them.
    price_week, load_week
        Mondays, year-month-day: which weeks of the two series are taken.
    **options
        Settings of `build`.

    Returns
    -------
    An instance from the files, whose notes say what was made of them.

    Raises
    ------
    InstanceError
        If a file is missing or has a bad entry, named by file, column and line.
    OptionError
        As in `build`, and if a week is not on record or clocks change in it.

    Examples
    --------
    >>> from edgeopt.instances.edr import from_raw
    >>> from_raw("no/such/folder")
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: no/such/folder: holds none of the public files that this
        is made of (electricity_price/ontario_price2016.csv, ...
    """
    return build(measure(directory, price_week=price_week, load_week=load_week), **options)


def build(
    measured: Measured,
    *,
    rng: int | np.random.Generator = 0,
    sites: int = 30,
    tasks: int = 60,
    frames: int = 168,
    slots: int = 12,
    types: int = 4,
    reuse: Reuse = "group",
    accuracy: float = 0.02,
    rounds_bound: RoundsBound = "published",
    clients: int = 30,
    capable_share: float = 0.3,
    headroom: float = 3.0,
    requests_per_passenger: float = 20.0,
    percentile: float = 90.0,
    cap_share: tuple[float, float] = (0.85, 1.0),
    weights: Weights = "calibrated",
    noise: float = NOISE,
    bandwidth: float = BANDWIDTH,
) -> EdrInstance:
    """Build a composite week: series of four cities, joined by local hour of the week.

    Measured: the hourly price of energy in Ontario in 2016 (some prices are negative) and the
    hourly load of the ComEd zone around Chicago in 2023; passengers who enter the stations of the
    London Underground by quarter of an hour on a weekday, which stands for every day of the week,
    with nobody from 2 to 5 h; where base stations stand in central Melbourne. The busiest station
    belongs to the most central site, which has the least mean distance from all others, and so on
    down both ranks. Derived: caps, see `cap_shares`. Assumed, as in `generate`: tasks, machines,
    channels, objectives, capacities, and requests per passenger, in equal parts by type.
    """
    most = min(len(measured.stations), len(measured.sites))
    for name, value in (("sites", sites), ("frames", frames), ("slots", slots), ("types", types)):
        check_whole(name, value)
    if not 1 <= sites <= most:
        raise OptionError(f"sites must lie in 1..{most}, the stations on record, got {sites}")
    if not 1 <= frames <= measured.price.size:
        raise OptionError(f"frames must lie in 1..{measured.price.size}, got {frames}")
    if slots < 1 or slots % 4:
        raise OptionError(f"slots must be a multiple of 4, to fit quarters of an hour, got {slots}")
    check_sizes(types=types)
    check_room("frames * slots * sites * sites", frames, slots, sites, sites)
    check_room("frames * slots * sites * types", frames, slots, sites, types)
    check_real("requests_per_passenger", requests_per_passenger, "[0, inf)")
    arriving, building, travelling, air, promising = generator(rng).spawn(5)
    asked = requests_per_passenger * _per_slot(measured.passengers[:sites], frames, slots)
    requests = np.repeat(asked[..., None] / types, types, axis=3)
    place = measured.sites[_central(measured.sites)[:sites]]
    draft = drafted(
        (arriving, building, travelling, air, promising), requests,
        great_circle_kilometres(place, place),
        {"reuse": reuse, "noise": noise, "bandwidth": bandwidth},
        tasks=tasks, clients=clients, accuracy=accuracy, rounds_bound=rounds_bound,
        capable_share=capable_share, headroom=headroom, price=measured.price[:frames],
        position=plane_kilometres(place), names=measured.stations[:sites],
    )  # fmt: skip
    shares = cap_shares(measured.load, percentile=percentile, cap_share=cap_share)[:frames]
    text = _origin(measured, sites, requests_per_passenger, percentile, cap_share)
    return finish(draft, shares, weights, text)


def cap_shares(load: Floats, *, percentile: float, cap_share: tuple[float, float]) -> Floats:
    """Derive caps from the load of a grid, MW: hours above a percentile of it are capped.

    There is no public record of when demand response was called, or of how much. Caps are in terms
    of the energy that the hour would use if requests were served at average sites and tasks trained
    at an even rate: they fall linearly from the largest at the percentile to the least at the
    highest load; infinity where there is none.
    """
    check_span("cap_share", cap_share, "[0, inf)")
    check_real("percentile", percentile, "[0, 100]")
    load = frozen_array("load", load, ("hour",))
    least, most = cap_share
    threshold, peak = np.percentile(load, percentile), load.max()
    shares = np.full(load.size, np.inf)
    above = load > threshold
    shares[above] = most - (most - least) * (load[above] - threshold) / (peak - threshold)
    return shares


def _per_slot(passengers: Floats, frames: int, slots: int) -> Floats:
    """Repeat a weekday, each quarter spread evenly over its slots, shape [T, D, J]."""
    day = np.zeros((DAY_QUARTERS, len(passengers)))
    # The operating day ends at 2 h of the next calendar day.
    day[(FIRST_QUARTER + np.arange(QUARTERS)) % DAY_QUARTERS] = passengers.T
    per_quarter = slots // 4
    by_slot = np.repeat(day / per_quarter, per_quarter, axis=0).reshape(24, slots, -1)
    return by_slot[np.arange(frames) % 24]


def _central(points: Floats) -> Ints:
    """Order points by their mean distance from all others, the least first."""
    return np.argsort(great_circle_kilometres(points, points).mean(axis=1), kind="stable")


def _origin(
    measured: Measured,
    sites: int,
    requests_per_passenger: float,
    percentile: float,
    cap_share: tuple[float, float],
) -> str:
    return (
        "A composite week that never happened in one place; its series are joined by local hour of "
        f"the week. Price of energy: Ontario, the week of {measured.price_week}; negative prices "
        f"are real. Requests: {requests_per_passenger:g} per passenger entering the {sites} "
        "busiest stations of the London Underground, the profile of an autumn weekday of 2015 "
        "repeated on all seven days, none from 2 to 5 h; the factor is assumed. Sites: base "
        "stations in central Melbourne, the busiest station at the most central site and so on "
        "down both ranks. Caps are derived, not recorded: hours of the week of "
        f"{measured.load_week} in which the load of the ComEd zone (Chicago) exceeds its "
        f"percentile {percentile:g} get a cap that falls from {100 * cap_share[1]:g} to "
        f"{100 * cap_share[0]:g} % of the energy of serving at average sites and training at an "
        "even rate. Tasks, machines, channels and objectives are drawn. Powered by TfL Open Data."
    )
