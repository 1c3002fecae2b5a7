"""Pictures of the ratio to the reference bound and of the value over time."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.intervals import expectation
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import (
    BAND,
    INK,
    MUTED,
    PAPER,
    blank,
    fit_x,
    fit_y,
    in_margin,
    legend,
    line,
    outside,
    policy_looks,
    reach,
)
from edgeopt.studies.sentences import ONLY_HINDSIGHT, ends_heading
from edgeopt.studies.wording import number, percent, plural, uncapitalised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.pictures.canvas import Look
    from edgeopt.studies.results import Case

_MARKS = ("o", "s", "D", "^")
_STYLES = ((0, (1, 1.5)), (0, (5, 2)), (0, (4, 2, 1, 2)))


def _ratios_title(case: Case) -> str:
    best, kept = case.best(), case.best(kept=True)
    if not case.benchmark.bound > 0:
        return f"{case.label} is {number(case.benchmark.bound)}: there is nothing to compare with"
    if best is None:
        return ONLY_HINDSIGHT
    fails = case.constraint.verb[0]
    reaches = "reaches" if case.objective.sense == "max" else "is at"
    first = f"{case.title(best)} {reaches} {case.objective.against(best['ratio'], case.label)}"
    if best["violated"] == 0:
        return f"{first} and {fails} no {case.constraint.name}" if case.constraints else first
    lost = case.standings.price(str(best["policy"]))
    if kept is None:
        return f"{first}{lost}; every policy {fails} some"
    at = case.objective.ratio(kept["ratio"])
    return f"{first}{lost}; {case.title(kept)} {fails} none with {at}"


def _ratios_draw(case: Case) -> Figure:
    table, looks = case.ranked, policy_looks(case)
    variants = _variants(case)
    # One row per group; each policy with hindsight has a row of its own below.
    row_of = {
        name: entry.group if entry.causal else entry.title for name, entry in case.entries.items()
    }
    rows = list(dict.fromkeys(row_of.values()))
    figure = blank(height=1.5 + (0.2 + 0.135 * len(variants)) * len(rows))
    axes = figure.subplots()
    scale = _scale(case)
    for row in table.to_dict("records"):
        name = row["policy"]
        height, shape, hollow = float(rows.index(row_of[name])), "o", True
        if case.entries[name].causal:
            place = variants.index(row["variant"])
            height += 0.3 * (place - (len(variants) - 1) / 2)
            shape, hollow = _MARKS[place % len(_MARKS)], place < len(variants) - 1
        axes.errorbar(
            scale * row["ratio"],
            height,
            xerr=None
            if np.isnan(row["ratio_low"])
            else [
                [scale * (row["ratio"] - row["ratio_low"])],
                [scale * (row["ratio_high"] - row["ratio"])],
            ],
            fmt=shape,
            color=looks[name].colour,
            markerfacecolor=PAPER if hollow else looks[name].colour,
            markersize=5.5,
            capsize=3,
            zorder=3,
        )
        if row["violated"] > 0:
            in_margin(
                axes, height, f"{percent(row['violated_share'])} {case.constraint.verb[1]}", away=6
            )
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    above = len({row_of[name] for name in case.causal})
    if 0 < above < len(rows):
        axes.axhline(above - 0.5, color=MUTED, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    compared = f"as share of {case.label} (%)" if scale > 1 else f"over {case.label}"
    axes.set_xlabel(f"mean {case.objective.name} {compared}, {ends_heading(case)}")
    lines = _lines(case)
    marks = scale * table[["ratio", "ratio_low", "ratio_high"]].to_numpy(dtype=float)
    ends = reach(marks.ravel(), [at for at, *_ in lines])
    for at, label, look in lines:
        axes.axvline(at, label=label + outside(at, ends, ("left of", "right of")), zorder=2, **look)
    fit_x(axes, ends)
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


def _variants(case: Case) -> list[str]:
    """Return the variants of policies that do not know the future."""
    return list(dict.fromkeys(case.entries[name].variant for name in case.causal)) or [""]


def _scale(case: Case) -> float:
    """Return the factor of ratios: a profit is drawn in per cent of its bound."""
    return 100.0 if case.objective.sense == "max" else 1.0


def _lines(case: Case) -> list[tuple[float, str, dict[str, Any]]]:
    """Return place, label and look of every benchmark and every proven ratio."""
    scale, reference_bound = _scale(case), case.benchmark.bound
    lines: list[tuple[float, str, dict[str, Any]]] = []
    for place, (name, benchmark) in enumerate(case.benchmarks.items()):
        if reference_bound > 0:
            look = {
                "color": INK if place == 0 else MUTED,
                "linestyle": "-" if place == 0 else _STYLES[(place - 1) % 2],
                "linewidth": 1.3,
            }
            label = case.system.offline.bounds[name].label
            lines.append((scale * benchmark.bound / reference_bound, label, look))
    guaranteed: dict[tuple[float, str], list[str]] = {}
    for entry in case.entries.values():
        if entry.guarantee is not None:
            of = entry.guarantee_of or case.system.offline.reference
            guaranteed.setdefault((entry.guarantee, of), []).append(entry.title)
    for (ratio, of), names in guaranteed.items():
        against = case.objective.against(ratio, case.system.offline.bounds[of].label)
        label = f"guarantee of {against}:\n{'; '.join(names)}"
        look = {"color": "#d55e00", "linestyle": _STYLES[0], "linewidth": 1.8}
        if reference_bound > 0:
            at = scale * ratio * case.benchmarks[of].bound / reference_bound
            lines.append((at, label, look))
    return lines


RATIOS = Picture(
    "ratios",
    _ratios_title,
    _ratios_draw,
    "Mean over the runs on this instance; bars are the confidence interval, with fewer than five "
    "runs the range. Hollow and filled marks are the variants of a policy, grey ones below the "
    "line policies with hindsight. Right margin: share of service constraints that the policy "
    "violated. Vertical lines: offline bounds, valid for the policies that the notes name, and "
    "proven guarantees.",
)


def curves(
    case: Case,
    values: Mapping[str, NDArray[np.float64]],
    ylabel: str,
    ends: tuple[float, float] | None = None,
) -> Figure:
    """Draw one curve per policy over the slots, those with hindsight in every panel.

    Without given ends the vertical axis fits the curves.
    """
    looks, variants = policy_looks(case), _variants(case)
    figure = blank(height=3.5)
    panels = figure.subplots(1, len(variants), sharey=True, squeeze=False)[0]
    for axes, variant in zip(panels, variants, strict=True):
        for name, runs in values.items():
            entry = case.entries[name]
            if not entry.causal or entry.variant == variant:
                _curve(axes, runs, looks[name], case.settings.confidence)
        axes.set_title(variant)
        axes.set_xlabel(case.objective.period)
        axes.set_xlim(0, max(runs.shape[1] for runs in values.values()))
    panels[0].set_ylabel(ylabel)
    fit_y(panels[0], reach(_drawn(case, values)) if ends is None else ends)
    groups = {case.entries[name].group: looks[name].colour for name in case.causal}
    handles = [line(group, shade, linewidth=3) for group, shade in groups.items()]
    handles += [
        line(case.entries[name].title, look.colour, linestyle=look.style)
        for name, look in looks.items()
        if not case.entries[name].causal
    ]
    legend(figure, handles)
    return figure


def _drawn(
    case: Case, values: Mapping[str, NDArray[np.float64]], since: int = 0
) -> NDArray[np.float64]:
    """Return the means from a slot on, and the ends of the last interval of every curve."""
    found = []
    for runs in values.values():
        _, _, low, high = expectation("runs", runs[:, -1], case.settings.confidence)
        found += [runs.mean(axis=0)[since:], np.array([low, high])]
    return np.concatenate(found)


def _curve(axes: Axes, runs: NDArray[np.float64], look: Look, confidence: float) -> None:
    mean, _, low, high = expectation("runs", runs.T, confidence)
    # The value after slot t is drawn at t + 1, where the slot ends.
    ends = np.arange(1, mean.size + 1)
    axes.plot(ends, mean, color=look.colour, linestyle=look.style)
    axes.fill_between(ends, low, high, color=look.colour, alpha=BAND, linewidth=0)


def _over_time_title(case: Case) -> str:
    best = case.best()
    if best is None:
        return f"{case.objective.name.capitalize()} over time; {uncapitalised(ONLY_HINDSIGHT)}"
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
        first += f", a mean of {objective.amount(total[-1])} over {over}"
    elif total[-1] < 0:
        first += f", {objective.amount(total[-1])}"
    else:
        half = int(np.searchsorted(total, total[-1] / 2)) + 1
        first += f", half of it within {plural(half, objective.period)} of {len(total)}"
    return first + case.standings.price(str(best["policy"]))


def _over_time_draw(case: Case) -> Figure:
    values = {
        name: case.objective.so_far(trajectory) for name, trajectory in case.trajectories.items()
    }
    slots = next(iter(values.values())).shape[1]
    # A mean changes most in the first slots; from half of them on the policies can be told apart.
    averaged = case.objective.adds == "mean"
    drawn = _drawn(case, values, slots // 2 if averaged else 0)
    ylabel = f"{case.objective.name} so far ({case.objective.unit})"
    figure = curves(case, values, ylabel, reach(drawn, [case.benchmark.bound]))
    for axes in figure.axes:
        if averaged:
            _stretch(axes, slots)
        _mark_bound(axes, case)
    return figure


def _stretch(axes: Axes, slots: int) -> None:
    """Give the first slots more space."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_xscale("log")
    axes.set_xlim(1, max(2, slots))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _mark_bound(axes: Axes, case: Case) -> None:
    """Draw the reference bound, or say at the end of the axis that it is beyond it."""
    value, ends = case.benchmark.bound, axes.get_ylim()
    if not isfinite(value):  # nothing is proven
        return
    beyond = outside(value, ends, ("below", "above"))
    if not beyond:
        axes.axhline(value, color=INK, linewidth=1.2)
    # The name stands above its line, and has space there.
    low, high = ends
    top = value + 0.1 * (high - low)
    if not beyond and top > high:
        axes.set_ylim(low, top)
    axes.annotate(
        f"{case.label}, {case.objective.amount(value)}{beyond}" if beyond else case.label,
        xy=(0.01, min(max(value, low), high)),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3 if value > high else 3),
        textcoords="offset points",
        va="top" if value > high else "bottom",
        fontsize=8.5,
    )


VALUE_OVER_TIME = Picture(
    "value_over_time",
    _over_time_title,
    _over_time_draw,
    "Value up to the end of each slot: mean over the runs on this instance; bands are the "
    "confidence interval, with fewer than five runs the range. The horizontal line is the "
    "reference bound of the whole horizon. An axis of means fits the second half of it.",
)
