"""What type checkers reveal to a user: of a script with the shortest names, and of every name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import edgeopt

ROOT = Path(__file__).parents[1]
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

FIELDS = """\
from __future__ import annotations
from edgeopt.instances import Floats, Instance, Names, Size, field

class Day(Instance, kind="day", axes={"slot": "T"}):
    rate: Floats = field("slot", unit="1/s", doc="Rate.")
    names: Names | None = field("slot", default=None, doc="Names.")
    slots = Size("slot", "Number of slots.")

day = Day(Day.load("day.nc").rate)
reveal_type(day.rate)
reveal_type(day.names)
reveal_type(day.slots)
reveal_type(day.replace(names=None))
Day()
day.rate = day.rate
"""

NAMES = [
    *(f"edgeopt.{name}" for name in edgeopt.__all__),
    *(ROOT / "docs" / "api" / "names.txt").read_text(encoding="utf-8").split(),
]
SCRIPTS = ("script.py", "fields.py", "names.py")
NOTHING = {"Any", "Unknown", "None", "Unbound"}
"""What is revealed of a name that a checker does not see."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts, and with one that reveals every public name, a line each."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "fields.py").write_text(FIELDS)
    modules = sorted({name.rpartition(".")[0] for name in NAMES})
    place = {module: f"m{number}" for number, module in enumerate(modules)}
    lines = [f"import {module} as {place[module]}" for module in modules]
    for name in NAMES:
        module, _, last = name.rpartition(".")
        lines.append(f"reveal_type({place[module]}.{last})")
    (folder / "names.py").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def said(folder: Path) -> list[str]:
    """What mypy says of all of them; what `make lint` has kept of the package serves it, too."""
    kept = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    command = [sys.executable, "-m", "mypy", "--strict", *kept, *SCRIPTS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_mypy_sees_fields(said: list[str]) -> None:
    ours = [line for line in said if line.startswith("fields.py")]
    types = [line.split('"')[1] for line in ours if "note: Revealed" in line]
    assert [one.split("[")[0].split(".")[-1].split(" |")[0] for one in types] == [
        "ndarray", "tuple", "int", "Day",
    ], said  # fmt: skip
    assert [line.split("error: ")[1] for line in ours if "error:" in line] == [
        'Missing positional argument "rate" in call to "Day"  [call-arg]',
        'Property "rate" defined in "Day" is read-only  [misc]',
    ]


def test_mypy_sees_the_types_of_all_public_names(said: list[str]) -> None:
    script = [line for line in said if line.startswith("script.py")]
    types = [line.split('"')[1] for line in script if "note: Revealed" in line]
    assert [one.rpartition(".")[2] for one in types] == REVEALED, said
    ours = [line for line in said if line.startswith(("script.py", "names.py"))]
    wrong = [line.split(": error: ")[1] for line in ours if ": error: " in line]
    assert wrong == ['Module has no attribute "studdy"; maybe "study"?  [attr-defined]']
    # One line each, in the order of the names.
    types = [
        line.split('"')[1]
        for line in ours
        if line.startswith("names.py") and "note: Revealed" in line
    ]
    assert len(types) == len(NAMES)
    assert [name for name, one in zip(NAMES, types, strict=True) if one in NOTHING] == []


@pytest.mark.long
def test_pyright_sees_the_types_of_all_public_names(folder: Path) -> None:
    pytest.importorskip("basedpyright", reason="pip install basedpyright, of the extra dev")
    (folder / "pyrightconfig.json").write_text(
        json.dumps(
            {"include": ["names.py"], "extraPaths": [str(Path(edgeopt.__file__).parents[1])]}
        )
    )
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = [
        one["message"]
        for one in json.loads(done.stdout)["generalDiagnostics"]
        if one["severity"] == "information" and one["message"].startswith("Type of ")
    ]
    types = [one.partition('" is "')[2].removesuffix('"') for one in said]
    assert len(types) == len(NAMES)
    assert [name for name, one in zip(NAMES, types, strict=True) if one in NOTHING] == []
    # Only of a generic class itself are parameters unknown.
    partly = [one for one in types if "Unknown" in one and not one.startswith("type[")]
    assert partly == []


def test_names_for_checkers_are_those_at_run_time() -> None:
    assert {getattr(edgeopt, name).__name__.rpartition(".")[2] for name in edgeopt.__all__[1:]} == {
        *edgeopt.__all__[1:]
    }


def test_importing_loads_no_subpackage() -> None:
    code = "import sys, edgeopt; print(*sorted(m for m in sys.modules if m.startswith('edgeopt')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["edgeopt"]
