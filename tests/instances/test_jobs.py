"""Lists of jobs: units, timestamps, states, and the rows that are counted and left out."""

from __future__ import annotations

import os
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest

from edgeopt.errors import InstanceError
from edgeopt.instances import IdnInstance, Jobs, ReservedTasks, slots_at
from edgeopt.instances.jobs import span_seconds

COLUMNS = {"arrival": "sent", "start": "begun", "end": "ended", "cpu": "cores"}
SECONDS = dict.fromkeys(("sent", "begun", "ended"), "s")


def table(**changes):
    rows = {"sent": [0, 60, 90], "begun": [5, 60, 95], "ended": [65, 360, 100], "cores": [1, 2, 4]}
    return pd.DataFrame({**rows, **changes})


def read(frame, **more):
    return Jobs.read(frame, **{**COLUMNS, "units": SECONDS, **more})


def test_jobs_stand_in_the_order_of_their_arrival():
    jobs = read(table()[::-1])
    assert jobs.arrival.tolist() == [0, 60, 90]
    assert jobs.seconds.tolist() == [60, 300, 5]
    assert jobs.cpu.tolist() == [1, 2, 4]
    assert jobs.gpu.tolist() == [0, 0, 0]
    assert jobs.notes == ("jobs: 3 of 3 read",)
    assert jobs.span == (0, 90)
    assert not jobs.arrival.flags.writeable


@pytest.mark.parametrize(
    ("unit", "length"),
    [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("min", 60), ("h", 3600), ("d", 86400)],
)
def test_numbers_have_units(unit, length):
    frame = table(took=np.array([60, 300, 5]) / length).drop(columns="ended")
    for name in ("sent", "begun"):
        frame[name] /= length
    units = dict.fromkeys(("sent", "begun", "took"), unit)
    jobs = read(frame, end=None, duration="took", units=units)
    assert jobs.arrival == pytest.approx([0, 60, 90])
    assert jobs.seconds == pytest.approx([60, 300, 5])
    named = frame.rename(columns={name: f"{name} [{unit}]" for name in units})
    columns = {
        "arrival": f"sent [{unit}]",
        "start": f"begun [{unit}]",
        "duration": f"took [{unit}]",
    }
    assert Jobs.read(named, cpu="cores", **columns).seconds == pytest.approx([60, 300, 5])
    frame.attrs["units"] = units
    assert read(frame, end=None, duration="took", units={}).arrival == pytest.approx([0, 60, 90])
    dataset = frame.to_xarray()
    for name, one in units.items():
        dataset[name].attrs["units"] = one
    found = read(dataset, end=None, duration="took", units={})
    assert found.seconds == pytest.approx([60, 300, 5])


def test_thousandths_of_cores():
    jobs = read(table(cores=[500, 12000, 1]), units=SECONDS | {"cores": "milli"})
    assert jobs.cpu.tolist() == [0.5, 12, 0.001]


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_need_no_unit(zone, written):
    first = pd.Timestamp("2024-01-05 10:00:00.25", tz=zone)
    frame = table()
    for name in SECONDS:
        frame[name] = first + pd.to_timedelta(frame[name], "s")
        frame[name] = frame[name].map(str) if written else frame[name]
    jobs = read(frame, units={})
    midnight = 0 if written and zone == "Europe/Berlin" else 3600 * (zone == "Europe/Berlin")
    since = pd.Timestamp("2024-01-05", tz=zone and "UTC") - pd.Timedelta(midnight, "s")
    assert jobs.since == since
    assert jobs.arrival - (first - since).total_seconds() == pytest.approx([0, 60, 90])
    assert jobs.seconds == pytest.approx([60, 300, 5])
    assert any("no zone" in note for note in jobs.notes) == (zone is None)


def test_spans_of_time_need_no_unit():
    frame = table(took=pd.to_timedelta([60, 300, 5], "s"))
    assert read(
        frame, end=None, duration="took", units={"sent": "s", "begun": "s"}
    ).seconds.tolist() == [60, 300, 5]


def test_when_clocks_change_only_times_with_a_zone_tell_how_long_jobs_ran():
    """On 27 October 2024, 03:00 in Berlin became 02:00."""
    frame = pd.DataFrame({
        "sent": ["2024-10-27 02:50:00", "2024-10-27 12:00:00"],
        "ended": ["2024-10-27 02:10:00", "2024-10-27 13:00:00"], "cores": 1,
    })  # fmt: skip
    options = {"arrival": "sent", "end": "ended", "cpu": "cores"}
    jobs = Jobs.read(frame, **options)
    assert len(jobs) == 1
    left = "jobs: 1 of 2 left out: they end before they begin, as times without a zone do when"
    assert any(note.startswith(left) for note in jobs.notes)
    for name in ("sent", "ended"):
        first = np.array([name == "sent", False])
        frame[name] = pd.to_datetime(frame[name]).dt.tz_localize("Europe/Berlin", ambiguous=first)
    jobs = Jobs.read(frame, **options)
    assert jobs.seconds.tolist() == [1200, 3600]
    shown = jobs.local(jobs.arrival) / 3600
    assert shown == pytest.approx([2 + 5 / 6, 12])
    assert jobs.arrival[1] / 3600 == pytest.approx(13)  # 13 hours after midnight, not 12
    summer = ["2024-10-27 02:50:00+02:00", "2024-10-27 12:00:00+01:00"]
    winter = ["2024-10-27 02:10:00+01:00", "2024-10-27 13:00:00+01:00"]
    jobs = Jobs.read(frame.assign(sent=summer, ended=winter), **options)
    assert jobs.seconds.tolist() == [1200, 3600]


PHASES = ["Failed", "RUNNING", "Pending"]


def test_states_say_what_was_cut_and_what_never_ran():
    frame = table(ended=[65, None, None], phase=PHASES)
    jobs = read(frame, state="phase")
    assert jobs.cut.tolist() == [False, True]
    assert jobs.seconds.tolist() == [60, 35]  # until the last event on record
    assert "jobs: 1 of 3 left out: they never ran" in jobs.notes
    assert "jobs: 1 cut off by the end of the record" in jobs.notes[-1]


def test_an_end_on_record_counts_more_than_a_state():
    frame = table(ended=[65, 80, 400], phase=["Running", "Running", "Running"])
    jobs = read(frame, state="phase")
    assert jobs.cut.tolist() == [False, False, True]
    assert jobs.seconds.tolist() == [60, 20, 305]
    assert any("2 have a state that says they run, and an end" in note for note in jobs.notes)


def test_states_of_ones_own():
    frame = table(phase=["ok", "lost", "ok"])
    with pytest.raises(InstanceError, match=r"jobs:phase: unknown; .*: 'ok' \(2 jobs\), 'lost'"):
        read(frame, state="phase")
    jobs = read(frame, state="phase", states={"OK": "done", "lost": "never"})
    assert jobs.arrival.tolist() == [0, 90]
    with pytest.raises(InstanceError, match="state 'ok' must mean 'done', 'cut' or 'never'"):
        read(frame, state="phase", states={"ok": "fine"})


def test_without_states_jobs_without_an_end_were_cut():
    jobs = read(table(ended=[65, 360, None]))
    assert jobs.cut.tolist() == [False, False, True]
    assert jobs.seconds.tolist() == [60, 300, 265]


@pytest.mark.parametrize(
    ("changes", "why", "kept"),
    [
        ({"sent": [0, None, 90]}, "no arrival is on record", [0, 90]),
        ({"begun": [5, None, 95]}, "no start is on record", [0, 90]),
        ({"ended": [65, 40, 100]}, "they end before they begin", [0, 90]),
        ({"ended": [65, 60, 100]}, "they took no time", [0, 90]),
        ({"cores": [1, None, 1]}, "no number of CPU cores is on record", [0, 90]),
        ({"cores": [1, -2, 1]}, "they ask for less than nothing", [0, 90]),
        ({"cores": [1, 0, 1]}, "they ask for neither a CPU core nor a GPU", [0, 90]),
        ({"ended": [65, None, 100], "phase": ["done"] * 3}, "they ended, but no end", [0, 90]),
    ],
)
def test_rows_left_out_are_counted(changes, why, kept):
    frame = table(**changes)
    jobs = read(frame, state="phase" if "phase" in frame else None)
    assert jobs.arrival.tolist() == kept
    assert jobs.notes[0] == "jobs: 2 of 3 read"
    assert jobs.notes[1].startswith(f"jobs: 1 of 3 left out: {why}")


def test_negative_durations_are_left_out():
    frame = table(took=[60, -300, 5])
    jobs = read(frame, end=None, duration="took", units={"sent": "s", "begun": "s", "took": "s"})
    assert jobs.seconds.tolist() == [60, 5]
    assert "left out: they end before they begin" in jobs.notes[1]


@pytest.mark.parametrize("stand_in", [-1, -999, -9999, 1e30, np.inf])
def test_numbers_that_stand_for_nothing_are_noted(stand_in):
    jobs = read(table(ended=[65, stand_in, 100]))
    assert jobs.cut.tolist() == [False, True, False]
    assert f"ended: 1 entries such as {stand_in:g} taken as missing" in jobs.notes


def test_empty_columns_are_of_any_kind():
    frame = table(sent=pd.date_range("2024-01-05", periods=3), begun=None, ended=np.nan)
    frame["begun"] = frame["sent"]
    jobs = read(frame, units={})
    assert jobs.cut.all()
    assert jobs.seconds.tolist() == [2 * 86400, 86400, 0]
    frame["ended"] = pd.Series([pd.NaT] * 3)
    assert read(frame, units={}).cut.all()
    with pytest.raises(InstanceError, match="no job is left: 3 of 3 left out: no start is on rec"):
        read(table(begun=None))


def test_jobs_without_a_number_of_gpus_had_none():
    jobs = read(table(cards=[1, None, 2]), gpu="cards")
    assert jobs.gpu.tolist() == [1, 0, 2]
    assert "jobs: 1 have no number of GPUs on record: they had none" in jobs.notes


def test_jobs_may_have_no_durations():
    jobs = Jobs.read(table(), arrival="sent", units={"sent": "s"})
    assert jobs.cpu.tolist() == [1, 1, 1]
    assert jobs.counts(60)[:, 0].tolist() == [1, 2]
    assert jobs.notes == ("jobs: 3 of 3 read",)
    with pytest.raises(InstanceError, match="jobs: have no durations; give end= or duration="):
        jobs.require_durations()


def test_groups_are_counted():
    jobs = read(table(who=["b", "a", "a"]), group="who")
    assert jobs.groups == ("a", "b")
    assert jobs.counts("30 s").tolist() == [[0, 1], [0, 0], [1, 0], [1, 0]]
    assert jobs.of_groups(["a"]).arrival.tolist() == [60, 90]
    assert "1 of 3 left out: they are of other groups" in jobs.of_groups(["a"]).notes[-1]
    assert repr(jobs).startswith("Jobs(3 jobs in ")


def test_windows_take_seconds_and_timestamps():
    jobs = read(table())
    found = jobs.window(60, 90)
    assert found.arrival.tolist() == [60]
    assert found.span == (60, 90)
    assert jobs.window(0, 300).counts(60)[:, 0].tolist() == [1, 2, 0, 0, 0]
    assert found.notes[-2].startswith("jobs: 1 of 3 arrive between 60 and 90")
    assert found.notes[-1] == "jobs: 1 of these still ran at 90; durations are as on record"
    assert found.end.tolist() == [jobs.end[1]]
    with pytest.raises(InstanceError, match="none arrives between 100 and 200"):
        jobs.window(100, 200)
    with pytest.raises(InstanceError, match="first = 2024-01-01: must be seconds"):
        jobs.window("2024-01-01", 200)
    frame = table(sent=pd.date_range("2024-01-05 10:00", periods=3, freq="h", tz="Europe/Berlin"))
    dated = Jobs.read(frame, arrival="sent")
    assert dated.window("2024-01-05 10:30", "2024-01-05 12:00").arrival.tolist() == [11 * 3600]
    with pytest.raises(InstanceError, match="first = noon: must be a timestamp in the zone"):
        dated.window("noon", 200)


def test_lengths_of_time_are_seconds_or_say_their_unit():
    for given in (600, 600.0, "600 s", "10min", "10 min", pd.Timedelta("10min")):
        assert span_seconds("slot_seconds", given) == 600
    for given in ("ten", "10", None):
        with pytest.raises(InstanceError, match=r"slot_seconds.*: must be seconds, or a text such"):
            span_seconds("slot_seconds", given)
    with pytest.raises(InstanceError, match="slot_seconds: unit 'km'"):
        span_seconds("slot_seconds", "10 km")
    with pytest.raises(InstanceError, match="slot_seconds = -5"):
        span_seconds("slot_seconds", -5)


STAMPS = pd.to_datetime(["2024-03-31 00:00:00", "2024-03-31 01:59:59", "2024-03-31 12:00:00"])


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_any_times_become_slots(zone):
    stamps = STAMPS.tz_localize(zone)
    wanted = [0, 1, 11 if zone == "Europe/Berlin" else 12]  # clocks are set forward at two
    for given in (stamps, pd.Series(stamps), list(stamps), stamps.astype(object)):
        assert slots_at(given, slot_seconds="1 h").tolist() == wanted
        found = slots_at(given, slot_seconds="1 h", origin="2024-03-30 23:00")
        assert found.tolist() == [n + 1 for n in wanted]
    if zone is None:
        assert slots_at(list(map(str, stamps)), slot_seconds=3600).tolist() == wanted
        assert slots_at(stamps.to_numpy(), slot_seconds=3600).tolist() == wanted
    minutes = pd.Series([0, 119, 720])
    minutes.attrs["units"] = "min"
    assert slots_at(minutes, slot_seconds="1 h").tolist() == [0, 1, 12]
    assert slots_at(minutes, slot_seconds="1 h", origin=-3600).tolist() == [1, 2, 13]


def test_windows_of_reserved_tasks_may_be_times():
    clock = {"slot_seconds": "10 min", "origin": "2024-01-31"}
    start = slots_at(["2024-01-31 00:10", "2024-01-31 00:20"], **clock)
    end = slots_at(["2024-01-31 00:35", "2024-01-31 00:45"], **clock)
    reserved = ReservedTasks(server=[0, 0], start=start, end=end, demand=[1.0, 1.0])
    assert (reserved.start.tolist(), reserved.end.tolist()) == ([1, 2], [3, 4])


@pytest.mark.parametrize(
    ("times", "origin", "said"),
    [
        ([0, 60], None, "times: must be timestamps, or a table of numbers with a unit of time"),
        ([], None, "times: must be timestamps, or"),
        (["2024-01-31"], None, "times[0] = '2024-01-31': must be a date and time such as"),
        (STAMPS, "2024-04-01", "times[0] = -24: lies before slot 0; choose origin="),
        (STAMPS, "2024-01-01 00:00Z", "origin = 2024-01-01 00:00Z: must be a timestamp in the"),
        ([STAMPS[0], pd.NaT], None, "times[1]: has no time (NaT)"),
        (STAMPS, 5, "origin = 5: must be a timestamp in the zone of the other times"),
        (STAMPS, "now", "origin = now: must be a timestamp in the zone of the other times"),
        (STAMPS, "31/01/2024", "origin = 31/01/2024: must be a timestamp in the zone"),
        (STAMPS, "noon", "origin = noon: must be a timestamp in the zone of the other times"),
    ],
)
def test_what_is_no_time_is_no_slot(times, origin, said):
    with pytest.raises(InstanceError) as caught:
        slots_at(times, slot_seconds="1 h", origin=origin)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({}, {"units": {}}, "jobs:sent: is numbers without a unit: say units={'sent': 's'}"),
        (
            {"took (min)": [1, 2, 3]},
            {"end": None, "duration": "took (min)", "units": {"sent": "s", "begun": "s"}},
            "jobs:took (min): is numbers without a unit: say units={'took (min)': 'min'}, or",
        ),
        (
            {"took (net)": [1, 2, 3]},
            {"end": None, "duration": "took (net)", "units": {"sent": "s", "begun": "s"}},
            "jobs:took (net): is numbers without a unit: say units={'took (net)': 's'}, or",
        ),
        ({}, {"units": SECONDS | {"sent": "furlong"}}, "jobs:sent: unit 'furlong' is unknown"),
        ({}, {"units": SECONDS | {"sent": "MB"}}, "jobs:sent: unit 'MB' is no 's'"),
        ({}, {"units": SECONDS | {"gone": "s"}}, "jobs:gone: has a unit, but is no column"),
        (
            {},
            {"units": SECONDS | {"end": "s"}},
            "jobs:end: units go by the names of columns: say units={'ended': 's'}",
        ),
        ({}, {"gpu": "gone"}, "jobs = sent, begun, ended, cores: has no column 'gone'"),
        ({}, {"duration": "ended"}, "jobs: give end or duration, not both"),
        ({"cores": ["1", "1,5", "2"]}, {}, "jobs:cores[1] = '1,5': must be a number"),
        (
            {"sent": [pd.Timestamp("2024-01-01"), "2024-01-02 10:00", 5]},
            {},
            "jobs:sent[1] = '2024-01-02 10:00': must be a number, or a date and time",
        ),
        ({"sent": ["2024-01-02 10:00", 5, 6]}, {}, "jobs:sent[1] = '5': must be a number, or"),
        ({"sent": ["0", "noon", "9"]}, {}, "jobs:sent[1] = 'noon': must be a number, or a date"),
        (
            {"sent": ["31/01/2024 10:00"] * 3},
            {},
            "jobs:sent[0] = '31/01/2024 10:00': must be a number, or a date and time such as",
        ),
        (
            {"sent": pd.date_range("2024-01-01", periods=3)},
            {},
            "jobs:sent: has the unit 's', but holds timestamps",
        ),
        (
            {"sent": pd.date_range("2024-01-01", periods=3)},
            {"units": {"begun": "s", "ended": "s"}},
            "jobs:begun: holds numbers, but sent timestamps; give one kind",
        ),
        (
            {
                "sent": pd.date_range("2024-01-01", periods=3),
                "begun": pd.date_range("2024-01-01", periods=3, tz="UTC"),
            },
            {"units": {}, "end": None},
            "jobs:begun: is in zone UTC, but sent in None; give both one",
        ),
        ({"sent": [None] * 3}, {}, "jobs: no job is left: 3 of 3 left out: no arrival"),
        (
            {"ended [min]": [1, 2, 3]},
            {"end": "ended [min]", "units": {"sent": "s", "begun": "s", "ended [min]": "s"}},
            "jobs:ended [min]: is in min by itself, and in s by units=; correct one",
        ),
    ],
)
def test_what_cannot_be_read_is_named(changes, options, said):
    with pytest.raises(InstanceError) as caught:
        read(table(**changes), **options)
    assert said in str(caught.value)


def test_files_are_read_by_line(tmp_path):
    path = tmp_path / "jobs.csv"
    table(ended=["65", "", "100"]).to_csv(path, index=False)
    jobs = read(path)
    assert jobs.cut.tolist() == [False, True, False]
    path.write_text("sent,begun,ended,cores\n0,5,65,1\n60,sixty,360,2\n")
    with pytest.raises(InstanceError, match=r"jobs.csv:begun\[3\] = 'sixty': must be a number"):
        read(path)


def test_columns_of_other_names_are_suggested(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("Submit Time,Run Time (min),CPUs\n5,6,1\n")
    for name, meant in (("Submit time", "Submit Time"), ("Run Time", "Run Time (min)")):
        with pytest.raises(InstanceError) as caught:
            Jobs.read(path, arrival=name)
        assert f"has no column {name!r}; did you mean {meant!r}?" in str(caught.value)
    with pytest.raises(InstanceError) as caught:
        Jobs.read(path, arrival="memory")
    assert "did you mean" not in str(caught.value)


# --- columns of public traces; rows are made up ----------------------------------------------

ALIBABA = [
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
    "creation_time", "deletion_time", "scheduled_time",
]  # fmt: skip
HELIOS = [
    "job_id", "user", "vc", "gpu_num", "cpu_num", "node_num", "state", "submit_time", "start_time",
    "end_time", "duration", "queue",
]  # fmt: skip


def test_columns_of_alibaba_2023():
    frame = pd.DataFrame(
        [
            ["pod-0", 12000, 16384, 1, 1000, "", "LS", "Running", 0, 1000, 0],
            ["pod-1", 6000, 12288, 1, 460, "", "LS", "Running", 20, 900, 30],
            ["pod-2", 3152, 5600, 1, 810, "", "BE", "Failed", 40, 60, 50],
            ["pod-3", 11908, 47104, 1, 1000, "", "BE", "Pending", 70, 80, None],
            ["pod-4", 88000, 327680, 8, 1000, "", "Burstable", "Succeeded", 90, 400, 90],
        ],
        columns=ALIBABA,
    )
    times = dict.fromkeys(("creation_time", "deletion_time", "scheduled_time"), "s")
    jobs = Jobs.read(
        frame, arrival="creation_time", start="scheduled_time", end="deletion_time",
        cpu="cpu_milli", gpu="num_gpu", state="pod_phase", group="qos",
        units=times | {"cpu_milli": "milli"},
    )  # fmt: skip
    assert jobs.cut.tolist() == [True, False, False, False]
    assert jobs.seconds.tolist() == [1000, 870, 10, 310]
    assert jobs.cpu.tolist() == [12, 6, 3.152, 88]
    assert jobs.groups == ("LS", "BE", "Burstable")


def test_columns_of_helios():
    frame = pd.DataFrame(
        [
            [1, "u", "vcJ", 1, 1, 1, "COMPLETED", "2020-06-09 18:41:01", "2020-06-09 18:41:01",
             "2020-06-10 04:55:09", 36848, 0],
            [2, "u", "vch", 4, 16, 1, "FAILED", "2020-06-09 18:41:27", "2020-06-09 18:41:27",
             "2020-06-09 18:45:36", 249, 0],
            [3, "u", "vcp", 1, 1, 1, "CANCELLED", "2020-06-09 18:41:28", None, None, 0, 0],
            [4, "u", "vcp", 1, 1, 1, "NODE_FAIL", "2020-06-09 18:41:30", "2020-06-09 18:41:31",
             "2020-06-09 18:41:31", 0, 1],
        ],
        columns=HELIOS,
    )  # fmt: skip
    columns = {
        "arrival": "submit_time", "start": "start_time", "cpu": "cpu_num", "gpu": "gpu_num",
        "state": "state", "group": "vc",
    }  # fmt: skip
    ended = Jobs.read(frame, end="end_time", **columns)
    lasted = Jobs.read(frame, duration="duration", units={"duration": "s"}, **columns)
    for jobs in (ended, lasted):
        assert jobs.seconds.tolist() == [36848, 249]
        assert jobs.gpu.tolist() == [1, 4]
        assert "jobs: 1 of 4 left out: no start is on record" in jobs.notes
        assert "jobs: 1 of 4 left out: they took no time" in jobs.notes


def test_columns_of_philly():
    log = [
        {"status": "Pass", "vc": "e", "submitted_time": "2017-10-07 01:11:39", "attempts": [
            {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23", "detail": []},
            {"start_time": "2017-10-07 01:13:30", "end_time": "2017-10-09 06:53:12", "detail": []},
        ]},
        {"status": "Killed", "vc": "e", "submitted_time": "2017-10-07 02:11:39", "attempts": [
            {"start_time": None, "end_time": "None", "detail": []},
        ]},
        {"status": "Failed", "vc": "f", "submitted_time": "2017-10-08 00:59:00", "attempts": [
            {"start_time": "2017-10-08 01:00:00", "end_time": "None", "detail": []},
        ]},
    ]  # fmt: skip
    frame = pd.json_normalize(log, "attempts", ["status", "vc", "submitted_time"])
    columns = {"arrival": "submitted_time", "start": "start_time", "end": "end_time"}
    jobs = Jobs.read(frame, state="status", group="vc", **columns)
    assert jobs.seconds.tolist() == [74, 193182]
    assert jobs.notes[:3] == (
        "jobs: 2 of 4 read",
        "jobs: 1 of 4 left out: no start is on record",
        "jobs: 1 of 4 left out: they ended, but no end is on record",
    )
    running = Jobs.read(frame, group="vc", **columns)  # the record says so by a missing end
    assert running.cut.tolist() == [False, False, True]


def test_columns_of_gavel(tmp_path):
    """Tab-separated lines without a heading, the duration from a table of throughputs."""
    path = tmp_path / "msr.trace"
    path.write_text("A3C\tcd x\t--max-steps\t339\t1\t1\nCycleGAN\tcd y\t--n_steps\t28\t0\t2\n")
    names = ["model", "command", "steps", "count", "arrived", "workers"]
    frame = pd.read_csv(path, sep="\t", names=names)
    frame["took"] = frame["count"] / frame["model"].map({"A3C": 3.39, "CycleGAN": 0.28})
    jobs = Jobs.read(
        frame, arrival="arrived", duration="took", gpu="workers", group="model",
        units={"arrived": "s", "took": "s"},
    )  # fmt: skip
    assert jobs.arrival.tolist() == [0, 1]
    assert jobs.seconds == pytest.approx([100, 100])
    assert jobs.gpu.tolist() == [2, 1]


DATA = Path(os.environ.get("EDGEOPT_DATA", "/nowhere"))


@pytest.mark.skipif(not DATA.exists(), reason="needs the public files, EDGEOPT_DATA")
@pytest.mark.parametrize(("name", "rows"), [("code", 8819), ("conv", 19366)])
def test_requests_of_azure_2023(name, rows):
    path = DATA / "azure_llm_2023" / f"AzureLLMInferenceTrace_{name}.csv"
    jobs = Jobs.read(path, arrival="TIMESTAMP")
    assert len(jobs) == rows
    assert jobs.notes[0] == f"jobs: {rows} of {rows} rows of {path.name} read"
    assert jobs.counts("1 min").sum() == rows
    assert str(jobs.since) == "2023-11-16 00:00:00"
    hour = jobs.window("2023-11-16 18:20", "2023-11-16 19:10")
    assert hour.arrival.size == hour.counts("1 min").sum() < rows
    network = networkx.Graph([("cloud", "edge", {"latency": 20.0})])
    models = {"task": [name], "accuracy": [90.0], "size": [600], "delay": [3], "capacity": [10**4]}
    requests = {(name, "edge"): hour.counts("1 min")[:, 0]}
    made = IdnInstance.from_graph(
        network, models=pd.DataFrame(models, ["m"]), requests=requests, budget=800,
        repositories="cloud",
    )  # fmt: skip
    assert made.requests.shape == (50, 1)
    assert made.requests.sum() == len(hour)
