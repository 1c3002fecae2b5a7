"""The first picture of a study: every policy, its share of the bound, and what it violates."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, isnan
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies import sentences
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, NARROW, PAPER, WIDTH
from edgeopt.studies.wording import capitalised, counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.results import Case
    from edgeopt.studies.standings import Standing, Standings

ROWS: Final = 8
"""Most policies in the picture; all of them are in the table."""

_BEST: Final = "#0072b2"
_PROVEN: Final = "#d55e00"


def drawn(
    found: Standings, *, narrow: bool = False, bounds: Mapping[str, float] | None = None
) -> Figure:
    """Draw all policies; in a narrow picture their names stand above their marks.

    Where none has a ratio to a bound, their values are drawn, and the bounds of policies.
    """
    if bounds is None or any(isfinite(one.ratio.centre) for one in found.rows):
        return canvas.in_style(lambda: _draw(found, narrow, {}))
    values = replace(found, rows=[replace(one, ratio=one.spread) for one in found.rows])
    return canvas.in_style(lambda: _draw(values, narrow, bounds))


def heading(found: Standings) -> str:
    """Say what the picture shows, where the sentence above it says what was found."""
    if any(isfinite(one.ratio.centre) for one in found.rows):
        share = "as a share" if found.objective.sense == "max" else "as a multiple"
        return f"{capitalised(found.objective.name)} of each policy {share} of its bound"
    return f"{capitalised(found.objective.name)} of each policy, and its bound"


def caption(found: Standings) -> str:
    """Say what the marks of the picture mean, those that are drawn."""
    rows = shown(found)
    bounds: dict[str, int] = {}
    for one in rows:
        if one.bounded:
            value = f" {found.objective.amount(one.bound)}" if isfinite(one.bound) else ""
            name = f"{one.label}{value}"
            bounds[name] = bounds.get(name, 0) + 1
    several = list(bounds)
    if len(bounds) > 1:
        several = [f"{name} for {count} policies" for name, count in bounds.items()]
        several = [name.replace("for 1 policies", "for 1 policy") for name in several]
    kinds = {one.ratio.kind for one in rows}
    over = f"{found.over}{found.here}"
    parts = {
        f"Bound on the mean: {'; '.join(several)}.": bool(bounds),
        f"Thin lines: {percent(found.pairs.confidence, 0)} intervals over {over}.": "interval"
        in kinds,
        f"Thin lines: ranges over {over}.": "range" in kinds,
        "Large: the policy that is named above.": found.first in rows and not found.crowned,
        "Blue: better than all others that it was chosen from.": found.crowned,
        "Hollow: no bound is valid for it.": not all(one.bounded for one in rows),
        "Small dots: instances.": any(one.each.size for one in rows),
        "Orange: the share that is proven before any run.": any(
            isfinite(one.guarantee) for one in rows
        ),
        "Grey: knows the future.": not all(one.causal for one in rows),
        f"The table has all {len(found.rows)} policies.": len(rows) < len(found.rows),
    }
    return " ".join(part for part, true in parts.items() if true)


def said(found: Standings) -> str:
    """Read the picture aloud, a policy after the other."""
    parts = []
    for one in shown(found):
        ends = found.ends(one)
        value = (
            found.objective.ratio(one.ratio.centre) if isfinite(one.ratio.centre) else one.amount
        )
        lost = "" if isnan(one.violated) else f", {one.violations}"
        parts.append(f"{one.title} {value}{f' ({ends})' if ends else ''}{lost}")
    return f"{heading(found)}: {'; '.join(parts)}."


def shown(found: Standings) -> list[Standing]:
    """Return the policies that are drawn: the first ones, and one to name beside the first."""
    rows, other = list(found.rows[:ROWS]), found.other
    return rows if other is None or other in rows else [*rows[:-1], other]


def bounds_of(case: Case) -> dict[str, float]:
    """Return the tightest bound that is valid for each policy, else the reference bound."""
    own = {one.policy: case.bound_of(one.policy) * one.bounded for one in case.standings.rows}
    return {
        policy: case.benchmarks[name].bound if name else case.benchmark.bound
        for policy, name in own.items()
    }


def _draw(found: Standings, narrow: bool, bounds: Mapping[str, float]) -> Figure:
    rows, scale = shown(found), 100.0 if found.objective.sense == "max" and not bounds else 1.0
    height = 1.6 + 0.36 * len(rows) if narrow else max(3.4, 1.6 + 0.25 * len(rows))
    figure = canvas.blank(width=NARROW if narrow else WIDTH, height=height)
    axes = figure.subplots()
    marks: list[float] = []
    for place, one in enumerate(rows):
        marks += _mark(axes, place + 0.2 * narrow, one, scale, found)
        if narrow:
            axes.annotate(
                one.title, (0, place - 0.2), xycoords=("axes fraction", "data"), va="center",
                fontsize=8.5, color=INK, fontweight=_weight(one is found.first),
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        if not isnan(one.violated):
            weight, lost = _weight(not one.keeps), counted(one.violated)
            canvas.in_margin(axes, place + 0.2 * narrow, lost, fontweight=weight)
    canvas.in_rows(axes, [""] * len(rows) if narrow else [one.title for one in rows])
    for one, label in zip(rows, axes.get_yticklabels(), strict=True):
        label.set_fontweight(_weight(one is found.first))
    if found.constrained:
        noun, failed = found.constraint.name, found.constraint.verb[1]
        canvas.in_margin(axes, -0.65, f"{noun}s\n{failed} per run", va="bottom")
    apart = sum(one.causal for one in rows)
    if 0 < apart < len(rows):
        axes.axhline(apart - 0.5, color=MUTED, linewidth=0.8)
    labels = list(dict.fromkeys(one.label for one in rows if isfinite(one.ratio.centre)))
    bound = labels[0] if len(labels) == 1 else "the bound"
    unit = f"as share of {bound} (%)" if scale > 1 else f"over {bound}"
    name = found.objective.name
    if bounds:
        axes.set_xlabel(f"{found.objective.heading}; stroke: {bound}")
        axes.plot(
            [bounds[one.policy] for one in rows], np.arange(len(rows)) + 0.2 * narrow, "|",
            color=INK, markersize=13, markeredgewidth=1.2,
        )  # fmt: skip
    else:
        axes.set_xlabel(f"{name}\n{unit}" if narrow else f"{name} {unit}")
    ends = canvas.axis_limits(marks, bounds.values() if bounds else [scale])
    if bounds:  # space for whole marks at 0
        ends = ends[0] - 0.04 * (ends[1] - ends[0]), ends[1] + 0.04 * (ends[1] - ends[0])
    if ends[0] <= scale <= ends[1] and not bounds:
        axes.axvline(scale, color=INK, linewidth=1.2, zorder=1)
    canvas.fit_x(axes, ends)
    return figure


def _weight(bold: bool) -> str:
    return "bold" if bold else "normal"


def _mark(axes: Axes, height: float, one: Standing, scale: float, found: Standings) -> list[float]:
    """Draw a policy, and return what its axis has to show."""
    best = found.crowned and one is found.first
    colour = MUTED if not one.causal else _BEST if best else INK
    if one.each.size:
        axes.plot(
            scale * one.each, np.full(one.each.size, height), "o", color=MUTED, markersize=3,
            alpha=0.7,
        )  # fmt: skip
    ratio = one.ratio
    if isfinite(one.guarantee) and ratio is not one.spread:
        axes.plot(
            [scale * one.guarantee], [height], "|", color=_PROVEN, markersize=11, markeredgewidth=2
        )
    if isfinite(ratio.low):
        axes.plot([scale * ratio.low, scale * ratio.high], [height] * 2, color=colour)
    axes.plot(
        [scale * ratio.centre], [height], "o", color=colour, zorder=3, clip_on=False,
        markersize=7.5 if one is found.first else 5.5,
        markerfacecolor=colour if one.bounded else PAPER,
    )  # fmt: skip
    also = () if ratio is one.spread else (one.guarantee, *one.each)
    return [float(scale * at) for at in (ratio.centre, ratio.low, ratio.high, *also)]


FIRST: Final = Picture(
    "policies",
    sentences.title,
    lambda case: drawn(case.standings, bounds=bounds_of(case)),
    "",  # a page writes one of what is drawn
)
