"""What a page shows of a drawing is where the drawing has it, in a fraction of its bytes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from edgeopt.studies.drawing import Bar, Bars, Curve, Curves, Lanes, Line, Span, aloud
from edgeopt.studies.pictures.canvas import in_style, inline_svg, svg
from edgeopt.studies.pictures.compact import AWAY, compact, path, thinned
from edgeopt.studies.pictures.figure import figure
from tests.studies.svg_marks import away, numeric

ROUNDED = 0.08
"""Half a tenth, in both directions."""


def corners(d: str) -> np.ndarray:
    """Follow a path of steps."""
    at, found = np.zeros(2), []
    for sign, said in re.findall(r"([Mlhv])([^Mlhvz]*)", d):
        x, *y = [float(one) for one in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", said)]
        step = {"h": [x, 0.0], "v": [0.0, x]}.get(sign) or [x, *y]
        at = np.array(step) if sign == "M" else at + step
        found.append(at)
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_a_path_stays_where_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = np.column_stack([np.linspace(30, 480, 300), 100 + rng.normal(size=300).cumsum()])
    d = "M " + " L ".join(f"{x:.6f} {y:.6f}" for x, y in drawn)
    short = corners(path(d))
    assert len(path(d)) < len(d) / 2
    assert max(away(point, short) for point in drawn) < AWAY + ROUNDED
    assert max(away(point, drawn) for point in short) < ROUNDED


def test_a_straight_line_needs_its_ends_alone() -> None:
    straight = np.column_stack([np.linspace(0, 90, 50), np.linspace(5, 50, 50)])
    assert thinned(straight).tolist() == [[0, 5], [90, 50]]
    assert path("M 1.04 2 L 1.04 7.5 L 1.04 2 z") == "M1 2v5.5v-5.5z"


def test_a_bound_is_drawn_at_its_value_on_the_page() -> None:
    slots = np.arange(1, 101)
    found = Curves(
        "slot",
        "profit",
        [Curve("A", slots, 0.2 * slots, "#0072b2", "-", 0.1 * slots, 0.3 * slots)],
        [Line("bound", 20.72)],
        up=(0.0, 40.0),
    )
    whole = svg(in_style(lambda: figure(found)))
    page = inline_svg(whole, prefix="p-", label="label")
    assert len(page) < len(whole) / 2
    ticks = [
        (numeric(text), float(y))
        for y, text in re.findall(
            r'<use [^>]*y="([\d.]+)"[^>]*/><text [^>]*end[^>]*>([\d.]+)<', page
        )
    ]
    values, places = np.array(ticks).T
    slope, offset = np.polyfit(values, places, 1)
    levels = [
        float(y) for y in re.findall(r'd="M[\d.]+ ([\d.]+)h[\d.]+"[^>]*stroke:currentColor', page)
    ]
    assert any(abs(y - (slope * 20.72 + offset)) < 0.15 for y in levels)
    assert not re.search(r"\d\.\d{3}", page.partition("<defs")[0])
    assert "<metadata" not in compact(whole)


def test_what_is_drawn_is_read_aloud() -> None:
    lanes = Lanes(
        "One run", "slot", 9.0, {"a": [Span(0, 2, "work"), Span(3, 4, "work")], "b": []}, {}
    )
    assert aloud(lanes) == "One run, slot 0 to 9.000. a: 2 work; b: ."
    bars = Bars([Bar("A", {"one": 2.0, "two": 1.5})], {}, [Line("bound", 2.25)], "cost")
    assert aloud(bars) == "cost: A 3.500; bound 2.250."
    points = [Curve("A", [1, 2], [3.0, 4.0], "", "-"), Curve("B", [1], [5.0], "", "", mark="o")]
    assert aloud(Curves("slot", "value", points)) == (
        "value over slot: A from 3.000 to 4.000; B 5.000 at 1.000."
    )
