"""How much the policies move models about, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.over_time import curves
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.online.idn import IdnTrajectory
    from edgeopt.studies.result import Case

__all__ = ["MODEL_UPDATES", "running_mean"]

_LINEAR = 10.0
"""MB per slot from which on the axis is logarithmic."""

_GIGABYTE = 1024.0


def running_mean(slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the slots up to each, shape [runs, T]."""
    total: NDArray[np.float64] = np.cumsum(slots, axis=1)
    return total / np.arange(1, slots.shape[1] + 1)


def _title(case: Case) -> str:
    moving = case.table[case.table["updates"] > 0]
    if moving.empty:
        return "No policy moves any model"
    if len(moving) == 1:
        return f"Only {_said(case, moving.iloc[0])}"
    least, most = (
        moving.iloc[int(place)]
        for place in (moving["updates"].to_numpy().argmin(), moving["updates"].to_numpy().argmax())
    )
    return f"{_said(case, most)}; {_said(case, least)}"


def _said(case: Case, row: pd.Series) -> str:
    reached = "" if np.isnan(row["ratio"]) else f" for {percent(row['ratio'])} of {case.label}"
    title = case.entries[str(row["policy"])].title
    return f"{title} fetches {_size(float(row['updates']))} per slot{reached}"


def _size(megabytes: float) -> str:
    if megabytes < _GIGABYTE:
        return f"{number(megabytes, 3)} MB"
    return f"{number(megabytes / _GIGABYTE, 3)} GB"


def _draw(case: Case) -> Figure:
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    values = {
        name: running_mean(cast("IdnTrajectory", trajectory).fetched)
        for name, trajectory in case.trajectories.items()
    }
    figure = curves(case, values, "models fetched so far (MB per slot)")
    highest = max(float(runs.mean(axis=0).max()) for runs in values.values())
    for axes in figure.axes:
        axes.set_yscale("symlog", linthresh=_LINEAR, linscale=0.5)
        axes.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_LINEAR))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_ylim(-0.1 * _LINEAR, max(2 * highest, _LINEAR))
    return figure


MODEL_UPDATES = Picture(
    "model_updates",
    _title,
    _draw,
    "Size of the models that all nodes together fetch per slot, averaged over the slots so far and "
    "the runs, with confidence interval. Logarithmic above 10 MB. What is fetched for the first "
    "slot does not count.",
)
