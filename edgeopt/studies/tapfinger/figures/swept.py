"""Figures 6 and 10: completion times over the rate of arrivals and the length of the workload."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.figures import PaperFigure, Published, found, said
from edgeopt.studies.figures.drawing import HOLLOW, curves
from edgeopt.studies.figures.reading import below, extreme
from edgeopt.studies.pictures.canvas import INK, colours
from edgeopt.studies.tapfinger.figures.completion import (
    BOXES,
    COLUMNS,
    MEASURED,
    OPEN,
    RECORDED_RUNS,
    SIX,
    draw_boxes,
    servers,
)
from edgeopt.studies.tapfinger.figures.setting import SERIES, TITLES, claimed, unfolded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

_RATES: Final = {
    rate: replace(SIX, recorded=name, options={**SIX.options, "rate": float(rate)})
    for rate, name in {2: "six, rate 2", 3: "six, rate 3", 4: "six"}.items()
}


def _draw_rates(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    parts = {"waiting": "tasks in the system", "mean": "completion time (slots)"}
    handles = [Line2D([], [], label=label, **HOLLOW | {"marker": mark})
               for mark, label in (("o", "recorded"), ("D", "TapFinger, recorded"))]  # fmt: skip
    figure = curves(
        rows, "rate", {"value": "mean"}, xlabel="arrivals per slot", titles=SIX.policies,
        panels=("part", parts), zero=True, handles=handles,
    )  # fmt: skip
    shades = colours(SIX.policies) | {"tapfinger": INK}
    for axes, part in zip(figure.axes, parts, strict=True):
        for name in (*SIX.baselines, "tapfinger"):
            recorded = [getattr(one.recorded_of(name), part) for one in _RATES.values()]
            mark = "D" if name == "tapfinger" else "o"
            axes.plot(list(_RATES), recorded, **HOLLOW | {"marker": mark, "color": shades[name]})
        axes.autoscale(axis="y")
        axes.set_ylim(bottom=0)
    return figure


_FIGURE_6 = PaperFigure(
    number="6",
    title="six clusters under different arrival rates",
    cells=lambda quick: [
        cell for rate, one in _RATES.items() for cell in one.cells(quick, rate=rate)
    ],
    rows=partial(unfolded, by=["rate"]),
    columns={"rate": "Arrivals per slot", **COLUMNS},
    draw=_draw_rates,
    takeaway=said(
        "With 4 arrivals per slot {least4:3} ({least4.title}) to {most4:3} tasks ({most4.title}) "
        "are in the system on average, with 2 arrivals {least2:3} ({least2.title}) to {most2:3} "
        "({most2.title})",
        least4=extreme("min", "value", SIX.policies, rate=4, part="waiting"),
        most4=extreme("max", "value", SIX.policies, rate=4, part="waiting"),
        least2=extreme("min", "value", SIX.policies, rate=2, part="waiting"),
        most2=extreme("max", "value", SIX.policies, rate=2, part="waiting"),
    ),
    published=[
        *(
            Published(
                f"{TITLES[policy]} in lighter workloads", "degrades: preemptions cost progress",
                said(
                    "{heavy:3} slots at rate 4, {light:3} at rate 2, where Random takes {chance:3}",
                    heavy=found("value", rate=4, policy=policy, part="mean"),
                    light=found("value", rate=2, policy=policy, part="mean"),
                    chance=found("value", rate=2, policy="random", part="mean"),
                ),
            )
            for policy in ("optimus+swapped", "tiresias")
        ),
        *(
            line
            for rate, setting in _RATES.items()
            for line in setting.lines(("mean", "waiting"), f", rate {rate}", rate=rate)
        ),
    ],
    caveats=[
        RECORDED_RUNS,
        *OPEN,
        f"In full size means over {SIX.draws} draws of tasks, {SIX.runs} runs of each.",
    ],
    caption="Mean over draws with interval; hollow marks: recorded by the authors, at full size.",
)  # fmt: skip

_LENGTHS: Final = {"first": 2000, "second": 4000, "third": 8000}
_LONG: Final = {place: servers(6, tasks) for place, tasks in _LENGTHS.items()}
_GPU: Final = SERIES[2]


def _long_cells(quick: bool) -> list[Cell]:
    return [
        cell
        for place, one in _LONG.items()
        for cell in one.cells(
            quick, series=[_GPU] if place == "first" else [], length=place,
            tasks=one.tasks if quick else _LENGTHS[place],
        )
    ]  # fmt: skip


def _long_rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    first, by = table["length"] == "first", ["length", "tasks"]
    parts = [unfolded(table[first], by, [_GPU]), unfolded(table[~first], by)]
    return pd.concat(parts, ignore_index=True)


def _mean_below(rows: pd.DataFrame, *, other: str) -> float:
    each = [below("value", "reservation", other, length=place, part="mean") for place in _LENGTHS]
    return float(np.mean([read(rows) for read in each]))


_FIGURE_10 = PaperFigure(
    number="10",
    title="long workloads on six clusters: completion times, and GPUs in use",
    cells=_long_cells,
    rows=_long_rows,
    columns={"length": "Workload", "tasks": "Tasks", **COLUMNS},
    draw=partial(draw_boxes, settings=_LONG, series=[_GPU], column="length"),
    takeaway=said(
        "The least mean completion time is {first:3} slots ({first.title}) on the shortest "
        "workload and {third:3} slots ({third.title}) on the longest; {gpu.title} holds most GPUs, "
        "{gpu:3} per cluster",
        first=extreme("min", "value", SIX.policies, length="first", part="mean"),
        third=extreme("min", "value", SIX.policies, length="third", part="mean"),
        gpu=extreme("max", "value", SIX.policies, length="first", part="gpu"),
    ),
    published=[
        *(
            line
            for other, value in (("tiresias", 0.145), ("optimus+swapped", 0.10))
            for line in claimed(
                other, value, computed=partial(_mean_below, other=other),
                why="The recorded figures give the printed one as the mean over three lengths.",
            )
        ),
        *(
            line
            for place, setting in _LONG.items()
            for line in setting.lines(("mean", "gpu") if place == "first" else ("mean",),
                                      f", {_LENGTHS[place]} tasks", length=place)
        ),
    ],
    caveats=[RECORDED_RUNS, *MEASURED, "In full size means over 5 draws of tasks, 2 runs of each."],
    caption=BOXES.format(", in the shortest workload"),
)  # fmt: skip

FIGURES: Final = (_FIGURE_6, _FIGURE_10)
