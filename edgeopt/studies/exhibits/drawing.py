"""The two pictures that most exhibits are: curves over a swept parameter, and bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.pictures.canvas import BAND, INK, PAPER, blank, colours

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bars", "curves", "logarithmic"]

_MARKS: Final = "osD^vP*Xh"

_MANY: Final = 16
"""Points of a curve from which on they are not marked."""

_SHORT: Final = 22
"""Letters of a name, three of which fit side by side."""


def curves(
    rows: pd.DataFrame,
    x: str,
    measures: Mapping[str, str],
    *,
    xlabel: str,
    titles: Mapping[str, str],
    series: str = "policy",
    scale: float = 1.0,
    top: float | None = None,
    logx: bool = False,
    logy: bool = False,
) -> Figure:
    """Draw measures over a swept parameter, one panel each, one curve with its band per series."""
    from matplotlib.lines import Line2D

    alone = len(measures) == 1
    figure = blank(height=(3.5 if alone else 3.2) + 0.18 * ((len(titles) + 2) // 3))
    shades = colours(titles)
    many = rows[x].nunique() >= _MANY
    marks = {name: "" if many else _MARKS[place % len(_MARKS)] for place, name in enumerate(titles)}
    places = figure.subplots(1, len(measures), squeeze=False)[0]
    for axes, (measure, label) in zip(places, measures.items(), strict=True):
        for name in titles:
            own = rows[rows[series] == name].sort_values(x)
            _curve(axes, own, x, measure, scale, shades[name], marks[name])
        if logx:
            logarithmic(axes.xaxis)
        elif not many:
            axes.set_xticks(np.unique(rows[x].to_numpy()))
        if logy:
            logarithmic(axes.yaxis)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(label)
        if top is not None:
            least = min(axes.get_ylim()[0], 0.95 * top)
            axes.set_ylim(least, top + 0.03 * (top - least))  # whole marks at the top
    handles = [
        Line2D([], [], color=shades[name], marker=marks[name], markersize=4.5, label=title)
        for name, title in titles.items()
    ]
    longest = max(map(len, titles.values()), default=0)
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if longest <= _SHORT else 2)
    return figure


def _curve(
    axes: Axes, own: pd.DataFrame, x: str, measure: str, scale: float, shade: str, mark: str
) -> None:
    axes.plot(own[x], scale * own[measure], marker=mark, markersize=4.5, color=shade)
    if f"{measure}_low" in own:
        low, high = (scale * own[f"{measure}_{end}"] for end in ("low", "high"))
        axes.fill_between(own[x], low, high, color=shade, alpha=BAND, linewidth=0)


def bars(
    rows: pd.DataFrame,
    measures: Mapping[str, str],
    *,
    titles: Mapping[str, str],
    series: str = "policy",
    printed: Mapping[str, Mapping[str, float]] | None = None,
    scale: float = 1.0,
) -> Figure:
    """Draw measures as bars, one panel each, one bar per series in all of them."""
    from matplotlib.lines import Line2D

    figure = blank(height=1.2 + 0.3 * len(titles))
    places = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    shades = colours(titles)
    known = {row[series]: row for row in rows.to_dict("records")}
    beside = {} if printed is None else printed
    for axes, (measure, label) in zip(places, measures.items(), strict=True):
        for place, name in enumerate(titles):
            row = known.get(name, {})
            ends = [scale * row.get(f"{measure}{end}", np.nan) for end in ("", "_low", "_high")]
            if np.isfinite(ends[0]):
                axes.barh(place, ends[0], 0.62, color=shades[name], alpha=0.85, linewidth=0)
            if np.isfinite(ends).all():
                axes.plot(ends[1:], [place, place], color=INK, linewidth=1.4)
            if name in beside.get(measure, {}):
                axes.plot(
                    [scale * beside[measure][name]], [place], marker="D", markersize=6, color=INK,
                    markerfacecolor=PAPER, linestyle="none", zorder=4,
                )  # fmt: skip
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(label)
    places[0].set_yticks(range(len(titles)), list(titles.values()))
    places[0].set_ylim(len(titles) - 0.5, -0.5)
    if beside:
        hollow = Line2D(
            [], [], linestyle="none", marker="D", color=INK, markerfacecolor=PAPER, label="printed"
        )
        figure.legend(handles=[hollow], loc="outside lower center")
    return figure


def logarithmic(axis: Any, linear_below: float | None = None) -> None:
    """Make an axis logarithmic, its ticks plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    if linear_below is None:
        set_scale("log")
    else:
        set_scale("symlog", linthresh=linear_below)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())
