"""The pictures of most figures: curves over a swept parameter, bars, stacks and shaded tables."""

from __future__ import annotations

from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.pictures.canvas import (
    BAND,
    HATCHES,
    INK,
    PAPER,
    WIDTH,
    blank,
    colours,
    in_rows,
    styles,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.pictures.canvas import Style

HOLLOW: Final[dict[str, Any]] = {
    "linestyle": "none", "marker": "D", "markersize": 6, "color": INK, "markerfacecolor": PAPER,
    "zorder": 4,
}  # fmt: skip
"""Style of published and recorded values."""

_MANY: Final = 16
"""A curve with this many points or more has no marks."""

_LINE: Final = 0.18
"""Inches of a row of a legend."""

_MARGIN: Final = 0.05
"""Inches between a legend and each side of its figure, at least."""


def legend_below(figure: Figure, handles: Iterable[Any], most: int = 3) -> None:
    """Write a legend below all panels, in as many columns as there is space for, up to the most.

    The figure grows by the rows that this adds.
    """
    named = list(handles)
    space = figure.bbox.width - 2.0 * _MARGIN * figure.dpi
    for columns in range(most, 0, -1):
        legend = figure.legend(handles=named, loc="outside lower center", ncols=columns)
        if legend.get_window_extent().width <= space or columns == 1:
            break
        legend.remove()
    more = ceil(len(named) / columns) - ceil(len(named) / most)
    figure.set_figheight(figure.get_figheight() + _LINE * more)


def curves(
    rows: pd.DataFrame,
    x: str,
    metrics: Mapping[str, str],
    *,
    xlabel: str,
    titles: Mapping[Any, str],
    series: str = "policy",
    panels: tuple[str, Mapping[Any, str]] | None = None,
    along: str = "",
    scale: float = 1.0,
    top: float | None = None,
    zero: bool = False,
    ticks: Sequence[float] = (),
    logx: bool = False,
    logy: bool = False,
    handles: Iterable[Any] = (),
) -> Figure:
    """Draw a panel per metric and value of a column, with a curve and a band per series.

    A curve joins its points in the order of the column `along`; by default this is `x`, and only
    then there are bands. The legend ends with further `handles`.
    """
    shown = _panels(rows, metrics, panels)
    lines, count = len(shown), len(shown[0])
    height = 3.5 if lines == count == 1 else 3.2 if lines == 1 else 2.5 * lines
    figure = blank(height=height + _LINE * ceil(len(titles) / 3))
    drawn = styles(titles)
    many = rows[along or x].nunique() >= _MANY
    shared: Any = {"sharex": bool(panels), "sharey": "row" if panels else False}
    grid = figure.subplots(lines, count, squeeze=False, **shared)
    for axes, (chosen, title, metric, label) in zip(grid.flat, chain(*shown), strict=True):
        for name in titles:
            own = chosen[chosen[series] == name].sort_values(along or x)
            curve(axes, own, x, metric, drawn[name], marks=not many, scale=scale, band=not along,
                  label=titles[name])  # fmt: skip
        if logx:
            logarithmic(axes.xaxis)
        if ticks or not (logx or many or along):
            axes.set_xticks(_spaced(ticks or sorted(set(rows[x])), count, log=logx))
        if logy:
            logarithmic(axes.yaxis)
        if axes in grid[-1]:
            axes.set_xlabel(xlabel)
        if axes in grid[:, 0] or not panels:
            axes.set_ylabel(label)
        axes.set_title(title, fontsize=9)
        if zero:
            axes.set_ylim(bottom=0)
        if top is not None:
            least = min(axes.get_ylim()[0], 0.95 * top)
            axes.set_ylim(least, top + 0.03 * (top - least))  # whole marks at the top
    legend_below(figure, [*grid[0, 0].lines, *handles])
    return figure


_LETTER: Final = 0.085
"""Inches of a letter of a tick's label."""


def _spaced(places: Sequence[float], panels: int, *, log: bool) -> list[float]:
    """Leave out ticks whose labels would meet in one of so many panels side by side."""
    at = np.log(places) if log else np.asarray(places, dtype=float)
    inches = 0.9 * (WIDTH - 0.7) / panels - 0.3
    half = 0.5 * _LETTER * (2 + max(len(f"{place:.6g}") for place in places))
    at = inches * (at - at[0]) / ((at[-1] - at[0]) or 1.0)
    kept: list[float] = []
    end = -np.inf
    for place, middle in zip(places, at, strict=True):
        if middle - half > end:
            kept.append(place)
            end = middle + half
    return kept


def _panels(
    rows: pd.DataFrame,
    metrics: Mapping[str, str],
    panels: tuple[str, Mapping[Any, str]] | None,
) -> list[list[tuple[pd.DataFrame, str, str, str]]]:
    """Return rows, title, metric and label of each panel, by line of the picture.

    Metrics are side by side or, if there are panels for the values of a column, these are.
    """
    if panels is None:
        return [[(rows, "", metric, label) for metric, label in metrics.items()]]
    column, places = panels
    return [
        [
            (rows[rows[column] == place], "" if line else title, metric, label)
            for place, title in places.items()
        ]
        for line, (metric, label) in enumerate(metrics.items())
    ]


def curve(
    axes: Axes, rows: pd.DataFrame, x: str, metric: str, style: Style, *, marks: bool = True,
    scale: float = 1.0, band: bool = True, label: str = "",
) -> None:  # fmt: skip
    """Draw a column over another one, with the band of its intervals."""
    axes.plot(
        rows[x], scale * rows[metric], marker=style.mark if marks else "", markersize=4.5,
        color=style.colour, linestyle=style.dashes, label=label,
    )  # fmt: skip
    if band and f"{metric}_low" in rows:
        low, high = (scale * rows[f"{metric}_{end}"] for end in ("low", "high"))
        axes.fill_between(rows[x], low, high, color=style.colour, alpha=BAND, linewidth=0)


def stacked(
    axes: Axes, rows: pd.DataFrame, x: str, parts: Mapping[str, str], width: float, *,
    scale: float = 1.0,
) -> None:  # fmt: skip
    """Draw columns as bars on top of one another, over the middle of each bar in column `x`."""
    bottom = np.zeros(len(rows))
    for (name, shade), title in zip(colours(parts).items(), parts.values(), strict=True):
        height = scale * rows[name].to_numpy(dtype=float)
        axes.bar(rows[x], height, width, bottom=bottom, color=shade, label=title)
        bottom += height


def bars(
    rows: pd.DataFrame,
    metrics: Mapping[str, str],
    *,
    titles: Mapping[str, str],
    series: str = "policy",
    published: Mapping[str, Mapping[str, float]] | None = None,
    panels: tuple[str, Mapping[Any, str]] | None = None,
    scale: float = 1.0,
) -> Figure:
    """Draw a panel per metric and value of a column, with a horizontal bar per series."""
    from matplotlib.lines import Line2D

    shown = _panels(rows, metrics, panels)
    figure = blank(height=0.4 + len(shown) * (0.8 + 0.3 * len(titles)))
    shared: Any = {"sharey": True, "sharex": "row" if panels else False, "squeeze": False}
    grid = figure.subplots(len(shown), len(shown[0]), **shared)
    shades = colours(titles)
    for axes, (chosen, head, metric, label) in zip(grid.flat, chain(*shown), strict=True):
        known = {row[series]: row for row in chosen.to_dict("records")}
        axes.set_title(head, fontsize=9)
        for place, name in enumerate(titles):
            row = known.get(name, {})
            ends = [scale * row.get(f"{metric}{end}", np.nan) for end in ("", "_low", "_high")]
            if np.isfinite(ends[0]):
                axes.barh(place, ends[0], 0.62, color=shades[name], linewidth=0)
            if np.isfinite(ends).all():
                axes.plot(ends[1:], [place, place], color=INK, linewidth=1.4)
            if published and name in published.get(metric, {}):
                axes.plot([scale * published[metric][name]], [place], **HOLLOW)
        axes.set_xlabel(label)
        rows_of_bars(axes, titles.values())
    if published:
        legend_below(figure, [Line2D([], [], label="published", **HOLLOW)])
    return figure


def rows_of_bars(axes: Axes, titles: Iterable[str]) -> None:
    """Name rows 0, 1, ... of horizontal bars, the first at the top."""
    in_rows(axes, list(titles))


def groups(
    rows: pd.DataFrame,
    column: str,
    places: Mapping[Any, str],
    metric: str,
    *,
    label: str,
    titles: Mapping[str, str],
    panels: tuple[str, Mapping[Any, str]] | None = None,
) -> Figure:
    """Draw a group of horizontal bars per value of a column, one bar per policy.

    With `panels` there is one of them per value of a further column.
    """
    from matplotlib.patches import Patch

    figure = blank(height=1.5 + 0.17 * len(places) * (len(titles) + 1))
    [shown] = _panels(rows, {metric: label}, panels)
    grid = figure.subplots(1, len(shown), sharey=True, sharex=True, squeeze=False)[0]
    drawn: dict[str, Any] = {
        name: {"facecolor": style.colour, "hatch": HATCHES[style.pattern % len(HATCHES)],
               "edgecolor": PAPER, "linewidth": 0}
        for name, style in styles(titles).items()
    }  # fmt: skip
    thick = 0.86 / len(titles)
    for axes, (chosen, head, _, _) in zip(grid, shown, strict=True):
        axes.set_title(head, fontsize=9)
        for place, name in enumerate(titles):
            own = chosen[chosen["policy"] == name].set_index(column).reindex(list(places))
            at = np.arange(len(places)) + (place - (len(titles) - 1) / 2) * thick
            axes.barh(at, own[metric], thick, **drawn[name])
            axes.hlines(at, own[f"{metric}_low"], own[f"{metric}_high"], color=INK, linewidth=1.0)
        rows_of_bars(axes, places.values())
        axes.set_xlabel(label)
    legend_below(figure, [Patch(label=title, **drawn[name]) for name, title in titles.items()])
    return figure


def shaded(
    rows: pd.DataFrame,
    x: str,
    y: str,
    metric: str,
    *,
    panels: tuple[str, Mapping[Any, str]],
    labels: tuple[str, str, str],
    top: float | None = None,
    below: bool = False,
) -> Figure:
    """Draw a metric over two columns as shades, with a panel per value of a third one.

    Labels are those of `x`, of `y` and of the shades. Panels are side by side or, with `below`, one
    below the other, and then the first value of `y` is at the top.
    """
    from matplotlib.ticker import MaxNLocator

    column, places = panels
    figure = blank(height=1.8 * len(places) if below else 3.4)
    shape = (len(places), 1) if below else (1, len(places))
    grid = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    top = float(rows[metric].max()) if top is None else top
    for axes, (place, title) in zip(grid, places.items(), strict=True):
        shades = rows[rows[column] == place].pivot_table(index=y, columns=x, values=metric)
        mesh = axes.pcolormesh(shades.columns, shades.index, shades, cmap="Blues", vmin=0, vmax=top)
        axes.set_title(title, fontsize=9)
        axes.grid(visible=False)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        if below or axes is grid[0]:
            axes.set_ylabel(labels[1])
        if not below or axes is grid[-1]:
            axes.set_xlabel(labels[0])
    if below:
        grid[0].invert_yaxis()
    figure.colorbar(mesh, ax=grid, label=labels[2], pad=0.02)
    return figure


def logarithmic(axis: Any, linear_below: float | None = None, base: int = 10) -> None:
    """Make an axis logarithmic, its ticks plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    if linear_below is None:
        set_scale("log", base=base)
    else:
        set_scale("symlog", linthresh=linear_below)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())
