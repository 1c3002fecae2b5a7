"""What every site does with its CPU, second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.ledger import plays
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = ["LOAD", "changes", "site_name"]

_EQUAL: Final = 1e-9
_VISIBLE: Final = 0.01
"""Share of a CPU that is kept without being used below which nothing is drawn of it."""

SHOWN: Final = 16
"""Sites that a picture has room for."""

_REQUESTS, _JOBS, _MISSED = "#56b4e9", "#e69f00", "#9e1b32"


def site_name(instance: OincInstance, site: int) -> str:
    """Return what a site is called."""
    return f"site {site}" if instance.names is None else instance.names[site]


def _title(case: Case) -> str:
    name = lead(case)
    trajectory = plays(case)[name]
    title = case.entries[name].title
    kept = trajectory.reserved[0]
    if not kept.any():
        return f"{title} never keeps any CPU for jobs"
    slots = case.instance.slots
    speed = case.instance.speed
    share = float(kept[:slots].mean(axis=0) @ speed / speed.sum())
    used = float((trajectory.job_load[0] @ speed).sum() / (kept @ speed).sum())
    said = (
        f"{title} keeps {percent(share, 0)} of all CPU for jobs over the {plural(slots, 'slot')}; "
        f"jobs use {percent(used, 0)} of what is kept"
    )
    missed = int((~trajectory.met[0]).sum())
    if not missed:
        return f"{said}, and no request is late"
    beside = (kept[trajectory.slot] > 0).any(axis=1)[~trajectory.met[0]]
    where = percent(float(beside.mean()), 0)
    return f"{said}; {plural(missed, 'request')} are not in time, {where} of them beside jobs"


def _draw(case: Case) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    instance: OincInstance = case.instance
    trajectory = plays(case)[lead(case)]
    shown = min(SHOWN, instance.sites)
    figure = blank(height=1.2 + 0.34 * shown)
    axes = figure.subplots()
    for site in range(shown):
        _strip(axes, trajectory, site)
    slots = trajectory.reserved.shape[1]
    axes.set_xlim(0, slots)
    axes.set_ylim(shown, 0)
    axes.set_yticks(np.arange(shown) + 0.5, [site_name(instance, j) for j in range(shown)])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    if slots > instance.slots:
        axes.axvline(instance.slots, color=INK, linewidth=1, linestyle=(0, (3, 2)))
    more = f" ({shown} of {instance.sites} sites shown)" if shown < instance.sites else ""
    axes.set_xlabel(f"time (s){more}")
    handles: list[Patch | Line2D] = [
        Patch(color=_JOBS, label="jobs"),
        Patch(facecolor="none", edgecolor=_JOBS, hatch="//////", linewidth=0, label="kept, unused"),
        Patch(color=_REQUESTS, label="requests"),
        Line2D([], [], color=_MISSED, marker="|", linestyle="none", markersize=7,
               markeredgewidth=1.4, label="missed objective"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def changes(*levels: Floats) -> NDArray[np.int64]:
    """Return the slots in which one of several levels changes, the first one included."""
    stacked = np.stack(levels)
    changed = (np.abs(np.diff(stacked, axis=1)) > _EQUAL).any(axis=0)
    return np.flatnonzero(np.concatenate(([True], changed)))


def _strip(axes: Axes, trajectory: OincTrajectory, site: int) -> None:
    """Draw a site as a strip that fills from below: jobs, what is kept, requests."""
    floor, tall = site + 0.95, 0.9
    slots = trajectory.reserved.shape[1]
    axes.broken_barh([(0, slots)], (floor - tall, tall), facecolor=MUTED, alpha=0.16, linewidth=0)
    jobs, kept = trajectory.job_load[0, :, site], trajectory.reserved[0, :, site]
    asked = np.zeros(slots)
    asked[: trajectory.cpu_load.shape[1]] = trajectory.cpu_load[0, :, site]
    unused = np.where(kept > jobs + _VISIBLE, kept, jobs)
    looks: tuple[tuple[Floats, Floats, dict[str, Any]], ...] = (
        (np.zeros(slots), jobs, {"color": _JOBS}),
        (jobs, unused, {"facecolor": "none", "edgecolor": _JOBS, "hatch": "//////"}),
        (kept, kept + asked, {"color": _REQUESTS}),
    )
    for low, high, look in looks:
        keep = changes(low, high)
        edges = np.append(keep, slots)
        if (high > low).any():
            axes.stairs(
                floor - tall * high[keep], edges, baseline=floor - tall * low[keep], fill=True,
                linewidth=0, **look,
            )  # fmt: skip
    late = ~trajectory.met[0] & (trajectory.site[0] == site)
    when = np.unique(trajectory.slot[late])
    axes.plot(
        when + 0.5, np.full(when.size, floor - tall + 0.14), "|", color=_MISSED, markersize=6,
        markeredgewidth=1.3, zorder=4,
    )  # fmt: skip


LOAD = Picture(
    "load",
    _title,
    _draw,
    "The first run. Every strip is the CPU of a site: from below what jobs use, what is kept for "
    "them without being used, and what requests are given; grey is idle. Requests are given all "
    "that is not kept wherever there are any. Red marks: slots in which a request of that site "
    "misses its objective. After the dashed line no requests arrive; jobs are served until all are "
    "complete.",
)
