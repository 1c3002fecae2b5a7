"""Instances from lists of jobs: what becomes of every job, and how well the rest is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances import Jobs, rescue, tapfinger

DAY = 86400.0


def jobs_of(rows, **more):
    """Read jobs from (arrival, seconds) or (arrival, seconds, cores, GPUs, group)."""
    usual = (0, 0, 1, 0, "a")
    whole = [(*row, *usual[len(row) :]) for row in rows]
    frame = pd.DataFrame(whole, columns=["sent [s]", "ran [s]", "cores", "cards", "who"])
    columns = {"arrival": "sent [s]", "duration": "ran [s]", "cpu": "cores", "gpu": "cards"}
    return Jobs.read(frame, **columns, group="who", **more)


# --- TapFinger -------------------------------------------------------------------------------

MIXED = [(0, 30, 2, 1), (700, 600, 4, 0), (800, 1900, 2.5, 0.46), (1300, 10, 64, 0)]


def test_jobs_keep_what_they_had_and_run_as_long_as_they_did():
    made = tapfinger.from_jobs(jobs_of(MIXED), capacity=[[4, 1], [8, 0]], slot_seconds=600)
    assert made.arrival.tolist() == [0, 1, 1]
    assert made.minimum[made.kind].tolist() == [[2, 1], [4, 0], [3, 1]]
    assert made.eligible.tolist() == [[1, 0], [1, 1], [1, 0]]
    own = [made.duration[0, k, cpu, gpu] for k, (cpu, gpu) in enumerate(made.minimum.tolist())]
    assert [own[k] for k in made.kind] == [1, 1, 4]
    assert made.duration[0, made.kind[0], 4, 1] == 1  # more cores make no job faster
    assert made.notes == (
        "jobs: 4 of 4 read",
        "duration: 2 of 3 jobs rounded up to whole slots of 600 s, by 42.3 % in sum, 1 by more "
        "than half",
        "minimum: rounded up, 1 jobs to whole CPU cores, 1 % more in sum and 1 jobs to whole GPUs "
        "of 1, 37 % more in sum; gpu_unit=0.1 counts tenths of a GPU",
        "jobs: 1 of 4 left out: no cluster holds what they ask for",
        "arrival: in slots of 600 s from 0 s; 3 kinds of cores, GPUs and slots",
    )


def test_gpus_may_be_counted_in_parts():
    options = {"slot_seconds": "10 min", "gpu_unit": 0.1}
    made = tapfinger.from_jobs(jobs_of(MIXED), capacity=[[4, 10], [64, 0]], **options)
    assert made.minimum[made.kind].tolist() == [[2, 10], [4, 0], [3, 5], [64, 0]]
    assert any("1 jobs to whole GPUs of 0.1, 3 % more" in note for note in made.notes)


def test_capacity_goes_by_its_labels():
    room = pd.DataFrame({"gpu": [1, 0], "cpu": [4, 8]}, pd.Index(["lab", "attic"], name="cluster"))
    room = room.rename_axis(columns="resource")
    made = tapfinger.from_jobs(jobs_of(MIXED), capacity=room, slot_seconds=600)
    assert made.labels["cluster"] == ("lab", "attic")
    assert made.capacity.tolist() == [[4, 1], [8, 0]]


def test_slots_count_from_the_origin():
    frame = pd.DataFrame({"sent": ["2024-01-05 10:05", "2024-01-05 10:25"], "ran [s]": 60})
    jobs = Jobs.read(frame, arrival="sent", duration="ran [s]")
    options = {"capacity": [[1, 0]], "slot_seconds": 600}
    assert tapfinger.from_jobs(jobs, **options).arrival.tolist() == [0, 2]
    made = tapfinger.from_jobs(jobs, origin="2024-01-05 09:59:59", **options)
    assert made.arrival.tolist() == [0, 2]
    assert any("in slots of 600 s from 2024-01-05 09:59:59;" in note for note in made.notes)
    assert tapfinger.from_jobs(jobs, origin="2024-01-05", **options).arrival.tolist() == [60, 62]
    with pytest.raises(InstanceError, match="origin = 2024-01-06: comes after the first arrival"):
        tapfinger.from_jobs(jobs, origin="2024-01-06", **options)


def test_jobs_that_were_cut_off_end_with_the_record():
    frame = pd.DataFrame({"sent [s]": [0, 100], "ended [s]": [2000, None]})
    jobs = Jobs.read(frame, arrival="sent [s]", end="ended [s]")
    made = tapfinger.from_jobs(jobs, capacity=[[1, 0]], slot_seconds=100, weight=[1.0, 2.0])
    assert made.duration[0, made.kind, 1, 0].tolist() == [20, 19]
    assert made.weight.tolist() == [1, 2]
    assert any("1 job that was cut off by the end of the record" in note for note in made.notes)


def test_a_job_that_had_just_come_when_the_record_ended_takes_a_slot():
    frame = pd.DataFrame({"sent [s]": [0, 100], "ended [s]": [50, None]})
    for rows, said in ((frame, "30 s, by 80.0 % in sum, 1 by"), (frame[1:], "30 s, 1 by more")):
        jobs = Jobs.read(rows, arrival="sent [s]", end="ended [s]")
        made = tapfinger.from_jobs(jobs, capacity=[[1, 0]], slot_seconds=30)
        assert made.duration[0, made.kind[-1], 1, 0] == 1
        assert any(said in note for note in made.notes)


def test_jobs_on_record_can_be_scheduled():
    import edgeopt

    made = tapfinger.from_jobs(jobs_of(MIXED), capacity=[[4, 1], [8, 0]], slot_seconds=600)
    study = edgeopt.study(made, ["min"], runs=2, claims=False)
    assert np.isfinite(study.table["value"]).all()


@pytest.mark.parametrize("door", [rescue.from_jobs, tapfinger.from_jobs])
def test_jobs_without_durations_are_refused(door):
    jobs = Jobs.read(pd.DataFrame({"sent [s]": [0, 100]}), arrival="sent [s]")
    options = {"horizon": 2, "longest": 2} if door is rescue.from_jobs else {}
    with pytest.raises(InstanceError, match="jobs: have no durations"):
        door(jobs, capacity=[[1, 1]], slot_seconds=10, **options)


def test_jobs_that_no_cluster_holds_are_refused():
    with pytest.raises(InstanceError, match="capacity: holds no job: each asks for more"):
        tapfinger.from_jobs(jobs_of(MIXED), capacity=[[1, 0]], slot_seconds=600)
    with pytest.raises(InstanceError, match=r"gpu_unit = 0\.0: must be positive"):
        tapfinger.from_jobs(jobs_of(MIXED), capacity=[[4, 1]], slot_seconds=600, gpu_unit=0)


# --- RESCUE ----------------------------------------------------------------------------------

FOUR = {"capacity": [1.0, 2.0], "horizon": 4, "slot_seconds": "6 h", "longest": 3}


def drawn(seed=1, days=40):
    """Draw arrivals of two devices with known probabilities, and durations with a known mean."""
    rng = np.random.default_rng(seed)
    chance = np.array([[0.5, 0.1], [0.2, 0.0], [0.9, 0.4], [0.05, 0.3]])
    day, slot, device = np.nonzero(rng.random((days, 4, 2)) < chance)
    at = day * DAY + (slot + rng.random(day.size)) * DAY / 4
    who = np.array(["busy", "idle"])[device]
    columns = (at.tolist(), rng.exponential(20_000, day.size).tolist(), who.tolist())
    rows = [(one, took, 1, 0, name) for one, took, name in zip(*columns, strict=True)]
    return jobs_of([(0.0, 1.0, 1, 0, "busy"), *rows, (days * DAY - 1, 1.0, 1, 0, "busy")]), chance


def test_probabilities_are_the_shares_of_periods():
    jobs, chance = drawn()
    made = rescue.from_jobs(jobs, collisions="drop", **FOUR)
    assert made.labels["device"] == ("busy", "idle")
    slot = (jobs.arrival // (DAY / 4)).astype(int)
    for j, name in enumerate(made.labels["device"]):
        seen = np.unique(slot[jobs.group == name])
        assert made.arrival[:, j] == pytest.approx(np.bincount(seen % 4, minlength=4) / 40)
    assert np.abs(made.arrival - chance).max() < 0.2
    assert made.arrivals == "independent"
    assert made.capacity.tolist() == [[1.0] * 4, [2.0] * 4]
    assert made.profit.ravel().tolist() == [1, 2, 3]
    half = stats.beta.ppf([0.025, 0.975], 20.5, 20.5)[1] - 0.5
    said = next(note for note in made.notes if note.startswith("arrival: shares of 40 periods"))
    assert float(said.split("at most ")[1].split()[0]) == pytest.approx(half, abs=0.01)


def test_durations_are_those_of_kaplan_and_meier():
    jobs, _ = drawn()
    made = rescue.from_jobs(jobs, collisions="drop", **FOUR)
    slots = np.minimum(np.ceil(jobs.seconds / (DAY / 4)), 3).astype(int)
    assert made.duration[0] == pytest.approx(np.bincount(slots, minlength=4)[1:] / len(jobs))
    beyond = (jobs.seconds > 3 * DAY / 4).mean()
    note = next(note for note in made.notes if note.startswith("duration: Kaplan-Meier"))
    assert f"from {len(jobs)} jobs, 0 of them cut off" in note
    assert f"{100 * beyond:.2g} % last longer than 3 slots" in note


def test_a_rare_device_makes_arrivals_exclusive():
    rows = [(day * DAY, 100) for day in range(8) if day % 2] + [(0, 1), (7.9 * DAY, 1)]
    made = rescue.from_jobs(jobs_of(rows), **FOUR)
    assert made.arrivals == "exclusive"
    assert made.arrival[0, 0] == 5 / 8


def test_periods_that_are_not_whole_are_left_out():
    days = [0.6, 1.1, 1.6, 2.1, 2.9, 3.1]
    made = rescue.from_jobs(jobs_of([(day * DAY, 100) for day in days]), **FOUR)
    assert made.arrival.ravel().tolist() == [1.0, 0.0, 0.5, 0.5]
    assert any("2 left out: they arrive outside of whole periods" in note for note in made.notes)
    jobs = jobs_of([(day * DAY, 100) for day in days]).window(0, 4 * DAY)
    made = rescue.from_jobs(jobs, **FOUR)
    assert made.arrival.ravel().tolist() == [0.75, 0.0, 0.5, 0.25]


def test_days_begin_at_midnight_by_the_local_clock():
    """Ten in the morning in Berlin is nine in winter, and eight in summer, in universal time."""
    days = pd.date_range("2024-03-28", "2024-04-02", tz="Europe/Berlin")
    frame = pd.DataFrame({"sent": [*days, *(days + pd.Timedelta("10h")), days[-1] + days.freq]})
    frame["sent"] = [*days, *days.map(lambda d: d.replace(hour=10)), days[-1].replace(hour=23)]
    frame["ran [s]"] = 100
    jobs = Jobs.read(frame, arrival="sent", duration="ran [s]")
    options = FOUR | {"slot_seconds": "1 h", "horizon": 24}
    made = rescue.from_jobs(jobs, **options)
    assert np.flatnonzero(made.arrival[:, 0] == 1).tolist() == [0, 10]
    universal = Jobs.read(frame.assign(sent=frame.sent.dt.tz_convert("UTC")), arrival="sent",
                          duration="ran [s]")  # fmt: skip
    assert not (rescue.from_jobs(universal, **options).arrival == 1).any()


def test_neighbouring_slots_share_their_counts():
    jobs, _ = drawn()
    plain = rescue.from_jobs(jobs, collisions="drop", **FOUR)
    made = rescue.from_jobs(jobs, collisions="drop", smooth=3, **FOUR)
    assert made.arrival[1] == pytest.approx(plain.arrival[:3].mean(axis=0))
    assert made.arrival[0] == pytest.approx(plain.arrival[:2].mean(axis=0))
    assert any("pooled over 3 slots" in note for note in made.notes)


def test_too_many_arrivals_at_a_time_are_refused():
    rows = [(day * DAY + 7000 * n, 100) for day in range(4) for n in range(4)] + [(4 * DAY - 1, 1)]
    with pytest.raises(InstanceError) as caught:
        rescue.from_jobs(jobs_of(rows), **FOUR)
    said = str(caught.value)
    assert said.startswith("jobs: 71 % of the arrivals meet another one of their device in a slot")
    assert "1 s 0.0 %, 10 s 0.0 %" in said
    assert said.endswith("leave out all but one by collisions='drop'")
    made = rescue.from_jobs(jobs_of(rows), collisions="drop", **FOUR)
    assert made.arrival[:, 0].tolist() == [1, 0, 0, 0.25]
    assert any("12 of 17 arrivals left out: another one" in note for note in made.notes)
    few = [(day * DAY + 6 * 3600 * n, 9) for day in range(4) for n in range(4)] + [(5, 1)]
    made = rescue.from_jobs(jobs_of(few), **FOUR)
    assert any("1 of 17 arrivals left out: another one" in note for note in made.notes)


def test_periods_are_resampled_by_a_seed():
    jobs, _ = drawn()
    options = FOUR | {"collisions": "drop"}
    plain = rescue.from_jobs(jobs, **options)
    first, again, other = (rescue.from_jobs(jobs, resample=seed, **options) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first != plain
    assert "arrival, duration: periods are drawn with replacement, seed 1" in first.notes
    many = [rescue.from_jobs(jobs, resample=seed, **options) for seed in range(60)]
    spread = np.std([one.arrival for one in many], axis=0)
    p = plain.arrival
    assert spread == pytest.approx(np.sqrt(p * (1 - p) / 40), abs=0.025)
    assert np.mean([one.arrival for one in many], axis=0) == pytest.approx(p, abs=0.04)
    assert np.std([one.duration[0, 0] for one in many]) > 0


def test_devices_are_the_largest_groups():
    jobs, _ = drawn()
    made = rescue.from_jobs(jobs, collisions="drop", devices=1, **FOUR)
    assert made.labels["device"] == ("busy",)
    assert any("left out: they are of other groups" in note for note in made.notes)


def test_other_fields_are_those_of_the_instance():
    jobs, _ = drawn()
    reserved = rescue.ReservedTasks([0], [1], [2], [0.5])
    profit = np.full((1, 1, 1, 1, 1), 3.0)
    rows = pd.Index(["north", "south"], name="server")
    options = FOUR | {"capacity": pd.Series([1.0, 2.0], rows)}
    made = rescue.from_jobs(
        jobs, collisions="drop", profit=profit, beyond="drop", reserved=reserved, **options
    )
    assert made.beyond == "drop"
    assert len(made.reserved) == 1
    assert made.labels["server"] == ("north", "south")
    assert made.capacity.tolist() == [[1.0] * 4, [2.0] * 4]
    assert not any(note.startswith("profit") for note in made.notes)
    slots = pd.RangeIndex(4, name="slot")
    table = pd.DataFrame([[2.0] * 4, [1.0] * 4], rows[::-1], slots)
    same = rescue.from_jobs(jobs, collisions="drop", **FOUR | {"capacity": table})
    assert same.labels["server"] == ("south", "north")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"horizon": 5}, "horizon = 5: slots of 21600 s are longer than a period of 86400 s"),
        ({"period": "30 d"}, "span 1 whole periods of 2592000 s; probabilities by slot need at"),
        ({"smooth": 2}, "smooth = 2: must be odd"),
        ({"collisions": "keep"}, "collisions = keep: must be one of 'refuse', 'drop'"),
        ({"capacity": [1.0, -1.0]}, "capacity"),
        (
            {"slot_seconds": "1 ms", "horizon": 10**7},
            "jobs = shape (39, 10000000, 2): have more than",
        ),
    ],
)
def test_what_cannot_be_estimated_is_named(changes, said):
    jobs, _ = drawn()
    with pytest.raises(InstanceError) as caught:
        rescue.from_jobs(jobs, **{**FOUR, "collisions": "drop", **changes})
    assert said in str(caught.value)
    for name, value in (("horizon", 0), ("longest", 1.5), ("devices", 0), ("resample", -1)):
        with pytest.raises(OptionError, match=name):
            rescue.from_jobs(jobs, **{**FOUR, "collisions": "drop", name: value})


def test_jobs_none_of_which_ended_tell_no_durations():
    frame = pd.DataFrame({"sent [d]": [0.0, 0.5, 1.0, 1.9], "ended [d]": [None] * 4})
    jobs = Jobs.read(frame, arrival="sent [d]", end="ended [d]")
    with pytest.raises(InstanceError, match="none of them ended on record"):
        rescue.from_jobs(jobs, **FOUR)


def test_the_record_can_be_studied():
    import edgeopt

    jobs, _ = drawn()
    made = rescue.from_jobs(jobs, collisions="drop", **FOUR)
    again = rescue.from_jobs(jobs, collisions="drop", resample=3, **FOUR)
    study = edgeopt.study({"record": made, "drawn": again}, ["rescue"], runs=20, claims=False)
    assert np.isfinite(study.table["value"]).all()
