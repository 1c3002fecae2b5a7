"""Words are no labels where entries count: among slots and times they are refused by name."""

from __future__ import annotations

import re

import pandas as pd
import pytest
import xarray

from edgeopt.cli.main import run
from edgeopt.errors import InstanceError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.csv_tables import fields_of_tables
from edgeopt.instances.labels import COUNTED

WORDS = (
    "1,000", "1 000", "1.000,5", "1_000", "NA", "n/a", "nan", "#REF!", "#N/A", "2024-01-05",
    "slot 3", "TRUE", "--5", "\u00b2", "\u0663",
)  # fmt: skip
SYSTEMS = {"rescue": rescue, "tapfinger": tapfinger, "edr": edr, "oinc": oinc, "idn": idn}
MADE = {
    "rescue": rescue.small(2),
    "logarithmic": rescue.generate(servers=2, devices=3, horizon=4, reserved=0, rng=7),
    "tapfinger": tapfinger.small(1),
    "edr": edr.small(2),
    "oinc": oinc.small(2),
    "idn": idn.small(2),
}
FIELDS = [
    (system, name)
    for system, made in MADE.items()
    for name, one in fields_of_tables(made)
    if one.of in COUNTED and name in made._content()[0] and made._content()[0][name].values.size
]


def test_four_systems_have_fields_whose_entries_are_slots():
    assert {system for system, _ in FIELDS} >= {"rescue", "tapfinger", "edr", "oinc"}


def written(made, folder, name, change):
    """Write the tables of an instance, with other entries in the last column of one of them."""
    made.to_folder(folder)
    path = folder / f"{name}.csv"
    head, *lines = path.read_text().splitlines()
    cells = change([line.rpartition(",")[2] for line in lines])
    lines = [f'{line.rpartition(",")[0]},"{cell}"' for line, cell in zip(lines, cells, strict=True)]
    path.write_text("\n".join([head, *lines]) + "\n")
    return len(lines) + 1


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(("system", "name"), FIELDS)
def test_a_word_in_a_file_is_refused_by_file_and_line(system, name, word, tmp_path):
    made = MADE[system]
    last = written(made, tmp_path, name, lambda cells: [*cells[:-1], word])
    with pytest.raises(InstanceError) as caught:
        type(made).from_folder(tmp_path)
    assert str(caught.value).startswith(f"{name}.csv: line {last}: {word!r} is no number")


@pytest.mark.parametrize(("system", "name"), FIELDS)
def test_a_file_of_words_is_refused_as_well(system, name, tmp_path):
    made = MADE[system]
    written(made, tmp_path, name, lambda cells: [f"w{n}" for n in range(len(cells))])
    with pytest.raises(InstanceError, match=rf"{name}.csv: line 2: 'w0' is no number"):
        type(made).from_folder(tmp_path)


@pytest.mark.parametrize("empty", ["", "-"])
@pytest.mark.parametrize(("system", "name"), FIELDS)
def test_an_empty_cell_is_refused_by_file_and_line(system, name, empty, tmp_path):
    made = MADE[system]
    last = written(made, tmp_path, name, lambda cells: [*cells[:-1], empty])
    with pytest.raises(InstanceError, match=rf"{name}.csv: line {last}: the entry is empty"):
        type(made).from_folder(tmp_path)


def as_series(entries):
    tasks = pd.Index([f"task {n}" for n in range(len(entries))], name="task")
    return pd.Series(entries, tasks, dtype=object)


def tasks(count, clusters):
    """Return what else an instance has of its tasks."""
    eligible = xarray.DataArray(
        [[1] * clusters] * count,
        {"task": list(as_series([0] * count).index), "cluster": range(clusters)},
    )
    return {"kind": as_series([0] * count), "eligible": eligible}


def of(entries, *, origin=0):
    """Build an instance of tasks that arrive in the given slots."""
    made = tapfinger.small(1)
    fields = {name: getattr(made, name) for name in ("capacity", "minimum", "speed")}
    fields |= {"arrival": entries, **tasks(len(entries), made.clusters)}
    return tapfinger.TapFingerInstance.from_labelled(fields, origin=origin)


def unlabelled(entries):
    made = tapfinger.small(1)
    fields = {name: getattr(made, name) for name in ("capacity", "minimum", "speed")}
    fields["eligible"] = [[1] * made.clusters] * len(entries)
    return tapfinger.TapFingerInstance(arrival=entries, kind=[0] * len(entries), **fields)


@pytest.mark.parametrize("origin", [0, 1])
@pytest.mark.parametrize("word", WORDS)
def test_a_word_in_memory_is_refused_by_itself(word, origin):
    for entries in ([1, 250, word], ["1", "250", word], [word, "w", "v"]):
        for table in (as_series(entries), xarray.DataArray.from_series(as_series(entries))):
            with pytest.raises(InstanceError) as caught:
                of(table, origin=origin)
            task = entries.index(word)
            said = f"arrival: {word!r} of task 'task {task}' is no number of a slot"
            assert str(caught.value) == said
    for listed in ([1, 250, word], ["1", "250", word]):
        with pytest.raises(InstanceError, match=r"arrival = .*must be an array of real") as caught:
            unlabelled(listed)
        assert repr(word) in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([0, 250, None], "arrival: has no entry for task 'task 2'"),
        ([0, 250, pd.NA], "arrival: has no entry for task 'task 2'"),
        ([0, 250, pd.NaT], "arrival: has no entry for task 'task 2'"),
        ([0, 250, float("nan")], "arrival: has no entry for task 'task 2'"),
        ([0, 250, True], "arrival: True of task 'task 2' is no number of a slot"),
        ([0, 1j, 3], "arrival: 1j of task 'task 1' is no number of a slot"),
        ([0, 10**400, 3], "arrival"),
        ([0, 2.5, 3], "arrival[1] = 2.5: must be a whole number (task 'task 1')"),
        ([pd.Timedelta("1h")] * 3, "of task 'task 0' is no number of a slot"),
        ([0, 1, pd.Timestamp("2024-01-05")], "of task 'task 2' is no number of a slot"),
    ],
)
def test_what_else_is_no_slot_is_refused(entries, said):
    with pytest.raises(InstanceError) as caught:
        of(as_series(entries))
    assert said in str(caught.value)


@pytest.mark.parametrize("kind", ["timedelta64[ns]", "bool"])
def test_a_column_of_another_kind_is_refused(kind):
    with pytest.raises(InstanceError, match="of task 'task 0' is no number of a slot"):
        of(as_series([0, 0, 1]).astype(int).astype(kind))


@pytest.mark.parametrize(
    "entries",
    [[1, 251, 1001], ["1", "251", " 1001 "], [1.0, 251.0, "1001"]],
    ids=["whole", "texts", "mixed"],
)
def test_numbers_in_any_dress_are_slots(entries):
    wanted = [0, 250, 1000]
    assert of(as_series(entries), origin=1).arrival.tolist() == wanted
    assert of(as_series(entries)).arrival.tolist() == [1, 251, 1001]
    known = as_series([1, 251, 1001]).astype("Int64")
    assert of(known, origin=1).arrival.tolist() == wanted
    with pytest.raises(InstanceError, match="task 'task 2'"):
        of(known.where([True, True, False]))


@pytest.mark.parametrize("labels", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], [1, "2", 3.0]])
def test_labels_in_any_dress_count_from_the_origin(labels):
    made = rescue.generate(servers=2, devices=2, horizon=3, reserved=0, rng=1)
    fields = {name: getattr(made, name) for name in ("arrival", "duration", "reserved")}
    slots = pd.Index(labels, name="slot", dtype=object)
    servers = pd.Index(["a", "b"], name="server")
    fields |= {"capacity": pd.DataFrame(made.capacity, servers, slots), "profit": [[[[[1.0]]]]]}
    found = rescue.RescueInstance.from_labelled(fields, origin=1)
    assert found.capacity.tolist() == made.capacity.tolist()


@pytest.mark.parametrize("word", [*WORDS, "", "2.5", "9" * 5000])
def test_a_word_among_the_labels_of_slots_is_refused_by_file_and_line(word, tmp_path):
    rescue.small(2).to_folder(tmp_path)
    path = tmp_path / "capacity.csv"
    lines = path.read_text().splitlines()
    axes = lines[0].split(",")
    cells = lines[-1].split(",")
    cells[axes.index("slot")] = f'"{word}"'
    path.write_text("\n".join([*lines[:-1], ",".join(cells)]) + "\n")
    with pytest.raises(InstanceError) as caught:
        rescue.RescueInstance.from_folder(tmp_path)
    said = (
        f"capacity.csv: line {len(lines)}: label {word[:80]!r} along 'slot' must be a whole number"
    )
    assert str(caught.value) == said


def test_a_word_among_timestamps_is_refused_by_file_and_line(tmp_path):
    made = rescue.generate(servers=1, devices=2, horizon=3, reserved=0, rng=1)
    made.to_folder(tmp_path)
    path = tmp_path / "capacity.csv"
    stamps = [f"2024-01-05 00:0{n}" for n in range(3)]

    def with_slots(labels):
        rows = [f"0,{label},{made.capacity[0, n]}" for n, label in enumerate(labels)]
        path.write_text("\n".join(["server,slot,value", *rows]) + "\n")
        return rescue.RescueInstance.from_folder(tmp_path)

    assert with_slots(stamps).capacity.tolist() == made.capacity.tolist()
    for word in ("n/a", "3", "5 January"):
        with pytest.raises(InstanceError, match=rf"capacity.csv: line 4: '{word}' .* is no time"):
            with_slots([*stamps[:2], word])
    with pytest.raises(InstanceError, match=r"capacity.csv: line 3: label '2024-01-05 00:01'"):
        with_slots(["0", *stamps[1:]])


def test_words_stay_names_where_entries_have_names(tmp_path):
    made = tapfinger.small(1)
    named = made.with_labels({"cluster": [f"1,{n}00" for n in range(made.clusters)]})
    named.to_folder(tmp_path)
    again = tapfinger.TapFingerInstance.from_folder(tmp_path)
    assert again == made
    assert again.labels["cluster"] == named.labels["cluster"]
    kinds = pd.Index(["n/a", "NA"], name="kind")
    minimum = pd.DataFrame(made.minimum, kinds, pd.Index(["cpu", "gpu"], name="resource"))
    speed = xarray.DataArray(
        made.speed,
        {"cluster": range(made.clusters), "kind": kinds}
        | {axis: range(made.speed.shape[2 + n]) for n, axis in enumerate(("cpu", "gpu"))},
        ["cluster", "kind", "cpu", "gpu"],
    )
    fields = tasks(3, made.clusters) | {"capacity": made.capacity, "arrival": as_series([0, 1, 2])}
    fields |= {"minimum": minimum, "speed": speed, "kind": as_series(["NA", "n/a", "NA"])}
    assert tapfinger.TapFingerInstance.from_labelled(fields).kind.tolist() == [1, 0, 1]


def test_settings_hold_numbers_where_numbers_belong(tmp_path):
    tapfinger.small(1).to_folder(tmp_path)
    path = tmp_path / "settings.csv"
    text = path.read_text()
    assert "noise," in text
    for setting, word in (("noise", '"0,1"'), ("pending", "many"), ("pending", "TRUE")):
        lines = [line for line in text.splitlines() if not line.startswith(f"{setting},")]
        path.write_text("\n".join([*lines, f"{setting},{word},"]) + "\n")
        with pytest.raises(InstanceError) as caught:
            tapfinger.TapFingerInstance.from_folder(tmp_path)
        said = (
            f"settings.csv: line {len(lines) + 1}: {setting}: {word.strip(chr(34))!r} is no number"
        )
        assert str(caught.value).startswith(said)
    lines = [line for line in text.splitlines() if not line.startswith("single_start,")]
    path.write_text("\n".join([*lines, "single_start,TRUE,"]) + "\n")
    assert tapfinger.TapFingerInstance.from_folder(tmp_path).single_start


@pytest.mark.parametrize("system", MADE)
@pytest.mark.parametrize("word", ["#REF!", "#N/A", "#DIV/0!", "#NAME?"])
def test_an_error_of_a_spreadsheet_is_no_label(system, word, tmp_path):
    made = MADE[system]
    axis = next(axis for axis, count in made.axes.items() if count)
    first = f"{axis} 0"
    names = [f"{axis} {n}" for n in range(made.axes[axis])]
    made.with_labels({axis: names}).to_folder(tmp_path)
    for path in tmp_path.glob("*.csv"):
        path.write_text(path.read_text().replace(first, word))
    with pytest.raises(InstanceError, match=f"label {re.escape(repr(word))} along .* is an error"):
        type(made).from_folder(tmp_path)
    with pytest.raises(InstanceError, match="is an error of a spreadsheet; correct it there"):
        made.with_labels({axis: [word, *names[1:]]})


def test_a_folder_of_other_data_lists_what_is_read_and_the_doors_for_ones_own(tmp_path, capsys):
    (tmp_path / "jobs.csv").write_text("name,cpu_milli\npod-0,12000\n")
    for system, module in SYSTEMS.items():
        with pytest.raises(InstanceError) as caught:
            module.from_raw(tmp_path)
        assert run(["solve", system, "--data", str(tmp_path)]) == 2
        assert capsys.readouterr().err == f"edgeopt: error: {caught.value}\n"
        said = str(caught.value)
        assert said.startswith(f"{tmp_path}: holds none of the public files that this is made of")
        assert f"'edgeopt template {system} --out DIR'" in said
        assert "from_labelled" in said


def test_a_time_along_another_axis_than_slots_is_refused(tmp_path):
    made = rescue.generate(servers=1, devices=2, profiles=1, horizon=3, reserved=0, rng=1)
    made.to_folder(tmp_path)
    (tmp_path / "duration.csv").write_text("profile,duration,value\n0,2024-01-05 10:00,1\n")
    said = r"duration.csv: line 2: label '2024-01-05 10:00' along 'duration' must be a whole number"
    with pytest.raises(InstanceError, match=said):
        rescue.RescueInstance.from_folder(tmp_path)
    durations = pd.Index(pd.to_datetime(["2024-01-05 10:00"]), name="duration")
    table = pd.DataFrame([[1.0]], pd.Index([0], name="profile"), durations)
    fields = {one.name: getattr(made, one.name) for one in made._fields}
    with pytest.raises(InstanceError, match="along 'duration' must be a whole number"):
        rescue.RescueInstance.from_labelled({**fields, "duration": table})
