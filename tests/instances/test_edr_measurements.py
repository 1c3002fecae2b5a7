from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.edr import data as measurements
from edgeopt.instances.edr import from_bundled, from_raw
from edgeopt.instances.edr.data import cap_shares, measure
from edgeopt.instances.edr.random_parts import reference
from edgeopt.instances.traces.columns import great_circle_kilometres, plane_kilometres
from edgeopt.instances.traces.series import quarter_name
from tests.instances.raw_files import check_bad_file, check_tables

TABLES = ["sites.csv", "stations.csv", "week.csv"]
PRICES = "electricity_price/ontario_price2016.csv"
LOADS = "eia_hourly_demand/PJM-CE_2020_2025.csv"
FLOWS = "london_underground/stationflows_aut2015.csv"
NAMES = "london_underground/stations.csv"
SITES = "eua/site-optus-melbCBD.csv"


def count(station: int, quarter: int) -> int:
    return 10 * station + quarter % 7


@pytest.fixture
def raw(tmp_path):
    """A folder of small raw files with the layout of the public ones."""
    first = datetime(2016, 6, 19, 22)
    prices = ["date,hour,HOEP"]
    for h in range(180):
        time = first + timedelta(hours=h)
        prices.append(f"{time:%d/%m/%Y},{time.hour + 1},{(h % 24 - 2) / 100}")
    first = datetime(2023, 6, 19, 0)
    loads = ["date_time,cleaned demand (MW)"]
    for h in range(180):
        time = first + timedelta(hours=h)
        loads.append(f"{time:%Y-%m-%d %H:%M:%S},{1000 + h}")
    quarters = list(map(quarter_name, range(84)))
    flows = [",".join(["station NLC", "AEI", *quarters])]
    for station in (1, 3, 2):
        row = [count(station, q) for q in range(84)]
        flows.append(",".join(map(str, (station, "A", *row))))
        flows.append(",".join(map(str, (station, "E", *([1000] * 84)))))
    names = ["tfl_nlc_id,name", "1,One", "2,Two", "3,Three", "4,Four"]
    # On a line from south to north; the middle ones are the most central.
    sites = ["LATITUDE,LONGITUDE", *(f"{-37.8 + 0.01 * k},145.0" for k in (0, 1, 2, 5))]
    for name, lines in (
        (PRICES, prices), (LOADS, loads), (FLOWS, flows), (NAMES, names), (SITES, sites),
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return tmp_path


def test_weeks_and_ranks(raw):
    measured = measure(raw)
    # The price of an hour h of the file is (h mod 24 - 2) ct/kWh; Monday begins with hour 2.
    assert measured.price[:3].tolist() == pytest.approx([0, 1e-5, 2e-5])
    assert measured.price.min() == pytest.approx(-2e-5)
    # Midnight in Chicago is 5 h in universal time.
    assert measured.load.tolist() == [1005.0 + h for h in range(168)]
    assert measured.stations == ("Three", "Two", "One")
    assert measured.passengers[0].tolist() == [count(3, q) for q in range(84)]
    assert measured.sites.shape == (4, 2)


def test_tables_come_back_exactly(raw, tmp_path):
    check_tables(measurements, raw, tmp_path / "out", TABLES)


def test_instances_are_built_from_raw_files(raw):
    options = {"sites": 3, "tasks": 2, "types": 2, "slots": 8, "requests_per_passenger": 4.0}
    instance = from_raw(raw, **options, percentile=50.0)
    assert (instance.frames, instance.slots, instance.sites) == (168, 8, 3)
    assert instance.slot_seconds == 450
    assert instance.names == ("Three", "Two", "One")
    for t in (0, 1, 2, 4, 5, 17, 23, 24 + 9, 6 * 24 + 23):
        for tau in range(8):
            quarter = 4 * (t % 24) + tau // 2
            # The day runs from 5 h to 2 h of the next day; two slots share a quarter.
            ordinal = (quarter - 20) % 96
            for j, station in enumerate((3, 2, 1)):
                passengers = count(station, ordinal) if ordinal < 84 else 0
                asked = 4.0 * passengers / 2 / 2
                assert instance.requests[t, tau, j].tolist() == pytest.approx([asked] * 2)
    asleep = [t for t in range(168) if t % 24 in (2, 3, 4)]
    assert instance.requests[asleep].sum() == 0
    assert instance.requests[1].min() > 0
    assert instance.requests[5].min() > 0
    # The middle sites: mean distances 8, 6, 6 and 12 units; equal ranks by position in the file.
    north = instance.position[:, 1]
    km = great_circle_kilometres(np.array([[-37.8, 145.0]]), np.array([[-37.79, 145.0]]))[0, 0]
    assert (north - north[0]).tolist() == pytest.approx([0, km, -km], rel=1e-4)
    assert instance.propagation[:, :, 0, 1].mean() == pytest.approx(2e-3 * km, rel=0.02)
    # Loads rise all week: the second half is capped, more and more.
    usual = reference(instance)
    share = instance.cap / (usual.inference + usual.training)
    assert np.isinf(share[:84]).all()
    expected = 1 - 0.15 * (np.arange(84) + 0.5) / 83.5
    assert share[84:].tolist() == pytest.approx(expected.tolist())
    np.testing.assert_array_equal(instance.price, measure(raw).price)


@pytest.mark.long
def test_settings_of_the_composite_week(raw):
    options = {"sites": 3, "tasks": 2}
    instance = from_raw(raw, **options)
    assert instance == from_raw(raw, **options)
    assert instance == from_raw(raw, **options, rng=np.random.default_rng(0))
    assert instance != from_raw(raw, **options, rng=1)
    part = from_raw(raw, **options, frames=30)
    np.testing.assert_array_equal(part.requests, instance.requests[:30])
    np.testing.assert_array_equal(part.price, instance.price[:30])
    assert np.isinf(part.cap).all()  # the highest loads come at the end of the week
    twice = from_raw(raw, **options, requests_per_passenger=40.0)
    np.testing.assert_allclose(twice.requests, 2 * instance.requests)
    assert from_raw(raw, sites=1, tasks=0).tasks == 0
    quiet = from_raw(raw, **options, requests_per_passenger=0.0)
    assert quiet.requests.sum() == 0
    none = from_raw(raw, **options, percentile=100.0)
    assert np.isinf(none.cap).all()
    again = from_raw(raw, **options, reuse="none", headroom=2.0)
    np.testing.assert_array_equal(again.slo, instance.slo)
    np.testing.assert_allclose(again.capacity, instance.capacity * 2 / 3)
    assert (again.rate >= instance.rate).all()


def test_caps_follow_the_load():
    load = np.array([5.0, 1.0, 3.0, 4.0, 2.0])
    shares = cap_shares(load, percentile=50, cap_share=(0.6, 1.0))
    assert shares.tolist() == pytest.approx([0.6, np.inf, np.inf, 0.8, np.inf])
    assert np.isinf(cap_shares(np.ones(4), percentile=90, cap_share=(0.5, 1.0))).all()
    lowest = cap_shares(load, percentile=0, cap_share=(0.5, 0.5))
    assert lowest.tolist() == [0.5, np.inf, 0.5, 0.5, 0.5]


def test_positions_on_a_plane():
    points = np.array([[-37.8, 144.95], [-37.82, 144.97], [-37.81, 144.99]])
    plane = plane_kilometres(points)
    between = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    np.testing.assert_allclose(between, great_circle_kilometres(points, points), rtol=1e-4)
    assert plane[0, 1] > plane[1, 1]
    assert plane[0, 0] < plane[1, 0]
    np.testing.assert_allclose(plane.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "old", "new", "field", "line"),
    [
        (PRICES, "20/06/2016,5,", "20/06/2016,6,", "hour", 8),
        (LOADS, ",1100", ",none", "cleaned demand (MW)", 102),
        (FLOWS, "3,A,30", "3,A,-30", "0500-0515", 4),
        (NAMES, "2,Two", "1,Two", "tfl_nlc_id", 3),
        (SITES, "-37.79", "-97.79", "LATITUDE", 3),
    ],
)
def test_bad_raw_files_are_named(raw, name, old, new, field, line):
    check_bad_file(from_raw, raw, raw / name, (old, new), field, line)


def test_stations_need_names(raw):
    path = raw / NAMES
    path.write_text(path.read_text().replace("2,Two\n", ""))
    with pytest.raises(InstanceError, match=r"must be in stations\.csv") as caught:
        from_raw(raw)
    assert caught.value.value == 2


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"sites": 0}, "sites must lie in 1..3"),
        ({"sites": 4}, "sites must lie in 1..3"),
        ({"frames": 0}, "frames must lie in 1..168"),
        ({"frames": 169}, "frames must lie in 1..168"),
        ({"slots": 6}, "slots must be a multiple of 4"),
        ({"slots": 0}, "slots must be a multiple of 4"),
        ({"types": 0}, "types = .*: must be at least 1"),
        ({"tasks": -1}, "tasks = .*: must be at least 0"),
        ({"requests_per_passenger": -1.0}, "requests_per_passenger"),
        ({"requests_per_passenger": np.inf}, "requests_per_passenger"),
        ({"percentile": 101.0}, "percentile = "),
        ({"cap_share": (1.0, 0.5)}, "cap_share"),
        ({"weights": "equal"}, "weights = "),
        ({"price_week": "2016-06-27"}, "not on record"),
        ({"load_week": "2023-06-12"}, "not on record"),
    ],
)
def test_options_out_of_range_are_refused(raw, options, rule):
    with pytest.raises(OptionError, match=rule):
        from_raw(raw, **{"sites": 3, **options})


# --- the tables in the package --------------------------------------------------------------


def test_the_composite_week_says_what_it_is():
    instance = from_bundled()
    assert instance == from_bundled()
    assert (instance.frames, instance.slots, instance.sites) == (168, 12, 30)
    assert instance.tasks == 60
    assert instance.names[0] == "Waterloo"
    for words in (
        "A composite week", "Ontario, the week of 2016-06-20", "negative prices are real",
        "Caps are derived, not recorded", "week of 2023-06-19", "ComEd", "London Underground",
        "repeated on all seven days, none from 2 to 5 h", "Melbourne", "TfL",
    ):  # fmt: skip
        assert words in instance.origin
    assert (instance.price < 0).sum() == 3
    capped = np.flatnonzero(np.isfinite(instance.cap))
    assert capped.size == 17
    assert set((capped % 24).tolist()) == {14, 15, 16, 17, 18, 19}
    # The totals on record of the 30 busiest, 20 requests each, seven days.
    assert instance.requests.sum() == pytest.approx(7 * 20 * 2_276_016, rel=1e-4)
    hours = instance.requests.sum(axis=(1, 2, 3)).reshape(7, 24)
    assert (hours == hours[0]).all()
    assert (hours[0] == 0).nonzero()[0].tolist() == [2, 3, 4]
    assert hours[0].argmax() in (8, 17)
