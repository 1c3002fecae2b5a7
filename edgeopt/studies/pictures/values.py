"""Pictures of the ratio to the reference bound and of the value over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval
from edgeopt.studies.entries import Picture
from edgeopt.studies.pages.summary import portion
from edgeopt.studies.pictures.canvas import BAND, INK, MUTED, PAPER, blank, colours, in_margin
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

_MARKS = ("o", "s", "D", "^")
_STYLES = ((0, (1, 1.5)), (0, (5, 2)), (0, (4, 2, 1, 2)))


def _ratios_title(case: Case) -> str:
    best, kept = case.best(), case.best(kept=True)
    if best is None or not case.benchmark.bound > 0:
        return f"{case.label} is {number(case.benchmark.value)}: there is nothing to compare with"
    fails = case.constraint.verb[0]
    reaches = "reaches" if case.objective.sense == "max" else "is at"
    first = f"{case.title(best)} {reaches} {case.objective.against(best['ratio'], case.label)}"
    if best["violated"] == 0:
        return f"{first} and {fails} no {case.constraint.name}" if case.constraints else first
    lost = f"but {fails} {portion(best['violated_share'], 0)} of the {case.constraint.name}s"
    if kept is None:
        return f"{first} {lost}; every policy {fails} some"
    at = case.objective.ratio(kept["ratio"])
    return f"{first} {lost}; {case.title(kept)} {fails} none with {at}"


def _ratios_draw(case: Case) -> Figure:
    table = case.table
    groups = list(dict.fromkeys(table["group"]))
    variants = list(dict.fromkeys(table["variant"]))
    colour = colours(groups)
    figure = blank(height=1.5 + (0.2 + 0.135 * len(variants)) * len(groups))
    axes = figure.subplots()
    scale = _scale(case)
    for row in table.to_dict("records"):
        place = variants.index(row["variant"])
        step = 0.3 * (place - (len(variants) - 1) / 2)
        height = groups.index(row["group"]) + step
        filled = place == len(variants) - 1
        axes.errorbar(
            scale * row["ratio"],
            height,
            xerr=[
                [scale * (row["ratio"] - row["ratio_low"])],
                [scale * (row["ratio_high"] - row["ratio"])],
            ],
            fmt=_MARKS[place % len(_MARKS)],
            color=colour[row["group"]],
            markerfacecolor=colour[row["group"]] if filled else PAPER,
            markersize=5.5,
            capsize=3,
            zorder=3,
        )
        if row["violated"] > 0:
            in_margin(
                axes, height, f"{percent(row['violated_share'])} {case.constraint.verb[1]}", away=6
            )
    _lines(axes, case)
    axes.set_yticks(range(len(groups)), groups)
    axes.set_ylim(len(groups) - 0.5, -0.5)
    # Space for marks on the last line.
    axes.set_xlim(0, 1.02 * axes.get_xlim()[1])
    axes.grid(axis="y", visible=False)
    confidence = percent(case.settings.confidence, 0)
    compared = f"as share of {case.label} (%)" if scale > 1 else f"over {case.label}"
    axes.set_xlabel(f"mean {case.objective.name} {compared}, {confidence} interval")
    for place, variant in enumerate(variants):
        if variant:
            axes.plot(
                [],
                [],
                _MARKS[place % len(_MARKS)],
                color=INK,
                markerfacecolor=INK if place == len(variants) - 1 else PAPER,
                label=variant,
            )
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _scale(case: Case) -> float:
    """Return the factor of ratios: a profit is drawn in per cent of its bound."""
    return 100.0 if case.objective.sense == "max" else 1.0


def _lines(axes: Axes, case: Case) -> None:
    """Mark every benchmark and every proven ratio."""
    scale = _scale(case)
    reference_bound = case.benchmark.bound
    for place, (name, benchmark) in enumerate(case.benchmarks.items()):
        if reference_bound > 0:
            axes.axvline(
                scale * benchmark.bound / reference_bound,
                color=INK if place == 0 else MUTED,
                linestyle="-" if place == 0 else _STYLES[(place - 1) % 2],
                linewidth=1.3,
                label=case.system.offline.bounds[name].label,
                zorder=2,
            )
    guaranteed: dict[float, list[str]] = {}
    for entry in case.entries.values():
        if entry.guarantee is not None:
            guaranteed.setdefault(entry.guarantee, []).append(entry.title)
    for ratio, names in guaranteed.items():
        axes.axvline(
            scale * ratio,
            color="#d55e00",
            linestyle=_STYLES[0],
            linewidth=1.8,
            label=f"guarantee of {case.objective.ratio(ratio)}: {'; '.join(names)}",
            zorder=2,
        )


RATIOS = Picture(
    "ratios",
    _ratios_title,
    _ratios_draw,
    "Mean over the runs with confidence interval; hollow and filled marks are the variants of a "
    "policy. Right margin: share of service constraints that the policy violated. Vertical lines: "
    "offline bounds, valid for the policies that the notes name, and proven guarantees.",
)


def curves(case: Case, values: Mapping[str, NDArray[np.float64]], ylabel: str) -> Figure:
    """Draw one curve per policy over the slots."""
    variants = list(dict.fromkeys(entry.variant for entry in case.entries.values()))
    colour = colours(entry.group for entry in case.entries.values())
    figure = blank(height=3.5)
    panels = figure.subplots(1, len(variants), sharey=True, squeeze=False)[0]
    for axes, variant in zip(panels, variants, strict=True):
        for name, runs in values.items():
            entry = case.entries[name]
            if entry.variant == variant:
                _curve(axes, runs, colour[entry.group], case.settings.confidence)
        axes.set_title(variant)
        axes.set_xlabel(case.objective.period)
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


def _over_time_title(case: Case) -> str:
    best = case.best()
    if best is None:
        return f"{case.objective.name.capitalize()} over time"
    objective = case.objective
    total = objective.so_far(case.trajectories[str(best["policy"])]).mean(axis=0)
    if total[-1] == 0:
        return f"No policy {'earns' if objective.sense == 'max' else 'has'} any {objective.name}"
    first = (
        f"{case.title(best)} ends with the "
        f"{'most' if objective.sense == 'max' else 'least'} {objective.name}"
    )
    if objective.adds == "mean":
        over = plural(len(total), objective.period)
        return f"{first}, a mean of {objective.amount(total[-1])} over {over}"
    if total[-1] < 0:
        return f"{first}, {objective.amount(total[-1])}"
    half = int(np.searchsorted(total, total[-1] / 2)) + 1
    return f"{first}, half of it within {plural(half, objective.period)} of {len(total)}"


def _over_time_draw(case: Case) -> Figure:
    values = {
        name: case.objective.so_far(trajectory) for name, trajectory in case.trajectories.items()
    }
    figure = curves(case, values, f"{case.objective.name} so far ({case.objective.unit})")
    if case.objective.adds == "mean":
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
    """Stretch the first slots, in which a mean changes most, and fit the axis to the curves."""
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
    _over_time_title,
    _over_time_draw,
    "Value up to the end of each slot: mean over the runs with confidence interval. The horizontal "
    "line is the benchmark for the whole horizon.",
)
