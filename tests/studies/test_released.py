"""Tables and weights that training leaves in the package."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from edgeopt.errors import InputError, OptionError
from edgeopt.studies import released
from edgeopt.studies.released import Release

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "edgeopt.studies.released"


def drawn(folder: Path) -> pd.DataFrame:
    assert folder.name == "kept"
    return pd.DataFrame({"policy": ["a, b", "c"], "reward": [0.1 + 0.2, -1 / 3]})


def test_a_table_reads_as_it_was_written(tmp_path: Path) -> None:
    one = Release("mine", tmp_path / "mine.csv", "make mine", drawn, (MODULE,), (MODULE,))
    path = one.write(tmp_path / "kept")
    table, command, code = one.read()
    pd.testing.assert_frame_equal(table, drawn(tmp_path / "kept"), check_exact=True)
    assert (path, command, code) == (one.path, "make mine", one.digest)
    assert "earlier" not in one.said
    assert "by an earlier state of the code" in replace(one, code=("edgeopt.errors",)).said
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


def test_what_is_not_released_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"nothing released is called 'x'; choose from oinc"):
        list(released.make(["x"], tmp_path))
