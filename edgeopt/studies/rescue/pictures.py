"""Pictures of RESCUE: the instance, what idle servers are worth, and how much is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from edgeopt.instances.edf import ROUNDING
from edgeopt.studies.entries import Metric, Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, colours, of_all
from edgeopt.studies.pictures.values import curves
from edgeopt.studies.rescue.policies import PLAIN
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue import RescueTrajectory
    from edgeopt.studies.results import Case

SHOWN = 8
"""Most servers in a picture."""


def _safety_title(case: Case) -> str:
    kept, best = case.best(kept=True), case.best()
    if best is None:
        return ONLY_HINDSIGHT
    name = case.constraint.name
    if not case.constraints:
        return f"There is no {name}: safety costs nothing"
    if kept is None:
        return f"Every policy lets some {name}s fail"
    if not best["value"] > kept["value"]:
        return f"No policy that lets {name}s fail earns more than {case.title(kept)}"
    return (
        f"Safety costs {percent(1 - kept['value'] / best['value'], 0)} of the profit of "
        f"{case.standings.of(str(best['policy'])).named}"
    )


def _failing(case: Case, row: Any) -> float:
    """Return the share of reserved tasks that fail, in per cent; 0 where there are none."""
    return 100.0 * float(row["violated_share"]) if case.constraints else 0.0


def _safety_draw(case: Case) -> Figure:
    figure = blank(height=3.4)
    axes = figure.subplots()
    groups: dict[str, list[Any]] = {}
    for each in case.table[case.table["kind"] == "causal"].to_dict("records"):
        groups.setdefault(case.entries[each["policy"]].group, []).append(each)
    for own in groups.values():
        points = sorted((_failing(case, one), one["value"]) for one in own)
        axes.plot(*zip(*points, strict=True), "-o", color=MUTED, alpha=0.6, markersize=4)
    for row, shade in ((case.best(), _RESERVED), (case.best(kept=True), _ARRIVAL)):
        if row is not None:
            axes.plot(
                _failing(case, row),
                row["value"],
                "o",
                color=shade,
                markersize=7,
                label=case.title(row),
            )
    axes.plot([], [], "-o", color=MUTED, alpha=0.6, markersize=4, label="other methods")
    if case.benchmark.bound > 0:
        line: dict[str, Any] = {"color": INK, "linewidth": 1.2, "linestyle": (0, (4, 2))}
        axes.axhline(case.benchmark.bound, label=f"{case.label}, for safe policies", **line)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=-2)
    axes.set_xlabel(f"{case.constraint.name}s that fail (%)")
    axes.set_ylabel("mean profit per run")
    handles, labels = axes.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named, loc="outside lower center", ncols=2)
    return figure


SAFETY = Picture(
    "safety",
    _safety_title,
    _safety_draw,
    "Mean profit of a run over the share of reserved tasks that fail in it; lines join a method "
    "with the guard, on the left edge, and without it.",
)

_ARRIVAL, _CAPACITY, _RESERVED = "#0072b2", "#009e73", "#e69f00"


def _overview_title(case: Case) -> str:
    instance: RescueInstance = case.instance
    rate = instance.arrival.sum(axis=1)
    peak = int(rate.argmax())
    share = float(instance.reserved.demand.sum() / instance.capacity.sum())
    tasks = len(instance.reserved)
    reserved = (
        f"{plural(tasks, 'reserved task')} {'needs' if tasks == 1 else 'need'} "
        f"{percent(share)} of all capacity"
        if tasks
        else "No capacity is reserved"
    )
    return f"{reserved}; arrivals peak in slot {peak} at {number(rate[peak], 2)} per slot"


def _overview_draw(case: Case) -> Figure:
    instance: RescueInstance = case.instance
    shown = min(instance.servers, SHOWN)
    figure = blank(height=1.9 + 0.55 * shown)
    rows = figure.subplots(
        shown + 1, 1, sharex=True, squeeze=False, height_ratios=[1.6, *[1.0] * shown]
    )[:, 0]
    _arrivals(rows[0], instance)
    for server in range(shown):
        _server(rows[server + 1], instance, server)
    top = 1.1 * float(instance.capacity[:shown].max())
    for axes in rows[1:]:
        axes.set_ylim(0, top)
    rows[1 + (shown - 1) // 2].set_ylabel("TMAC per slot", y=0 if shown % 2 == 0 else 0.5)
    rows[-1].set_xlabel(f"slot{of_all(shown, instance.servers, 'server')}")
    rows[-1].set_xlim(0, instance.horizon)
    handles, labels = rows[0].get_legend_handles_labels()
    more = [axes.get_legend_handles_labels() for axes in rows[1:]]
    named = dict(zip(labels, handles, strict=True))
    for found, texts in more:
        named |= dict(zip(texts, found, strict=True))
    figure.legend(named.values(), named, loc="outside lower center", ncols=2)
    return figure


def _arrivals(axes: Axes, instance: RescueInstance) -> None:
    edges = np.arange(instance.horizon + 1)
    axes.stairs(
        instance.arrival.sum(axis=1),
        edges,
        color=_ARRIVAL,
        fill=True,
        alpha=0.55,
        label="expected arrivals",
    )
    axes.set_ylim(bottom=0)
    axes.set_ylabel("arrivals\nper slot")


def _server(axes: Axes, instance: RescueInstance, server: int) -> None:
    """Draw capacity, and every reserved task as an area as large as its demand."""
    tasks = instance.reserved
    edges = np.arange(instance.horizon + 1)
    axes.stairs(
        instance.capacity[server],
        edges,
        baseline=None,
        color=_CAPACITY,
        linewidth=1.2,
        label="capacity",
    )
    for i in tasks.of_server(server):
        first, width = int(tasks.start[i]), int(tasks.end[i] - tasks.start[i] + 1)
        axes.axvspan(first, first + width, color=MUTED, alpha=0.16, linewidth=0, label="window")
        axes.bar(
            first,
            tasks.demand[i] / width,
            width,
            align="edge",
            color=_RESERVED,
            alpha=0.75,
            linewidth=0,
            label="reserved demand, spread over its window",
        )
    title = instance.name_of("server", server)
    axes.set_title(title, fontsize=8.5, fontweight="normal", pad=2)


INSTANCE = Picture(
    "instance",
    _overview_title,
    _overview_draw,
    "Top: expected arrivals per slot, all devices together. Below, for each server: its capacity, "
    "the windows of its reserved tasks, and the demand of each task spread evenly over its window.",
)


def _baseline(case: Case) -> NDArray[np.float64]:
    """Value of every server idle at the start of each slot, shape [K, T+1]."""
    from edgeopt.online.rescue import value_functions

    return np.asarray(value_functions(case.instance, case.benchmarks[PLAIN].plan.y)[1])


def _values_title(case: Case) -> str:
    total = _baseline(case)[:, 0].sum()
    bound, label = case.benchmarks[PLAIN].bound, case.system.offline.bounds[PLAIN].label
    share = f", {percent(total / bound)} of {label}" if bound > 0 else ""
    return f"At the start, all servers together are worth {number(total, 4)} to RESCUE{share}"


def _values_draw(case: Case) -> Figure:
    baseline = _baseline(case)
    shown = baseline[:SHOWN]
    figure = blank()
    axes = figure.subplots()
    shades = colours(case.instance.name_of("server", server) for server in range(len(shown)))
    for (name, shade), values in zip(shades.items(), shown, strict=True):
        axes.plot(values, color=shade, label=name)
    axes.set_xlim(0, baseline.shape[1] - 1)
    axes.set_ylim(bottom=0)
    more = of_all(len(shown), len(baseline), "server")
    axes.set_xlabel(f"slot t, with the server idle at its start{more}")
    axes.set_ylabel(f"profit from t on ({case.objective.unit})")
    axes.axhline(0, color=INK, linewidth=0.8)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure


VALUES = Picture(
    "values",
    _values_title,
    _values_draw,
    "Value functions B of RESCUE under the plan of OPT(LP): the expected profit of a server from "
    "slot t on, if it is idle at the start of t. RESCUE accepts a task whose expected profit "
    "exceeds the value of waiting, which is the curve one slot later.",
)


def utilisation(instance: RescueInstance, trajectory: RescueTrajectory) -> NDArray[np.float64]:
    r"""Return retraining work over the capacity left by reserved work, up to each slot.

    .. math::

        U(t) = \frac{\sum_{k,\tau\le t} c_k(\tau)\,1[k \text{ retrains in } \tau]}
                    {\sum_{k,\tau\le t} c_k(\tau) - \text{reserved work served up to } t}
    """
    offered = np.cumsum(instance.capacity.sum(axis=0))
    left = offered - np.cumsum(np.asarray(trajectory.reserved_work, float), axis=1)
    used = np.cumsum(np.asarray(trajectory.retraining_work, float), axis=1)
    # Where reserved work took everything, rounding leaves a little that is no capacity.
    some = left > ROUNDING * offered
    share: NDArray[np.float64] = np.divide(used, left, out=np.zeros_like(used), where=some)
    return share


def _utilisation_title(case: Case) -> str:
    rows = case.table[case.table["kind"] == "causal"]
    if rows.empty:
        return ONLY_HINDSIGHT
    low, high = rows["utilisation"].min(), rows["utilisation"].max()
    busiest = rows.iloc[int(rows["utilisation"].to_numpy().argmax())]
    best = case.best()
    ending = ""
    if best is not None and best["value"] > busiest["value"]:
        named = case.standings.of(str(best["policy"])).named
        ending = f", but {named} earns more with {percent(best['utilisation'], 0)}"
    if low == high:
        return f"Retraining takes {percent(high, 0)} of the capacity that reserved work leaves"
    return f"{case.title(busiest)} uses the servers most ({percent(high, 0)}){ending}"


def _utilisation_draw(case: Case) -> Figure:
    values = {
        name: 100 * utilisation(case.instance, cast("RescueTrajectory", trajectory))
        for name, trajectory in case.trajectories.items()
    }
    return curves(case, values, "utilisation so far (%)")


UTILISATION = Metric(
    "utilisation", "Utilisation", lambda *given: utilisation(*given)[:, -1], percent=True
)

UTILISATION_OVER_TIME = Picture(
    "utilisation_over_time",
    _utilisation_title,
    _utilisation_draw,
    "Retraining work up to the end of each slot, as a share of the capacity that reserved work "
    "leaves up to then, all servers together: mean over the runs on this instance; "
    "bands are the confidence interval, with fewer than five runs the range.",
)
