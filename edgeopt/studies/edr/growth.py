"""How regret and fit grow with the horizon, on logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.horizons import exponent, losses
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, colours
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import interval, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

__all__ = ["GROWTH"]

_NOTHING = 1e-9
"""What counts as zero."""

_DASHED = (0, (2.0, 1.5))


def _title(case: Case) -> str:
    lengths, found = case.once(losses)
    name = lead(case)
    said = []
    for what, values in found[name]._asdict().items():
        growth = exponent(lengths, values, case.settings.confidence)
        if growth is not None:
            said.append(
                f"its {what} grows like T to the power of {number(growth.exponent, 2)} "
                f"({interval(growth.low, growth.high, digits=2)})"
            )
        elif abs(values[-1]) <= _NOTHING:
            said.append(f"its {what} ends at nothing")
        else:
            said.append(f"its {what} ends at {number(float(values[-1]), 3)}")
    title = case.entries[name].title
    return f"{title} over up to {lengths[-1]} frames: {' and '.join(said)}"


def _draw(case: Case) -> Figure:
    from matplotlib.lines import Line2D

    lengths, found = case.once(losses)
    colour = colours(entry.family for entry in case.entries.values())
    figure = blank(height=3.5 + 0.1 * len(found))
    panels = figure.subplots(1, 2)
    handles = []
    for name, lines in found.items():
        entry = case.entries[name]
        shade = colour[entry.family]
        slopes = []
        for axes, values in zip(panels, lines, strict=True):
            _line(axes, lengths, values, shade)
            growth = exponent(lengths, values, case.settings.confidence)
            slopes.append(number(None if growth is None else growth.exponent, 2))
        label = f"{entry.title} ({', '.join(slopes)})"
        handles.append(Line2D([], [], color=shade, linewidth=3, label=label))
    for axes, what in zip(panels, ("regret (points)", "fit (rounds)"), strict=True):
        if not any(np.isfinite(line.get_ydata()).any() for line in axes.lines):
            axes.set_ylim(0.1, 10)  # all is nothing: an axis without a curve
        _frame(axes, lengths)
        axes.set_ylabel(what)
    handles += [
        Line2D([], [], color=MUTED, linestyle=":", label="slope 1: linear"),
        Line2D([], [], color=INK, linestyle=_DASHED, label="negative, its magnitude"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _line(axes: Axes, lengths: NDArray[np.int64], values: NDArray[np.float64], shade: str) -> None:
    """Draw magnitudes; a logarithmic axis has no other place for what lies below zero."""
    for sign, style in ((1, "-"), (-1, _DASHED)):
        side = np.where(sign * values > _NOTHING, sign * values, np.nan)
        axes.plot(lengths, side, "o", color=shade, markersize=3.5)
        axes.plot(lengths, side, color=shade, linewidth=1.5, linestyle=style)


def _frame(axes: Axes, lengths: NDArray[np.int64]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(lengths.tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("frames T")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    first, last = float(lengths[0]), float(lengths[-1])
    middle = float(np.sqrt(low * high / (first * last)))
    axes.plot([first, last], [middle * first, middle * last], color=MUTED, linestyle=":", zorder=1)
    axes.set_ylim(low, high)


GROWTH = Picture(
    "growth",
    _title,
    _draw,
    "Every policy lives anew through the first T frames; a task whose window is cut keeps its even "
    "rate. Regret: cost, late training aside, beyond that of the best plan of every frame for "
    "itself which trains each task at its even rate, or as much of it as the cap leaves room for. "
    "Fit: norm of the rounds that tasks lack at the end. In brackets the exponents of T, regret "
    "first, fitted to the positive values where there are three; they speak about these horizons "
    "alone. A fit of nothing has no place on the axis. A negative regret is that of a policy that "
    "does less than the comparator, or does it at better times.",
)
