"""Gantt chart of a cluster: the tasks on its CPU cores and GPUs."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank, colours, lead
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import Held, TapFingerTrajectory
    from edgeopt.studies.results import Case


class Piece(NamedTuple):
    """Neighbouring units of a resource that a task holds for a while, ends excluded.

    `held` is the place of its stretch in what was recorded; a stretch may have several pieces.
    """

    task: int
    begin: int
    end: int
    low: int
    high: int
    held: int


def pieces(held: Held, cluster: int, resource: int, capacity: int) -> list[Piece]:
    """Give every stretch of a cluster units of its own, neighbours as far as there are any."""
    here = np.flatnonzero((held.cluster == cluster) & (held.bundle[:, resource] > 0))
    order = here[np.lexsort((held.task[here], held.begin[here]))]
    until = np.zeros(capacity, dtype=np.int64)  # when each unit is free again
    found: list[Piece] = []
    for row in order.tolist():
        begin, end = int(held.begin[row]), int(held.end[row])
        free = np.flatnonzero(until <= begin).tolist()
        taken = _neighbours(free, int(held.bundle[row, resource]))
        until[taken] = end
        task = int(held.task[row])
        for low, high in _runs(taken):
            found.append(Piece(task, begin, end, low, high, row))
    return found


def _runs(units: list[int]) -> list[tuple[int, int]]:
    """Split ascending units into runs of neighbours, each with the unit after its last."""
    split = groupby(enumerate(units), key=lambda pair: pair[1] - pair[0])
    joined = [[unit for _, unit in group] for _, group in split]
    return [(run[0], run[-1] + 1) for run in joined]


def _neighbours(free: list[int], wanted: int) -> list[int]:
    """Choose units: from the smallest run that has enough, else from as few runs as can be."""
    runs = _runs(free)
    enough = [run for run in runs if run[1] - run[0] >= wanted]
    if enough:
        low, _ = min(enough, key=lambda run: (run[1] - run[0], run[0]))
        return list(range(low, low + wanted))
    taken: list[int] = []
    for low, high in sorted(runs, key=lambda run: (run[0] - run[1], run[0])):
        taken += range(low, min(high, low + wanted - len(taken)))
    return sorted(taken)


SHOWN: Final = 40
"""Most slots in a picture."""

_OTHERS: Final = 8
"""Kinds of tasks that have a colour of their own."""

_LETTER: Final = 0.076
"""Width of a letter, inches."""


class Scene(NamedTuple):
    """A cluster from one slot to another, and the tasks that wait for it in each of them."""

    cluster: int
    begin: int
    end: int
    waiting: NDArray[np.int64]


def scene(trajectory: TapFingerTrajectory) -> Scene:
    """Choose the busiest slots of the busiest cluster in the first run."""
    instance = trajectory.instance
    placed = trajectory.cluster[0]
    count = np.bincount(placed[placed >= 0], minlength=instance.clusters)
    cluster = int(count.argmax())
    slots = max(1, int(trajectory.end[0]))
    start = np.where(trajectory.start[0] < 0, slots, trajectory.start[0])
    change = np.zeros(slots + 1, dtype=np.int64)
    mine = instance.eligible[:, cluster]
    np.add.at(change, instance.arrival[mine], 1)
    np.subtract.at(change, start[mine], 1)
    waiting = change.cumsum()[:slots]
    window = min(SHOWN, slots)
    most = np.maximum(1, instance.capacity[cluster])
    used = (trajectory.used[0, :slots, cluster] / most).sum(axis=1)
    total = np.concatenate([[0.0], np.cumsum(used)])
    begin = int((total[window:] - total[:-window]).argmax()) if used.size else 0
    return Scene(cluster, begin, begin + window, waiting[begin : begin + window])


def _title(case: Case) -> str:
    name = lead(case)
    trajectory: TapFingerTrajectory = case.replay(name)
    if not case.instance.tasks:
        return "There are no tasks"
    shown = scene(trajectory)
    held = trajectory.held
    assert held is not None
    mine = (held.cluster == shown.cluster) & (held.begin < shown.end) & (held.end > shown.begin)
    sizes = held.bundle[mine, 1]
    place = case.instance.name_of("cluster", shown.cluster)
    title = case.entries[name].title
    if not sizes.size:
        return f"{title} leaves {place} idle"
    count = plural(int(np.unique(held.task[mine]).size), "task")
    said = f"{title} gives {count} on {place} from {sizes.min()} to {sizes.max()} GPUs each"
    most = int(shown.waiting.max(initial=0))
    return f"{said}; up to {most} wait for it" if most else f"{said}; none has to wait"


def _draw(case: Case) -> Figure:
    instance: TapFingerInstance = case.instance
    trajectory: TapFingerTrajectory = case.replay(lead(case))
    shown = scene(trajectory)
    tall = instance.capacity[shown.cluster]
    share = np.clip(tall / max(1, int(tall.max())), 0.3, 1.0)
    figure = blank(height=1.6 + 2.1 * float(share.sum()))
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(*share[::-1], 0.3))
    shade = _shades(instance)
    for axes, resource in zip(panels[:2], (1, 0), strict=True):
        _panel(axes, trajectory, shown, resource, shade)
    edges = np.arange(shown.begin, shown.end + 1)
    panels[2].stairs(shown.waiting, edges, fill=True, color=MUTED, alpha=0.6, linewidth=0)
    panels[2].set_ylim(0, max(1, int(shown.waiting.max(initial=0))))
    panels[2].set_ylabel("waiting")
    panels[2].set_xlim(shown.begin, shown.end)
    slots = int(trajectory.end[0])
    window = shown.end - shown.begin
    panels[2].set_xlabel(f"slot{canvas.of_all(window, slots, 'slot')}")
    handles = [
        canvas.patch(kind, facecolor=colour, edgecolor=PAPER, linewidth=0.6)
        for kind, colour in shade.items()
    ]
    handles.append(canvas.patch("tasks that wait and may run here", color=MUTED, alpha=0.6))
    canvas.legend(figure, handles, columns=4)
    return figure


def _shades(instance: TapFingerInstance) -> dict[str, str]:
    """Give every kind of task a colour; those beyond eight share one."""
    palette = list(colours(map(str, range(_OTHERS + 1))).values())
    names = [instance.name_of("kind", k) for k in range(instance.task_kinds)]
    return {name: palette[min(place, _OTHERS)] for place, name in enumerate(dict.fromkeys(names))}


def _panel(
    axes: Axes,
    trajectory: TapFingerTrajectory,
    shown: Scene,
    resource: int,
    shade: dict[str, str],
) -> None:
    """Draw the tasks that hold a resource, a row per unit, with their bundles where they fit."""
    instance, held = trajectory.instance, trajectory.held
    assert held is not None
    units = int(instance.capacity[shown.cluster, resource])
    inch = 5.9 / (shown.end - shown.begin)
    written: set[int] = set()
    drawn = [
        piece
        for piece in pieces(held, shown.cluster, resource, units)
        if piece.begin < shown.end and piece.end > shown.begin
    ]
    for piece in sorted(drawn, key=lambda one: one.low - one.high):
        begin, end = max(piece.begin, shown.begin), min(piece.end, shown.end)
        colour = shade[instance.name_of("kind", int(instance.kind[piece.task]))]
        axes.broken_barh(
            [(begin, end - begin)], (piece.low, piece.high - piece.low), facecolor=colour,
            edgecolor=PAPER, linewidth=0.8, alpha=0.85,
        )  # fmt: skip
        label = "/".join(map(str, held.bundle[piece.held].tolist()))
        if piece.held in written or (end - begin) * inch < _LETTER * len(label):
            continue
        written.add(piece.held)
        axes.annotate(
            label, xy=((begin + end) / 2, (piece.low + piece.high) / 2), ha="center", va="center",
            fontsize=8, color="white",
        )  # fmt: skip
    axes.set_ylim(0, max(1, units))
    axes.locator_params(axis="y", integer=True)
    axes.grid(visible=False)
    axes.set_ylabel(("CPU cores", "GPUs")[resource])
    axes.spines["left"].set_color(INK)


GANTT = Picture(
    "gantt",
    _title,
    _draw,
    "The cluster that serves most tasks, in its busiest slots of the first run. Rows are CPU cores "
    "and GPUs; boxes are the tasks that hold them, labelled with their bundle (CPU cores / GPUs) "
    "where it fits. Cores and GPUs are interchangeable: the picture chooses which of them a task "
    "holds, and draws a bundle in parts where there are not enough neighbours.",
)
