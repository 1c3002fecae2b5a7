"""Series of prices, loads and passengers: what is read, and what is refused by name."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.traces import read_fields
from edgeopt.instances.traces.series import (
    HourlySeries,
    quarter_name,
    read_hourly_load,
    read_hourly_price,
    read_passengers,
    read_station_names,
    week_of,
)

PRICE = """date,hour,HOEP,TOU
30/06/2016,23,0.02,0
30/06/2016,24,-0.00109,0
01/07/2016,1,0,0
01/07/2016,2,1.6196,0
"""
LOAD = """date_time,raw demand (MW),category,cleaned demand (MW)
2020-02-28 23:00:00,11957,OKAY,11957
2020-02-29 00:00:00,,MISSING,11644.5
2020-02-29 01:00:00,11307,OKAY,11307
"""
QUARTERS = [quarter_name(q) for q in range(84)]
STATIONS = "tfl_nlc_id,data_in_rods,name\n500,1,Acton Town\n747,1,Waterloo \n"


def flows(*rows, header=None):
    names = header or ["station NLC", "AEI", "Total", "Early     ", *QUARTERS]
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]) + "\n"


FLOWS = flows(
    (747, "A", 84, 1, *range(84)),
    (747, "E", 0, 0, *([7] * 84)),
    (500, "A", 84, 1, *([0.5] * 84)),
)


@pytest.fixture
def write(tmp_path):
    def put(text):
        path = tmp_path / "file.csv"
        path.write_text(text)
        return path

    return put


def test_prices_may_be_negative(write):
    prices = read_hourly_price(write(PRICE))
    assert prices.start == datetime(2016, 6, 30, 22)
    assert prices.value.tolist() == pytest.approx([2e-5, -1.09e-6, 0, 1.6196e-3])
    assert read_hourly_price(write(PRICE.replace("HOEP", "price")), "price").value.size == 4


def test_loads_are_the_cleaned_ones(write):
    loads = read_hourly_load(write(LOAD))
    assert loads.start == datetime(2020, 2, 28, 23)
    assert loads.value.tolist() == [11957, 11644.5, 11307]


def test_passengers_who_enter(write):
    passengers = read_passengers(write(FLOWS))
    assert passengers.station.tolist() == [747, 500]
    assert passengers.entering.tolist() == [[float(q) for q in range(84)], [0.5] * 84]
    assert read_station_names(write(STATIONS)) == {500: "Acton Town", 747: "Waterloo"}


def test_names_of_quarters():
    assert QUARTERS[0] == "0500-0515"
    assert QUARTERS[75] == "2345-0000"
    assert QUARTERS[76] == "0000-0015"
    assert QUARTERS[83] == "0145-0200"
    assert len(set(QUARTERS)) == 84


@pytest.mark.parametrize(
    ("reader", "text", "column", "line", "value", "rule"),
    [
        # Gaps, duplicates, unsorted times.
        (
            read_hourly_price,
            PRICE.replace("01/07/2016,1,0,0\n", ""),
            "hour", 4, "2016-07-01 01:00:00", "the hour after 2016-06-30 23:00:00",
        ),
        (
            read_hourly_price,
            PRICE.replace("01/07/2016,1", "30/06/2016,24"),
            "hour", 4, "2016-06-30 23:00:00", "occurs twice",
        ),
        (
            read_hourly_price,
            PRICE.replace("01/07/2016,1", "30/06/2016,3"),
            "hour", 4, "2016-06-30 02:00:00", "comes before the line above it",
        ),
        (
            read_hourly_load,
            LOAD.replace("2020-02-29 00:00:00,,MISSING,11644.5\n", ""),
            "date_time", 3, "2020-02-29 01:00:00", "the series has a gap",
        ),
        (
            read_hourly_load,
            LOAD.replace("02-29 00", "02-28 23"),
            "date_time", 3, "2020-02-28 23:00:00", "occurs twice",
        ),
        (
            read_hourly_load,
            LOAD.replace("02-29 00", "02-27 23"),
            "date_time", 3, "2020-02-27 23:00:00", "comes before the line above it",
        ),
        (
            read_hourly_load,
            LOAD.replace("29 01:00", "29 01:15"),
            "date_time", 4, "2020-02-29 01:15:00", "the series has a gap",
        ),
        (
            read_hourly_load,
            LOAD.replace("28 23:00", "28 23:30"),
            "date_time", 2, "2020-02-28 23:30:00", "must be a full hour",
        ),
        # Entries that are no time or no number.
        (read_hourly_price, PRICE.replace("16,24", "16,25"), "hour", 3, "25", "1 to 24"),
        (read_hourly_price, PRICE.replace("16,24", "16,0"), "hour", 3, "0", "1 to 24"),
        (
            read_hourly_price,
            PRICE.replace("01/07/2016,1", "31/06/2016,1"),
            "date", 4, "'31/06/2016'", "written as 31/12/2016",
        ),
        (
            read_hourly_load,
            LOAD.replace("2020-02-29 01", "2021-02-29 01"),
            "date_time", 4, "'2021-02-29 01:00:00'", "written as 2016-12-31 00:00:00",
        ),
        (read_hourly_price, PRICE.replace("1.6196", "high"), "HOEP", 5, "'high'", "a number"),
        (read_hourly_price, PRICE.replace("1.6196", "nan"), "HOEP", 5, "'nan'", "a number"),
        (
            read_hourly_load,
            LOAD.replace(",11307\n", ",-1\n"),
            "cleaned demand (MW)", 4, "-1", "at least 0",
        ),
        (
            read_hourly_load,
            LOAD.replace("11644.5", ""),
            "cleaned demand (MW)", 3, "''", "must be a number",
        ),
        # Passengers.
        (read_passengers, FLOWS.replace("747,E", "747,A"), "station NLC", 3, 747, "twice with A"),
        (read_passengers, FLOWS.replace("747,E", "747,X"), "AEI", 3, "'X'", "A, E or I"),
        (read_passengers, FLOWS.replace("500,A", "5.5,A"), "station NLC", 4, "5.5", "a station"),
        (
            read_passengers,
            FLOWS.replace(",83\n", ",-83\n"),
            "0145-0200", 2, "-83", "number of passengers",
        ),
        (read_station_names, STATIONS.replace("500", "747"), "tfl_nlc_id", 3, 747, "twice"),
        (read_station_names, STATIONS.replace("Acton Town", " "), "name", 2, "' '", "a text"),
    ],
)  # fmt: skip
def test_bad_entries_are_named(write, reader, text, column, line, value, rule):
    path = write(text)
    with pytest.raises(InstanceError, match=rule) as caught:
        reader(path)
    assert caught.value.field == f"{path}:{column}"
    assert caught.value.index == (line,)
    assert caught.value.value == value


@pytest.mark.parametrize(
    ("reader", "text", "rule"),
    [
        (read_hourly_price, "", "is empty"),
        (read_hourly_price, "date,hour,HOEP\n", "no data"),
        (read_hourly_price, PRICE.replace("HOEP", "price"), "no column 'HOEP'"),
        (read_hourly_load, LOAD.replace("OKAY,11307", "OKAY"), "line 4 must have 4 entries"),
        (
            read_passengers,
            FLOWS.replace("2345-0000", "2345-2400"),
            "no column '2345-0000'",
        ),
        (read_passengers, FLOWS.replace(",A,", ",I,"), "must be A in some line"),
        (read_station_names, STATIONS.replace("tfl_nlc_id", "id"), "no column 'tfl_nlc_id'"),
    ],
)
def test_bad_files_are_refused(write, reader, text, rule):
    path = write(text)
    with pytest.raises(InstanceError, match=rule):
        reader(path)
    with pytest.raises(InstanceError, match="no such file"):
        reader(path.with_name("absent.csv"))


def test_columns_as_texts(write):
    fields = read_fields(write("a, b ,c\n1,x,2\n\n3,,4\n"), ("c", "b"))
    assert fields.line == [2, 4]
    assert fields.texts == {"c": ["2", "4"], "b": ["x", ""]}


# --- weeks ---------------------------------------------------------------------------------


def test_a_week_of_a_local_series():
    series = HourlySeries(datetime(2016, 6, 18, 22), np.arange(400.0))
    week = week_of(series, "2016-06-20")
    assert week.tolist() == [float(26 + h) for h in range(168)]
    exact = series._replace(value=series.value[: 26 + 168])
    assert week_of(exact, "2016-06-20").size == 168
    with pytest.raises(OptionError, match="not on record"):
        week_of(exact._replace(value=exact.value[:-1]), "2016-06-20")
    late = exact._replace(start=exact.start + timedelta(hours=27))
    with pytest.raises(OptionError, match="not on record"):
        week_of(late, "2016-06-20")


@pytest.mark.parametrize(
    ("monday", "hour"),
    [("2023-06-19", 5), ("2023-01-09", 6), ("2023-03-13", 5), ("2023-11-06", 6)],
)
def test_a_week_of_local_time_in_a_universal_series(monday, hour):
    # Midnight in Chicago is 5 h in summer and 6 h in winter, universal time.
    series = HourlySeries(datetime(2023, 1, 1), np.arange(8760.0))
    begin = (datetime.fromisoformat(monday) - series.start).days * 24 + hour
    assert week_of(series, monday, "America/Chicago").tolist() == list(range(begin, begin + 168))


@pytest.mark.parametrize(
    ("monday", "zone", "rule"),
    [
        ("2023-03-06", "America/Chicago", "clocks in America/Chicago change"),
        ("2023-10-30", "America/Chicago", "clocks in America/Chicago change"),
        ("2023-06-20", None, "begins on a Monday"),
        ("2023-6-19", None, "needs a day such as"),
        ("next", None, "needs a day such as"),
        ("2023-06-19", "America/Chikago", "no time zone"),
        ("2022-06-20", "America/Chicago", "not on record"),
        ("2023-12-25", "America/Chicago", "not on record"),
    ],
)
def test_weeks_that_there_are_not(monday, zone, rule):
    series = HourlySeries(datetime(2023, 1, 1), np.arange(8760.0))
    with pytest.raises(OptionError, match=rule):
        week_of(series, monday, zone)
