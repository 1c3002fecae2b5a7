"""Pictures of load: tasks in the system, and what clusters hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, lead
from edgeopt.studies.tapfinger.log import (
    average,
    doublings,
    fewest_in_system,
    lines,
    simulated,
)
from edgeopt.studies.tapfinger.policies import CHANGING, FIXED, bound_label
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.results import Case

    Floats = NDArray[np.float64]

_LOWEST: Final = 0.6
"""Where a logarithmic axis begins; smaller values are drawn there."""


def _curves(case: Case) -> dict[str, Floats]:
    """Return the mean number of tasks in the system, by policy, all of one length."""
    found = {name: run.accumulation.mean(axis=0) for name, run in simulated(case).items()}
    longest = max(1, *(curve.size for curve in found.values()))
    return {name: np.pad(curve, (0, longest - curve.size)) for name, curve in found.items()}


def _accumulation_title(case: Case) -> str:
    if not case.instance.tasks:
        return "There are no tasks"
    found = _curves(case)
    name = lead(case)
    peak = float(found[name].max())
    worst = max(found, key=lambda n: float(found[n].max()))
    least = int(fewest_in_system(case, found[name].size).max())
    said = f"{case.entries[name].title} has {_count(peak)} tasks in the system at most"
    if worst != name:
        said += f", {case.entries[worst].title} {_count(float(found[worst].max()))}"
    return f"{said}; no policy can have fewer than {least}"


def _count(mean: float) -> str:
    return f"{mean:g}" if mean == round(mean) else number(mean, 3)


def _accumulation_draw(case: Case) -> Figure:
    found, shades = _curves(case), lines(case)
    slots = next(iter(found.values())).size
    figure = blank(height=5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.25, 1))
    edges = np.arange(slots + 1)
    floor = np.maximum(_LOWEST, fewest_in_system(case, slots))
    above.stairs(floor, edges, baseline=_LOWEST, fill=True, color=MUTED, alpha=0.3, linewidth=0)
    above.stairs(floor, edges, color=INK, linewidth=0.9, baseline=None)
    for name, curve in found.items():
        look = {"color": shades[name].colour, "linestyle": shades[name].style, "linewidth": 1.3}
        above.stairs(np.maximum(_LOWEST, curve), edges, baseline=None, **look)
        mean = np.append(0.0, curve.cumsum()) / max(1, case.instance.tasks)
        below.plot(edges, np.maximum(_LOWEST, mean), **look)
    ends = [float(curve.sum()) / max(1, case.instance.tasks) for curve in found.values()]
    doublings(above.yaxis, _LOWEST, 1.15 * max(2.0, *(float(one.max()) for one in found.values())))
    doublings(below.yaxis, _LOWEST, 1.15 * max(2.0, *ends))
    above.set_ylabel("tasks in the system")
    below.set_ylabel("flow time so far, mean\nover all tasks (slots)")
    below.set_xlabel("slot")
    below.set_xlim(0, slots)
    handles = [
        canvas.line(case.entries[name].title, shades[name].colour, linestyle=shades[name].style)
        for name in found
    ]
    least = canvas.patch("under every policy", facecolor=MUTED, alpha=0.3)
    canvas.legend(figure, [*handles, least, *_bounds(below, case)])
    return figure


def _bounds(axes: Axes, case: Case) -> list[Line2D]:
    """Draw the bounds on the ends of the curves; none where weights differ."""
    handles = []
    for name, style in ((CHANGING, "-"), (FIXED, (0, (3, 2)))):
        bound = case.benchmarks[name].bound
        if bound > 0 and np.unique(case.instance.weight).size == 1:
            mean = average(case.instance, bound)
            look: dict[str, Any] = {"color": INK, "linewidth": 1.1, "linestyle": style}
            handles.append(axes.axhline(mean, label=bound_label(case, name), **look))
    return handles


ACCUMULATION = Picture(
    "accumulation",
    _accumulation_title,
    _accumulation_draw,
    "Mean over the runs. Above: tasks in the system, which have arrived and are not complete; the "
    "bottom is zero. Every policy has at least the grey ones: no task is complete before it would "
    "be alone, and all clusters together complete no more tasks by any slot than one machine that "
    "serves the least remaining work first. Below: flow time so far, which ends at the mean flow "
    "time; the lines are bounds on that end, BOUND(any) for every policy, BOUND(fixed) for those "
    "that never change the bundle of a running task.",
)


SHOWN: Final = 8
"""Most clusters in a picture."""

_COLOURS: Final = ("#e69f00", "#0072b2")


def _load_title(case: Case) -> str:
    name = lead(case)
    rows = {str(row["policy"]): row for row in case.table.to_dict("records")}
    mine = rows[name]
    said = (
        f"{case.entries[name].title} holds {percent(mine['gpu'], 0)} of all GPUs and "
        f"{percent(mine['cpu'], 0)} of all CPU cores on average"
    )
    fuller = [
        n for n, row in rows.items() if row["gpu"] > mine["gpu"] and row["mean"] > mine["mean"]
    ]
    if not fuller:
        return said
    most = max(fuller, key=lambda n: float(rows[n]["gpu"]))
    return (
        f"{said}; {case.entries[most].title} holds {percent(rows[most]['gpu'], 0)} of the GPUs and "
        "is slower"
    )


def _load_draw(case: Case) -> Figure:
    instance: TapFingerInstance = case.instance
    trajectory = simulated(case)[lead(case)]
    slots = max(1, int(trajectory.end[0]))
    used = trajectory.used[0, :slots]
    shown = min(SHOWN, instance.clusters)
    figure = blank(height=1.2 + 0.62 * shown)
    axes = figure.subplots()
    for cluster in range(shown):
        for resource in range(2):
            units = int(instance.capacity[cluster, resource])
            share = used[:, cluster, resource] / max(1, units)
            floor, tall = cluster + 0.47 * (resource + 1), 0.42
            axes.broken_barh(
                [(0, slots)], (floor - tall, tall), facecolor=MUTED, alpha=0.16, linewidth=0
            )
            axes.stairs(
                floor - tall * share, np.arange(share.size + 1), baseline=floor, fill=True,
                color=_COLOURS[resource], alpha=0.85, linewidth=0,
            )  # fmt: skip
            mean = float(share.mean()) if units and share.size else float("nan")
            canvas.in_margin(axes, floor - tall / 2, f"{percent(mean, 0)} of {units}")
    axes.set_xlim(0, slots)
    canvas.in_strips(axes, [instance.name_of("cluster", n) for n in range(shown)])
    axes.set_xlabel(f"slot{canvas.of_all(shown, instance.clusters, 'cluster')}")
    handles = [
        canvas.patch(f"{name} held", color=colour, alpha=0.85)
        for colour, name in zip(_COLOURS, ("CPU cores", "GPUs"), strict=True)
    ]
    canvas.legend(figure, handles, columns=2)
    return figure


LOAD = Picture(
    "load",
    _load_title,
    _load_draw,
    "The first run. Two strips for each cluster, filled from below by the share of its CPU cores "
    "and of its GPUs that tasks hold in a slot, before completed tasks free them. Right margin: "
    "the mean over the run, and the number of cores or GPUs.",
)
