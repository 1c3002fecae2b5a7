"""A kind that no task may run on a cluster is a hole of its table; one that may run is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import edgeopt
from edgeopt.errors import InstanceError
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations
from edgeopt.studies import find_system

TASK = pd.Index(["a", "b", "c"], name="task")
ELIGIBLE = pd.DataFrame({"v": [1, 1, 1], "k": [1, 0, 1]}, TASK).rename_axis(columns="cluster")
ROWS = [("v", "r", 2.0), ("k", "r", 3.0), ("v", "big", 2.0)]


def seconds(rows):
    axes = ["cluster", "kind", "cpu", "gpu"]
    table = pd.DataFrame([(c, k, 1, 1, s) for c, k, s in rows], columns=[*axes, "s"])
    return table.set_index(axes)["s"]


def bundles(axis, *names):
    rows = pd.Index(names, name=axis)
    return pd.DataFrame({"cpu": 1, "gpu": 1}, rows).rename_axis(columns="resource")


def measured(rows, **more):
    options = {
        "minimum": bundles("kind", "r", "big"), "capacity": bundles("cluster", "v", "k"),
        "kind": pd.Series(["r", "big", "r"], TASK), "arrival": pd.Series([0, 1, 1], TASK),
        "eligible": ELIGIBLE,
    }  # fmt: skip
    return from_durations(seconds(rows), **options | more)


def test_a_kind_that_no_task_may_run_there_is_a_hole(tmp_path):
    made = measured(ROWS)
    assert made.duration[:, :, 1, 1].tolist() == [[2, 2], [3, 0]]
    for door in (str(tmp_path / "a.nc"), str(tmp_path / "a.zip")):
        made.save(door)
        assert TapFingerInstance.load(door) == made
    assert measured(ROWS, holes="smaller") == made
    assert made.replace(weight=[1, 2, 3]).speed.tolist() == made.speed.tolist()
    infinite = [*ROWS, ("k", "big", float("nan"))]
    assert measured(infinite) == made


def test_what_nobody_runs_changes_no_policy_and_no_bound():
    entries = find_system("tapfinger").policies.entries
    names = [entry.name for entry in entries if not entry.learned]
    hole = edgeopt.study(measured(ROWS), names, runs=2, claims=False)
    filled = edgeopt.study(measured([*ROWS, ("k", "big", 9.0)]), names, runs=2, claims=False)
    columns = ["policy", "value", "bound_value"]
    pd.testing.assert_frame_equal(hole.table[columns], filled.table[columns])


def test_a_kind_that_may_run_there_is_refused():
    everywhere = ELIGIBLE * 0 + 1
    for more in ({"eligible": None}, {"eligible": everywhere}):
        with pytest.raises(InstanceError, match=r"duration\[1, 1, 1, 1\] = nan: is a hole"):
            measured(ROWS, **more)
    with pytest.raises(InstanceError) as caught:
        measured(ROWS).replace(eligible=np.ones((3, 2)))
    assert str(caught.value).startswith("eligible[1, 1] = True: names a cluster where the task has")


def test_a_hole_among_other_entries_is_refused():
    table = np.full((2, 2, 2, 3), 4.0)
    table[1, 1, 1, 2] = np.nan
    options = {"minimum": [[1, 1]] * 2, "capacity": [[1, 2]] * 2, "arrival": [0, 0]}
    options |= {"kind": [0, 1], "eligible": [[1, 1], [1, 0]]}
    with pytest.raises(InstanceError, match=r"duration\[1, 1, 1, 2\] = nan: is a hole"):
        from_durations(table, **options)
    table[1, 1] = np.nan
    assert from_durations(table, **options).duration[1, 1].max() == 0


def test_a_kind_without_tasks_may_fit_nowhere():
    options = {"capacity": [[1, 1]], "arrival": [0], "speed": np.full((2, 2, 2), 0.5)}
    made = TapFingerInstance(minimum=[[1, 1], [1, 8]], kind=[0], eligible=[[1]], **options)
    assert made.duration[0, :, 1, 1].tolist() == [2, 0]
    with pytest.raises(InstanceError, match="none can hold a task of this kind"):
        TapFingerInstance(minimum=[[1, 1], [1, 8]], kind=[1], eligible=[[1]], **options)
