"""Pictures of cost, energy and caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.log import PENALTIES, capped, cost_parts, simulated
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import INK, MUTED, blank, lead, lead_and_best
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.wording import listed, number, percent, plural, uncapitalised

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory
    from edgeopt.studies.results import Case

_COST_COLOURS = {
    "inference energy": "#0072b2",
    "training energy": "#56b4e9",
    "inference delay": "#e69f00",
    "training exchange": "#f3cf7a",
    "late training": "#d55e00",
    "unserved requests": "#cc79a7",
}


def _parts(case: Case) -> dict[str, dict[str, float]]:
    """Mean over the runs of every part, by policy."""
    return {
        name: {
            part: float(runs.mean()) for part, runs in cost_parts(case.instance, trajectory).items()
        }
        for name, trajectory in simulated(case).items()
    }


def _cost_title(case: Case) -> str:
    best = case.best()
    if best is None:
        return f"Parts of the cost; {uncapitalised(ONLY_HINDSIGHT)}"
    if not best["value"] > 0:
        name = case.title(best)
        lost = case.standings.price(str(best["policy"]))
        return f"{name} has the least cost, {number(float(best['value']))}{lost}"
    lost = case.standings.price(str(best["policy"]))
    parts = _parts(case)
    first = parts[str(best["policy"])]
    total = sum(first.values())
    energy = first["inference energy"] + first["training energy"]
    delay = first["inference delay"] + first["training exchange"]
    said = (
        f"{case.title(best)} has the least cost, {number(total)}: "
        f"{percent(energy / total, 0)} for energy, {percent(delay / total, 0)} for delay{lost}"
    )
    penalty = {name: sum(of[part] for part in PENALTIES) for name, of in parts.items()}
    most = max(penalty, key=lambda name: penalty[name])
    if not penalty[most] > 0:
        return f"{said}; no policy has penalties"
    share = percent(penalty[most] / sum(parts[most].values()), 0)
    return f"{said}; penalties are {share} of the cost of {case.entries[most].title}"


def _cost_draw(case: Case) -> Figure:
    parts = _parts(case)
    figure = blank(height=1.35 + 0.27 * len(parts))
    axes = figure.subplots()
    places = np.arange(len(parts))
    above, below = np.zeros(len(parts)), np.zeros(len(parts))
    for part, colour in _COST_COLOURS.items():
        width = np.array([of[part] for of in parts.values()])
        # At a negative price the cost of energy is negative, and is drawn left of zero.
        start = np.where(width >= 0, above, below)
        if width.any():
            axes.barh(
                places, width, 0.72, left=start, color=colour, linewidth=0, label=part,
                hatch="////" if part in PENALTIES else None, edgecolor="white",
            )  # fmt: skip
        above, below = above + np.maximum(width, 0), below + np.minimum(width, 0)
    axes.axvline(case.benchmark.bound, color=INK, linewidth=1.3, label=case.label)
    if (below < 0).any():
        axes.axvline(0, color=INK, linewidth=0.8)
    canvas.in_rows(axes, [case.entries[name].title for name in parts])
    axes.set_xlabel(f"mean {case.objective.name} of a run (points)")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


COST = Picture(
    "cost",
    _cost_title,
    _cost_draw,
    "Mean over the runs; the two weights of the instance make dollars and seconds comparable. The "
    "energy of exchanging models is part of the training energy, the time of it is the training "
    "exchange. Hatched: penalties for rounds that miss their deadline and for unserved requests, "
    "which cost more than doing the work. Energy above a cap has no price; the table counts it. "
    "The line is a lower bound on the cost of every policy that keeps the caps.",
)


_INFERENCE, _TRAINING, _EXCESS = "#0072b2", "#56b4e9", "#d55e00"
_UNITS = (("MWh", 1e6), ("kWh", 1e3), ("Wh", 1.0))
_PER_MEGAWATT_HOUR = 1e6


def _energy_title(case: Case) -> str:
    instance = case.instance
    name = lead(case)
    frames = capped(instance)
    title = case.entries[name].title
    if not frames.size:
        return f"No frame has a cap; {title} can follow the price freely"
    trajectory = simulated(case)[name]
    exceeded = float(np.asarray(trajectory.violations).sum(axis=1).mean())
    if exceeded == 0:
        used = trajectory.energy[:, frames].mean(axis=0).sum() / instance.cap[frames].sum()
        said = f" and uses {percent(float(used), 0)} of them" if np.isfinite(used) else ""
        return f"{title} keeps the caps of all {plural(frames.size, 'capped frame')}{said}"
    over = percent(float(trajectory.excess_share().mean()))
    count = plural(frames.size, "capped frame")
    return (
        f"{title} exceeds the cap in {number(exceeded, 2)} of {count}, "
        f"by {over} of all capped energy"
    )


def _energy_draw(case: Case) -> Figure:
    instance: EdrInstance = case.instance
    chosen = lead_and_best(case)
    figure = blank(height=0.75 + 1.95 * len(chosen))
    panels = figure.subplots(len(chosen), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    most = max(float(simulated(case)[name].energy[0].max()) for name in chosen)
    allowed = instance.cap[capped(instance)]
    most = max(most, float(allowed.max()) if allowed.size else 0.0)
    unit, scale = next((pair for pair in _UNITS if most >= pair[1]), _UNITS[-1])
    top = 1.12 * most / scale if most > 0 else 1.0
    for axes, name in zip(panels, chosen, strict=True):
        _price(axes, instance, top)
        _bars(axes, instance, simulated(case)[name], scale)
        axes.set_ylabel(f"energy ({unit})")
        axes.set_title(case.entries[name].title)
    panels[-1].set_xlabel("frame")
    panels[0].set_xlim(0, instance.frames)
    handles = [
        canvas.patch("inference", color=_INFERENCE, alpha=0.85),
        canvas.patch("training", color=_TRAINING, alpha=0.85),
        canvas.patch("above the cap", color=_EXCESS),
        canvas.line("cap", linewidth=2),
        canvas.line("price (right axis)", MUTED, linewidth=1),
    ]
    canvas.legend(figure, handles, columns=5)
    return figure


def _price(axes: Axes, instance: EdrInstance, top: float) -> None:
    """Draw the price behind the bars, both with zero at the same height."""
    price = _PER_MEGAWATT_HOUR * instance.price
    low = min(0.0, float(price.min()))
    # At least half of the height is for energy, which is never negative.
    high = max(float(price.max()), -low) or 1.0
    behind = axes.twinx()
    edges = np.arange(instance.frames + 1)
    behind.stairs(price, edges, baseline=0, fill=True, color=MUTED, alpha=0.25, linewidth=0)
    behind.stairs(price, edges, baseline=None, color=MUTED, linewidth=0.9)
    behind.set_ylim(1.12 * low, 1.12 * high)
    axes.set_ylim(top * low / high, top)
    behind.set_ylabel("price ($/MWh)")
    behind.grid(visible=False)
    behind.spines["right"].set_visible(True)
    axes.set_zorder(behind.get_zorder() + 1)
    axes.patch.set_visible(False)


def _bars(axes: Axes, instance: EdrInstance, trajectory: EdrTrajectory, scale: float) -> None:
    energy, training = trajectory.energy[0] / scale, trajectory.training_energy[0] / scale
    cap = instance.cap / scale
    edges = np.arange(instance.frames + 1)
    _filled(axes, energy - training, 0, edges, _INFERENCE)
    _filled(axes, energy, energy - training, edges, _TRAINING)
    over = trajectory.excess[0] > 0
    if over.any():
        _filled(axes, np.where(over, energy, np.nan), np.where(over, cap, 0), edges, _EXCESS, 1.0)
    limit = np.where(np.isfinite(cap), cap, np.nan)
    axes.stairs(limit, edges, baseline=None, color=INK, linewidth=1.8, zorder=4)


def _filled(
    axes: Axes,
    values: NDArray[np.float64],
    baseline: NDArray[np.float64] | float,
    edges: NDArray[np.int64],
    colour: str,
    alpha: float = 0.85,
) -> None:
    axes.stairs(values, edges, baseline=baseline, fill=True, color=colour, alpha=alpha, linewidth=0)


ENERGY = Picture(
    "energy",
    _energy_title,
    _energy_draw,
    "The first run. Black steps are caps; energy above a cap is orange. Grey: the price, which is "
    "known only when a frame is over.",
)


_OPEN, _KEPT, _EXCEEDED = range(3)
_FRAMES_COLOURS = {_OPEN: "#b9c0c8", _KEPT: "#0072b2", _EXCEEDED: "#d55e00"}
_NAMES = {_OPEN: "no cap", _KEPT: "cap kept", _EXCEEDED: "cap exceeded"}
_LEAST = 1e-4
"""The least share that is written as a number."""

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


def _frames_title(case: Case) -> str:
    count = capped(case.instance).size
    rows = simulated(case)
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


def _frames_draw(case: Case) -> Figure:
    instance: EdrInstance = case.instance
    rows = simulated(case)
    figure = blank(height=1.25 + 0.3 * len(rows))
    axes = figure.subplots()
    for row, trajectory in enumerate(rows.values()):
        state = states(instance, trajectory)
        for kind, colour in _FRAMES_COLOURS.items():
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
    canvas.in_rows(axes, [case.entries[name].title for name in rows])
    axes.set_xlim(0, instance.frames)
    axes.grid(visible=False)
    axes.set_xlabel("frame")
    states_drawn = [
        canvas.patch(name, color=_FRAMES_COLOURS[kind], alpha=0.45 if kind == _OPEN else 1.0)
        for kind, name in _NAMES.items()
    ]
    marks = [
        canvas.mark("requests unserved", "o", _UNSERVED),
        canvas.mark("a task ends unfinished", "^", _LATE),
    ]
    axes.spines["left"].set_color(MUTED)
    canvas.legend(figure, [*states_drawn, *marks], columns=3)
    return figure


FRAMES = Picture(
    "frames",
    _frames_title,
    _frames_draw,
    "Every frame under every policy, worst case over the runs. The log of frames has the cap, "
    "energy, excess, unserved requests and missed rounds of each as numbers.",
)
