"""What an idle server is worth: the value functions that the policy decides by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.rescue.overview import SHOWN, shown_of
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.result import Case

__all__ = ["VALUES"]


def _baseline(case: Case) -> NDArray[np.float64]:
    """Value of every server idle at the start of each slot, shape [K, T+1]."""
    from edgeopt.online.rescue import value_functions

    return np.asarray(value_functions(case.instance, case.benchmark.plan.y)[1])


def _title(case: Case) -> str:
    total = _baseline(case)[:, 0].sum()
    bound = case.benchmark.bound
    share = f", {percent(total / bound)} of {case.label}" if bound > 0 else ""
    return f"At the start all servers together are worth {number(total, 4)} to RESCUE{share}"


def _draw(case: Case) -> Figure:
    baseline = _baseline(case)
    shown = baseline[:SHOWN]
    figure = blank()
    axes = figure.subplots()
    shades = colours(f"server {server}" for server in range(len(shown)))
    for (name, shade), values in zip(shades.items(), shown, strict=True):
        axes.plot(values, color=shade, label=name)
    axes.set_xlim(0, baseline.shape[1] - 1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"slot t at whose start the server is idle{shown_of(case.instance)}")
    axes.set_ylabel(f"profit from t on ({case.system.unit})")
    axes.axhline(0, color=INK, linewidth=0.8)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure


VALUES = Picture(
    "values",
    _title,
    _draw,
    "The value functions B of RESCUE under the plan of OPT(LP): the profit expected on a server "
    "from slot t on, given that it is idle then. A task is accepted if it promises more than the "
    "value of waiting, the curve one slot later.",
)
