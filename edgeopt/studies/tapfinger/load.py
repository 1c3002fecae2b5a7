"""What every cluster does with its CPU cores and GPUs, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.tapfinger.ledger import cluster_name, plays
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.result import Case

__all__ = ["LOAD"]

SHOWN: Final = 8
"""Clusters that a picture has room for."""

_COLOURS: Final = ("#e69f00", "#0072b2")


def _title(case: Case) -> str:
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


def _draw(case: Case) -> Figure:
    from matplotlib.patches import Patch

    instance: TapFingerInstance = case.instance
    trajectory = plays(case)[lead(case)]
    slots = max(1, int(trajectory.end[0]))
    used = trajectory.used[0, :slots]
    shown = min(SHOWN, instance.clusters)
    figure = blank(height=1.2 + 0.62 * shown)
    axes = figure.subplots()
    for cluster in range(shown):
        for resource in range(2):
            room = int(instance.capacity[cluster, resource])
            share = used[:, cluster, resource] / max(1, room)
            floor, tall = cluster + 0.47 * (resource + 1), 0.42
            axes.broken_barh(
                [(0, slots)], (floor - tall, tall), facecolor=MUTED, alpha=0.16, linewidth=0
            )
            axes.stairs(
                floor - tall * share, np.arange(share.size + 1), baseline=floor, fill=True,
                color=_COLOURS[resource], alpha=0.85, linewidth=0,
            )  # fmt: skip
            mean = float(share.mean()) if room and share.size else float("nan")
            axes.annotate(
                f"{percent(mean, 0)} of {room}", xy=(1, floor - tall / 2),
                xycoords=("axes fraction", "data"), xytext=(5, 0), textcoords="offset points",
                va="center", fontsize=8, color=INK,
            )  # fmt: skip
    axes.set_xlim(0, slots)
    axes.set_ylim(shown, 0)
    axes.set_yticks(np.arange(shown) + 0.49, [cluster_name(instance, n) for n in range(shown)])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    more = f" ({shown} of {instance.clusters} clusters shown)" if shown < instance.clusters else ""
    axes.set_xlabel(f"slot{more}")
    handles = [
        Patch(color=colour, alpha=0.85, label=f"{name} held")
        for colour, name in zip(_COLOURS, ("CPU cores", "GPUs"), strict=True)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


LOAD = Picture(
    "load",
    _title,
    _draw,
    "The first run. Two strips for each cluster, filled from below by the share of its CPU cores "
    "and of its GPUs that tasks hold in a slot, before the end of the slot frees any. In the right "
    "margin: the mean over the run, and how many there are.",
)
