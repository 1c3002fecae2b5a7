"""One run as a strip per server: retraining above, reserved work below, failures marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import (
    INK,
    MUTED,
    blank,
    in_rows,
    lead,
    legend,
    of_all,
    patch,
)
from edgeopt.studies.rescue.pictures import SHOWN
from edgeopt.studies.wording import number, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue import RescueTrajectory
    from edgeopt.studies.results import Case

_SERVED, _FAILED = "#e69f00", "#d55e00"


class Stretch(NamedTuple):
    """A run of one profile for one device on one server; slots from `first` to before `stop`."""

    server: int
    first: int
    stop: int
    device: int
    profile: int


def stretches(
    device: NDArray[np.integer], profile: NDArray[np.integer], accepted: NDArray[np.integer]
) -> Iterator[Stretch]:
    """Yield the retraining runs of a recorded scenario."""
    busy = device >= 0
    same = busy[:, 1:] & (device[:, 1:] == device[:, :-1]) & (profile[:, 1:] == profile[:, :-1])
    begins = busy.copy()
    begins[:, 1:] &= ~same
    for slot in np.flatnonzero(accepted > begins.sum(axis=0)):
        hidden = int(accepted[slot] - begins[:, slot].sum())
        begins[np.flatnonzero(busy[:, slot] & ~begins[:, slot])[:hidden], slot] = True
    for server, first in np.argwhere(begins):
        ends = begins[server, first + 1 :] | ~busy[server, first + 1 :]
        length = int(ends.argmax()) + 1 if ends.any() else ends.size + 1
        run = int(device[server, first]), int(profile[server, first])
        yield Stretch(int(server), int(first), int(first) + length, *run)


def failed_tasks(instance: RescueInstance, device: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which reserved tasks fail when servers retrain as recorded."""
    from edgeopt.instances.edf import VIOLATED, edf_order, edf_serve

    tasks = instance.reserved
    order, offset = edf_order(tasks.server, tasks.end, instance.servers)
    left = tasks.demand.copy()
    for server in range(instance.servers):
        mine = order[offset[server] : offset[server + 1]]
        for slot in np.flatnonzero(device[server] < 0):
            offered = float(instance.capacity[server, slot])
            edf_serve(mine, tasks.start, tasks.end, left, int(slot), offered)
    failed: NDArray[np.bool_] = left > VIOLATED * tasks.demand
    return failed


def _chosen(case: Case) -> list[str]:
    """Name the best policy of all and, if that one fails tasks, the best that keeps them all."""
    rows = [case.best(), case.best(kept=True)]
    found = list(dict.fromkeys(str(row["policy"]) for row in rows if row is not None))
    return found or [lead(case)]


def _title(case: Case) -> str:
    said = []
    for policy in _chosen(case):
        trajectory = case.trajectories[policy]
        failed = int(np.asarray(trajectory.violations)[0].sum())
        profit = number(float(trajectory.total[0]), 4)
        kept = plural(failed, "reserved task") if failed else "none"
        said.append(f"{case.entries[policy].title} earns {profit} and fails {kept}")
    return f"In the first run, {'; '.join(said)}"


def _draw(case: Case) -> Figure:
    instance: RescueInstance = case.instance
    chosen = _chosen(case)
    shown = min(instance.servers, SHOWN)
    shades = _shades(instance.profiles)
    figure = blank(height=1.1 + len(chosen) * (0.45 + 0.42 * shown))
    panels = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
    for axes, policy in zip(panels, chosen, strict=True):
        _strip(axes, instance, case.replay(policy), shades, shown)
        axes.set_title(case.entries[policy].title)
    panels[-1].set_xlabel(f"slot{of_all(shown, instance.servers, 'server')}")
    handles = [patch(f"retraining, profile {p}", color=shade) for p, shade in enumerate(shades)]
    if len(shades) > SHOWN:
        handles = [handles[0], handles[-1]]
    handles += [
        patch("reserved window", facecolor=MUTED, alpha=0.3),
        patch("reserved work", color=_SERVED),
        patch("failed task", facecolor="none", edgecolor=_FAILED, hatch="////"),
    ]
    legend(figure, handles)
    return figure


def _shades(profiles: int) -> list[str]:
    """Give profiles shades of blue, the longer the darker."""
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    return [to_hex(mpl.colormaps["Blues"](x)) for x in np.linspace(0.35, 0.95, profiles)]


def _strip(
    axes: Axes,
    instance: RescueInstance,
    trajectory: RescueTrajectory,
    shades: list[str],
    shown: int,
) -> None:
    """Draw one run; every server has a lane for retraining and below it one for reserved work."""
    device, profile = np.asarray(trajectory.device)[0], np.asarray(trajectory.profile)[0]
    served = np.asarray(trajectory.served)[0]
    for run in stretches(device, profile, np.asarray(trajectory.accepted)[0]):
        if run.server >= shown:
            continue
        axes.broken_barh(
            [(run.first, run.stop - run.first)], (run.server - 0.38, 0.4),
            facecolor=shades[run.profile], edgecolor=INK, linewidth=0.5,
        )  # fmt: skip
    failed = failed_tasks(instance, device)
    tasks = instance.reserved
    for server in range(shown):
        for i in tasks.of_server(server):
            span = [(int(tasks.start[i]), int(tasks.end[i] - tasks.start[i] + 1))]
            lane = (server + 0.08, 0.28)
            axes.broken_barh(span, lane, facecolor=MUTED, alpha=0.3, linewidth=0)
            if failed[i]:
                axes.broken_barh(
                    span, lane, facecolor="none", edgecolor=_FAILED, hatch="////", linewidth=1.2,
                    zorder=4,
                )  # fmt: skip
        busy = np.flatnonzero(served[server] > 0)
        share = served[server, busy] / instance.capacity[server, busy]
        axes.bar(
            busy, -0.28 * share, 1.0, bottom=server + 0.36, align="edge", color=_SERVED,
            linewidth=0, zorder=3,
        )  # fmt: skip
    in_rows(axes, [instance.name_of("server", server) for server in range(shown)])
    axes.set_xlim(0, instance.horizon)


GANTT = Picture(
    "gantt",
    _title,
    _draw,
    "The first run. Upper lane of a server: retraining runs, darker for profiles that run longer. "
    "Lower lane: windows of reserved tasks, filled by the share of each slot that serves them; a "
    "hatched window belongs to a task that is not finished in time.",
)
