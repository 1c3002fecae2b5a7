"""Pictures of the progress of training, and of the delays of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.log import done, simulated
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, lead, policy_looks
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.studies.results import Case

_SHOWN = 60
"""Most tasks in a picture."""

_DONE, _MISSING = "#0072b2", "#d55e00"


def shown_tasks(instance: EdrInstance, missing: NDArray[np.float64]) -> NDArray[np.int64]:
    """Choose the tasks to draw by deadline; where there are too many, those that miss most."""
    by_need = np.lexsort((np.arange(instance.tasks), -missing / instance.rounds))[:_SHOWN]
    order = np.lexsort((by_need, instance.arrival[by_need], instance.deadline[by_need]))
    return np.asarray(by_need[order])


def _progress_title(case: Case) -> str:
    instance: EdrInstance = case.instance
    name = lead(case)
    title = case.entries[name].title
    if not instance.tasks:
        return "There is nothing to train"
    missing = simulated(case)[name].missing[0].astype(float)
    late = int((missing > 0).sum())
    if not late:
        return f"With {title}, all {instance.tasks} tasks finish by their deadlines"
    worst = int(np.argmax(missing / instance.rounds))
    lacks = number(float(missing[worst]), 3)
    return (
        f"With {title}, {plural(late, 'task')} of {instance.tasks} miss"
        f"{'es' if late == 1 else ''} the deadline; task {worst} lacks "
        f"{lacks} of its {plural(int(instance.rounds[worst]), 'round')}, "
        f"and {percent(float(missing.sum() / instance.rounds.sum()))} of all training is missing"
    )


def _progress_draw(case: Case) -> Figure:
    instance: EdrInstance = case.instance
    trajectory = simulated(case)[lead(case)]
    tasks = shown_tasks(instance, trajectory.missing[0])
    figure = blank(height=1.3 + 0.145 * max(5, tasks.size))
    axes = figure.subplots()
    share = done(instance, trajectory)
    for row, task in enumerate(tasks.tolist()):
        _task(axes, instance, row, task, share[:, task])
    axes.set_xlim(0, instance.frames)
    canvas.in_strips(
        axes, [f"task {task}" for task in tasks], -(-max(1, tasks.size) // 20), fontsize=8
    )
    axes.set_xlabel(f"frame{canvas.of_all(tasks.size, instance.tasks, 'task')}")
    handles = [
        canvas.patch("window", color=MUTED, alpha=0.25),
        canvas.patch("share of rounds done", color=_DONE, alpha=0.8),
        canvas.patch("missing at the deadline", color=_MISSING),
    ]
    canvas.legend(figure, handles, columns=3)
    return figure


def _task(
    axes: Axes, instance: EdrInstance, row: int, task: int, share: NDArray[np.float64]
) -> None:
    """Draw a window as a strip that fills from below as rounds are done."""
    first, stop = int(instance.arrival[task]), int(instance.deadline[task]) + 1
    floor, tall = row + 0.94, 0.88
    axes.broken_barh(
        [(first, stop - first)], (floor - tall, tall), facecolor=MUTED, alpha=0.25, linewidth=0
    )
    level = np.clip(share[first:stop], 0, 1)
    axes.stairs(
        floor - tall * level, np.arange(first, stop + 1), baseline=floor, fill=True,
        color=_DONE, alpha=0.8, linewidth=0,
    )  # fmt: skip
    if level[-1] < 1 - 1e-9:
        gap = tall * (1 - float(level[-1]))
        width = max(0.4, instance.frames / 120)
        axes.broken_barh([(stop - width, width)], (floor - tall, gap), facecolor=_MISSING, zorder=3)
        axes.plot([stop, stop], [floor - tall, floor], color=_MISSING, linewidth=2, zorder=4)
        axes.annotate(
            f"{1 - float(level[-1]):.1%}", xy=(stop, row + 0.5), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=8, color=INK, zorder=5,
        )  # fmt: skip
        return
    axes.plot([stop, stop], [floor - tall, floor], color=INK, linewidth=0.8, zorder=4)


PROGRESS = Picture(
    "progress",
    _progress_title,
    _progress_draw,
    "The first run. Every strip is the window of a task, from arrival to deadline; it fills from "
    "below with the share of the rounds that are done. Orange at the end: rounds missing at the "
    "deadline. Tasks are sorted by deadline.",
)


def shares(case: Case) -> dict[str, NDArray[np.float64]]:
    """Return the share of served requests in each bin of delay over objective, by policy."""
    found = {}
    for name, trajectory in simulated(case).items():
        count = trajectory.quality.sum(axis=0)
        found[name] = count / count.sum() if count.sum() > 0 else count
    return found


def _median(share: NDArray[np.float64]) -> float:
    """Return where half of the requests lie below, within a bin as if they were spread evenly."""
    above = np.concatenate(([0.0], np.cumsum(share)))
    return float(np.interp(0.5, above, np.linspace(0, 1, share.size + 1)))


def _quality_title(case: Case) -> str:
    every = {name: _median(share) for name, share in shares(case).items() if share.any()}
    if not every:
        return "No request is served"
    # A policy with hindsight is named only if there is no other.
    found = {name: every[name] for name in case.causal if name in every} or every
    fast, slow = min(found, key=lambda n: found[n]), max(found, key=lambda n: found[n])
    first = (
        f"Every served request meets its objective; half of them use at most "
        f"{percent(found[fast], 0)} of it with {case.entries[fast].title}"
    )
    if slow == fast:
        return first
    return f"{first}, {percent(found[slow], 0)} with {case.entries[slow].title}"


def _quality_draw(case: Case) -> Figure:
    found = shares(case)
    looks = policy_looks(case)
    figure = blank(height=0.85 + 0.33 * len(found))
    rows = figure.subplots(len(found), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    highest = max(float(share.max(initial=0)) for share in found.values()) or 1.0
    for axes, (name, share) in zip(rows, found.items(), strict=True):
        edges = np.linspace(0, 100, share.size + 1)
        shade = looks[name].colour
        axes.stairs(100 * share, edges, fill=True, color=shade, alpha=0.8, linewidth=0)
        if share.any():
            middle = 100 * _median(share)
            axes.plot([middle, middle], [0, 100 * highest], color=INK, linewidth=1.2)
        axes.set_ylabel(case.entries[name].title, rotation=0, ha="right", va="center", labelpad=8)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    rows[-1].set_xlim(0, 100)
    rows[-1].set_ylim(0, 110 * highest)
    rows[-1].set_xlabel(
        f"delay of a request as share of its objective (%); tallest bar {percent(highest, 0)}"
    )
    return figure


QUALITY = Picture(
    "quality",
    _quality_title,
    _quality_draw,
    "Served requests of all runs by the share of their latency objective that their delay takes, "
    "one row per policy on the same scale; the vertical mark is the median. No bar is beyond 100 % "
    "because routes that are too slow are never used: requests that cannot be served in time stay "
    "unserved, and the table counts them.",
)
