"""Figures 6 and 7: cost and its ratio to OFFLINE over the noise, by who hears whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.edr.exhibits.setting import OPEN, weeks
from edgeopt.studies.edr.policies import OFFLINE
from edgeopt.studies.exhibits import Estimate, Exhibit, Printed, found, means
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_6", "FIGURE_7"]

_NOISE: Final = (-174.0, -169.0, -164.0, -159.0, -154.0)
_READINGS: Final = {
    "group": "one set of sites shares a band",
    "none": "nobody shares a band",
    "per_receiver": "each receiver hears sites of its own",
}
_SMALLER: Final[dict[str, Any]] = {"sites": 20, "tasks": 40, "frames": 48, "accuracy": 0.02}
_DRAWS: Final = (3, 4)


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for reuse in _READINGS
        for noise in (_NOISE[::4] if quick else _NOISE)
        for cell in weeks(
            quick, ("saddle_point", OFFLINE), draws=_DRAWS[not quick], reuse=reuse, noise=noise,
            **({} if quick else _SMALLER),
        )
    ]  # fmt: skip


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(cost=[total[-1] for total in table["total"]])
    place = ["draw", "reuse", "noise"]
    bound = table[table["policy"] == OFFLINE].set_index(place)["bound"]
    own = table[table["policy"] != OFFLINE].copy()
    keys = list(own[place].itertuples(index=False, name=None))
    own["ratio"] = own["cost"] / bound.loc[keys].array
    quiet = own[own["noise"] == own["noise"].min()].set_index(["draw", "reuse"])["cost"]
    first = quiet.loc[list(own[["draw", "reuse"]].itertuples(index=False, name=None))].array
    own["change"] = own["cost"] / first - 1.0
    measures = ("cost", "change", "ratio", "served_share")
    return means(own, measures, ("reuse", "noise"), shares=("served_share",))


def _change(reuse: str) -> Callable[[pd.DataFrame], Estimate]:
    return lambda rows: found("change", reuse=reuse, noise=rows["noise"].max())(rows)


def _limit(reuse: str, *, largest: bool) -> Callable[[pd.DataFrame], float]:
    def read(rows: pd.DataFrame) -> float:
        own = rows.loc[rows["reuse"] == reuse, "ratio"]
        return float(own.max() if largest else own.min())

    return read


def _figure(
    number_: str,
    title: str,
    measure: str,
    ylabel: str,
    scale: float,
    notice: Callable[[pd.DataFrame], str],
    printed: list[Printed],
) -> Exhibit:
    def draw(rows: pd.DataFrame) -> Figure:
        return curves(
            rows, "noise", {measure: ylabel}, xlabel="noise (dBm/Hz)", titles=_READINGS,
            series="reuse", scale=scale,
        )  # fmt: skip

    return Exhibit(
        kind="figure",
        number=number_,
        title=title,
        cells=_cells,
        rows=_rows,
        columns={
            "reuse": "Who hears whom",
            "noise": "Noise (dBm/Hz)",
            "cost": "Total cost",
            "change": "Against the least noise",
            "ratio": "In terms of OFFLINE",
            "served_share": "Requests served",
        },
        percent=("change", "served_share"),
        draw=draw,
        notice=notice,
        printed=printed,
        differs=(
            "Who disturbs whom is not given; here are three readings. Where each receiver hears "
            "sites of its own, links are so slow that many requests stay unserved.",
            "Smaller than in the paper: 20 sites, 40 tasks, 48 frames, and an accuracy of 0.02.",
            OPEN[1],
            *OPEN[3:],
        ),
        caption="PROPOSED. Bands: 95 % intervals over the drawn weeks.",
    )


def _cost_notice(rows: pd.DataFrame) -> str:
    # Adding 0 turns what is rounded to minus nothing into nothing.
    changes = {reuse: round(_change(reuse)(rows).value, 3) + 0.0 for reuse in _READINGS}
    most = max(changes, key=lambda reuse: abs(changes[reuse]))
    least = min(changes, key=lambda reuse: abs(changes[reuse]))
    return (
        f"From the least to the most noise the cost changes by {percent(changes[most])} where "
        f"{_READINGS[most]}, by {percent(changes[least])} where {_READINGS[least]}"
    )


def _ratio_notice(rows: pd.DataFrame) -> str:
    said = []
    for reuse, title in _READINGS.items():
        low, high = (number(_limit(reuse, largest=one)(rows), 3) for one in (False, True))
        said.append(f"{low if low == high else f'{low} to {high}'} where {title}")
    return f"PROPOSED costs, in terms of OFFLINE, {', '.join(said)}"


FIGURE_6 = _figure(
    "6",
    "total cost over the noise",
    "change",
    "change of the total cost (%)",
    100.0,
    _cost_notice,
    [
        Printed(
            what=f"cost at the most noise against the least, where {title}",
            value="varies marginally",
            ours=_change(reuse),
            percent=True,
        )
        for reuse, title in _READINGS.items()
    ],
)
"""Cost over the noise."""

FIGURE_7 = _figure(
    "7",
    "competitive ratio over the noise",
    "ratio",
    "total cost in terms of OFFLINE",
    1.0,
    _ratio_notice,
    [
        Printed(
            what=f"{which} ratio, where {title}", value=value, ours=_limit(reuse, largest=largest)
        )
        for reuse, title in _READINGS.items()
        for which, value, largest in (("least", 1.17, False), ("largest", 1.20, True))
    ],
)
"""Ratio over the noise."""
