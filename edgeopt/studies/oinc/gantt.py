"""Which site serves which job when, and which deadlines are missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.log import kind_name
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, colours, lead
from edgeopt.studies.wording import number, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory, Served
    from edgeopt.studies.results import Case

SHOWN: Final = 60
"""Most jobs in a picture."""

_LATE = "#d55e00"
_ONE: Final = "retraining"
"""Name of jobs without kinds."""

_TOUCHING: Final = 1e-9
_OTHERS: Final = 8
"""Kinds of jobs that have a colour of their own."""


class Stretch(NamedTuple):
    """An uninterrupted service of a job on one share of a site's CPU."""

    job: int
    share: float
    begin: float
    end: float


def stretches(served: Served) -> list[Stretch]:
    """Join the runs of each job that follow each other without a break on the same share."""
    found: list[Stretch] = []
    for r in np.lexsort((served.begin, served.job)).tolist():
        run = Stretch(
            int(served.job[r]), float(served.share[r]), float(served.begin[r]), float(served.end[r])
        )
        last = found[-1] if found else None
        if (
            last is not None
            and last.job == run.job
            and run.begin - last.end <= _TOUCHING
            and abs(run.share - last.share) <= _TOUCHING
        ):
            found[-1] = last._replace(end=run.end)
        else:
            found.append(run)
    return found


def lanes(trajectory: OincTrajectory) -> NDArray[np.int64]:
    """Return the jobs in the order in which they are drawn: by site, then by completion."""
    site, completion = trajectory.job_site[0], trajectory.completion[0]
    order = np.lexsort((np.arange(site.size), completion, np.where(site < 0, np.inf, site)))
    if order.size <= SHOWN:
        return np.asarray(order)
    # The latest, against their deadlines.
    late = trajectory.counted_completion[0] - trajectory.instance.deadline
    kept = np.zeros(order.size, dtype=bool)
    kept[np.argsort(-late, kind="stable")[:SHOWN]] = True
    return np.asarray(order[kept[order]])


def _title(case: Case) -> str:
    name = lead(case)
    trajectory = case.replay(name)
    title = case.entries[name].title
    jobs = case.instance.jobs
    if not jobs:
        return "There are no jobs"
    late = int((~trajectory.on_time[0]).sum())
    open_ones = int((~trajectory.complete[0]).sum())
    count = plural(jobs, "job")
    if open_ones:
        return f"{title} leaves {plural(open_ones, 'job')} of {jobs} incomplete"
    last = number(float(trajectory.completion[0].max()), 4)
    said = f"{title} completes {count} within {last} s"
    if not late:
        return f"{said}, all of them by their deadlines"
    worst = int(np.argmax(trajectory.completion[0] - case.instance.deadline))
    by = number(float(trajectory.completion[0, worst] - case.instance.deadline[worst]), 3)
    return (
        f"{said}, {late} of them after {'its' if late == 1 else 'their'} deadline; job {worst} "
        f"is latest, by {by} s"
    )


def _draw(case: Case) -> Figure:
    instance: OincInstance = case.instance
    trajectory: OincTrajectory = case.replay(lead(case))
    order = lanes(trajectory)
    row = np.full(instance.jobs, -1)
    row[order] = np.arange(order.size)
    shade = _shades(instance)
    figure = blank(height=1.45 + 0.17 * max(6, order.size))
    axes = figure.subplots()
    span = max(float(instance.slots), float(trajectory.end[0]))
    _bands(axes, instance, trajectory, order, span)
    for job in order.tolist():
        _waiting(axes, instance, trajectory, job, int(row[job]))
    assert trajectory.served is not None
    for run in stretches(trajectory.served):
        if row[run.job] >= 0:
            tall = 0.2 + 0.66 * run.share
            axes.broken_barh(
                [(run.begin, run.end - run.begin)], (row[run.job] + 0.5 - tall / 2, tall),
                facecolor=shade[kind_name(instance, run.job) or _ONE], edgecolor=INK,
                linewidth=0.4, zorder=3,
            )  # fmt: skip
    axes.set_xlim(0, span)
    axes.set_ylim(max(1, order.size), 0)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"time (s){canvas.of_all(order.size, instance.jobs, 'job')}")
    kinds = [
        canvas.patch(kind, facecolor=colour, edgecolor=INK, linewidth=0.4)
        for kind, colour in shade.items()
    ]
    lines = [
        canvas.line("in the system", MUTED, linewidth=1.2),
        canvas.mark("deadline", "|", markersize=8, markeredgewidth=1.3),
    ]
    if not trajectory.on_time[0].all():
        lines.append(canvas.line("past the deadline", _LATE, linewidth=2.2))
    canvas.legend(figure, [*kinds, *lines], columns=4)
    return figure


def _shades(instance: OincInstance) -> dict[str, str]:
    """Give every kind of job that occurs a colour; those beyond eight share one."""
    names = dict.fromkeys(
        kind_name(instance, job) or _ONE
        for job in (
            range(instance.jobs)
            if instance.job_kind is None
            else np.argsort(instance.job_kind, kind="stable").tolist()
        )
    )
    # Red is for what is late.
    palette = [shade for shade in colours(map(str, range(_OTHERS + 1))).values() if shade != _LATE]
    return {name: palette[min(n, len(palette) - 1)] for n, name in enumerate(names)}


def _bands(
    axes: Axes,
    instance: OincInstance,
    trajectory: OincTrajectory,
    order: NDArray[np.int64],
    span: float,
) -> None:
    """Shade every other site, and label its jobs with its name."""
    if not order.size:
        axes.set_yticks([])
        return
    site = trajectory.job_site[0, order]
    starts = np.flatnonzero(np.diff(site, prepend=-2))
    ends = np.append(starts[1:], site.size)
    middles = []
    for place, (first, stop) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if place % 2 == 0:
            axes.broken_barh(
                [(0, span)], (first, stop - first), facecolor=MUTED, alpha=0.13, linewidth=0,
                zorder=0,
            )  # fmt: skip
        middles.append((first + stop) / 2)
    named = ["no site" if site[s] < 0 else instance.name_of("site", int(site[s])) for s in starts]
    axes.set_yticks(middles, named, fontsize=8)


def _waiting(
    axes: Axes, instance: OincInstance, trajectory: OincTrajectory, job: int, row: int
) -> None:
    """Draw the time that a job is in the system, its deadline, and how far it is past it."""
    middle = row + 0.5
    arrival, deadline = float(instance.arrival[job]), float(instance.deadline[job])
    end = float(trajectory.counted_completion[0, job])
    axes.plot([arrival, end], [middle, middle], color=MUTED, linewidth=1.2, zorder=1)
    if not trajectory.on_time[0, job]:
        axes.plot([deadline, end], [middle, middle], color=_LATE, linewidth=2.2, zorder=2)
    axes.plot([deadline], [middle], "|", color=INK, markersize=8, markeredgewidth=1.3, zorder=4)


GANTT = Picture(
    "gantt",
    _title,
    _draw,
    "The first run, one line per job from arrival to completion, grouped by site. Bars: when the "
    "job is served, as tall as its share of the site's CPU. Deadlines after the last second are "
    "not drawn.",
)
