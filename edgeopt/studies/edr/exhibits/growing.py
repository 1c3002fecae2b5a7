"""Figures 4f and 4g: dynamic regret and fit over the length of the horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.edr.exhibits.setting import ONLINE, OPEN, longest, settings, weeks
from edgeopt.studies.edr.growth import exponent
from edgeopt.studies.edr.policies import FRAMEWISE
from edgeopt.studies.exhibits import Exhibit, Printed, means
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.wording import interval, listed, number

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_4F", "FIGURE_4G"]

_PARTS: Final = 8
_SHARES: Final = (1, 2, 4, 6, 8)
"""Lengths of the horizon, in eighths of the week."""

_SUBLINEAR: Final = "grows sublinearly"
_CONFIDENCE: Final = 0.95


def _cells(quick: bool) -> list[Cell]:
    frames = settings(quick)["frames"]
    return [
        cell
        for share in _SHARES
        for cell in weeks(quick, (*ONLINE, FRAMEWISE), first=frames * share // _PARTS)
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    best = table[table["policy"] == FRAMEWISE].set_index(["draw", "frames"])["paid"]
    own = table[table["policy"] != FRAMEWISE].copy()
    own["regret"] = own["paid"] - best.loc[list(zip(own["draw"], own["frames"], strict=True))].array
    return means(own, ("regret", "fit"), ("frames", "policy"))


def _grown(rows: pd.DataFrame, policy: str, measure: str) -> str:
    """Say how a measure of a policy grows, as far as a power of the horizon can be fitted."""
    own = rows[rows["policy"] == policy].sort_values("frames")
    values = own[measure].to_numpy(dtype=float)
    growth = exponent(own["frames"].to_numpy(dtype=np.int64), values, _CONFIDENCE)
    if growth is None:
        return f"goes from {number(values[0], 3)} to {number(values[-1], 3)}"
    limits = interval(growth.low, growth.high, digits=2)
    return f"grows like T to the power of {number(growth.exponent, 2)} ({limits})"


def _growth(measure: str) -> Callable[[pd.DataFrame], str]:
    return lambda rows: _grown(rows, "saddle_point", measure)


def _order(rows: pd.DataFrame) -> str:
    last = longest(rows, "frames")
    ends = dict(zip(last["policy"], last["regret"], strict=True))
    others = [name for name in ("greedy", "oasdr", "lyapunov") if ends[name] > ends["saddle_point"]]
    return f"below {listed([ONLINE[name] for name in others])}" if others else "below none"


def _figure(
    number_: str, title: str, measure: str, ylabel: str, printed: list[Printed], caption: str
) -> Exhibit:
    def draw(rows: pd.DataFrame) -> Figure:
        return curves(rows, "frames", {measure: ylabel}, xlabel="frames T", titles=ONLINE)

    def notice(rows: pd.DataFrame) -> str:
        last = longest(rows, "frames")
        ends = dict(zip(last["policy"], last[measure], strict=True))
        least = min(ends.values())
        lowest = listed([ONLINE[name] for name in ONLINE if ends[name] == least])
        return (
            f"PROPOSED's {measure} {_grown(rows, 'saddle_point', measure)}; after "
            f"{rows['frames'].max()} frames the least is {number(least, 3)}, with {lowest}"
        )

    return Exhibit(
        kind="figure",
        number=number_,
        title=title,
        cells=_cells,
        rows=_rows,
        columns={
            "frames": "Frames T",
            "policy": "Policy",
            "regret": "Regret (points)",
            "fit": "Fit (rounds)",
        },
        draw=draw,
        notice=notice,
        printed=printed,
        differs=(
            "The horizons are the first eighth, quarter, half, three quarters and all of a week; a "
            "task whose window is cut keeps its even rate.",
            *OPEN,
        ),
        caption=f"{caption} Exponents are fitted to positive values over these horizons, and "
        "speak about them alone. Bands: 95 % intervals over the drawn weeks.",
    )


FIGURE_4F = _figure(
    "4f",
    "dynamic regret over the length of the horizon",
    "regret",
    "regret (points)",
    [
        Printed(what="PROPOSED's regret", value=_SUBLINEAR, ours=_growth("regret")),
        Printed(
            what="PROPOSED's regret beside others", value="below GREEDY, OASDR, LYNO", ours=_order
        ),
        Printed(what="PROPOSED's regret beside RL", value="below", ours=None),
    ],
    "Cost, late rounds aside, beyond that of the best plan of every frame for itself which trains "
    "at the even rate; below zero where a policy trains less, or at better times.",
)
"""Regret."""

FIGURE_4G = _figure(
    "4g",
    "dynamic fit over the length of the horizon",
    "fit",
    "fit (rounds)",
    [Printed(what="PROPOSED's fit", value=_SUBLINEAR, ours=_growth("fit"))],
    "Norm of the rounds by which tasks lag behind their even rates at the end.",
)
"""Fit."""
