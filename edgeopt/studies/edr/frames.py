"""Every frame of every policy: whether its cap was kept, and what was left undone in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.ledger import capped, plays
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import MUTED, blank
from edgeopt.studies.wording import listed, percent, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory
    from edgeopt.studies.result import Case

__all__ = ["FRAMES", "states"]

_OPEN, _KEPT, _EXCEEDED = range(3)
_COLOURS = {_OPEN: "#b9c0c8", _KEPT: "#0072b2", _EXCEEDED: "#d55e00"}
_NAMES = {_OPEN: "no cap", _KEPT: "cap kept", _EXCEEDED: "cap exceeded"}
_LEAST = 1e-4
"""The least share that is written out."""

_UNSERVED, _LATE = "#cc79a7", "#e69f00"


def states(instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.int64]:
    """Say of each frame whether it has a cap, and whether any run exceeded it, shape [T]."""
    state = np.where(np.isfinite(instance.cap), _KEPT, _OPEN)
    state[(np.asarray(trajectory.violations) > 0).any(axis=0)] = _EXCEEDED
    return np.asarray(state)


def _late(instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.bool_]:
    """Tell in which frames a task that is not finished ends in some run, shape [T]."""
    late = np.zeros(instance.frames, dtype=bool)
    late[instance.deadline[(trajectory.missing > 0).any(axis=0)]] = True
    return late


def _title(case: Case) -> str:
    count = capped(case.instance).size
    rows = plays(case)
    frames = plural(case.instance.frames, "frame")
    if not count:
        first = f"No cap in any of {frames}"
    else:
        keeping = [
            case.entries[name].title
            for name, trajectory in rows.items()
            if not np.asarray(trajectory.violations).any()
        ]
        if len(keeping) == len(rows):
            who = "every policy keeps them all"
        elif not keeping:
            who = "every policy exceeds some"
        elif len(keeping) <= 2:
            who = f"only {listed(keeping)} keep{'s' if len(keeping) == 1 else ''} them all"
        else:
            who = f"{len(keeping)} of {len(rows)} policies keep them all"
        first = f"Of {frames} {count} {'has' if count == 1 else 'have'} a cap; {who}"
    unserved = [
        case.entries[name].title
        for name, trajectory in rows.items()
        if (trajectory.unserved > 0).any()
    ]
    if not unserved:
        return f"{first}, and every request is served"
    share = max(1 - float(runs.served_share().min()) for runs in rows.values())
    most = percent(max(share, _LEAST), 2)
    if len(unserved) == len(rows):
        who = "every policy leaves"
    elif len(unserved) <= 2:
        who = f"{listed(unserved)} leave{'s' if len(unserved) == 1 else ''}"
    else:
        who = f"{len(unserved)} of {len(rows)} policies leave"
    return f"{first}; {who} requests unserved, {'up to' if share > _LEAST else 'less than'} {most}"


def _draw(case: Case) -> Figure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    instance: EdrInstance = case.instance
    rows = plays(case)
    figure = blank(height=1.25 + 0.3 * len(rows))
    axes = figure.subplots()
    for row, trajectory in enumerate(rows.values()):
        state = states(instance, trajectory)
        for kind, colour in _COLOURS.items():
            spans = [(t, 1) for t in np.flatnonzero(state == kind).tolist()]
            axes.broken_barh(
                spans, (row - 0.4, 0.8), facecolor=colour, linewidth=0,
                alpha=0.45 if kind == _OPEN else 1.0,
            )  # fmt: skip
        unserved = np.flatnonzero((trajectory.unserved > 0).any(axis=0))
        axes.plot(unserved + 0.5, np.full(unserved.size, row - 0.16), "o", color=_UNSERVED,
                  markeredgecolor="white", markeredgewidth=0.5, markersize=4.2)  # fmt: skip
        late = np.flatnonzero(_late(instance, trajectory))
        axes.plot(late + 0.5, np.full(late.size, row + 0.2), "^", color=_LATE,
                  markeredgecolor="white", markeredgewidth=0.5, markersize=4.6)  # fmt: skip
    axes.set_yticks(range(len(rows)), [case.entries[name].title for name in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, instance.frames)
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("frame")
    handles: list[Patch | Line2D] = [
        Patch(color=_COLOURS[kind], alpha=0.45 if kind == _OPEN else 1.0, label=name)
        for kind, name in _NAMES.items()
    ]
    handles += [
        Line2D([], [], linestyle="none", marker=mark, color=colour, label=label)
        for mark, colour, label in (
            ("o", _UNSERVED, "requests unserved"),
            ("^", _LATE, "a task ends unfinished"),
        )
    ]
    axes.spines["left"].set_color(MUTED)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


FRAMES = Picture(
    "frames",
    _title,
    _draw,
    "Every frame of every policy, the worst of its runs. The table of frames gives the cap, the "
    "energy, the excess, the unserved requests and the missing rounds of each in numbers.",
)
