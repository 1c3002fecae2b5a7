"""Curves over the slots, one panel per variant of the policies, mean with band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import BAND, INK, blank, colours
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

__all__ = ["VALUE_OVER_TIME", "curves"]


def curves(case: Case, values: Mapping[str, NDArray[np.float64]], ylabel: str) -> Figure:
    """Draw one curve per policy over the slots."""
    variants = list(dict.fromkeys(entry.variant for entry in case.entries.values()))
    colour = colours(entry.family for entry in case.entries.values())
    figure = blank(height=3.5)
    panels = figure.subplots(1, len(variants), sharey=True, squeeze=False)[0]
    for axes, variant in zip(panels, variants, strict=True):
        for name, runs in values.items():
            entry = case.entries[name]
            if entry.variant == variant:
                _curve(axes, runs, colour[entry.family], case.settings.confidence)
        axes.set_title(variant)
        axes.set_xlabel(case.system.period)
        axes.set_xlim(0, max(runs.shape[1] for runs in values.values()))
        axes.set_ylim(
            bottom=min(0.0, *(float(runs.mean(axis=0).min()) for runs in values.values()))
        )
    panels[0].set_ylabel(ylabel)
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=shade, linewidth=3) for shade in colour.values()]
    figure.legend(handles, list(colour), loc="outside right center")
    return figure


def _curve(axes: Axes, runs: NDArray[np.float64], colour: str, confidence: float) -> None:
    mean, _, reach = mean_with_interval(runs.T, confidence)
    # The value after slot t is drawn at t + 1, where the slot ends.
    ends = np.arange(1, mean.size + 1)
    axes.plot(ends, mean, color=colour)
    axes.fill_between(ends, mean - reach, mean + reach, color=colour, alpha=BAND, linewidth=0)


def _title(case: Case) -> str:
    best = case.best()
    if best is None:
        return f"{case.system.value.capitalize()} over time"
    system = case.system
    total = system.so_far(case.trajectories[str(best["policy"])]).mean(axis=0)
    if total[-1] == 0:
        return f"No policy {'earns' if system.sense == 'max' else 'has'} any {system.value}"
    first = (
        f"{case.entries[str(best['policy'])].title} ends with the "
        f"{'most' if system.sense == 'max' else 'least'} {system.value}"
    )
    if system.aggregate == "mean":
        over = plural(len(total), system.period)
        return f"{first}, a mean of {system.amount(total[-1])} over {over}"
    if total[-1] < 0:
        return f"{first}, {system.amount(total[-1])}"
    half = int(np.searchsorted(total, total[-1] / 2)) + 1
    return f"{first}, half of it within {plural(half, system.period)} of {len(total)}"


def _draw(case: Case) -> Figure:
    values = {
        name: case.system.so_far(trajectory) for name, trajectory in case.trajectories.items()
    }
    figure = curves(case, values, f"{case.system.value} so far ({case.system.unit})")
    if case.system.aggregate == "mean":
        _zoom(figure, values)
    for axes in figure.axes:
        axes.axhline(case.benchmark.value, color=INK, linewidth=1.2)
        axes.annotate(
            case.label,
            xy=(0.01, case.benchmark.value),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8.5,
        )
        low, high = axes.get_ylim()
        low = min(low, 1.05 * case.benchmark.value)
        highest = max(case.benchmark.value, low + (high - low) / 1.05)
        axes.set_ylim(low, highest + 0.1 * (highest - low))
    return figure


def _zoom(figure: Figure, values: Mapping[str, NDArray[np.float64]]) -> None:
    """Stretch the first slots, in which a mean moves most, and leave out what no curve reaches."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    means = np.concatenate([runs.mean(axis=0) for runs in values.values()])
    low, high = float(means.min()), float(means.max())
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_xlim(1, max(2, *(runs.shape[1] for runs in values.values())))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        if high > low:
            axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))


VALUE_OVER_TIME = Picture(
    "value_over_time",
    _title,
    _draw,
    "Mean over the runs of what has come together by the end of each slot; the band is the "
    "confidence interval of the mean. The horizontal line is the benchmark for the whole horizon.",
)
