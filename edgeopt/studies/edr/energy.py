"""Energy per frame against the cap, with the price behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.ledger import capped, plays
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.pictures.shown import lead, lead_and_best
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory
    from edgeopt.studies.result import Case

__all__ = ["ENERGY"]

_INFERENCE, _TRAINING, _EXCESS = "#0072b2", "#56b4e9", "#d55e00"
_UNITS = (("MWh", 1e6), ("kWh", 1e3), ("Wh", 1.0))
_PER_MEGAWATT_HOUR = 1e6


def _title(case: Case) -> str:
    instance = case.instance
    name = lead(case)
    frames = capped(instance)
    title = case.entries[name].title
    if not frames.size:
        return f"No frame has a cap; {title} is free to follow the price"
    trajectory = plays(case)[name]
    broken = float(np.asarray(trajectory.violations).sum(axis=1).mean())
    if broken == 0:
        used = trajectory.energy[:, frames].mean(axis=0).sum() / instance.cap[frames].sum()
        said = f"using {percent(float(used), 0)} of what they allow" if np.isfinite(used) else ""
        return f"{title} keeps the cap in all of {plural(frames.size, 'capped frame')}, {said}"
    over = percent(float(trajectory.excess_share().mean()))
    return (
        f"{title} exceeds the cap in {number(broken, 2)} of {plural(frames.size, 'capped frame')}, "
        f"by {over} of all capped energy"
    )


def _draw(case: Case) -> Figure:
    instance: EdrInstance = case.instance
    chosen = lead_and_best(case)
    figure = blank(height=0.75 + 1.95 * len(chosen))
    panels = figure.subplots(len(chosen), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    most = max(float(plays(case)[name].energy[0].max()) for name in chosen)
    allowed = instance.cap[capped(instance)]
    most = max(most, float(allowed.max()) if allowed.size else 0.0)
    unit, scale = next((pair for pair in _UNITS if most >= pair[1]), _UNITS[-1])
    top = 1.12 * most / scale if most > 0 else 1.0
    for axes, name in zip(panels, chosen, strict=True):
        _price(axes, instance, top)
        _bars(axes, instance, plays(case)[name], scale)
        axes.set_ylabel(f"energy ({unit})")
        axes.set_title(case.entries[name].title)
    panels[-1].set_xlabel("frame")
    panels[0].set_xlim(0, instance.frames)
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=_INFERENCE, alpha=0.85, label="inference"),
        Patch(color=_TRAINING, alpha=0.85, label="training"),
        Patch(color=_EXCESS, label="above the cap"),
        Line2D([], [], color=INK, linewidth=2, label="cap"),
        Line2D([], [], color=MUTED, linewidth=1, label="price (right axis)"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
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
    _title,
    _draw,
    "The first run. Steps are the caps of the frames that have one; what stands above a cap is "
    "orange. Behind: the price, which becomes known when a frame is over.",
)
