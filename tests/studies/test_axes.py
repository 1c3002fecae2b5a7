"""Axes of pictures show a narrow band of values as such, and say that they leave out 0."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from edgeopt.errors import QualityWarning
from edgeopt.studies import Benchmark, BenchmarkEntry, Case, Study, study
from edgeopt.studies.pages.study import plot
from edgeopt.studies.pictures.canvas import (
    NOT_FROM_ZERO,
    axis_limits,
    blank,
    fit_y,
    in_style,
    outside,
)
from edgeopt.studies.pictures.figure import figure
from edgeopt.studies.pictures.values import over_time
from tests.studies.stopping import SYSTEM, Offers


def apart(plan: float, bound: float, *policies: str) -> Case:
    """Study policies under a bound that the best known plan does not reach."""
    found = Benchmark(plan, bound, abs(bound - plan), 0.0, "", "")
    entry = BenchmarkEntry("upper bound", lambda _: found)
    system = dataclasses.replace(
        SYSTEM, offline=dataclasses.replace(SYSTEM.offline, bounds={"prophet": entry})
    )
    return study({"apart": Offers(12)}, policies or None, system=system, runs=6, rng=3).cases[0]


def test_a_line_under_the_name_of_the_bound_is_drawn_at_the_bound() -> None:
    case = apart(plan=0.2, bound=1.25)
    axes = plot(case, "value_over_time").axes[0]
    assert "upper bound, 1.250" in [one.get_text() for one in axes.figure.legends[0].get_texts()]
    [drawn] = [line for line in axes.lines if list(line.get_xdata()) == [0, 1]]
    assert list(drawn.get_ydata()) == [1.25, 1.25] == [case.table["bound_value"].iloc[0]] * 2
    assert axes.get_ylim()[1] > 1.25


def test_a_bound_that_proves_nothing_is_no_line() -> None:
    axes = plot(apart(plan=0.2, bound=np.inf), "value_over_time").axes[0]
    assert not [line for line in axes.lines if list(line.get_xdata()) == [0, 1]]
    assert not [one for one in axes.figure.legends[0].get_texts() if "bound" in one.get_text()]


def test_curves_of_means_show_where_policies_end() -> None:
    system = dataclasses.replace(
        SYSTEM, objective=dataclasses.replace(SYSTEM.objective, adds="mean")
    )
    case = study({"long": Offers(12)}, ["half", "first"], system=system, runs=6, rng=3).cases[0]
    case.trajectories["half"].reward[:] = 58.0
    case.trajectories["first"].reward[:] = 59.0
    case.trajectories["first"].reward[:, 0] = 47.0
    with pytest.warns(QualityWarning, match="is beyond E"):  # such rewards cannot be
        axes = plot(case, "value_over_time").axes[0]
    low, high = axes.get_ylim()
    last = case.trajectories["first"].reward.mean()
    assert last == 58
    assert 56 < low < 58 < high < 60
    assert axes.get_ylabel().endswith(f"({NOT_FROM_ZERO})")
    labels = [one.get_text() for one in axes.figure.legends[0].get_texts()]
    assert labels[-1] == "E[max], 0.9231 (below the axis)"
    assert [line for line in axes.lines if np.isfinite(line.get_ydata()).all()] == axes.lines[:2]


def test_curves_in_a_narrow_band_fill_the_axis(stopped: Study) -> None:
    case = stopped.case("long")
    runs = {name: np.full((4, 9), 90.0 + place) for place, name in enumerate(case.entries)}
    axes = in_style(lambda: figure(over_time(case, runs, "served (%)"))).axes[0]
    assert axes.get_ylim() == pytest.approx((89.84, 92.16))
    assert axes.get_ylabel() == f"served (%)\n({NOT_FROM_ZERO})"
    runs["half"][:, 0] = 0.0
    axes = in_style(lambda: figure(over_time(case, runs, "served (%)"))).axes[0]
    assert axes.get_ylim() == pytest.approx((0, 1.04 * 92))
    assert axes.get_ylabel() == "served (%)"


@pytest.mark.parametrize(
    ("drawn", "lines", "ends"),
    [
        ([98.0, 99.0], [100.0, 50.0], (97.84, 100.16)),
        ([98.0, np.nan, 99.0], [102.5], (97.92, 99.08)),
        ([-99.0, -98.0], [], (-99.08, -97.92)),
        ([10.0, 50.0], [100.0], (0.0, 104.0)),
        ([-10.0, 90.0], [], (-14.0, 94.0)),
        ([5.0, 5.0], [], (4.9971, 5.0029)),
        ([0.0, 0.0], [], (0.0, 0.04)),
        ([], [np.inf], (0.0, 0.04)),
    ],
)
def test_ends_of_an_axis(drawn: list[float], lines: list[float], ends: tuple[float, float]) -> None:
    assert axis_limits(drawn, lines) == pytest.approx(ends)


def test_lines_beyond_an_axis_are_named() -> None:
    sides = "below", "above"
    assert [outside(at, (1.0, 2.0), sides) for at in (0.5, 1.0, 2.5)] == [
        " (below the axis)",
        "",
        " (above the axis)",
    ]
    axes = blank().subplots()
    fit_y(axes, (1.0, 2.0))
    assert axes.get_ylabel() == ""
