"""Several measures over one swept parameter, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.pictures.canvas import BAND, blank, colours

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["panels"]

_MARKS = "osD^vP*Xh"
MANY = 16
"""Points of a curve from which on they are not marked."""


def panels(
    rows: pd.DataFrame,
    x: str,
    measures: Mapping[str, str],
    *,
    xlabel: str,
    titles: Mapping[str, str],
    series: str = "policy",
    scale: float = 1.0,
) -> Figure:
    """Draw measures over a swept parameter, one panel each, one curve with its band per series.

    Parameters
    ----------
    rows
        Of the exhibit.
    x, series
        Columns: the swept parameter, and what tells curves apart.
    measures
        Labels with units by the column that is drawn, from left to right.
    xlabel
        With its unit.
    titles
        Names of the series for people, in the order drawn; others are left out.
    scale
        Factor on what is drawn, such as 100 for shares in per cent.
    """
    from matplotlib.lines import Line2D

    figure = blank(height=3.2 + 0.18 * ((len(titles) + 2) // 3))
    shades = colours(titles)
    marks = {name: _MARKS[place % len(_MARKS)] for place, name in enumerate(titles)}
    many = rows[x].nunique() >= MANY
    places = figure.subplots(1, len(measures), squeeze=False)[0]
    for axes, (measure, label) in zip(places, measures.items(), strict=True):
        for name in titles:
            own = rows[rows[series] == name].sort_values(x)
            _curve(axes, own, x, measure, scale, shades[name], "" if many else marks[name])
        axes.set_xlabel(xlabel)
        axes.set_ylabel(label)
        if not many:
            axes.set_xticks(np.unique(rows[x].to_numpy()))
    handles = [
        Line2D([], [], color=shades[name], marker="" if many else marks[name], markersize=4.5,
               label=title)
        for name, title in titles.items()
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _curve(
    axes: Axes, own: pd.DataFrame, x: str, measure: str, scale: float, shade: str, mark: str
) -> None:
    axes.plot(own[x], scale * own[measure], marker=mark, markersize=4.5, color=shade)
    if f"{measure}_low" in own:
        low, high = (scale * own[f"{measure}_{end}"] for end in ("low", "high"))
        axes.fill_between(own[x], low, high, color=shade, alpha=BAND, linewidth=0)
