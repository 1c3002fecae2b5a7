"""Tables and weights that training leaves in the package."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from edgeopt_papers import cases
from edgeopt_papers import releases as released
from edgeopt_papers.provenance import Stamp, stamp
from edgeopt_papers.releases import Release, Times

from edgeopt.errors import InputError
from edgeopt.studies import find_system, systems
from edgeopt.studies.training import trained
from edgeopt.studies.wording import duration

PAPERS = Path(__file__).parents[2] / "papers" / "pyproject.toml"

TRAINED = {
    "oinc-curves": "policy", "edr-learners": "policy", "edr-losses": None,
    "tapfinger-training": "course", "tapfinger-scratch": "course",
}  # fmt: skip
"""Tables that train, and their column of what is trained; without one, a column per seed."""


def drawn(folder: Path) -> pd.DataFrame:
    assert folder.name == "kept"
    return pd.DataFrame({"policy": ["a, b", "c"], "reward": [0.1 + 0.2, -1 / 3]})


def test_a_table_reads_as_it_was_written(tmp_path: Path) -> None:
    one = Release("mine", tmp_path / "mine.csv", "make mine", drawn)
    path = one.write(tmp_path / "kept")
    table, command, made = one.read()
    pd.testing.assert_frame_equal(table, drawn(tmp_path / "kept"), check_exact=True)
    assert (path, command, made) == (one.path, "make mine", stamp())
    assert f"made with {stamp()}; `make mine` makes it anew" in one.said
    assert one.made_by_this_code(path)
    # The same numbers keep the stamp of who made them first; others do not.
    path.write_text(path.read_text().replace(str(stamp()), "edgeopt 0.0.1"))
    assert one.read().stamp == Stamp("0.0.1", "")
    assert not one.made_by_this_code(path)
    assert one.write(tmp_path / "kept") == path
    assert one.read().stamp == Stamp("0.0.1", "")
    path.write_text(path.read_text().replace("0.3", "0.31", 1))
    one.write(tmp_path / "kept")
    assert one.read().stamp == stamp()
    path.write_text("policy,reward\n")
    with pytest.raises(InputError, match="two lines"):
        one.read()


def test_a_checkpoint_is_copied(tmp_path: Path) -> None:
    def made(folder: Path) -> Path:
        folder.mkdir()
        (folder / "policy").write_bytes(b"weights")
        return folder / "policy"

    one = Release("mine", tmp_path / "mine.safetensors", "make mine", made)
    assert one.write(tmp_path / "kept").read_bytes() == b"weights"


def test_all_files_are_there_and_the_tables_say_how_they_were_made() -> None:
    known = released.releases()
    assert known
    for one in known.values():
        assert one.path.exists()
        if one.path.suffix == ".csv":
            assert one.read().command == one.command


def test_all_weights_of_a_system_are_declared_where_some_are() -> None:
    for name in systems():
        record = find_system(name)
        declared = {one.path for one in cases.releases(name) if one.path.suffix == ".safetensors"}
        if declared:
            assert record.learned is not None
            assert declared == set(record.learned.shipped.values())


@pytest.mark.usefixtures("offering")
def test_weights_are_those_that_the_command_trains(tmp_path: Path) -> None:
    path = tmp_path / "level.safetensors"
    one = released.weights(path, "stopping", "threshold", seed=3, start="high")
    assert one.name == "stopping-level"
    assert one.command == "edgeopt train stopping threshold --set start=high --seeds 3"
    one.write(tmp_path / "kept")
    trained(find_system("stopping"), seeds=(3,), options={"start": "high"}, out=tmp_path / "out")
    same = tmp_path / "out" / "seed-3" / "policy.safetensors"
    assert path.read_bytes() == same.read_bytes()


@pytest.mark.usefixtures("torch_stub")
def test_the_command_says_what_it_does_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = []

    def interrupted(folder: Path) -> pd.DataFrame:
        visits.append(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "half").touch()
        if len(visits) == 1:
            raise KeyboardInterrupt
        return pd.DataFrame({"reward": [1.0]})

    one = Release("mine", tmp_path / "mine.csv", "make mine", interrupted)
    monkeypatch.setattr(released, "releases", lambda: {"mine": one})
    taken = tmp_path / "taken.csv"
    taken.write_text("name,seeds,seconds,whole\nmine,3,90,False\n")
    monkeypatch.setattr(released, "TIMES", taken)
    command = [str(tmp_path / "kept"), "mine", "--workers", "1"]
    assert released.main(command) == 130
    assert released.main(command) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    said = "mine: about 90 s of processor time"
    assert lines[:4] == [said, "mine: begins", said, "mine: goes on"]
    assert lines[4].startswith(f"mine: {one.path}, ")
    assert lines[4].endswith("of processor time")
    assert printed.err == "interrupted; the same command goes on\n"
    assert not (tmp_path / "kept" / "mine").exists()
    # What went on was not measured whole.
    assert released.times()["mine"] == Times("mine", 3, 90.0, False)
    assert released.main(command) == 0
    assert "mine: begins" in capsys.readouterr().out
    assert released.times()["mine"].whole
    assert visits == [tmp_path / "kept" / "mine"] * 3


def test_times_are_kept_where_they_are_far_from_those_of_before(tmp_path: Path) -> None:
    path = tmp_path / "taken.csv"
    path.write_text("name,seeds,seconds,whole\na,1,100,False\nb,5,60,True\n")
    released.remember("a", 100.0, path)
    released.remember("b", 70.0, path)
    released.remember("unknown", 1.0, path)
    expected = {"a": Times("a", 1, 100.0, True), "b": Times("b", 5, 60.0, True)}
    assert released.times(path) == expected
    released.remember("b", 80.04, path)
    assert released.times(path) == expected | {"b": Times("b", 5, 80.0, True)}


def declared() -> dict[str, Release]:
    """What the papers offer, whatever version of them is installed."""
    groups = tomllib.loads(PAPERS.read_text())["project"]["entry-points"]
    offered = groups["edgeopt_papers.releases"]
    assert {
        f"{path.parent.name}.{path.stem}" for path in PAPERS.parent.glob("*/*/releases.py")
    } == {point.partition(":")[0].removeprefix("edgeopt_papers.") for point in offered.values()}
    modules = (import_module(point.partition(":")[0]) for point in offered.values())
    return {one.name: one for module in modules for one in module.RELEASES}


def test_everything_is_made_within_two_hours_by_two_processes() -> None:
    every, known = declared(), released.times()
    assert list(every) == list(known)
    said = list(released.foretold(list(every.values()), 2))
    assert len(said) == len(known) + 1
    first = next(iter(known.values()))
    assert said[0] == f"{first.name}: about {duration(first.seconds)} of processor time"
    whole = sum(one.seconds for one in known.values())
    assert whole <= 2 * 7200.0
    assert said[-1].startswith(f"together: {duration(whole)}, at best within ")
    assert max(one.seconds for one in known.values()) <= whole / 2


def test_tables_of_trainings_say_how_many_seeds_they_have() -> None:
    known = released.times()
    for name, one in declared().items():
        if one.path.suffix == ".csv" and name in TRAINED:
            table, columns = one.read().table, TRAINED[name]
            if columns is None:
                found = sum(column.startswith("seed_") for column in table)
            else:
                found = table.groupby(columns)["seed"].nunique().max()
            assert found == known[name].seeds >= 3, name


def test_what_cannot_be_made_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert released.main([str(tmp_path / "kept"), "x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("edgeopt: error: nothing released is called 'x'; choose from ")
    assert said.count("\n") == 1
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "edgeopt.learning.networks", raising=False)
    assert released.main([str(tmp_path / "kept")]) == 2
    assert "install edgeopt[rl]" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()
