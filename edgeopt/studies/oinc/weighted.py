"""Latency and completion, each over its own scale, for every combination of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.benchmarks import apart
from edgeopt.studies.oinc.ledger import average_parts, parts, plays
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgeopt.studies.oinc.ledger import Parts
    from edgeopt.studies.result import Case

__all__ = ["WEIGHTED", "scaled"]

_INFERENCE, _RETRAINING = "#0072b2", "#e69f00"
_DASHED = (0, (2, 2))


def scaled(case: Case) -> dict[str, Parts]:
    """Return mean latency and mean completion time over their scales, by policy, each [runs]."""
    instance = case.instance
    return {name: average_parts(instance, parts(instance, t)) for name, t in plays(case).items()}


def _title(case: Case) -> str:
    found = {name: float(one.total.mean()) for name, one in scaled(case).items()}
    best = min(found, key=lambda name: found[name])
    said = f"{case.entries[best].title} has the least sum of scaled means, {number(found[best])}"
    least = float(average_parts(case.instance, apart(case)).total)
    if least > 0:
        said += f", {percent(found[best] / least - 1, 0)} above what inference and retraining need "
        said += "apart"
    name = lead(case)
    if name in found and name != best and found[best] > 0:
        said += f"; {case.entries[name].title} is {percent(found[name] / found[best] - 1)} above it"
    return said


def _draw(case: Case) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found = scaled(case)
    least = average_parts(case.instance, apart(case))
    figure = blank(height=1.25 + 0.25 * (len(found) + 1))
    axes = figure.subplots()
    rows = [least, *found.values()]
    places = np.arange(len(rows))
    inference, retraining = (
        np.array([float(np.mean(part)) for part in column])
        for column in ([one.inference for one in rows], [one.retraining for one in rows])
    )
    light = np.where(places == 0, 0.45, 0.9)
    for widths, starts, colour in (
        (inference, 0 * inference, _INFERENCE),
        (retraining, inference, _RETRAINING),
    ):
        bars = axes.barh(places, widths, 0.7, left=starts, color=colour, linewidth=0)
        for bar, opacity in zip(bars, light, strict=True):
            bar.set_alpha(float(opacity))
    total = inference + retraining
    axes.axvline(float(total[0]), color=INK, linewidth=1.2)
    axes.axvline(float(inference[0]), color=INK, linewidth=1.0, linestyle=_DASHED)
    for place, value in zip(places, total, strict=True):
        axes.annotate(
            number(float(value), 4), xy=(1, place), xycoords=("axes fraction", "data"),
            xytext=(5, 0), textcoords="offset points", va="center", fontsize=8, color=INK,
        )  # fmt: skip
    labels = ["bound, each apart", *(case.entries[name].title for name in found)]
    axes.set_yticks(places, labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(MUTED)
    instance = case.instance
    axes.set_xlabel(
        f"sum of mean latency / {instance.latency_scale:g} s and mean completion time / "
        f"{instance.completion_scale:g} s"
    )
    handles: list[Patch | Line2D] = [
        Patch(color=_INFERENCE, alpha=0.9, label="mean latency"),
        Patch(color=_RETRAINING, alpha=0.9, label="mean completion time"),
        Line2D([], [], color=INK, linewidth=1.0, linestyle=_DASHED, label="bound on latency"),
        Line2D([], [], color=INK, linewidth=1.2, label="bound on both"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


WEIGHTED = Picture(
    "weighted",
    _title,
    _draw,
    "Weighted means over the requests and over the jobs, each over the scale that counts as 1, so "
    "that both kinds count alike; the value of the table sums over all requests and all jobs "
    "instead. The top row is proven: no policy has less latency or completes jobs earlier than "
    "when each has all CPUs to itself; no policy can have both at once.",
)
