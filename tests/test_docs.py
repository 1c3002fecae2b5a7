"""Pages share one structure, read as they stand, show what the code makes, and name what exists."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import typer
from edgeopt_papers import cases
from fill import full
from fill.claims import count
from fill.kinds import KINDS, QUICK
from fill.markdown import FULL, MADE, Asked, fence, sentence, table
from fill.regions import REGION, Region, alike, filled, pictures, regions
from fill.running import Blocks, marked
from fill.tutorial import cells, ran

from edgeopt.cli.main import app
from edgeopt.studies import find_system

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md") if path.stem != "benchmarks")
READ = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
"""What forges show."""

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
LANGUAGES = {"", "python", "console", "text", "math", "toml"}

INLINE = {"count", "finding", "measured"}
"""Kinds that stand in sentences."""

PUBLISHED = {"28.6 %": "the conclusion of TapFinger's paper"}
"""Figures with a share or a time that stand in the text, and where they are printed."""


def without_code(text: str) -> str:
    """A page without its fences."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def written(path: Path) -> str:
    """A page without what is made for it."""
    return REGION.sub("", path.read_text())


def fences(text: str) -> list[tuple[str, str, str]]:
    """Language and code of the fences of a text, and the line after each."""
    return re.findall(r"^```(.*)\n((?:.*\n)*?)```\n(.*)$", text, re.M)


def headings(page: str) -> list[str]:
    text = without_code((DOCS / f"{page}.md").read_text())
    return re.findall(r"^## (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_pages_of_systems_have_one_skeleton(system: str) -> None:
    assert headings(system) == SKELETON
    text = (DOCS / f"{system}.md").read_text()
    for kind in ("claims", "refuted", "study"):
        assert re.search(rf"^<!-- made: {kind} {system}\b", text, re.M)
    assert "| symbol | meaning | in the code | shape | unit |" in text


@pytest.mark.parametrize("page", READ, ids=lambda path: path.stem)
def test_pages_are_plain_markdown(page: Path) -> None:
    text = page.read_text()
    assert {language for language, *_ in fences(text)} <= LANGUAGES
    prose = re.sub(r"`[^`\n]*`", "`", without_code(text))
    assert re.findall(r"\{[\w-]+\}`|^:::|^~~~|\[\]\(|\$\$", prose, re.M) == []
    # Markdown reads these in a formula before its renderer does.
    assert re.findall(r"\$(?=\S)[^$\n]*(?:\\[^\w\s]|\*)[^$\n]*\$", prose) == []
    assert text.count("<!-- made: ") == text.count("<!-- end -->") == len(list(regions(text)))
    for region in regions(text):
        assert region.kind in KINDS
        place = text.rindex("<!-- made: ", 0, region.span[0])
        begins = not text[:place].rpartition("\n")[2].strip()
        assert begins is (region.kind not in INLINE), text[place : region.span[0]]


def test_links_lead_to_files_and_headings() -> None:
    def targets(path: Path) -> set[str]:
        text = without_code(path.read_text())
        found = set(re.findall(r'<a id="([^"]*)"></a>', text))
        for heading in re.findall(r"^#+ (.*)$", text, re.M):
            found.add(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))
        return found

    wrong = []
    for page in READ:
        for link in re.findall(
            r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "`", without_code(page.read_text()))
        ):
            place, _, heading = link.partition("#")
            target = (page.parent / place).resolve() if place else page
            if not link.startswith("https://") and (
                not target.exists() or (heading and heading not in targets(target))
            ):
                wrong.append(f"{page.name}: {link}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_what_is_made_quickly_is_that_of_this_code(page: Path) -> None:
    text = page.read_text()
    made = filled(text, page.name, keep=True, chosen=QUICK.__contains__)
    assert made == text, f"run `make pages PAGES=docs/{page.name}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_code_has_its_output_and_imports_what_exists(page: Path) -> None:
    for language, code, after in fences(written_but_output(page)):
        assert language not in ("python", "console") or after.startswith("<!-- made: output"), code
    for region in regions(page.read_text()):
        if region.kind == "example":
            [name] = region.arguments
            assert fence(marked(name), "python") in region.text, "run `make pages`"
        if region.kind == "study":
            options = dict(one.split("=", 1) for one in region.arguments[1:] if "=" in one)
            named = {one.name for one in find_system(region.arguments[0]).reporting.pictures}
            assert set(options.get("pictures", "").split()) <= {"policies", *named}
        if region.kind == "output":
            assert region.language in ("python", "console")
            check_output(region)


def written_but_output(page: Path) -> str:
    """A page without what is made for it, but with the marks of outputs."""
    return REGION.sub(lambda m: m[0] if m[1].startswith("output") else "", page.read_text())


def check_output(region: Region) -> None:
    """See that code and output belong together, as far as is known without a run."""
    silent = "quiet" in region.arguments
    assert silent is (not region.text.strip()) or region.language == "python"
    if region.language == "console":
        assert all(line.startswith("$ edgeopt ") for line in region.code.splitlines())
        return
    for node in ast.walk(ast.parse(region.code)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("edgeopt"):
            module = importlib.import_module(str(node.module))
            assert [one.name for one in node.names if not hasattr(module, one.name)] == []
    prints = "print(" in region.code and not silent
    assert not prints or "```text\n" in region.text or "def " in region.code


def test_pictures_are_those_that_pages_show() -> None:
    assert set(MADE.iterdir()) == pictures()
    assert max(path.stat().st_size for path in MADE.iterdir()) < 150_000


@pytest.mark.parametrize("path", sorted(FULL.glob("*.json")), ids=lambda path: path.stem)
def test_what_is_kept_of_full_size_is_of_statements_that_figures_have(path: Path) -> None:
    known = {one.number: one for one in cases.figures(path.stem)}
    for figure in json.loads(path.read_text())["figures"]:
        stated = {(one.what, one.setting): one.value for one in known[figure["number"]].published}
        for line in figure["lines"]:
            assert stated[line["what"], line.get("setting", "")] == line["published"]
    page = (DOCS / f"{path.stem}.md").read_text()
    pictures = {one.name for one in FULL.glob(f"{path.stem}-*.svg")}
    assert pictures == set(re.findall(r"\]\(_static/full/([^)]*)\)", page))


def test_a_run_at_full_size_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, kept = tmp_path / "run", tmp_path / "kept"
    kept.mkdir()
    (kept / "mine-figure-9.svg").touch()
    line = dict.fromkeys(full.LINE) | {"what": "a", "verdict": "agrees", "met": "close"}
    figure = {"kind": "figure", "number": "1A", "title": "t", "jobs": 2, "caveats": ["A full run"]}
    document = {"system": "mine", "quick": False, "paper_figures": [figure | {"published": [line]}]}
    run.mkdir()
    (run / "figure-1a.svg").write_text('<svg><path d="M 1.23456 2"/></svg>')
    (run / "reproduction.json").write_text(json.dumps(document))
    monkeypatch.setattr(full, "FULL", kept)
    full.main("mine", str(run), "abc")
    assert {one.name for one in kept.iterdir()} == {"mine.json", "mine-figure-1a.svg"}
    assert "1.23 2" in (kept / "mine-figure-1a.svg").read_text()
    [found] = json.loads((kept / "mine.json").read_text())["figures"]
    assert (found["size"], found["lines"][0]["what"]) == ("A full run", "a")
    with pytest.raises(SystemExit, match="no run of other"):
        full.main("other", str(run), "abc")


def test_small_differences_do_not_make_a_page_stale() -> None:
    assert alike("a  1.2345 b\n\u2500\u2500", "a 1.2346 b\n\u2500\u2500\u2500")
    assert alike("took 3.4 s for 7", "took 21 s for 7")
    assert not alike("a 1.23 b", "a 1.25 b")
    assert not alike("a 1", "b 1")
    assert not alike("gap -0.5", "gap 0.5")
    region = "<!-- made: count systems -->{}<!-- end -->"
    page = f"before\n\n{region.format(chr(10))}\nthere are {region.format(5)}.\n"
    made = filled(page, "page")
    assert "\n\n5\n\n<!-- end -->" in made
    assert "are <!-- made: count systems -->5<!-- end -->." in made
    assert filled(made, "page") == made


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_no_measured_figure_is_written_by_hand(page: Path) -> None:
    text = re.sub(r"\$[^$]*\$|`[^`]*`", "", without_code(written(page)))
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("marimo", reason="the extra notebook")
    path = tmp_path / "small_notebook.py"
    path.write_text(NOTEBOOK)
    monkeypatch.syspath_prepend(tmp_path)
    app = importlib.import_module("small_notebook").app
    kinds, shown = zip(*ran(app, path), strict=True)
    assert kinds == ("code", "code", "markdown", "code", "table")
    assert shown[0] == "import pandas as pd"
    assert shown[1] == "class Two:\n    number = 2"
    assert shown[2] == "Says 2."
    assert shown[3].endswith('print("not shown")\nframe')
    assert shown[4] == [["name", "share"], [False, True], ["a", "0.25"], ["b", "\N{EN DASH}"]]


def test_every_tutorial_has_its_page_with_its_code() -> None:
    from edgeopt.tutorials import tutorials

    for one in tutorials():
        text = (DOCS / f"tutorial-{one.path.stem}.md").read_text()
        assert text.startswith(f"# {one.title}\n")
        [region] = regions(text)
        assert (region.kind, region.arguments) == ("tutorial", [one.path.stem])
        for cell in cells(one.path):
            assert cell.hidden or fence(cell.code, "python") in region.text, "run `make pages`"


def test_every_command_has_its_section() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(headings("command-line")) == sorted(f"edgeopt {name}" for name in commands)
    told = re.findall(
        r"^<!-- made: command (.*) -->$", (DOCS / "command-line.md").read_text(), re.M
    )
    assert sorted(told) == sorted(commands)


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
    for line in re.findall(r"`(edgeopt [a-z]+ [^`]*)`", written(page)):
        _, name, *words = shlex.split(line)
        known = {option for one in commands[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
        if words and words[0] in SYSTEMS and "--instance" in words:
            source = words[words.index("--instance") + 1]
            assert source in find_system(words[0]).instances.sources, line


def test_code_of_a_page_that_fails_is_an_error() -> None:
    blocks = Blocks()
    assert [blocks.carry_out("python", text) for text in ("x = 3", "print(x + 1)")] == ["", "4\n"]
    assert blocks.carry_out("python", "x += 1\nprint(x)") == "4\n"
    with pytest.raises(ZeroDivisionError) as caught:
        filled("one\n```python\n1 / 0\n```\n<!-- made: output -->\n<!-- end -->\n", "page")
    assert caught.value.__notes__ == ["page, line 5: output "]
    with pytest.raises(ValueError, match="exit code 2, 0 was expected"):
        blocks.carry_out("console", "$ edgeopt check nothing.at_all")
    said = blocks.carry_out("console", "$ edgeopt check nothing.at_all", 2)
    assert said.startswith("edgeopt: error: claim 'nothing.at_all' is unknown")
    blocks.start()
    with pytest.raises(NameError):
        blocks.carry_out("python", "print(x)")


def test_statements_keep_formulas_and_code_and_nothing_else_of_markdown() -> None:
    said = sentence(r"Take $\|x\|\,\le a|b$ from `plan.x` for *all* [of] `them'.")
    assert said == (
        r"Take $\Vert x\Vert \thinspace \le a\vert b$ from `plan.x` for \*all\* \[of\] "
        "\u2018them\u2019."
    )
    assert table(["a", "b|c"], [["x", 2]]) == "| a | b\\|c |\n| :-- | --: |\n| x | 2 |"


def test_counts_are_those_of_the_registry() -> None:
    from edgeopt.bounds import claims

    def counted(*what: str) -> int:
        return int(count(Asked(list(what), "", "", Blocks(), True)))

    assert counted("claims") == len(claims()) == sum(counted("claims", one) for one in SYSTEMS)
    assert 0 < counted("refuted", "idn") < counted("claims", "idn")
    with pytest.raises(ValueError, match="'stars' is unknown"):
        counted("stars")


def test_the_files_of_the_walks_exist() -> None:
    text = (DOCS / "layers.md").read_text()
    walks = text.partition("## Four walks")[2].partition("\n## Conventions")[0]
    named = re.findall(r"`([\w/]+(?:\.py|/template|/pictures))`", walks)
    rooms = [ROOT / "edgeopt", ROOT / "papers", *(ROOT / "edgeopt").glob("*/")]
    places = [*rooms, ROOT / "edgeopt" / "online" / "rescue"]
    assert len(named) > 25
    assert [one for one in named if not any((room / one).exists() for room in places)] == []
