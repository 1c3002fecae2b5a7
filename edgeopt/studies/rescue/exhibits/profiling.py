"""Figure 4: the curve from work to accuracy, fitted to points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.rescue import fit_log_profile, generate
from edgeopt.studies.exhibits import Exhibit, Printed
from edgeopt.studies.pictures.canvas import PAPER, blank, colours
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["PROFILING"]

_DEVICES: Final = 3
_WORK: Final = tuple(range(10, 161, 10))
"""Work of the points, TMAC: up to 20 slots of 8."""

_SPREAD: Final = 0.06
"""Standard deviation of a point around its curve, as a share of the largest gain."""


def _work(device: int, draw: int) -> Mapping[str, Any]:
    """Scatter points around the curve of a drawn device, and fit a curve to them."""
    profit: Any = generate(rng=draw).profit
    work = np.array(_WORK, dtype=float)
    true = profit.gain[device] * np.log1p(profit.curvature[device] * work)
    noise = np.random.default_rng((draw, device)).normal(0.0, _SPREAD * true[-1], true.size)
    points = true + noise
    fit = fit_log_profile(work, points)
    spread = float(((points - points.mean()) ** 2).sum())
    return {
        "work": work.tolist(),
        "true": true.tolist(),
        "measured": points.tolist(),
        "fitted": (fit.gain * np.log1p(fit.curvature * work)).tolist(),
        "explained": 1.0 - fit.squared_error / spread,
    }


def _cells(quick: bool) -> list[Cell]:
    del quick  # there is nothing to save
    points = {"work": list(_WORK), "spread": _SPREAD, "reading": __name__}
    return [
        Cell({"device": device, "draw": 0, **points}, _work, (device, 0))
        for device in range(_DEVICES)
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    columns = ["device", "work", "measured", "fitted", "true", "explained"]
    return table.explode(columns[1:5], ignore_index=True)[columns].astype({"device": str})


def _draw(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    figure = blank(height=3.6)
    axes = figure.subplots()
    shades = colours(rows["device"])
    for device, shade in shades.items():
        own = rows[rows["device"] == device]
        axes.plot(own["work"], 100 * own["fitted"].astype(float), color=shade)
        axes.plot(
            own["work"], 100 * own["measured"].astype(float), "o", markersize=5, color=shade,
            markerfacecolor=PAPER,
        )  # fmt: skip
    axes.set_xlabel("work U (TMAC)")
    axes.set_ylabel("gain in accuracy (percentage points)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    handles = [Line2D([], [], color=shade, label=f"device {d}") for d, shade in shades.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _least(rows: pd.DataFrame) -> float:
    return float(rows["explained"].astype(float).min())


def _away(rows: pd.DataFrame) -> float:
    """Return how far a fitted curve is from the true one at most, as a share of its largest."""
    apart = (rows["fitted"].astype(float) - rows["true"].astype(float)).abs()
    largest = rows.groupby("device")["true"].transform("max").astype(float)
    return float((apart / largest).max())


def _notice(rows: pd.DataFrame) -> str:
    return (
        f"A logarithmic curve explains {percent(_least(rows), 0)} or more of how the points of a "
        f"device vary, and lies within {percent(_away(rows))} of the curve behind them"
    )


def _fits(rows: pd.DataFrame) -> str:
    return f"explains {number(100 * _least(rows), 3)} % of the variation of points or more"


PROFILING = Exhibit(
    kind="figure",
    number="4",
    title="resource-to-performance profiling: gain in accuracy over the work of a retraining run",
    cells=_cells,
    rows=_rows,
    columns={
        "device": "Device",
        "work": "Work (TMAC)",
        "measured": "Gain, scattered",
        "fitted": "Gain, fitted",
        "true": "Gain, behind the points",
        "explained": "Variation explained",
    },
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(
            what="non-negative least squares fit of a log(1 + b U)",
            value="one example, no figures",
            ours=_fits,
        )
    ],
    differs=[
        "The paper's measurements are not public, nor are others of accuracy over work. The points "
        "are scattered around the curves of three devices that are drawn as in the other figures, "
        f"with a standard deviation of {100 * _SPREAD:.0f} % of the largest gain."
    ],
    percent=("measured", "fitted", "true", "explained"),
    caption="Circles: points. Lines: curves a log(1 + b U) fitted to them.",
)
