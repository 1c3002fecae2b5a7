from __future__ import annotations

import pytest

from edgeopt.errors import InstanceError
from edgeopt.instances.traces import read_points
from edgeopt.instances.traces.columns import read_accuracy, read_iteration_times

TIMES = ",worker,gpu,time,batch_time_norm\n0,0,25,1,476\n1,1,25,1,509.5\n2,0,25,11,468\n"
SITES = 'SITE_ID,LATITUDE,LONGITUDE,NAME\n1,-37.8,144.9,"a, b"\n2,-37.9,145.0,c\n'
DRIFT = ",fog,fog,snow\n,1,5,3\nplain,0.9,0.5,0.7\nrobust,0.95,0.8,0.85\n"


@pytest.fixture
def write(tmp_path):
    def put(text):
        path = tmp_path / "file.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return put


def test_iteration_times(write):
    job = read_iteration_times(write(TIMES))
    assert job.worker.tolist() == [0, 1, 0]
    assert job.iteration.tolist() == [1, 1, 11]
    assert job.time.tolist() == [476, 509.5, 468]


def test_points(write):
    assert read_points(write(SITES)).tolist() == [[-37.8, 144.9], [-37.9, 145.0]]
    users = write("\ufeffLatitude,Longitude\n1.5,2.5\n\n")
    assert read_points(users, "Latitude", "Longitude").tolist() == [[1.5, 2.5]]


def test_accuracy(write):
    drift = read_accuracy(write(DRIFT))
    assert drift.models == ("plain", "robust")
    assert drift.corruption == ("fog", "fog", "snow")
    assert drift.severity.tolist() == [1, 5, 3]
    assert drift.accuracy.tolist() == [[0.9, 0.5, 0.7], [0.95, 0.8, 0.85]]


STEP = "batch_time_norm"


@pytest.mark.parametrize(
    ("reader", "text", "column", "line", "value", "rule"),
    [
        (read_iteration_times, TIMES.replace("509.5", "fast"), STEP, 3, "'fast'", "number"),
        (read_iteration_times, TIMES.replace("509.5", ""), STEP, 3, "''", "number"),
        (read_iteration_times, TIMES.replace("468", "0"), STEP, 4, "0", "positive"),
        (read_iteration_times, TIMES.replace("468", "nan"), STEP, 4, "'nan'", "a number"),
        (read_iteration_times, TIMES.replace(",11,", ",1.5,"), "time", 4, "1.5", "iteration"),
        (read_iteration_times, TIMES.replace("1,1,25", "1,-1,25"), "worker", 3, "-1", "worker"),
        (read_points, SITES.replace("-37.9", "-97.9"), "LATITUDE", 3, "-97.9", "-90..90"),
        (read_points, SITES.replace("145.0", "inf"), "LONGITUDE", 3, "inf", "-180..180"),
        (read_accuracy, DRIFT.replace("0.8,", "1.8,"), "fog 5", 4, "1.8", "0..1"),
        (read_accuracy, DRIFT.replace(",1,5,3", ",1,9,3"), "fog", 2, "9", "severity"),
        (read_accuracy, DRIFT.replace("robust", "plain"), "model", 4, "plain", "twice"),
    ],
)  # fmt: skip
def test_first_bad_entry_is_named(write, reader, text, column, line, value, rule):
    path = write(text)
    with pytest.raises(InstanceError, match=rule) as caught:
        reader(path)
    error = caught.value
    assert (error.field, error.index, error.value) == (f"{path}:{column}", (line,), value)


@pytest.mark.parametrize(
    ("reader", "text", "rule"),
    [
        (read_iteration_times, "", "is empty"),
        (read_iteration_times, TIMES.split("\n")[0], "no data"),
        (read_iteration_times, TIMES.replace("worker", "w"), "no column 'worker'"),
        (read_iteration_times, TIMES[:-7], "line 4 must have 5 entries"),
        (read_iteration_times, b"\xff\xfe\x00", "not a readable CSV"),
        (read_points, SITES.replace('"a, b"', '"a, b'), "not a readable CSV"),
        (read_accuracy, DRIFT.split("plain")[0], "two header lines"),
        (read_accuracy, DRIFT.replace(",1,5,3", ",1,5"), "as many entries"),
        (read_accuracy, DRIFT[:-6], "line 4 must have 4 entries"),
    ],
)
def test_unreadable_and_truncated_files_are_refused(write, reader, text, rule):
    path = write(text)
    with pytest.raises(InstanceError, match=rule) as caught:
        reader(path)
    assert caught.value.field == str(path)


def test_missing_files_are_refused(tmp_path):
    for reader in (read_iteration_times, read_points, read_accuracy):
        with pytest.raises(InstanceError, match="no such file"):
            reader(tmp_path / "none.csv")
        with pytest.raises(InstanceError, match="not a readable CSV"):
            reader(tmp_path)
