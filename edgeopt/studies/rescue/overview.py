"""The instance at a glance: who may arrive when, what servers offer, what is reserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import MUTED, blank
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.studies.result import Case

__all__ = ["INSTANCE", "SHOWN", "shown_of"]

SHOWN = 8
"""Servers that a picture has room for."""


def shown_of(instance: RescueInstance) -> str:
    """Say which servers are shown, where not all are: to be put behind the name of an axis."""
    if instance.servers <= SHOWN:
        return ""
    return f" (first {SHOWN} of {instance.servers} servers shown)"


_ARRIVAL, _CAPACITY, _RESERVED = "#0072b2", "#009e73", "#e69f00"


def _title(case: Case) -> str:
    instance: RescueInstance = case.instance
    rate = instance.arrival.sum(axis=1)
    peak = int(rate.argmax())
    promised = float(instance.reserved.demand.sum() / instance.capacity.sum())
    tasks = len(instance.reserved)
    reserved = (
        f"{plural(tasks, 'reserved task')} {'needs' if tasks == 1 else 'need'} "
        f"{percent(promised)} of all capacity"
        if tasks
        else "No capacity is reserved"
    )
    return f"{reserved}; arrivals peak in slot {peak} at {number(rate[peak], 2)} per slot"


def _draw(case: Case) -> Figure:
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
    rows[-1].set_xlabel(f"slot{shown_of(instance)}")
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
    axes.set_title(f"server {server}", fontsize=8.5, fontweight="normal", pad=2)


INSTANCE = Picture(
    "instance",
    _title,
    _draw,
    "Expected number of arrivals per slot over all devices; below, per server, the capacity, the "
    "windows of reserved tasks, and the demand of each spread evenly over its window.",
)
