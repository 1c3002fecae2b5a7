"""The two pictures that most exhibits are: curves over a swept parameter, and bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.studies.pictures.canvas import BAND, INK, PAPER, blank, colours

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["bars", "curves", "logarithmic"]

_MARKS = "osD^vP*Xh"


def curves(
    rows: pd.DataFrame,
    x: str,
    measure: str,
    *,
    xlabel: str,
    ylabel: str,
    titles: Mapping[str, str],
    series: str = "policy",
    printed: Mapping[str, Mapping[float, float]] | None = None,
    logx: bool = False,
    logy: bool = False,
) -> Figure:
    """Draw a measure over a swept parameter, one curve with its band per series.

    Parameters
    ----------
    rows
        Of the exhibit.
    x, measure, series
        Columns: the swept parameter, what is drawn, and what tells curves apart.
    xlabel, ylabel
        With units.
    titles
        Names of the series for people, in the order drawn; others are left out.
    printed
        Figures that the paper prints, by series and place, drawn as hollow marks.
    logx, logy
        Whether an axis is logarithmic.
    """
    from matplotlib.lines import Line2D

    figure = blank(height=3.6 + 0.18 * ((len(titles) + 2) // 3))
    axes = figure.subplots()
    shades = colours(titles)
    handles = []
    for place, (name, title) in enumerate(titles.items()):
        own = rows[rows[series] == name].sort_values(x)
        mark, colour = _MARKS[place % len(_MARKS)], shades[name]
        axes.plot(own[x], own[measure], marker=mark, markersize=4.5, color=colour)
        if f"{measure}_low" in own:
            axes.fill_between(
                own[x], own[f"{measure}_low"], own[f"{measure}_high"], color=colour, alpha=BAND,
                linewidth=0,
            )  # fmt: skip
        handles.append(Line2D([], [], marker=mark, markersize=4.5, color=colour, label=title))
        places = (printed or {}).get(name, {})
        if places:
            axes.plot(
                list(places), list(places.values()), linestyle="none", marker=mark, markersize=7,
                color=colour, markerfacecolor=PAPER, zorder=4,
            )  # fmt: skip
    if printed:
        handles.append(_hollow("printed"))
    if logx:
        logarithmic(axes.xaxis)
    if logy:
        logarithmic(axes.yaxis)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def bars(
    rows: pd.DataFrame,
    measure: str,
    *,
    xlabel: str,
    titles: Mapping[str, str],
    series: str = "policy",
    printed: Mapping[str, float] | None = None,
    logx: bool = False,
) -> Figure:
    """Draw a measure as one bar per series, with its interval and what the paper prints.

    Parameters
    ----------
    rows
        Of the exhibit, one per series.
    measure, series
        Columns: what is drawn, and what tells bars apart.
    xlabel
        Of the measure, with its unit.
    titles
        Names of the series for people, in the order drawn from above; others are left out. Those
        without a row show what is printed alone.
    printed
        Figures that the paper prints, by series, drawn as hollow diamonds.
    logx
        Whether the axis is logarithmic.
    """
    figure = blank(height=1.2 + 0.3 * len(titles))
    axes = figure.subplots()
    shades = colours(titles)
    known = {row[series]: row for row in rows.to_dict("records")}
    for place, name in enumerate(titles):
        row = known.get(name)
        if row is not None and np.isfinite(row[measure]):
            axes.barh(place, row[measure], 0.62, color=shades[name], alpha=0.85, linewidth=0)
            low, high = row.get(f"{measure}_low", np.nan), row.get(f"{measure}_high", np.nan)
            if np.isfinite([low, high]).all():
                axes.plot([low, high], [place, place], color=INK, linewidth=1.4)
        if printed and name in printed:
            axes.plot(
                [printed[name]], [place], marker="D", markersize=6, color=INK,
                markerfacecolor=PAPER, linestyle="none", zorder=4,
            )  # fmt: skip
    if logx:
        logarithmic(axes.xaxis)
    axes.set_yticks(range(len(titles)), list(titles.values()))
    axes.set_ylim(len(titles) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(xlabel)
    if printed:
        figure.legend(handles=[_hollow("printed", "D")], loc="outside lower center")
    return figure


def logarithmic(axis: Any, linear_below: float | None = None) -> None:
    """Make an axis logarithmic, its ticks plain numbers.

    Parameters
    ----------
    axis
        Of matplotlib axes: ``axes.xaxis`` or ``axes.yaxis``.
    linear_below
        Linear up to here, for values that may be 0.
    """
    from matplotlib.ticker import FuncFormatter, NullFormatter

    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    if linear_below is None:
        set_scale("log")
    else:
        set_scale("symlog", linthresh=linear_below)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def _hollow(label: str, mark: str = "o") -> Any:
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], linestyle="none", marker=mark, color=INK, markerfacecolor=PAPER, label=label
    )
