"""How the flow times of tasks are distributed: the layout of the paper's figure 5(a)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.tapfinger.floors import shortest_flow_times
from edgeopt.studies.tapfinger.ledger import average, doublings, lines, plays
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = ["FLOW_TIMES", "distribution"]


def distribution(flow: Floats) -> tuple[Floats, Floats]:
    """Return the flow times that occur, ascending, and the share of tasks up to each."""
    values, count = np.unique(flow[np.isfinite(flow)], return_counts=True)
    return values.astype(float), np.asarray(np.cumsum(count) / max(1, flow.size))


def _title(case: Case) -> str:
    if not case.instance.tasks:
        return "There are no tasks"
    name = lead(case)
    flow = plays(case)[name].flow_time
    half = float(np.quantile(flow, 0.5, method="inverted_cdf"))
    late = float(np.quantile(flow, 0.95, method="inverted_cdf"))
    least = float(np.quantile(shortest_flow_times(case), 0.5, method="inverted_cdf"))
    if not np.isfinite(late):
        done = percent(float(np.isfinite(flow).mean()))
        return f"{case.entries[name].title} completes {done} of the tasks"
    return (
        f"{case.entries[name].title} completes half of the tasks within {half:g} slots of "
        f"their arrival and 95 % within {late:g}; alone, half of them could take {least:g}"
    )


def _draw(case: Case) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure = blank(height=4.0)
    axes = figure.subplots()
    if not case.instance.tasks:
        axes.set_xlabel("flow time (slots)")
        return figure
    runs, shades = plays(case), lines(case)
    every = np.concatenate([run.flow_time.ravel() for run in runs.values()])
    longest = float(every[np.isfinite(every)].max(initial=2.0))
    least = shortest_flow_times(case)
    _impossible(axes, least)
    means = {name: float(run.flow_time.mean()) for name, run in runs.items()}
    order = sorted(runs, key=lambda name: means[name])
    handles: list[Line2D | Patch] = []
    for name in order:
        at, share = distribution(runs[name].flow_time)
        axes.step(
            [0.5, *at, 2 * longest], [0, *100 * share, 100 * share[-1] if share.size else 0],
            where="post", color=shades[name].colour, linestyle=shades[name].style, linewidth=1.4,
        )  # fmt: skip
        handles.append(
            Line2D([], [], color=shades[name].colour, linestyle=shades[name].style,
                   label=f"{case.entries[name].title}, {number(means[name], 3)}")
        )  # fmt: skip
    handles.append(Patch(facecolor=MUTED, alpha=0.3, label="out of reach for all"))
    handles += [
        Line2D([], [], linestyle="none", label=f"{case.system.benchmarks[name].label}, {least}")
        for name, least in _least_means(case).items()
    ]
    doublings(axes.xaxis, max(0.75, 0.8 * float(least.min())), 1.15 * longest)
    axes.set_ylim(0, 101)
    axes.set_xlabel("flow time (slots)")
    axes.set_ylabel("tasks complete within it (%)")
    figure.legend(handles=handles, loc="outside right center", title="policy, mean flow time")
    return figure


def _least_means(case: Case) -> dict[str, str]:
    """Write what is proven of the mean, by bound; nothing where weights differ."""
    assert case.instance.weight is not None
    if np.unique(case.instance.weight).size > 1:
        return {}
    return {
        name: number(average(case.instance, benchmark.bound), 3)
        for name, benchmark in case.benchmarks.items()
        if benchmark.bound > 0
    }


def _impossible(axes: Axes, least: Floats) -> None:
    """Shade what lies above the distribution of tasks that run alone, each as fast as it can."""
    at, share = distribution(least)
    axes.fill_between(
        [0.5, *at], [0, *100 * share], 101, step="post", color=MUTED, alpha=0.3, linewidth=0
    )
    axes.step([0.5, *at], [0, *100 * share], where="post", color=INK, linewidth=0.9)


FLOW_TIMES = Picture(
    "flow_times",
    _title,
    _draw,
    "Share of the tasks of all runs that are complete so many slots after their arrival; policies "
    "in the order of their mean. The grey area is out of reach for every policy, preemptive or "
    "not: it lies above the distribution in which each task has its cluster to itself and runs as "
    "fast as its speeds, and any noise, allow. Behind each policy stands its mean, at the end of "
    "the list what is proven of the mean of every policy, and of every policy that never changes "
    "the bundle of a running task.",
)
