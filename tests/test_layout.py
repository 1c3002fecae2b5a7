"""The shape of the package: importing is cheap, files stay short."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "edgeopt").rglob("*.py"))
LONGEST = 700
"""Lines; a longer file answers more than one question and becomes a folder."""

MODELLING = {"casadi", "cvxpy", "highspy", "pyomo"}
NUMBERS = {"numba", "numpy", "scipy"}
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
        ("import edgeopt", MODELLING | NUMBERS | SHOWING | {"joblib", "networkx"}),
        ("from edgeopt.instances import RescueInstance", MODELLING | SHOWING),
        ("import edgeopt.cli", MODELLING | NUMBERS | (SHOWING - {"rich", "typer"})),
        ("import edgeopt.solvers", MODELLING | NUMBERS | SHOWING),
        ("from edgeopt.solvers import solve", (MODELLING - {"highspy"}) | SHOWING),
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
    ("drawing", "wording", "progress"),
    ("checks", "entries", "files", "learners", "live", "registry", "stored", "system"),
    ("results",),
    ("arrays", "comparison", "standings", "sentences"),
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


def imports_of(node: ast.AST, function: str = "") -> Iterator[tuple[ast.ImportFrom, str]]:
    """Yield the imports of a module that are made when it runs, and in which function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.ImportFrom):
            yield child, function
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from imports_of(child, child.name if inside else function)


def circles(root: Path, package: str) -> list[list[str]]:
    """Return sets of modules that import each other, unless one says in a docstring why.

    The docstring of the module, or of the function that imports, must say when it does.
    """
    files = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (root / package).rglob("*.py")
    }
    graph = nx.DiGraph()
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {
            node.name: ast.get_docstring(node) or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        why = ast.get_docstring(tree) or ""
        for node, function in imports_of(tree):
            told = function and re.search(r"\bimport(s|ed)?\b", why + said[function])
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                target = full if full in files else node.module
                if target in files and target != name and not told:
                    graph.add_edge(name, target)
    return [sorted(one) for one in nx.strongly_connected_components(graph) if len(one) > 1]


@pytest.mark.parametrize(("folder", "package"), [(".", "edgeopt"), ("papers", "edgeopt_papers")])
def test_modules_know_each_other_in_a_circle_only_where_they_say_why(
    folder: str, package: str
) -> None:
    assert circles(ROOT / folder, package) == []


def test_circles_through_functions_are_found(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.py").write_text("from one.b import x\n")
    inside = "def f():\n{}    from one.a import y\n"
    (tmp_path / "one" / "b.py").write_text(inside.format(""))
    assert circles(tmp_path, "one") == [["one.a", "one.b"]]
    (tmp_path / "one" / "b.py").write_text(inside.format('    """It is imported when called."""\n'))
    assert circles(tmp_path, "one") == []
