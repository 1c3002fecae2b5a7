from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from edgeopt.errors import OptionError, QualityWarning
from edgeopt.studies import Benchmark, BenchmarkEntry, find_system, study
from edgeopt.studies.pages.study import pictures_of, plot, recipe, render
from edgeopt.studies.pictures import overview
from edgeopt.studies.sentences import findings, lead, sentence, title
from edgeopt.studies.wording import percent, portion
from tests.studies.stopping import SYSTEM, Offers, bounding

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from edgeopt.studies import Case, Study


class Reader(HTMLParser):
    """Collects what a page refers to, its identifiers and its text; checks that tags close."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "wbr"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.identifiers: list[str] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.note(dict(attributes))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.note(dict(attributes))

    def note(self, attributes: dict[str, str | None]) -> None:
        for name in ("src", "href", "xlink:href", "data", "action", "poster"):
            self.references += [attributes[name] or ""] if name in attributes else []
        self.identifiers += [attributes["id"] or ""] if "id" in attributes else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def assert_self_contained(page: str) -> Reader:
    """Check that a page loads nothing and that its links lead somewhere."""
    reader = Reader(page)
    for reference in reader.references:
        beside = re.fullmatch(r"\w+\.(csv|json)", reference)
        assert beside or reference.startswith(("#", "data:"))
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\s*\(", page)
    assert len(set(reader.identifiers)) == len(reader.identifiers)
    targets = {reference[1:] for reference in reader.references if reference.startswith("#")}
    assert targets <= set(reader.identifiers)
    return reader


def test_page_is_self_contained_and_whole(stopped: Study, tmp_path: Path) -> None:
    page = stopped.page(tmp_path / "deep" / "report")
    assert page == tmp_path / "deep" / "report" / "index.html"
    reader = assert_self_contained(page.read_text(encoding="utf-8"))
    for key in ("case0", "case1"):
        for section in ("summary", "pictures", "table", "notes"):
            assert f"{key}-{section}" in reader.identifiers
        for picture in ("policies", "value_over_time"):
            assert f"{key}-{picture}" in reader.identifiers
    places = [reader.identifiers.index(f"case0-{one}") for one in ("summary", "pictures",
              "policies", "value_over_time", "table", "notes")]  # fmt: skip
    places += [reader.identifiers.index(one) for one in ("data", "again")]
    assert places == sorted(places)
    beside = [one for one in reader.references if one.endswith((".csv", ".json"))]
    assert len(beside) == 4
    assert all((page.parent / one).exists() for one in beside)
    text = " ".join(reader.text)
    assert not re.search(r"\b(nan|None|inf)\b", text)
    for case in stopped.cases:
        assert case.instance.fingerprint() in text


def test_files_in_the_folder_of_the_page(stopped: Study, tmp_path: Path) -> None:
    stopped.page(tmp_path)
    pictures = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert pictures == [
        "overall.svg",
        "policies-1.svg",
        "policies-2.svg",
        "value_over_time-1.svg",
        "value_over_time-2.svg",
    ]
    titles = {"overall": title(stopped)}
    for number, case in enumerate(stopped.detailed):
        titles |= {f"{one.name}-{number + 1}": one.title(case) for one in pictures_of(case)}
    for name in pictures:
        assert_titled(tmp_path / "pictures" / name, titles[name.removesuffix(".svg")])
    read = pd.read_csv(tmp_path / "table.csv", keep_default_na=True)
    assert list(read.columns) == list(stopped.table.columns)
    assert len(read) == len(stopped.table)
    assert json.loads((tmp_path / "study.json").read_text()) == json.loads(stopped.to_json())


def assert_titled(path: Path, said: str) -> None:
    """Check that a picture has its title above what is drawn, on white paper that holds both."""
    root = ElementTree.parse(path).getroot()
    namespace = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{namespace}svg"
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (root.attrib["width"], root.attrib["height"]) == (f"{width:g}pt", f"{height:g}pt")
    lines = root.findall(f"{namespace}text")
    assert " ".join(str(line.text) for line in lines) == said
    heights = [float(line.attrib["y"]) for line in lines]
    assert left == 0
    assert [top + 9, *heights, 0] == sorted([top + 9, *heights, 0])
    [paper] = root.findall(f"{namespace}rect")
    assert paper.attrib == {
        "y": f"{top:g}", "width": "100%", "height": "100%", "style": "fill: white"
    }  # fmt: skip


@pytest.mark.long
def test_comparison_is_on_the_page_and_in_its_folder(stopped: Study, tmp_path: Path) -> None:
    reader = assert_self_contained(stopped.page(tmp_path).read_text(encoding="utf-8"))
    assert "compared-over_all" in reader.identifiers
    text = " ".join(reader.text)
    assert "Small print, bands and thin lines: medians and ranges of 2 drawn instances." in text
    written = pd.read_csv(tmp_path / "over_all.csv")
    assert written["policy"].tolist() == list(stopped.cases[0].trajectories)
    assert f"{written['value'][0]:.3f}" in text
    share = percent(float(written["violated_share"][0]))
    assert share in text
    with pytest.raises(OptionError, match="'table_one' is unknown to stopping; it has over_all"):
        stopped.comparison("table_one")


def test_comparison_of_one_instance_has_no_interval() -> None:
    one = study(Offers(5), system=SYSTEM, runs=3)
    assert one.comparison("over_all")["value_low"].isna().all()
    text = " ".join(assert_self_contained(render(one)).text)
    assert "over_all.csv" in text  # the table says the same
    assert not re.search(r"\b(nan|None|inf)\b", text)


@pytest.mark.long
def test_logs_leave_nothing_out(stopped: Study, tmp_path: Path) -> None:
    page = stopped.page(tmp_path).read_text(encoding="utf-8")
    written = pd.read_csv(tmp_path / "slots.csv")
    assert list(written.columns) == ["instance", "policy", "slot", "reward", "broken"]
    for case in stopped.cases:
        for name, trajectory in case.trajectories.items():
            rows = written[(written["instance"] == case.name) & (written["policy"] == name)]
            assert rows["slot"].tolist() == list(range(trajectory.horizon))
            assert rows["reward"].sum() == pytest.approx(case.values(name).mean())
    assert 'href="slots.csv"' in page


def test_the_bound_of_each_policy_is_named_where_it_is_its_own() -> None:
    one = study(Offers(5), system=SYSTEM, runs=3)
    assert "<small>E[max]</small>" not in render(one)
    page = render(study(Offers(5), system=bounding(0.0), runs=3))
    assert page.count("<small>E[max]</small>") == len(one.cases[0].entries) - 1
    assert page.count(">no bound<") == 1
    assert "Rows are sorted by their reward" in page


@pytest.mark.long
def test_same_study_same_page(stopped: Study) -> None:
    assert render(stopped) == render(stopped)


def test_document_of_several_instances_is_a_list(stopped: Study) -> None:
    document = json.loads(stopped.to_json(), parse_constant=pytest.fail)
    assert [record["instance"]["name"] for record in document] == ["long", "short"]
    for record in document:
        assert list(record) == [
            "schema",
            "system",
            "instance",
            "benchmark",
            "intervals",
            "policies",
            "bounds",
            "checks",
            "claims",
        ]


def test_pictures_say_what_the_table_says(stopped: Study) -> None:
    case = stopped.case("long")
    first = case.standings.first
    assert first is not None
    titles = {picture.name: picture.title(case) for picture in stopped.system.reporting.pictures}
    reached = case.trajectories[first.policy].reward.cumsum(axis=1).mean(axis=0)
    half = int((reached < reached[-1] / 2).sum()) + 1
    assert titles["value_over_time"] == (
        f"{first.named} has half of its reward after {half} of 12 slots"
    )
    with pytest.raises(OptionError, match="choose from policies, value_over_time"):
        plot(case, "ratio")


def test_a_study_draws_a_picture_of_the_instance_that_is_named(stopped: Study) -> None:
    [curves] = stopped.system.reporting.pictures
    for drawn, expected in (
        (stopped.plot("value_over_time", "short"), curves.title(stopped.case("short"))),
        (stopped.plot("value_over_time"), curves.title(stopped.case("long"))),
        (stopped.plot(), title(stopped.case("long"))),
    ):
        assert drawn.get_suptitle().split() == expected.split()
    with pytest.raises(OptionError, match="instance 'none' is not in this study"):
        stopped.plot("value_over_time", "none")


def test_no_text_of_a_picture_covers_another(stopped: Study) -> None:
    for picture in pictures_of(stopped.case("long")):
        assert overlapping(plot(stopped.case("long"), picture.name)) == []


def boxes_of(figure: Figure) -> list[tuple[str, Any]]:
    """Return the texts of a figure that are seen, and their boxes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    unseen = {
        label
        for axes in figure.axes
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not min(low, high) <= tick.get_loc() <= max(low, high)
    }
    return [
        (text.get_text(), text.get_window_extent(canvas.get_renderer()))
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen
    ]


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Return the pairs of texts whose boxes overlap by more than a hair."""
    boxes = boxes_of(figure)
    return [
        (first, second)
        for place, (first, a) in enumerate(boxes)
        for second, b in boxes[:place]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def cut_off(figure: Figure) -> list[str]:
    """Return the texts that leave the canvas by more than a hair."""
    canvas = figure.bbox
    return [
        text
        for text, box in boxes_of(figure)
        if min(box.x0 - canvas.x0, canvas.x1 - box.x1, box.y0 - canvas.y0, canvas.y1 - box.y1) < -1
    ]


def assert_readable(case: Case) -> None:
    """Check that pictures, logs and notes of a case can be drawn, and have no missing numbers."""
    reporting = case.system.reporting
    for picture in pictures_of(case):
        figure = plot(case, picture.name)
        assert overlapping(figure) == [], picture.name
        assert cut_off(figure) == [], picture.name
        assert not re.search(r"\b(nan|inf|None)\b", picture.title(case)), picture.name
        drawn = [axes for axes in figure.axes if axes.axison and axes.get_visible()]
        assert not drawn or any(axes.get_xlabel() or axes.get_ylabel() for axes in drawn)
    for log in reporting.logs:
        assert all(list(log.rows(case, policy).columns) for policy in case.trajectories)
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(reporting.notes(case)))


def test_summary_begins_with_the_best_policy_its_distance_and_its_price(stopped: Study) -> None:
    long, short = stopped.cases
    mean = long.values("choosy").mean()
    share = percent(mean / long.benchmark.bound)
    assert lead(long).startswith(
        "No policy is clearly ahead after 40 runs; highest reward of safe policies so far: Choosy, "
        f"{share} of the bound ("
    )
    mean, broken = short.values("half").mean(), short.trajectories["half"].violations.sum() / 40
    assert lead(short).startswith(f"Highest reward: Half, {percent(mean * 4 / 3)} of the bound (")
    assert f"it fails {broken:.2f} of 1 floor per run" in lead(short)
    assert lead(short).endswith("Every policy fails some.")
    assert [finding.about for finding in findings(short)] == [
        "Other policies",
        "How sure",
        "Failed floors",
        "Reference bound",
    ]
    page = render(stopped)
    for case in stopped.cases:
        more = lead(case).removeprefix(sentence(case)).strip()
        assert page.count(sentence(case)) == 1
        assert not more or page.count(more) == 1
        told = page.index(sentence(case))
        assert told < page.index("<h3>Reward of each policy as a share of its bound", told)
    assert "offline benchmark" not in page


def costing(bound: float) -> Study:
    """Return a study whose policy costs 1 in both runs."""
    entry = BenchmarkEntry("LB", lambda _: Benchmark(bound, bound, 0.0, 0.0, "", ""))
    sure = replace(
        SYSTEM,
        objective=replace(SYSTEM.objective, sense="min", total=lambda _: np.array([1.0, 1.0])),
        offline=replace(SYSTEM.offline, bounds={"prophet": entry}),
    )
    return study(Offers(4), ["first"], system=sure, runs=2)


def test_cost_is_written_by_its_ratio() -> None:
    said = lead(costing(1 / 1.147).cases[0])
    assert "Only policy: First, 1.147 times the bound" in said


def test_a_cost_below_its_bound_contradicts_it() -> None:
    found = costing(1 / 0.9)
    with pytest.warns(QualityWarning, match="is beyond LB"):
        assert "contradicts what is proven to be the limit." in lead(found.cases[0])
    assert "contradicts its bound" in render(found)


def test_what_is_broken_seldom_never_reads_as_nothing() -> None:
    assert portion(2 / 4935) == f"less than {percent(0.001)}"
    assert portion(0.0) == percent(0.0)
    assert portion(0.004, 0) == f"less than {percent(0.01, 0)}"
    assert portion(0.006, 0) == percent(0.01, 0)


def test_the_lines_of_python_make_the_same_study() -> None:
    record = find_system("idn")
    source = record.instances.sources["topology_2"]
    instance, said = source.make(rng=3), f"topology_2: {source.title}"
    made = study({"topology_2": instance}, ["infida", "olag"], runs=2, rng=3, claims=False,
                 provenance=[said])  # fmt: skip
    lines = recipe(made).splitlines()
    assert len(lines) == 3
    again = lines[-1].removesuffix(".page('report')").replace(")", ", claims=False)")
    names: dict[str, Any] = {}
    exec("\n".join([*lines[:-1], f"found = {again}"]), names)
    columns = ["policy", "value", "gap"]
    pd.testing.assert_frame_equal(names["found"].table[columns], made.table[columns])
    assert "instance = instance" in recipe(study(Offers(5), system=SYSTEM, runs=3))


def test_every_policy_and_number_of_the_first_picture_is_read_aloud(stopped: Study) -> None:
    for case in stopped.cases:
        said = overview.said(case.standings)
        for one in case.standings.rows:
            assert f"{one.title} {case.objective.ratio(one.ratio.centre)}" in said
            assert one.violations in said
        assert said in html.unescape(render(stopped))
