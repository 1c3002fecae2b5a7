"""Figure 5: requests served per cost of serving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.edr.exhibits.setting import ONLINE, OPEN, RL, TITLES, weekly
from edgeopt.studies.edr.policies import OFFLINE
from edgeopt.studies.exhibits import Exhibit, Printed, found, means
from edgeopt.studies.exhibits.drawing import bars
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["FIGURE_5"]

_PRINTED: Final = {
    OFFLINE: 1.31,
    "saddle_point": 1.05,
    "rl": 1.02,
    "oasdr": 0.87,
    "lyapunov": 0.68,
    "greedy": 0.25,
}
_RELATIVE: Final = {name: value / _PRINTED[OFFLINE] for name, value in _PRINTED.items()}
_ALL: Final = TITLES | RL
_SHORT: Final = {**TITLES, "rl": "RL"}


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(efficiency=table["served"] / table["request_cost"])
    best = table[table["policy"] == OFFLINE].set_index("draw")["efficiency"]
    table["relative"] = table["efficiency"] / best.loc[table["draw"]].array
    return means(
        table, ("relative", "efficiency", "served_share"), ("policy",), shares=("served_share",)
    )


def _draw(rows: pd.DataFrame) -> Figure:
    label = "requests served per cost of serving, in terms of OFFLINE"
    return bars(rows, {"relative": label}, titles=_ALL, printed={"relative": _RELATIVE})


def _notice(rows: pd.DataFrame) -> str:
    own = {row["policy"]: row["relative"] for row in rows.to_dict("records")}
    ranked = sorted(ONLINE, key=lambda name: -own[name])
    first, last = ranked[0], ranked[-1]
    return (
        f"In terms of OFFLINE, {ONLINE[first]} comes to {number(own[first], 3)}, "
        f"{ONLINE[last]}, the lowest, to {number(own[last], 3)}"
    )


FIGURE_5 = Exhibit(
    kind="figure",
    number="5",
    title="inference efficiency",
    cells=weekly,
    rows=_rows,
    columns={
        "policy": "Policy",
        "relative": "In terms of OFFLINE",
        "efficiency": "Requests per point",
        "served_share": "Requests served",
    },
    percent=("served_share",),
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(
            what=f"{_SHORT[name]}, efficiency in terms of OFFLINE",
            value=value,
            ours=found("relative", policy=name) if name in ONLINE else None,
            why=f"Printed as {_PRINTED[name]:g} beside {_PRINTED[OFFLINE]:g}.",
        )
        for name, value in _RELATIVE.items()
        if name != OFFLINE
    ],
    differs=(
        "The accuracies of inference, which the efficiency weighs requests by, are not given; here "
        "they are all the same, and figures are in terms of OFFLINE, so that scales cancel.",
        *OPEN,
    ),
    caption="Hollow diamonds: as printed, in terms of OFFLINE too. Thin lines: 95 % intervals "
    "over the drawn weeks.",
)
"""Efficiency of serving, in terms of OFFLINE."""
