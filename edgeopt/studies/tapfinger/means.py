"""Pictures of flow times: means and distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank, lead
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.tapfinger.log import (
    average,
    doublings,
    lines,
    own_bound,
    shortest_flow_times,
    simulated,
)
from edgeopt.studies.tapfinger.policies import CHANGING, FIXED, bound_label
from edgeopt.studies.wording import NO_BOUND, listed, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.results import Case

    Floats = NDArray[np.float64]

_LINES: tuple[tuple[str, Any], ...] = ((CHANGING, "-"), (FIXED, (0, (3, 2))))
"""How the bounds are drawn."""


def gaps(case: Case) -> dict[str, float]:
    """Return how far each policy lies above the bound valid for it, NaN without one."""
    return {
        name: float(np.mean(case.values(name))) / own_bound(case, name) - 1.0
        for name in case.trajectories
    }


def _means(case: Case) -> dict[str, float]:
    return {
        name: average(case.instance, float(np.mean(case.values(name))))
        for name in case.trajectories
    }


def _means_title(case: Case) -> str:
    if not case.instance.tasks:
        return "There are no tasks"
    found = {name: mean for name, mean in _means(case).items() if case.entries[name].causal}
    if not found:
        return ONLY_HINDSIGHT
    best = min(found, key=lambda name: found[name])
    if not np.isfinite(found[best]):
        return "No policy completes all tasks"
    tied = [name for name in found if np.isclose(found[name], found[best])]
    first = [case.entries[name].title for name in tied]
    has = "has" if len(first) == 1 else "have"
    said = f"{listed(first)} {has} the least mean flow time, {number(found[best])} slots"
    above = gaps(case)
    gap = float(np.max([above[name] for name in tied]))
    if np.isnan(gap):
        return f"{said}; {'it has no' if len(tied) == 1 else 'not all have a'} valid bound"
    return f"{said}, at most {percent(gap, 0)} above the least that is possible for its kind"


def _means_draw(case: Case) -> Figure:
    found, gap, shades = _means(case), gaps(case), lines(case)
    figure = blank(height=1.35 + 0.27 * len(found))
    axes = figure.subplots()
    spread = {name: _spread(case, name) for name in found}
    lowest, highest = _range(case, found, spread)
    for place, (name, mean) in enumerate(found.items()):
        end = min(mean, highest)
        least = average(case.instance, own_bound(case, name))
        begin = least if least > 0 else lowest
        colour = shades[name].colour
        axes.barh(place, end - begin, 0.62, left=begin, color=colour, alpha=0.8, linewidth=0)
        if least > 0:
            axes.plot([least] * 2, [place - 0.36, place + 0.36], color=INK, linewidth=1.8, zorder=3)
        for at, shape in zip(spread[name], ("o", "D"), strict=False):
            axes.plot(
                [min(at, highest)], [place], shape, color=INK, markersize=4, markerfacecolor=PAPER,
                clip_on=False, zorder=4,
            )  # fmt: skip
        words = NO_BOUND if np.isnan(gap[name]) else f"+{percent(gap[name], 0)}"
        canvas.in_margin(axes, place, f"{number(mean, 3)}  ({words})", away=8)
        canvas.in_margin(axes, place, case.told[name], away=78)
    if any(case.told.values()):
        canvas.in_margin(axes, -0.8, "told", away=78)
    for name, style in _LINES:
        bound = case.benchmarks[name].bound
        if bound > 0 and case.instance.tasks:
            axes.axvline(
                average(case.instance, bound), color=MUTED, linewidth=1.1, linestyle=style, zorder=1
            )
    doublings(axes.xaxis, lowest, highest)
    canvas.in_rows(axes, [case.entries[name].title for name in found])
    weighted = "" if np.unique(case.instance.weight).size < 2 else "weighted "
    axes.set_xlabel(f"{weighted}mean flow time (slots)")
    hollow: dict[str, Any] = {"markersize": 4, "markerfacecolor": PAPER}
    handles = [
        canvas.mark("median", "o", **hollow),
        canvas.mark("95th percentile", "D", **hollow),
        canvas.line("bound that is valid for the policy", linewidth=1.8),
    ]
    handles += [
        canvas.line(bound_label(case, name), MUTED, linewidth=1.1, linestyle=style)
        for name, style in _LINES
    ]
    canvas.legend(figure, handles, columns=3)
    return figure


def _spread(case: Case, policy: str) -> tuple[float, ...]:
    """Return the median and the 95th percentile of the flow times of all runs."""
    flow = simulated(case)[policy].flow_time
    if not flow.size:
        return ()
    return tuple(float(np.quantile(flow, q, method="inverted_cdf")) for q in (0.5, 0.95))


def _range(
    case: Case, means: Mapping[str, float], spread: Mapping[str, tuple[float, ...]]
) -> tuple[float, float]:
    """Return the ends of the axis."""
    drawn = [*means.values(), *(at for both in spread.values() for at in both)]
    drawn += [average(case.instance, case.benchmarks[name].bound) for name, _ in _LINES]
    known = [at for at in drawn if 0 < at < np.inf]
    return 0.8 * min(known, default=1.0), 1.1 * max(known, default=2.0)


MEANS = Picture(
    "means",
    _means_title,
    _means_draw,
    "A bar reaches from the bound that is valid for the policy to its mean over tasks and runs. "
    "Right margin: the mean, how far it is above that bound, and what the policy is told. "
    "BOUND(any) bounds every policy, BOUND(fixed) those that never change the bundle of a running "
    "task: policies without preemption are compared with the larger of the two, all others with "
    "BOUND(any). The word scenario says that each run is compared with a bound for its own noise.",
)


def distribution(flow: Floats) -> tuple[Floats, Floats]:
    """Return the flow times that occur, ascending, and the share of tasks up to each."""
    values, count = np.unique(flow[np.isfinite(flow)], return_counts=True)
    return values.astype(float), np.asarray(np.cumsum(count) / max(1, flow.size))


def _flow_times_title(case: Case) -> str:
    if not case.instance.tasks:
        return "There are no tasks"
    name = lead(case)
    flow = simulated(case)[name].flow_time
    half = float(np.quantile(flow, 0.5, method="inverted_cdf"))
    late = float(np.quantile(flow, 0.95, method="inverted_cdf"))
    least = float(np.quantile(shortest_flow_times(case), 0.5, method="inverted_cdf"))
    if not np.isfinite(late):
        done = percent(float(np.isfinite(flow).mean()))
        return f"{case.entries[name].title} completes {done} of the tasks"
    return (
        f"{case.entries[name].title} completes half of the tasks within {half:g} slots of "
        f"their arrival and 95 % within {late:g}; each task alone, half would take {least:g}"
    )


def _flow_times_draw(case: Case) -> Figure:
    runs, shades = simulated(case), lines(case)
    figure = blank(height=max(4.0, 1.4 + 0.22 * len(runs)))  # so high is the legend
    axes = figure.subplots()
    if not case.instance.tasks:
        axes.set_xlabel("flow time (slots)")
        return figure
    every = np.concatenate([run.flow_time.ravel() for run in runs.values()])
    longest = float(every[np.isfinite(every)].max(initial=2.0))
    least = shortest_flow_times(case)
    _impossible(axes, least)
    means = {name: float(run.flow_time.mean()) for name, run in runs.items()}
    order = sorted(runs, key=lambda name: means[name])
    handles = []
    for name in order:
        at, share = distribution(runs[name].flow_time)
        axes.step(
            [0.5, *at, 2 * longest], [0, *100 * share, 100 * share[-1] if share.size else 0],
            where="post", color=shades[name].colour, linestyle=shades[name].style, linewidth=1.4,
        )  # fmt: skip
        label = f"{case.entries[name].title}, {number(means[name], 3)}"
        handles.append(canvas.line(label, shades[name].colour, linestyle=shades[name].style))
    bounds = [
        canvas.line(f"{bound_label(case, name)}, {mean}", linestyle="none")
        for name, mean in _least_means(case).items()
    ]
    impossible = canvas.patch("impossible for all", facecolor=MUTED, alpha=0.3)
    doublings(axes.xaxis, max(0.75, 0.8 * float(least.min())), 1.15 * longest)
    axes.set_ylim(0, 101)
    axes.set_xlabel("flow time (slots)")
    axes.set_ylabel("tasks complete within it (%)")
    canvas.legend(figure, [*handles, impossible, *bounds], title="policy, mean flow time")
    return figure


def _least_means(case: Case) -> dict[str, str]:
    """Write the bounds on the mean, by name; none where weights differ."""
    if np.unique(case.instance.weight).size > 1:
        return {}
    return {
        name: number(average(case.instance, benchmark.bound), 3)
        for name, benchmark in case.benchmarks.items()
        if benchmark.bound > 0
    }


def _impossible(axes: Axes, least: Floats) -> None:
    """Shade everything above the distribution of tasks that run alone at their best speed."""
    at, share = distribution(least)
    axes.fill_between(
        [0.5, *at], [0, *100 * share], 101, step="post", color=MUTED, alpha=0.3, linewidth=0
    )
    axes.step([0.5, *at], [0, *100 * share], where="post", color=INK, linewidth=0.9)


FLOW_TIMES = Picture(
    "flow_times",
    _flow_times_title,
    _flow_times_draw,
    "Share of the tasks of all runs that are complete within a flow time. The legend lists the "
    "policies by mean flow time, then the bounds on it for all policies and for those that never "
    "change the bundle of a running task. The grey area is impossible for every policy: it is "
    "above the distribution in which each task has its cluster to itself and runs as fast as its "
    "speeds and the noise allow.",
)
