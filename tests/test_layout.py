"""The shape of the package: importing is cheap, files stay short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "edgeopt").rglob("*.py"))
LONGEST = 700
"""Lines; a longer file answers more than one question and becomes a folder."""

MODELLING = {"casadi", "cvxpy", "highspy", "pyomo"}
SHOWING = {"jinja2", "matplotlib", "pandas", "rich", "typer", "xarray"}


def modules_after(statement: str) -> set[str]:
    """Names of the top-level modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import edgeopt", MODELLING | SHOWING | {"joblib", "networkx", "numba", "numpy", "scipy"}),
        ("from edgeopt.instances import RescueInstance", MODELLING | SHOWING),
        ("import edgeopt.solvers", (MODELLING - {"highspy"}) | SHOWING),
        ("import edgeopt.online", MODELLING | SHOWING),
        ("import edgeopt.bounds", MODELLING | SHOWING),
        ("import edgeopt.studies", MODELLING | {"matplotlib"}),
    ],
)
def test_importing_loads_nothing_heavy(statement: str, absent: set[str]) -> None:
    assert modules_after(statement) & absent == set()


def test_short_names_lead_to_their_subpackages() -> None:
    import edgeopt

    for name in edgeopt.__all__:
        assert getattr(edgeopt, name) is not None
    assert set(edgeopt.__all__) <= set(dir(edgeopt))
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        _ = edgeopt.sovle


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_answers_one_question(source: Path) -> None:
    text = source.read_text()
    assert text.count("\n") <= LONGEST
    assert source.stem not in {"utils", "helpers", "common", "base", "misc"}


def test_every_folder_of_sources_is_a_package() -> None:
    folders = {source.parent for source in SOURCES}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
