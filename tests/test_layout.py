"""The shape of the package: importing is cheap, files stay short."""

from __future__ import annotations

import ast
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


STUDIES = (
    ("wording", "progress"),
    ("entries", "files", "learners", "live", "system"),
    ("results",),
    ("comparison", "standings", "sentences"),
    ("pictures",),
    ("pages", "claims", "sweeps"),
)
"""Rooms of `edgeopt.studies`, the lowest first; what is not named here is above all of them."""

MOST_UPWARD = 8
"""Pairs of modules of which the lower one may know the upper one."""


def room(module: str) -> int:
    """Return the layer of a module below `edgeopt.studies`, counted from the lowest."""
    inner = module.removeprefix("edgeopt.studies").lstrip(".")
    if inner == "":
        return len(STUDIES) + 1
    layers = {name: place for place, names in enumerate(STUDIES) for name in names}
    return layers.get(inner.partition(".")[0], len(STUDIES))


def upward(root: Path) -> set[tuple[str, str]]:
    """Return the pairs of modules of which the first, in a lower room, imports the second.

    Imports of any kind count: at the top, inside functions, and for type checkers.
    """
    files = {}
    for path in sorted((root / "edgeopt" / "studies").rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        files[name.removesuffix(".__init__")] = path
    found = set()
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{one.name}" for one in node.names]
                targets = [one if one in files else node.module for one in inner]
            elif isinstance(node, ast.Import):
                targets = [one.name for one in node.names]
            else:
                continue
            found |= {(name, one) for one in targets if one in files and room(name) < room(one)}
    return found


def test_a_study_knows_little_of_what_is_made_of_it() -> None:
    assert len(upward(ROOT)) <= MOST_UPWARD, sorted(upward(ROOT))


def test_upward_imports_of_any_kind_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "edgeopt" / "studies"
    (folder / "pages").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "pages" / "study.py").write_text("from edgeopt.studies.results import Study\n")
    (folder / "run.py").write_text("import edgeopt.studies.results\n")
    (folder / "results.py").write_text(
        "from typing import TYPE_CHECKING\nfrom edgeopt.studies import wording\n"
        "if TYPE_CHECKING:\n    from edgeopt.studies.pages import study\n"
        "def run():\n    import edgeopt.studies.run\n"
    )
    (folder / "wording.py").touch()
    results = "edgeopt.studies.results"
    upper = ("edgeopt.studies.pages.study", "edgeopt.studies.run")
    assert upward(tmp_path) == {(results, one) for one in upper}
