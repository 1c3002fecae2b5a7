"""What every policy pays for: energy, waiting, the exchange of models, and what it left undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.edr.ledger import PENALTIES, cost_parts, plays
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, blank
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case

__all__ = ["COST"]

_COLOURS = {
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
        for name, trajectory in plays(case).items()
    }


def _title(case: Case) -> str:
    best = case.best()
    if best is None:
        return "What the policies pay for"
    if not best["value"] > 0:
        name = case.entries[str(best["policy"])].title
        return f"{name} pays the least, {number(float(best['value']))}"
    parts = _parts(case)
    first = parts[str(best["policy"])]
    total = sum(first.values())
    energy = first["inference energy"] + first["training energy"]
    delay = first["inference delay"] + first["training exchange"]
    said = (
        f"{case.entries[str(best['policy'])].title} pays the least, {number(total)}: "
        f"{percent(energy / total, 0)} for energy, {percent(delay / total, 0)} for delay"
    )
    fined = {name: sum(of[part] for part in PENALTIES) for name, of in parts.items()}
    most = max(fined, key=lambda name: fined[name])
    if not fined[most] > 0:
        return f"{said}; no policy leaves anything undone"
    share = percent(fined[most] / sum(parts[most].values()), 0)
    return f"{said}; what {case.entries[most].title} leaves undone makes {share} of its cost"


def _draw(case: Case) -> Figure:
    parts = _parts(case)
    figure = blank(height=1.35 + 0.27 * len(parts))
    axes = figure.subplots()
    places = np.arange(len(parts))
    above, below = np.zeros(len(parts)), np.zeros(len(parts))
    for part, colour in _COLOURS.items():
        width = np.array([of[part] for of in parts.values()])
        # Where energy is paid for being used, its cost is negative and stands left of zero.
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
    axes.set_yticks(places, [case.entries[name].title for name in parts])
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"mean {case.system.value} of a run (points)")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


COST = Picture(
    "cost",
    _title,
    _draw,
    "Mean over the runs. Dollars and seconds are made comparable by the two weights of the "
    "instance. The energy of exchanging models is part of the training energy, the time it takes "
    "is the training exchange. Hatched: penalties for rounds that miss their deadline and for "
    "unserved requests, each dearer than doing it. Energy above a cap has no price; it is counted "
    "in the table. The line is the bound that no policy within the caps can go below.",
)
