"""What was in time, requests and jobs apart and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.ledger import plays, request_count
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import percent, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case

__all__ = ["SUCCESS"]

_REQUESTS, _JOBS = "#0072b2", "#e69f00"


def _shares(case: Case) -> dict[str, tuple[float, float, float]]:
    """Shares of requests, jobs and both in time in the first run, by policy."""
    return {
        name: (
            float(found.request_success()[0]),
            float(found.job_success()[0]),
            float(found.success()[0]),
        )
        for name, found in plays(case).items()
    }


def _title(case: Case) -> str:
    found = _shares(case)
    name = lead(case)
    requests, jobs, both = found[name]
    count = request_count(case.instance)
    said = (
        f"{case.entries[name].title} is in time with {percent(requests)} of "
        f"{plural(count, 'request')} and {percent(jobs)} of {plural(case.instance.jobs, 'job')}"
    )
    if not count or not case.instance.jobs:
        return said
    best = max(found, key=lambda n: found[n][1])
    if found[best][1] > jobs:
        return f"{said}; {case.entries[best].title} completes most jobs in time, " + percent(
            found[best][1]
        )
    share = percent(case.instance.jobs / (count + case.instance.jobs))
    return f"{said}; in one figure, {percent(both)}, jobs are {share} of what counts"


def _draw(case: Case) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found = _shares(case)
    figure = blank(height=1.25 + 0.24 * len(found))
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(found))
    for axes, column, colour in ((left, 0, _REQUESTS), (right, 1, _JOBS)):
        values = 100 * np.array([shares[column] for shares in found.values()])
        axes.barh(places, values, 0.66, color=colour, alpha=0.85, linewidth=0)
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                f"{value:.1f}", xy=(100, place), xytext=(7, 0), textcoords="offset points",
                va="center", fontsize=8, color=INK, annotation_clip=False,
            )  # fmt: skip
        axes.set_xlim(0, 100)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
    both = 100 * np.array([shares[2] for shares in found.values()])
    left.plot(both, places, "D", color=INK, markerfacecolor=PAPER, markersize=4.5, clip_on=False)
    left.set_yticks(places, [case.entries[name].title for name in found])
    left.set_ylim(len(found) - 0.5, -0.5)
    left.set_xlabel(f"of {plural(request_count(case.instance), 'request')} (%)")
    right.set_xlabel(f"of {plural(case.instance.jobs, 'job')} (%)")
    handles = [
        Patch(color=_REQUESTS, alpha=0.85, label="requests within their objective"),
        Patch(color=_JOBS, alpha=0.85, label="jobs complete by their deadline"),
        Line2D([], [], linestyle="none", marker="D", color=INK, markerfacecolor=PAPER,
               markersize=4.5, label="both together"),
    ]  # fmt: skip
    for axes in (left, right):
        axes.spines["left"].set_color(MUTED)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


SUCCESS = Picture(
    "success",
    _title,
    _draw,
    "The first run. The share of both together, which the paper reports, is that of requests but "
    "for a few jobs. Refused requests and jobs that are never complete are not in time.",
)
