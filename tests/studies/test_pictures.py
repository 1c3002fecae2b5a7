"""A described picture is the same drawn with matplotlib and written as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

import numpy as np
import pytest
from matplotlib.colors import to_hex

from edgeopt.errors import OptionError
from edgeopt.studies import find_system, study, systems
from edgeopt.studies.drawing import (
    Bar,
    Bars,
    Curve,
    Curves,
    Lanes,
    Line,
    Panels,
    Said,
    Span,
)
from edgeopt.studies.live import instance_of, live_of
from edgeopt.studies.pages.study import plot
from edgeopt.studies.pictures import vector
from edgeopt.studies.pictures.canvas import in_style, lead
from edgeopt.studies.pictures.figure import figure
from tests.draws import every

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANES = Lanes(
    "one run",
    "slot",
    10.0,
    {
        "a": [Span(0, 2, "work"), Span(2, 5, "idle", 0.2, 0.7), Span(6, 8, "work", 0.5)],
        "b": [Span(1, 9.5, "idle", 0.0, 0.4)],
    },
    {"work": "#0072b2", "idle": "#d55e00"},
    "2 of 3 lanes",
    {"a": 2.0},
)

BARS = Bars(
    [
        Bar("first", {"one": 2.0, "two": 1.5}, 3.0, 4.0, beside=[Said("", "3.5")]),
        Bar("second", {"one": -0.5, "two": 2.5}, kind="apart"),
    ],
    {"one": "#0072b2", "two": "#e69f00"},
    [Line("bound", 2.25)],
    "cost",
)


def boxes(axes: Axes) -> list[tuple[float, float, float, float]]:
    """Return left, bottom, width and height of all spans of lanes."""
    found = []
    for one in axes.collections:
        for path in one.get_paths():
            low, high = path.vertices.min(axis=0), path.vertices.max(axis=0)
            found.append((*low, *(high - low)))
    return found


def rectangles(svg: str, **style: str) -> list[dict[str, float]]:
    root = ElementTree.fromstring(f"<svg>{svg}</svg>")
    return [
        {name: float(one.attrib[name]) for name in ("x", "y", "width", "height")}
        for one in root.iter("rect")
        if all(one.get(key.strip("_")) == value for key, value in style.items())
    ]


def test_lanes_are_the_same_in_both_media() -> None:
    drawn = boxes(in_style(lambda: figure(LANES)).axes[0])
    _, svg = vector.lanes(LANES)
    spans = [one for one in rectangles(svg) if one["height"] != 9]  # the legend's are
    assert len(drawn) == len(spans) == 4
    scale = spans[0]["width"] / 2
    for (left, _, width, height), one in zip(drawn, spans, strict=True):
        assert one["width"] == pytest.approx(scale * width, abs=0.02)
        assert one["x"] - spans[0]["x"] == pytest.approx(scale * left, abs=0.02)
        assert one["height"] / spans[0]["height"] == pytest.approx(height / drawn[0][3], abs=0.02)
    # What is higher in a lane is above: at the top of an SVG, and of an axis that points down.
    for this, other in ((0, 1), (1, 3), (2, 3)):
        assert (spans[this]["y"] < spans[other]["y"]) == (drawn[this][1] < drawn[other][1])


def test_bars_are_the_same_in_both_media() -> None:
    axes = in_style(lambda: figure(BARS)).axes[0]
    drawn = [one for one in axes.patches if one.get_width()]
    height, svg = vector.bars(BARS)
    spans = rectangles(svg, class_="bar")
    widths = np.array([abs(one.get_width()) for one in drawn])
    assert np.array([one["width"] for one in spans]) == pytest.approx(
        widths * spans[0]["width"] / widths[0], abs=0.02
    )
    scale = spans[0]["width"] / 2.0
    lefts = np.array([min(one.get_x(), one.get_x() + one.get_width()) for one in drawn])
    assert np.array([one["x"] for one in spans]) == pytest.approx(
        spans[0]["x"] + scale * lefts, abs=0.02
    )
    # Both parts of a sum stand behind each other, what is negative left of zero.
    assert lefts.tolist() == [0.0, 2.0, -0.5, 0.0]
    [bound] = [
        line
        for line in axes.lines
        if set(line.get_ydata()) == {0, 1} and line.get_xdata()[0] and line.get_marker() != "D"
    ]
    assert bound.get_xdata()[0] == 2.25
    at = float(svg.partition('class="bound" d="M')[2].split()[0])
    assert at == pytest.approx(spans[0]["x"] + scale * 2.25, abs=0.02)
    labels = [one.get_text() for one in axes.figure.legends[0].get_texts()]
    assert labels == ["one", "two", "sum of all parts", "bound"]
    # A part of the second row is negative: no bar ends at its sum.
    [sums] = [line for line in axes.lines if line.get_marker() == "D"]
    assert list(sums.get_xdata()) == [3.5, 2.0]
    marks = [float(mark.split()[0]) for mark in svg.split('class="sum" d="M')[1:]]
    assert marks == pytest.approx([spans[0]["x"] + scale * at for at in (3.5, 2.0)], abs=0.02)
    assert [text for text in ("first", "second", "one", "two", "cost", "3.5") if text in svg] == [
        "first", "second", "one", "two", "cost", "3.5"
    ]  # fmt: skip
    assert height > 0


def test_curves_stand_at_their_numbers_and_lines_beyond_are_only_named() -> None:
    found = Curves(
        "slot",
        "value",
        [
            Curve("step", [1, 2, 4], [3.0, 1.0, 2.0], "#0072b2", step=True),
            Curve("", [1, 4], [2.0, 2.0], "#d55e00", low=[1.0, 1.5], high=[3.0, 2.5]),
        ],
        [Line("bound", 3.5, [Said("", ", 3.5")]), Line("far", 9.0), Line("none", np.inf)],
        up=(0.0, 4.0),
    )
    axes = in_style(lambda: figure(found)).axes[0]
    step, plain, bound, far = axes.lines
    assert (list(step.get_xdata()), list(step.get_ydata())) == ([1, 2, 4], [3, 1, 2])
    assert step.get_drawstyle() == "steps-post"
    assert to_hex(plain.get_color()) == "#d55e00"
    assert list(bound.get_ydata()) == [3.5, 3.5]
    assert np.isnan(far.get_ydata()).all()
    assert axes.get_ylim() == (0, 4)
    [band] = axes.collections
    assert band.get_paths()[0].vertices[:, 1].max() == 3
    labels = [one.get_text() for one in axes.figure.legends[0].get_texts()]
    assert labels == ["step", "bound, 3.5", "far (above the axis)"]


def test_panels_share_one_legend() -> None:
    made = in_style(lambda: figure(Panels([LANES, LANES])))
    assert len(made.axes) == 2
    assert [one.get_text() for one in made.legends[0].get_texts()] == ["work", "idle"]


@pytest.mark.parametrize("name", every(2, systems()))
def test_the_page_shows_the_run_that_the_live_page_shows(name: str) -> None:
    record = find_system(name)
    instance = instance_of(record)
    few = [*dict.fromkeys([*live_of(record).policies, record.policies.reference])]
    case = study(instance, few, runs=2, claims=False).cases[0]
    names = [one.name for one in record.reporting.pictures]
    assert len(names) <= 3
    [place] = [n for n, one in enumerate(names) if one in ("gantt", "energy", "hosted")]
    lanes = live_of(record).lanes
    assert lanes is not None
    assert record.reporting.pictures[place].draw(case) == lanes(case, lead(case))
    with pytest.raises(OptionError, match="is unknown"):
        plot(case, "ratios")
