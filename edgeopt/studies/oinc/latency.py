"""How long requests take, as shares of their objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.ledger import plays, request_count
from edgeopt.studies.pictures.canvas import INK, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = ["EDGES", "LATENCY", "quotients"]

EDGES: Final = 2.0 ** np.arange(-4.0, 4.01, 0.125)
"""Ends of the bins, latency over objective: eight bins for every doubling, the objective an end."""

_MET, _MISSED = "#0072b2", "#d55e00"


def quotients(trajectory: OincTrajectory) -> Floats:
    """Return latency over objective of every answered request of the first run."""
    answered = ~trajectory.refused[0]
    shares = trajectory.latency[0, answered] / trajectory.slo[answered]
    return np.asarray(np.where(trajectory.met[0, answered], np.minimum(shares, 1.0), shares))


def _title(case: Case) -> str:
    if not request_count(case.instance):
        return "No device asks for anything"
    name = lead(case)
    trajectory = plays(case)[name]
    title = case.entries[name].title
    met = percent(float(trajectory.request_success()[0]))
    found = quotients(trajectory)
    if not found.size:
        return f"{title} refuses every request"
    said = f"{title} answers {met} of all requests in time, half of them within "
    said += f"{percent(float(np.median(found)), 0)} of their objective"
    others = {n: float(runs.request_success()[0]) for n, runs in plays(case).items() if n != name}
    if not others:
        return said
    worst = min(others, key=lambda n: others[n])
    return f"{said}; {case.entries[worst].title} answers {percent(others[worst])} in time"


def _draw(case: Case) -> Figure:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    found = plays(case)
    figure = blank(height=1.15 + 0.29 * len(found))
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(h_pad=0.025, hspace=0.0)
    rows = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    every = max(1, request_count(case.instance))
    for axes, (name, trajectory) in zip(rows, found.items(), strict=True):
        top = 1.08 * _row(axes, trajectory, every) or 1.0
        axes.set_ylim(0, top)
        axes.set_ylabel(case.entries[name].title, rotation=0, ha="right", va="center", labelpad=6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        axes.axvline(1, color=INK, linewidth=0.9, linestyle=(0, (3, 2)))
        answered = quotients(trajectory)
        if answered.size:
            middle = float(np.clip(np.median(answered), EDGES[0], EDGES[-1]))
            axes.plot([middle, middle], [0, top], color=INK, linewidth=1.4)
        axes.annotate(
            percent(float(trajectory.request_success()[0])), xy=(1, 0.5),
            xycoords="axes fraction", xytext=(5, 0), textcoords="offset points", va="center",
            fontsize=8, color=INK,
        )  # fmt: skip
    _frame(rows[-1], np.concatenate([quotients(one) for one in found.values()]))
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=_MET, alpha=0.85, label="in time"),
        Patch(color=_MISSED, alpha=0.85, label="late"),
        Line2D([], [], color=INK, linewidth=1.4, label="median"),
        Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (3, 2)), label="objective"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _row(axes: Axes, trajectory: OincTrajectory, every: int) -> float:
    """Draw the histogram of a policy; return the height of its tallest bar."""
    # What lies beyond the last bin is in it; what just keeps the objective is before that end.
    inside = np.clip(quotients(trajectory), EDGES[0], EDGES[-1])
    inside[inside == 1.0] = np.nextafter(1.0, 0.0)
    share = np.histogram(inside, EDGES)[0] / every
    late = EDGES[:-1] >= 1.0
    for chosen, colour in ((~late, _MET), (late, _MISSED)):
        axes.stairs(
            np.where(chosen, share, 0.0), EDGES, fill=True, color=colour, alpha=0.85, linewidth=0
        )
    return float(share.max(initial=0.0))


def _frame(axes: Axes, every: Floats) -> None:
    """Show as many doublings as have anything in them, one on each side of 1 at least."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    first, last = np.log2(EDGES[[0, -1]])
    powers = np.log2(np.clip(every, EDGES[0], EDGES[-1]))
    low = max(first, np.floor(powers.min(initial=-1.0)))
    high = min(last, max(1.0, np.ceil(powers.max(initial=1.0))))
    axes.set_xscale("log", base=2)
    axes.set_xlim(2.0**low, 2.0**high)
    axes.xaxis.set_major_locator(FixedLocator((2.0 ** np.arange(low, high + 1)).tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}"))
    axes.set_xlabel("latency / objective (%)")


LATENCY = Picture(
    "latency",
    _title,
    _draw,
    "The first run, one row per policy, each as tall as its tallest bar. What lies beyond the ends "
    "is in the last bars. In the right margin: the share of all requests that is answered in time; "
    "refused requests have no bar and count as not in time.",
)
