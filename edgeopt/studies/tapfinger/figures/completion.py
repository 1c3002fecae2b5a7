"""Completion times as boxes and tasks in the system over time, as most figures show them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.figures import PaperFigure, said
from edgeopt.studies.figures.drawing import HOLLOW, rows_of_bars
from edgeopt.studies.figures.reading import extreme, where
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.tapfinger.figures.recorded import LEARNED, RECORDED
from edgeopt.studies.tapfinger.figures.setting import FOUR, SERIES, STATISTICS, unfolded
from edgeopt.studies.tapfinger.log import doublings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.figures import Published
    from edgeopt.studies.tapfinger.figures.setting import Setting

COLUMNS: Final = {
    "policy": "Policy",
    "part": "Part",
    "slot": "From slot",
    "value": "Value (slots, tasks, units or ms)",
}

RUNS_SAID: Final = (
    "Figures under “printed” are those of the authors' recorded runs, one draw of tasks each, "
    "where the paper shows pictures alone. Other draws come to other figures."
)

_USUAL: Final = (
    "Optimus", "Tiresias", "Random", "Min", "Optimus, fit as described", "Reservation, ours",
    "Priced, ours",
)  # fmt: skip
"""In the order of their colours, the same in all figures."""

_AXES: Final = ("tasks in\nthe system", "CPU cores in use\nper cluster", "GPUs in use\nper cluster")


def completion(
    number: str,
    title: str,
    setting: Setting,
    published: Sequence[Published] = (),
    *,
    use: bool = False,
    caveats: Sequence[str] = (),
) -> PaperFigure:
    """Return the figure of a setting: completion times, and tasks in the system over time."""
    series = SERIES if use else SERIES[:1]
    learner = setting.learned[0]
    return PaperFigure(
        number=number,
        title=title,
        cells=partial(setting.cells, series=series),
        rows=partial(unfolded, series=series),
        columns=COLUMNS,
        draw=partial(_draw, setting=setting, series=series),
        takeaway=said(
            "Mean completion times lie between {best:3} slots ({best.title}) and {worst:3} "
            "({worst.title}); {learner}, not built yet, was recorded with {recorded:3}",
            best=extreme("min", "value", setting.policies, part="mean"),
            worst=extreme("max", "value", setting.policies, part="mean"),
            learner=LEARNED[learner],
            recorded=RECORDED[setting.recorded][learner].mean,
        ),
        published=[*published, *setting.lines(tuple(STATISTICS) if use else FOUR)],
        caveats=[
            RUNS_SAID,
            *caveats,
            f"In full size means over {setting.draws} draws of tasks, {setting.runs} runs of each.",
        ],
        caption="Above: completion times; box from the 25th to the 75th percentile, whiskers from "
        "the 5th to the 95th, line at the median, dot at the mean. Below: means over draws, over a "
        "few slots each. Hollow marks: recorded by the authors, at full size.",
    )


def _draw(rows: pd.DataFrame, *, setting: Setting, series: Sequence[str]) -> Figure:
    """Draw boxes of completion times, and below them what goes on over time."""
    from matplotlib.lines import Line2D

    boxes = 0.9 + 0.25 * (len(setting.policies) + len(setting.learned))
    further = len(series) > 1
    figure = blank(height=boxes + (4.6 if further else 2.9))
    layout: Any = [["boxes"] * 2, [series[0]] * 2, *([list(series[1:])] if further else [])]
    panels = figure.subplot_mosaic(layout, height_ratios=[boxes, 2.2, 1.7][: len(layout)])
    known = colours([*_USUAL, *setting.policies.values()])
    shades = {name: known[title] for name, title in setting.policies.items()}
    _boxes(panels["boxes"], rows, setting, shades)
    for name in series:
        over_time(panels[name], rows, name, shades)
    handles = [Line2D([], [], color=shades[name], label=title)
               for name, title in setting.policies.items()]  # fmt: skip
    handles += [Line2D([], [], label=f"recorded {what}", **HOLLOW | {"marker": mark})
                for mark, what in (("D", "mean"), ("o", "median"))]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def over_time(axes: Axes, rows: pd.DataFrame, series: str, shades: Mapping[str, str]) -> None:
    """Draw a series of every scheduler."""
    for policy, shade in shades.items():
        own = where(rows, part=series, policy=policy)
        axes.plot(own["slot"], own["value"], color=shade, linewidth=1.3)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(_AXES[SERIES.index(series)])
    axes.set_xlabel("slot")


def _boxes(axes: Axes, rows: pd.DataFrame, setting: Setting, shades: Mapping[str, str]) -> None:
    names = {name: f"{LEARNED[name]}, not built yet" for name in setting.learned}
    names |= setting.policies
    reach: list[float] = []
    for place, name in enumerate(names):
        own = rows[(rows["policy"] == name) & rows["slot"].isna()]
        at = dict(zip(own["part"], own["value"], strict=True))
        if at and np.isfinite([at["p5"], at["p95"], at["mean"]]).all():
            shade = shades[name]
            axes.plot([at["p5"], at["p95"]], [place, place], color=shade, linewidth=1.4, zorder=1)
            axes.barh(place, at["p75"] - at["p25"], 0.56, left=at["p25"], color=shade, alpha=0.75,
                      linewidth=0)  # fmt: skip
            axes.plot([at["median"]] * 2, [place - 0.28, place + 0.28], color=INK, linewidth=1.6)
            axes.plot([at["mean"]], [place], "o", markersize=4, color=INK)
            reach += [at["p5"], at["p95"], at["mean"]]
        theirs = setting.recorded_of(name)
        if theirs is not None:
            for value, mark in ((theirs.median, "o"), (theirs.mean, "D")):
                axes.plot([value], [place], **HOLLOW | {"marker": mark, "markersize": 5.5})
            reach += [theirs.mean, theirs.median]
    rows_of_bars(axes, names.values())
    doublings(axes.xaxis, 0.9 * min(reach), 1.12 * max(reach))
    axes.set_xlabel("completion time (slots)")
