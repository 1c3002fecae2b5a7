"""Curves and bars of the papers' figures are where their rows say, and can be told apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.figures import drawing
from edgeopt_papers.figures.report import figure

from edgeopt.studies.pictures.canvas import INK, in_style, styles, svg
from tests.studies.svg_marks import HAIR, away, box, read
from tests.studies.test_impossible_intervals import SYSTEMS, figures
from tests.studies.test_page import cut_off, overlapping

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt_papers.figures.reproduce import Outcome

    from tests.studies.svg_marks import Marks, Panel


@pytest.mark.parametrize("system", SYSTEMS)
def test_marks_are_where_the_rows_say(system: str) -> None:
    for outcome in figures(system):
        drawn = figure(outcome)
        assert overlapping(drawn) == [], outcome.paper_figure.name
        assert cut_off(drawn) == [], outcome.paper_figure.name
        marks = read(svg(drawn))
        names = [label for label, _ in marks.legend]
        assert len(set(names)) == len(names), outcome.paper_figure.name
        seen = [style for _, style in marks.legend]
        assert len(set(seen)) == len(seen), outcome.paper_figure.name
        draw: Any = outcome.paper_figure.draw
        if isinstance(draw, partial) and draw.func in _CHECK:
            _CHECK[draw.func](outcome, draw.keywords, marks)


def panels(
    outcome: Outcome, given: dict[str, Any], marks: Marks
) -> Iterator[tuple[Panel, pd.DataFrame, str]]:
    """Yield each panel with its rows and its metric."""
    rows, metrics = outcome.rows, given["metrics"]
    column, places = given.get("panels") or ("", {"": ""})
    every = [
        (rows[rows[column] == place] if column else rows, metric)
        for metric in metrics
        for place in places
    ]
    assert len(marks.panels) >= len(every)
    for panel, (chosen, metric) in zip(marks.panels, every, strict=False):
        yield panel, chosen, metric


def check_curves(outcome: Outcome, given: dict[str, Any], marks: Marks) -> None:
    x, series, scale = given["x"], given.get("series", "policy"), given.get("scale", 1.0)
    for panel, rows, metric in panels(outcome, given, marks):
        for name, title in given["titles"].items():
            own = rows[rows[series] == name].sort_values(given.get("along") or x)
            if len(panel.x.labels) < 2 or len(panel.y.labels) < 2:
                continue
            at = np.stack([panel.x.of(own[x]), panel.y.of(scale * own[metric])], axis=1)
            inside = at[panel.inside(np.where(np.isfinite(at), at, -1e9))]
            style = marks.style(title)
            lines = [one.at for one in panel.lines if one.style == style]
            points = [one.at for one in panel.points if one.style == style]
            for one in inside:
                near = [away(one, line) for line in lines]
                near += [float(np.hypot(*(dots - one).T).min()) for dots in points]
                assert min(near) < HAIR, (outcome.paper_figure.name, title, one)


def check_bars(outcome: Outcome, given: dict[str, Any], marks: Marks) -> None:
    series, scale = given.get("series", "policy"), given.get("scale", 1.0)
    for panel, rows, metric in panels(outcome, given, marks):
        known = {row[series]: row for row in rows.to_dict("records")}
        for name, title in given["titles"].items():
            value = scale * known.get(name, {}).get(metric, np.nan)
            if np.isfinite(value):
                at, ends = panel.y.row(title), np.sort(panel.x.of([0.0, value]))
                here = [box(one) for one in panel.areas if box(one)[1] < at < box(one)[3]]
                [bar] = here
                assert np.abs(np.array(bar[::2]) - ends).max() < HAIR, (title, value)


_CHECK: dict[Any, Any] = {drawing.curves: check_curves, drawing.bars: check_bars}


def test_eleven_series_and_more_can_be_told_apart() -> None:
    titles = {str(n): f"policy {n}" for n in range(24)}
    rows = pd.DataFrame(
        [{"policy": n, "x": x, "v": float(n) + x} for n in titles for x in range(30)]
    )
    draw = partial(drawing.curves, x="x", metrics={"v": "value"}, xlabel="x", titles=titles)
    marks = read(svg(draw(rows)))
    assert len({style for _, style in marks.legend}) == 24
    grouped = partial(
        drawing.groups, column="x", places={0: "none", 1: "one"}, metric="v", label="value",
        titles=titles,
    )  # fmt: skip
    few = rows[rows["x"] < 2].assign(v_low=rows["v"], v_high=rows["v"])
    marks = read(svg(grouped(few)))
    assert len({style for _, style in marks.legend}) == 24
    assert INK not in {style.colour for style in styles(titles).values()}


@pytest.mark.parametrize(("letters", "columns"), [(6, 3), (32, 2), (70, 1)])
def test_a_legend_has_the_columns_that_its_names_leave_space_for(
    letters: int, columns: int
) -> None:
    titles = {str(n): f"{n} " + "n" * (letters - 2) for n in range(9)}
    rows = pd.DataFrame([{"policy": n, "x": x, "v": float(x)} for n in titles for x in range(3)])
    draw = partial(drawing.curves, rows, "x", {"v": "value"}, xlabel="x", titles=titles)
    drawn = in_style(draw)
    assert cut_off(drawn) == []
    assert len(drawn.legends) == 1
    corners = {round(text.get_window_extent().x0) for text in drawn.legends[0].get_texts()}
    assert len(corners) == columns
    assert drawn.axes[0].get_window_extent().height > 150
