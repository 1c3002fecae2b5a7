"""Completion times as boxes and tasks in the system over time, as most figures show them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.exhibits import Exhibit, found
from edgeopt.studies.pictures.canvas import INK, PAPER, blank, colours
from edgeopt.studies.tapfinger.exhibits.lived import SERIES, unfolded
from edgeopt.studies.tapfinger.exhibits.recorded import LEARNED, RECORDED
from edgeopt.studies.tapfinger.exhibits.setting import FOUR, STATISTICS, claimed
from edgeopt.studies.tapfinger.log import doublings
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.exhibits import Printed
    from edgeopt.studies.tapfinger.exhibits.setting import Claim, Setting

__all__ = ["COLUMNS", "RUNS_SAID", "completion", "drawn"]

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
    "Optimus",
    "Tiresias",
    "Random",
    "Min",
    "Optimus, fit as described",
    "Reservation, ours",
    "Priced, ours",
)
_AXES: Final = dict(
    zip(
        SERIES,
        ("tasks in\nthe system", "CPU cores in use\nper cluster", "GPUs in use\nper cluster"),
        strict=True,
    )
)


def completion(
    number: str,
    title: str,
    setting: Setting,
    claims: Sequence[Claim] = (),
    *,
    use: bool = False,
    more: Sequence[Printed] = (),
    differs: Sequence[str] = (),
) -> Exhibit:
    """Return the exhibit of a setting: completion times, and tasks in the system over time."""
    series = SERIES if use else SERIES[:1]
    size = f"In full size means over {setting.draws} draws of tasks, {setting.runs} runs of each."
    return Exhibit(
        kind="figure",
        number=number,
        title=title,
        cells=partial(setting.cells, series=series),
        rows=partial(unfolded, series=series),
        columns=COLUMNS,
        draw=partial(drawn, setting=setting, series=series),
        notice=partial(_notice, setting=setting),
        printed=[*claimed(claims), *more, *setting.lines(tuple(STATISTICS) if use else FOUR)],
        differs=[RUNS_SAID, *differs, size],
        caption="Above: completion times; box from the 25th to the 75th percentile, whiskers from "
        "the 5th to the 95th, line at the median, dot at the mean. Below: means over draws, over a "
        "few slots each. Hollow marks: recorded by the authors, at full size.",
    )


def _notice(rows: pd.DataFrame, *, setting: Setting) -> str:
    means = {
        name: found("value", policy=name, part="mean")(rows).value for name in setting.policies
    }
    best, worst = (choose(means, key=lambda name: means[name]) for choose in (min, max))
    learner = setting.learned[0]
    recorded = RECORDED[setting.recorded][learner].mean
    return (
        f"Mean completion times lie between {number(means[best], 3)} slots "
        f"({setting.policies[best]}) and {number(means[worst], 3)} ({setting.policies[worst]}); "
        f"{LEARNED[learner]}, not built yet, was recorded with {number(recorded, 3)}"
    )


def drawn(rows: pd.DataFrame, *, setting: Setting, series: Sequence[str]) -> Figure:
    """Draw boxes of completion times, and below them what goes on over time."""
    from matplotlib.lines import Line2D

    shown = len(setting.policies) + len(setting.learned)
    boxes = 0.9 + 0.25 * shown
    further = len(series) > 1
    figure = blank(height=boxes + (4.6 if further else 2.9))
    layout: Any = [["boxes"] * 2, [series[0]] * 2, *([list(series[1:])] if further else [])]
    ratios = [boxes, 2.2, *([1.7] if further else [])]
    panels = figure.subplot_mosaic(layout, height_ratios=ratios)
    shades = _shades(setting.policies)
    _boxes(panels["boxes"], rows, setting, shades)
    for name in series:
        axes = panels[name]
        for policy, shade in shades.items():
            own = rows[(rows["part"] == name) & (rows["policy"] == policy)]
            axes.plot(own["slot"], own["value"], color=shade, linewidth=1.3)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(_AXES[name])
        axes.set_xlabel("slot")
    handles = [
        Line2D([], [], color=shade, label=setting.policies[name]) for name, shade in shades.items()
    ]
    for mark, what in (("D", "mean"), ("o", "median")):
        handles.append(
            Line2D([], [], linestyle="none", marker=mark, markersize=5, color=INK,
                   markerfacecolor=PAPER, label=f"recorded {what}")
        )  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _shades(policies: Mapping[str, str]) -> dict[str, str]:
    """Give every policy its colour, the same in all figures."""
    known = colours([*_USUAL, *policies.values()])
    return {name: known[title] for name, title in policies.items()}


def _boxes(axes: Axes, rows: pd.DataFrame, setting: Setting, shades: Mapping[str, str]) -> None:
    names = {name: LEARNED[name] for name in setting.learned} | dict(setting.policies)
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
        theirs = setting.record_of(name)
        if theirs is not None:
            for value, mark in ((theirs.median, "o"), (theirs.mean, "D")):
                axes.plot([value], [place], mark, markersize=5.5, color=INK, markerfacecolor=PAPER,
                          zorder=4)  # fmt: skip
            reach += [theirs.mean, theirs.median]
    labels = [f"{title}, not built yet" if name in LEARNED else title
              for name, title in names.items()]  # fmt: skip
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    doublings(axes.xaxis, 0.9 * min(reach), 1.12 * max(reach))
    axes.set_xlabel("completion time (slots)")
