"""What type checkers reveal to a user of the shortest names."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import edgeopt

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """\
import edgeopt
from edgeopt.instances.rescue import generate

result = edgeopt.study(generate(rng=0), runs=2)
reveal_type(result)
reveal_type(result.table)
reveal_type(edgeopt.check("rescue.theorem1")[0])
reveal_type(edgeopt.solve(None))
edgeopt.studdy(result)
"""
REVEALED = ["Study", "DataFrame", "Verdict", "Solution"]


def test_a_script_sees_types(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(script)]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    types = [line.split('"')[1] for line in said.splitlines() if "note: Revealed" in line]
    assert [one.rpartition(".")[2] for one in types] == REVEALED, said
    wrong = [line.split("error: ")[1] for line in said.splitlines() if "error:" in line]
    assert wrong == ['Module has no attribute "studdy"; maybe "study"?  [attr-defined]']


def test_names_for_checkers_are_those_at_run_time() -> None:
    assert {getattr(edgeopt, name).__name__.rpartition(".")[2] for name in edgeopt.__all__[1:]} == {
        *edgeopt.__all__[1:]
    }
