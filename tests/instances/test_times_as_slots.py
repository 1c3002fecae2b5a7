"""Times on arrivals: with a unit or as timestamps they become slots, and the notes say how."""

from __future__ import annotations

import networkx
import numpy as np
import pandas as pd
import pytest

from edgeopt.errors import InstanceError
from edgeopt.instances import edr, oinc, rescue, tapfinger
from edgeopt.instances.idn import IdnInstance
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations

SECONDS = [0.0, 599.0, 600.0, 58417.0]
SLOTS = [0, 0, 1, 97]
SLOT = 600.0
NAMES = ["a", "b", "c", "d"]
STAMPS = pd.Timestamp("2024-01-05 10:00") + pd.to_timedelta(SECONDS, "s")
LENGTHS = {"s": 1.0, "min": 60.0, "h": 3600.0, "ms": 1e-3}


def tasks(values, unit=None):
    series = pd.Series(list(values), pd.Index(NAMES, name="task"))
    series.attrs |= {} if unit is None else {"units": unit}
    return series


def measured(arrival, **more):
    """Build an instance of tasks that take an hour, with slots of ten minutes."""
    options = {
        "minimum": [[1, 1]], "capacity": [[1, 1]], "kind": tasks([0] * 4), "slot_seconds": SLOT
    }  # fmt: skip
    if not isinstance(arrival, pd.Series) and not hasattr(arrival, "dims"):
        options["kind"] = [0] * 4
    table = [[[None, None], [None, 3600.0]]]
    return from_durations(table, seconds=True, arrival=arrival, **options | more)


def by_label(arrival, **more):
    """Hand the same fields to the class itself."""
    made = measured(SLOTS)
    fields = {name: getattr(made, name) for name in ("capacity", "minimum", "speed")}
    eligible = pd.DataFrame([[1]] * 4, pd.Index(NAMES, name="task")).rename_axis(columns="cluster")
    fields |= {"kind": tasks([0] * 4), "eligible": eligible, "slot_seconds": SLOT}
    return TapFingerInstance.from_labelled({**fields, "arrival": arrival}, **more)


@pytest.mark.parametrize("unit", LENGTHS)
@pytest.mark.parametrize("door", [measured, by_label])
def test_a_unit_of_time_is_converted_by_the_length_of_a_slot(door, unit):
    made = door(tasks(np.array(SECONDS) / LENGTHS[unit], unit))
    assert made.arrival.tolist() == SLOTS
    assert any(f"slots of 600 s, from {unit}:" in note for note in made.notes)
    assert made == door(tasks(SLOTS))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_are_converted_by_the_length_of_a_slot(zone):
    stamps = STAMPS.tz_localize(zone)
    whole = [
        by_label(tasks(stamps)), by_label(tasks(stamps).to_xarray()), measured(tasks(stamps)),
        measured(tasks(stamps.astype(object))), measured(stamps), measured(list(stamps)),
    ]  # fmt: skip
    whole += [] if zone else [measured(stamps.to_numpy()), measured(list(stamps.to_pydatetime()))]
    for made in whole:
        assert made.arrival.tolist() == SLOTS
        assert f"counted from {stamps[0]}" in made.notes[0]


def test_timestamps_in_a_file_are_converted(tmp_path):
    made = measured(SLOTS)
    made.to_folder(tmp_path)
    rows = [f"{n},{stamp}" for n, stamp in enumerate(STAMPS)]
    (tmp_path / "arrival.csv").write_text("\n".join(["task,value", *rows[::-1]]) + "\n")
    found = TapFingerInstance.from_folder(tmp_path)
    assert found.arrival.tolist() == SLOTS
    assert "counted from 2024-01-05 10:00:00" in found.notes[0]
    (tmp_path / "arrival.csv").write_text("\n".join(["task,value [min]", "0,0", "1,20"]) + "\n")
    for name in ("kind", "eligible", "weight"):
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        kept = [line for line in lines if line.split(",")[0] not in ("2", "3")]
        (tmp_path / f"{name}.csv").write_text("\n".join(kept) + "\n")
    assert TapFingerInstance.from_folder(tmp_path, origin=1).arrival.tolist() == [0, 2]


def test_a_unit_of_the_length_of_a_slot_counts(tmp_path):
    measured(SLOTS).to_folder(tmp_path)
    rows = [f"{n},{second}" for n, second in enumerate(SECONDS)]
    (tmp_path / "arrival.csv").write_text("\n".join(["task,value [s]", *rows]) + "\n")
    settings = (tmp_path / "settings.csv").read_text()
    assert "slot_seconds,600,s" in settings
    text = settings.replace("slot_seconds,600,s", "slot_seconds,10,min")
    (tmp_path / "settings.csv").write_text(text)
    assert TapFingerInstance.from_folder(tmp_path).arrival.tolist() == SLOTS


def test_tasks_follow_the_order_of_their_times():
    made = by_label(tasks(STAMPS[::-1]))
    assert made.arrival.tolist() == SLOTS
    assert made.labels["task"] == ("c", "d", "b", "a")


@pytest.mark.parametrize(
    ("arrival", "said"),
    [
        (tasks(SECONDS, "km"), "arrival: unit 'km' is no '1': it measures something else"),
        (tasks([*STAMPS[:3], pd.NaT]), "arrival[3]: has no time (NaT)"),
        (tasks([-700.0, 0.0, 1.0, 2.0], "s"), "arrival[0] = -2: must not be negative"),
        (tasks([*STAMPS[:3], 4]), "arrival: 2024-01-05 10:00:00 of task 'a' is no number"),
        (
            tasks([*STAMPS[:3], STAMPS[3].tz_localize("UTC")]),
            "arrival: has times of several zones; use one zone",
        ),
    ],
)
def test_what_is_no_time_is_refused(arrival, said):
    with pytest.raises(InstanceError) as caught:
        by_label(arrival)
    assert str(caught.value).startswith(said)


def fields_of(made):
    return {
        one.name: value for one in made._fields if (value := getattr(made, one.name)) is not None
    }


def test_frames_are_as_long_as_their_slots():
    made = edr.generate(frames=3, slots=2, sites=2, tasks=2, types=1, rng=1)
    hours = pd.Series(made.arrival * made.slots * made.slot_seconds / 3600, name="hours")
    hours = hours.rename_axis("task")
    hours.attrs["units"] = "h"
    found = edr.EdrInstance.from_labelled({**fields_of(made), "arrival": hours})
    assert found.arrival.tolist() == made.arrival.tolist()
    frames = pd.date_range("2024-01-01", periods=3, freq=f"{made.slots * made.slot_seconds}s")
    times = pd.Series(frames[made.arrival]).rename_axis("task")
    with pytest.raises(InstanceError, match="no field has times along 'frame'"):
        edr.EdrInstance.from_labelled({**fields_of(made), "arrival": times})
    cap = pd.Series(made.cap, pd.Index(frames, name="frame"))
    found = edr.EdrInstance.from_labelled({**fields_of(made), "cap": cap, "arrival": times})
    assert found.arrival.tolist() == made.arrival.tolist()


def test_jobs_arrive_in_slots_of_a_second():
    made = oinc.small(2)
    times = pd.Series(made.arrival / 60).rename_axis("job")
    times.attrs["units"] = "min"
    found = oinc.OincInstance.from_labelled({**fields_of(made), "arrival": times})
    assert found.arrival.tolist() == made.arrival.tolist()


def test_without_the_length_of_a_slot_times_are_refused():
    made = rescue.small(1)
    fields = fields_of(made)
    reserved = fields.pop("reserved")
    fields |= {f"reserved_{name}": getattr(reserved, name) for name in ("server", "end", "demand")}
    start = pd.Series(reserved.start).rename_axis("task")
    start.attrs["units"] = "s"
    with pytest.raises(InstanceError, match=r"reserved\.start: is in times, and nothing says how"):
        rescue.RescueInstance.from_labelled({**fields, "reserved_start": start})


NET = networkx.Graph([("cloud", "edge", {"latency": 20.0})])
MODELS = pd.DataFrame(
    {"task": ["t"], "accuracy": [90.0], "size": [600], "delay": [3], "capacity": [100]}, ["m"]
)
MINUTES = pd.to_datetime(["2024-01-05 10:03", "2024-01-05 10:00", "2024-01-05 10:01"])


def network(requests, **more):
    return IdnInstance.from_graph(
        NET, models=MODELS, requests=requests, budget=800, repositories="cloud", **more
    )


def lines(slots):
    return pd.DataFrame({"slot": slots, "task": "t", "node": "edge", "requests": [3, 2, 1]})


@pytest.mark.parametrize("origin", [0, 1])
def test_slots_of_requests_may_be_times(origin):
    series = pd.Series([3, 2, 1], pd.Index(MINUTES, name="slot"))
    for requests in (lines(MINUTES), lines(MINUTES.tz_localize("UTC")), {("t", "edge"): series}):
        made = network(requests, origin=origin)
        assert made.requests.ravel().tolist() == [2, 1, 0, 3]
        [note] = made.notes
        assert note.startswith("requests: converted from times to slots of 60 s, from 2024-01-05")


def test_requests_go_by_the_labels_of_their_slots():
    labelled = pd.Series([3, 2, 1], pd.Index([2, 0, 1], name="slot"))
    assert network({("t", "edge"): labelled}).requests.ravel().tolist() == [2, 1, 3]
    assert network({("t", "edge"): pd.Series([3, 2, 1])}).requests.ravel().tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        (["1,000", 1, 2], "requests: '1,000' is no slot"),
        ([0, 1, "#REF!"], "requests: '#REF!' is no slot"),
        ([0, 1, None], "requests: nan is no slot"),
        ([0, 1, 10**15], "requests: slot 1000000000000000 is far beyond the 3 entries"),
        ([MINUTES[0], 1, 2], "is no slot: slots must be whole numbers from 0, or all be times"),
        ([MINUTES[0], MINUTES[1], pd.NaT], "requests[2]: has no time (NaT)"),
        (
            [*MINUTES[:2], MINUTES[0] + pd.Timedelta("130s")],
            "requests: slots of 130 s from 2024-01-05 10:00:00 do not begin at 2024-01-05 10:03:00",
        ),
    ],
)
def test_other_slots_of_requests_are_refused(slots, said):
    with pytest.raises(InstanceError) as caught:
        network(lines(slots))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (pd.Index([2, 0, 1]), "a table with unnamed axes"),
        (pd.Index([2, 0, 1], name="minute"), "axes are (minute)"),
    ],
)
def test_requests_along_another_axis_are_refused(index, said):
    with pytest.raises(InstanceError) as caught:
        network({("t", "edge"): pd.Series([3, 2, 1], index)})
    assert said in str(caught.value)


def test_small_instances_of_tasks_read_no_times():
    assert tapfinger.small(1).notes == ()
