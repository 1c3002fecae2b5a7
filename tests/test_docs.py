"""Pages share one structure, show only computed results, and name commands that exist."""

from __future__ import annotations

import dataclasses
import importlib
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from edgeopt.cli.main import app
from edgeopt.studies import find_system

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md") if path.stem != "benchmarks")
SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
SKELETON = [
    "The instance",
    "The problem",
    "The environment",
    "Algorithms",
    "Baselines",
    "Claims",
    "Corrections to the paper",
    "Studies and pictures",
    "Where to find the code",
]
MADE = {
    "claims",
    "errata",
    "refuted",
    "study",
    "paper_figure",
    "run",
    "shell",
    "command",
    "commands",
    "gallery",
    "program_table",
    "scoreboard",
    "sliders",
    "solver_table",
    "tutorial",
    "tutorials",
}
"""Directives whose content the build computes or runs."""

PLAIN = {"toctree", "include", "list-table", "literalinclude"}

PUBLISHED = {"28.6 %": "the conclusion of TapFinger's paper"}
"""Figures with a share or a time that stand in the text, and where they are printed."""


@pytest.fixture
def extension(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import an extension of the documentation as Sphinx does."""
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    yield importlib.import_module
    for path in (DOCS / "_extensions").glob("*.py"):
        sys.modules.pop(path.stem, None)


def headings(page: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", (DOCS / f"{page}.md").read_text(), flags=re.M | re.S)
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_pages_of_systems_have_one_skeleton(system: str) -> None:
    assert headings(system) == SKELETON
    text = (DOCS / f"{system}.md").read_text()
    for directive in ("claims", "refuted"):
        assert f"```{{{directive}}} {system}\n" in text
    assert f"```{{study}} {system}\n" in text
    assert "| symbol | meaning | in the code | shape | unit |" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_blocks_are_run_by_the_build(page: Path) -> None:
    fences = re.findall(r"^ *(?:```|~~~|:::)(.*)$", page.read_text(), re.MULTILINE)
    opened = [fence.strip() for fence in fences[::2]]
    assert all(fence.strip() == "" for fence in fences[1::2])
    names = [re.match(r"\{([\w-]+)\}", fence) for fence in opened]
    assert [fence for fence, name in zip(opened, names, strict=True) if name is None] == []
    assert {name[1] for name in names if name} <= MADE | PLAIN


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_no_measured_figure_is_written_by_hand(page: Path) -> None:
    text = re.sub(r"\$[^$]*\$|`[^`]*`", "", page.read_text())
    figures = re.findall(r"\d[\d.,]* ?(?:%|µs|ms|seconds|s\b|times\b)", text)
    assert [figure for figure in figures if figure not in PUBLISHED] == []
    # A figure with decimals is measured, unless it is the number of a section or a version.
    for line in text.splitlines():
        for decimal in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", line):
            assert any(decimal in published for published in PUBLISHED) or re.search(
                rf"(section|Python) {re.escape(decimal)}", line
            ), line


NOTEBOOK = """
import marimo

app = marimo.App()

with app.setup:
    import pandas as pd


@app.class_definition
class Two:
    number = 2


@app.cell(hide_code=True)
def text():
    import marimo as mo

    mo.md(f"# Title\\n\\nSays {Two.number}.")
    return (mo,)


@app.cell
def numbers():
    frame = pd.DataFrame({"name": ["a", "b"], "share": [0.25, float("nan")]})
    print("not shown")
    frame
    return (frame,)
"""


def test_a_notebook_is_shown_in_its_order_with_results(
    extension: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("marimo", reason="the extra notebook")
    path = tmp_path / "small_notebook.py"
    path.write_text(NOTEBOOK)
    monkeypatch.syspath_prepend(tmp_path)
    app = importlib.import_module("small_notebook").app
    kinds, shown = zip(*extension("tutorial").ran(app, path), strict=True)
    assert kinds == ("code", "code", "markdown", "code", "table")
    assert shown[0] == "import pandas as pd"
    assert shown[1] == "class Two:\n    number = 2"
    assert shown[2] == "Says 2."
    assert shown[3].endswith('print("not shown")\nframe')
    assert shown[4] == [["name", "share"], [False, True], ["a", "0.25"], ["b", "\N{EN DASH}"]]


def test_every_tutorial_has_its_page() -> None:
    from edgeopt.tutorials import tutorials

    for one in tutorials():
        text = (DOCS / f"tutorial-{one.path.stem}.md").read_text()
        assert text.startswith(f"# {one.title}\n")
        assert f"```{{tutorial}} {one.path.stem}\nedgeopt tutorial {one.number}\n```" in text


def test_every_command_has_its_section() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(headings("command-line")) == sorted(f"edgeopt {name}" for name in commands)
    told = re.findall(r"^```\{command\} (.*)$", (DOCS / "command-line.md").read_text(), re.M)
    assert sorted(told) == sorted(commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_viewers_of_plain_markdown_show_a_command_for_what_the_build_makes(page: Path) -> None:
    commands = {"run": "python examples/{}.py", "command": "edgeopt {} --help"}
    pattern = r"^```\{(run|command)\} (\w+)\n(.*?)```$|^```\{(commands)\}\n(.*?)```$"
    for kind, name, body, all_, every in re.findall(pattern, page.read_text(), re.M | re.S):
        wanted = "edgeopt --help" if all_ else commands[kind].format(name)
        assert (every if all_ else body) == f"{wanted}\n"
        assert kind != "run" or (ROOT / "examples" / f"{name}.py").is_file()


def test_the_page_of_extensions_names_what_there_is() -> None:
    text = (DOCS / "own.md").read_text()
    part = re.search(r"^### What a policy is handed\n(.*?)^### ", text, re.M | re.S)
    assert part
    arrival, *others = re.split(r"^\| system ", part[1], flags=re.M)
    named = re.findall(r"^\| (`.*?`) \|", arrival, re.M)
    rescue = importlib.import_module("edgeopt.online.rescue")
    said = re.findall(r"`(\w+)`", " ".join(named))
    assert said == [one.name for one in dataclasses.fields(rescue.Arrival)]
    assert all(f"`{name}`" in arrival for name in rescue.FinishedRun._fields)
    for line in re.findall(r"^\| \[.*$", others[0], re.M):
        place, *names = re.findall(r"`([\w.]+)`", line)
        module = importlib.import_module(place)
        assert [name for name in names if name != "None" and not hasattr(module, name)] == []
    package = tomllib.loads((ROOT / "examples/sixth_system/pyproject.toml").read_text())
    points = package["project"]["entry-points"]
    rows = re.findall(r'^\| `\[project.entry-points."(.*)"\]` \| `(.*) = "(.*)"` \|$', text, re.M)
    assert {group: {name: value} for group, name, value in rows} == points


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_commands_on_pages_exist(page: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for line in re.findall(r"`(edgeopt [a-z]+ [^`]*)`", page.read_text()):
        _, name, *words = shlex.split(line)
        known = {option for one in commands[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
        if words and words[0] in SYSTEMS and "--instance" in words:
            source = words[words.index("--instance") + 1]
            assert source in find_system(words[0]).instances.sources, line


def test_what_is_kept_is_computed_once_and_again_when_torn(
    extension: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = extension("kept")
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    calls = []

    def compute() -> dict[str, int]:
        calls.append(1)
        return {"calls": len(calls)}

    assert [kept.kept(["a"], compute) for _ in range(2)] == [{"calls": 1}] * 2
    assert kept.kept(["b"], compute) == {"calls": 2}
    for path in (tmp_path / "kept").iterdir():
        path.write_text(path.read_text()[:-1])
    assert kept.kept(["a"], compute) == {"calls": 3}


def test_code_of_a_page_that_fails_stops_the_build(extension: Any) -> None:
    running = extension("running")
    steps = [("python", "x = 3", 0), ("python", "print(x + 1)", 0)]
    blocks = running.Blocks(steps)
    assert blocks.carry_out() == ["", "4\n"]
    blocks.steps.append(("python", "x += 1\nprint(x)", 0))
    assert blocks.carry_out() == ["", "4\n", "4\n"]
    with pytest.raises(ZeroDivisionError):
        running.Blocks([("python", "1 / 0", 0)]).carry_out()
    with pytest.raises(ValueError, match="exit code 2, 0 was expected"):
        running.Blocks([("shell", "edgeopt check nothing.at_all", 0)]).carry_out()
    [said] = running.Blocks([("shell", "edgeopt check nothing.at_all", 2)]).carry_out()
    assert said.startswith("edgeopt: error: claim 'nothing.at_all' is unknown")


def test_statements_become_text_formulas_and_code(extension: Any) -> None:
    parts = extension("shown").sentence(r"Take $x \le 1$ from `plan.x` for all.")
    assert [type(part).__name__ for part in parts] == ["Text", "math", "Text", "literal", "Text"]
    assert [part.astext() for part in parts] == [
        "Take ", r"x \le 1", " from ", "plan.x", " for all.",
    ]  # fmt: skip


def test_counts_are_those_of_the_registry(extension: Any) -> None:
    from edgeopt.bounds import claims

    count = extension("claim_tables").count
    assert count("claims") == len(claims()) == sum(count("claims", one) for one in SYSTEMS)
    assert 0 < count("refuted", "idn") < count("claims", "idn")
    with pytest.raises(ValueError, match="'stars' is unknown"):
        count("stars")


def test_the_files_of_the_walks_exist() -> None:
    text = (DOCS / "layers.md").read_text()
    walks = text.partition("## Four walks")[2].partition("\n## Conventions")[0]
    named = re.findall(r"`([\w/]+(?:\.py|/template|/pictures))`", walks)
    rooms = [ROOT / "edgeopt", ROOT / "papers", *(ROOT / "edgeopt").glob("*/")]
    places = [*rooms, ROOT / "edgeopt" / "online" / "rescue"]
    assert len(named) > 25
    assert [one for one in named if not any((room / one).exists() for room in places)] == []
