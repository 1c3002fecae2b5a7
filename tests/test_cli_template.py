"""``edgeopt template``: tables to fill in, which every command reads."""

from __future__ import annotations

import shutil
import zipfile

import pytest

from edgeopt.cli.main import run
from edgeopt.studies import find_system

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")


@pytest.mark.parametrize("name", SYSTEMS)
def test_tables_are_read_back_as_they_were_written(name, tmp_path, capsys):
    folder = tmp_path / "mine"
    assert run(["template", name, "--out", str(folder), "--seed", "3"]) == 0
    assert f"edgeopt study {name} --instance" in capsys.readouterr().out
    load = find_system(name).instances.load
    first = load(folder)
    first.save(tmp_path / "again.nc")
    second = load(tmp_path / "again.nc")
    assert second == first
    assert second.labels == first.labels
    assert first.labels
    for axis, labels in first.labels.items():
        assert len(labels) == len(set(labels)), axis
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        for file in folder.glob("*.csv"):
            archive.write(file, f"inside/{file.name}")
    assert load(tmp_path / "packed.zip") == first
    again = tmp_path / "again"
    assert run(["template", name, "--from", str(folder), "--out", str(again)]) == 0
    for file in folder.iterdir():
        assert (again / file.name).read_text() == file.read_text()
    said = (folder / "README.txt").read_text()
    for block in " ".join(said.split()).split(".csv: ")[1:]:
        assert "Entries are" in block or "It " in block or "Any text" in block
    for file in folder.glob("*.csv"):
        assert file.name in said


@pytest.mark.long
def test_a_study_reads_tables_and_shows_their_labels(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert run(["template", "tapfinger", "--out", str(folder)]) == 0
    for file in folder.glob("*.csv"):
        file.write_text(file.read_text().replace("cluster-", "rack "))
    policies = ["--policies", "min,random", "--runs", "2"]
    command = ["study", "tapfinger", "--instance", str(folder), *policies]
    assert run([*command, "--out", str(tmp_path / "page")]) == 0
    assert "rack 1" in (tmp_path / "page" / "index.html").read_text()


def test_a_foreign_folder_and_a_missing_one_are_named(tmp_path, capsys):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-my-mother.txt").write_text("dear")
    assert run(["template", "edr", "--out", str(tmp_path / "letters")]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert run(["study", "edr", "--instance", str(tmp_path / "nowhere")]) == 2
    assert (
        "neither a file, a folder, a named instance nor a source of edr" in capsys.readouterr().err
    )
    assert run(["study", "edr", "--instance", str(tmp_path / "letters")]) == 2
    assert "holds no tables; 'edgeopt template edr --out DIR'" in capsys.readouterr().err


def test_tables_that_were_changed_are_not_written_over(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert run(["template", "edr", "--out", str(folder)]) == 0
    (folder / "cap.csv").write_text("years of work")
    assert run(["template", "edr", "--out", str(folder)]) == 2
    assert "its tables may have been changed" in capsys.readouterr().err
    assert (folder / "cap.csv").read_text() == "years of work"
    assert run(["template", "edr", "--out", str(folder), "--force"]) == 0


def test_a_missing_table_is_named(tmp_path, capsys):
    folder = tmp_path / "mine"
    assert run(["template", "oinc", "--out", str(folder)]) == 0
    (folder / "speed.csv").unlink()
    capsys.readouterr()
    assert run(["study", "oinc", "--instance", str(folder)]) == 2
    assert "speed: is missing from the folder mine" in capsys.readouterr().err
    shutil.rmtree(folder)
