"""Measurements behind EDR: a week of prices and loads, passengers of stations, sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.tables import write_table
from edgeopt.instances.traces import (
    read_columns,
    read_fields,
    read_hourly_load,
    read_hourly_price,
    read_passengers,
    read_points,
    read_station_names,
    week_of,
)
from edgeopt.instances.traces.passengers import QUARTERS, quarter_name
from edgeopt.instances.traces.series import WEEK_HOURS
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from edgeopt.instances.traces import Rule

__all__ = ["LOAD_WEEK", "PRICE_WEEK", "Measured", "measure", "read_tables", "write_tables"]

PRICE_WEEK: Final = "2016-06-20"
"""Monday of the week of prices: the one of 2016 that is nearest to the paper's dates."""

LOAD_WEEK: Final = "2023-06-19"
"""Monday of the week of loads: the one that is nearest to the paper's 18 to 24 June 2023."""

_LOAD_ZONE: Final = "America/Chicago"
_STATIONS: Final = 30
_QUARTERS: Final = tuple(map(quarter_name, range(QUARTERS)))
_PRICE, _LOAD = "dollar_per_watt_hour", "megawatt"


class Measured(NamedTuple):
    """The measurements that instances are built from.

    Attributes
    ----------
    price_week, load_week
        First day, a Monday, of the two weeks, year-month-day.
    price
        Price of energy by local hour of the week, $/Wh, shape [168].
    load
        Load of a grid by local hour of the week, MW, shape [168].
    stations
        Names of underground stations, the busiest first.
    passengers
        Passengers who enter them on a weekday in the quarters of an hour from 5 h to 2 h of the
        next day, shape [S, 84].
    sites
        Latitude and longitude of base stations, degrees, shape [M, 2].
    """

    price_week: str
    load_week: str
    price: NDArray[np.float64]
    load: NDArray[np.float64]
    stations: tuple[str, ...]
    passengers: NDArray[np.float64]
    sites: NDArray[np.float64]


def measure(
    directory: str | os.PathLike[str],
    *,
    price_week: str = PRICE_WEEK,
    load_week: str = LOAD_WEEK,
) -> Measured:
    """Reduce the raw files to what instances need."""
    root = path_of(directory, "directory")
    price = read_hourly_price(root / "electricity_price" / "ontario_price2016.csv")
    load = read_hourly_load(root / "eia_hourly_demand" / "PJM-CE_2020_2025.csv")
    flows = root / "london_underground" / "stationflows_aut2015.csv"
    station, entering = read_passengers(flows)
    names = read_station_names(root / "london_underground" / "stations.csv")
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
        sites=np.round(read_points(root / "eua" / "site-optus-melbCBD.csv"), 5),
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
    load: Rule = (lambda x: x >= 0, "must be a load in MW, at least 0")
    count: Rule = (lambda x: x >= 0, "must be a number of passengers, at least 0")
    week = root / "week.csv"
    series = read_columns(week, {_PRICE: any_price, _LOAD: load})
    if series[_PRICE].size != WEEK_HOURS:
        raise InstanceError(str(week), f"must have the {WEEK_HOURS} hours of a week")
    days = read_fields(week, ("price_week", "load_week")).texts
    flows = read_columns(root / "stations.csv", dict.fromkeys(_QUARTERS, count))
    return Measured(
        price_week=days["price_week"][0],
        load_week=days["load_week"][0],
        price=series[_PRICE],
        load=series[_LOAD],
        stations=tuple(read_fields(root / "stations.csv", ("station",)).texts["station"]),
        passengers=np.column_stack([flows[name] for name in _QUARTERS]),
        sites=read_points(root / "sites.csv", "latitude", "longitude"),
    )
