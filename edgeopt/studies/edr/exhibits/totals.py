"""Figures 4a and 4b: total cost and energy cost as the week goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.edr.exhibits.setting import ONLINE, OPEN, TITLES, longest, per_step, weekly
from edgeopt.studies.edr.policies import OFFLINE
from edgeopt.studies.exhibits import Exhibit, Printed, lead, means
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.wording import listed, number

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["FIGURE_4A", "FIGURE_4B"]

_OURS: Final = "saddle_point"
_BASELINES: Final = {"greedy": 0.588, "oasdr": 0.134, "lyapunov": 0.208}
"""By how much PROPOSED costs less, as printed."""


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    long = per_step(table, ("total", "energy"), "frame")
    long["frame"] += 1
    return means(long, ("total", "energy"), ("policy", "frame"))


def _at_the_end(rows: pd.DataFrame, measure: str) -> dict[str, float]:
    last = longest(rows, "frame")
    return dict(zip(last["policy"], last[measure], strict=True))


def _figure(letter: str, title: str, measure: str, ylabel: str, printed: list[Printed]) -> Exhibit:
    def draw(rows: pd.DataFrame) -> Figure:
        return curves(rows, "frame", {measure: ylabel}, xlabel="frame (h)", titles=TITLES)

    def notice(rows: pd.DataFrame) -> str:
        ends = _at_the_end(rows, measure)
        least = min(ONLINE, key=lambda name: ends[name])
        most = max(ONLINE, key=lambda name: ends[name])
        return (
            f"After {rows['frame'].max()} frames OFFLINE stands at {number(ends[OFFLINE])} points; "
            f"of the others {ONLINE[least]} is lowest, {number(ends[least])}, {ONLINE[most]} "
            f"highest, {number(ends[most])}"
        )

    return Exhibit(
        kind="figure",
        number=letter,
        title=title,
        cells=weekly,
        rows=_rows,
        columns={
            "policy": "Policy",
            "frame": "Frames that are over",
            "total": "Total cost",
            "energy": "Energy cost",
        },
        draw=draw,
        notice=notice,
        printed=printed,
        differs=OPEN,
        caption="From the first frame to the end of each. Bands: 95 % intervals over the drawn "
        "weeks.",
    )


def _saving(other: str) -> Callable[[pd.DataFrame], float]:
    read = lead("total", _OURS, other)
    return lambda rows: -read(longest(rows, "frame"))


def _energy_order(rows: pd.DataFrame) -> str:
    ends = _at_the_end(rows, "energy")
    lower = [ONLINE[n] for n in _BASELINES if ends[n] < ends[_OURS]]
    higher = [ONLINE[n] for n in _BASELINES if ends[n] >= ends[_OURS]]
    said = [
        f"{how} {listed(names)}" for how, names in (("below", higher), ("above", lower)) if names
    ]
    return f"{'; '.join(said)}; {number(ends[_OURS] / ends[OFFLINE], 3)} times OFFLINE"


FIGURE_4A = _figure(
    "4a",
    "cumulative total cost",
    "total",
    "total cost so far (points)",
    [
        *(
            Printed(
                what=f"PROPOSED costs less than {ONLINE[name]} by",
                value=value,
                ours=_saving(name),
                percent=True,
            )
            for name, value in _BASELINES.items()
        ),
        Printed(what="PROPOSED costs less than RL by", value=0.036, ours=None, percent=True),
    ],
)
"""Total cost, penalties included."""

FIGURE_4B = _figure(
    "4b",
    "cumulative energy cost",
    "energy",
    "energy cost so far (points)",
    [
        Printed(
            what="PROPOSED's energy cost",
            value="below GREEDY, OASDR and LYNO; close to OFFLINE",
            ours=_energy_order,
        ),
        Printed(what="PROPOSED's energy cost against RL's", value="below", ours=None),
    ],
)
"""Energy cost at the true prices."""
