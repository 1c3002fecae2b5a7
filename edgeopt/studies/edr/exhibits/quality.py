"""Figure 8: how much of their objective requests use up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.edr.exhibits.setting import OPEN, weeks
from edgeopt.studies.exhibits import Exhibit, Printed, means
from edgeopt.studies.pictures.canvas import INK, blank
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_8"]

_COLOUR: Final = "#0072b2"
_CLOSE: Final = 1e-9


def _cells(quick: bool) -> list[Cell]:
    return weeks(quick, ["saddle_point"])


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of all requests in each bin, and of those that are not served."""
    import pandas as pd

    long = []
    for row in table.to_dict("records"):
        bins = row["quality"]
        asked = sum(bins) / row["served_share"] if row["served_share"] > 0 else 1.0
        long += [
            {"from": place / len(bins), "to": (place + 1) / len(bins), "share": count / asked}
            for place, count in enumerate(bins)
        ]
    return means(pd.DataFrame(long), ("share",), ("from", "to"), shares=("share",))


def _between(low: float, high: float) -> Callable[[pd.DataFrame], float]:
    def read(rows: pd.DataFrame) -> float:
        inside = (rows["from"] >= low - _CLOSE) & (rows["to"] <= high + _CLOSE)
        return float(rows.loc[inside, "share"].sum())

    return read


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.0)
    axes = figure.subplots()
    middle, width = 50 * (rows["from"] + rows["to"]), 100 * (rows["to"] - rows["from"])
    axes.bar(middle, 100 * rows["share"], width, color=_COLOUR, alpha=0.85, linewidth=0)
    axes.vlines(middle, 100 * rows["share_low"], 100 * rows["share_high"], color=INK, linewidth=1.2)
    axes.set_xlim(0, 100)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("delay of a request / objective (%)")
    axes.set_ylabel("requests (%)")
    return figure


def _notice(rows: pd.DataFrame) -> str:
    low, high, all_ = (_between(*ends)(rows) for ends in ((0, 0.3), (0.7, 0.9), (0, 1)))
    return (
        f"{percent(low)} of the requests take less than 30 % of their objective, {percent(high)} "
        f"take 70 to 90 %; {percent(all_, 2)} are served within it"
    )


FIGURE_8 = Exhibit(
    kind="figure",
    number="8",
    title="delay of requests in terms of their objective",
    cells=_cells,
    rows=_rows,
    columns={"from": "From", "to": "To", "share": "Requests"},
    percent=("from", "to", "share"),
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(
            what="requests below 0.3 of their objective", value="most", percent=True,
            ours=_between(0.0, 0.3),
        ),
        Printed(
            what="requests between 0.7 and 0.9 of their objective",
            value="a second concentration, around 0.8", percent=True, ours=_between(0.7, 0.9),
        ),
        Printed(
            what="requests within their objective", value=1.0, percent=True,
            ours=_between(0.0, 1.0),
            why="A route that is too slow is never used: what is missing stays unserved.",
        ),
    ],
    differs=OPEN,
    caption="PROPOSED; shares of all requests that are asked. Thin lines: 95 % intervals over "
    "the drawn weeks.",
)  # fmt: skip
"""Histogram of delay over objective."""
