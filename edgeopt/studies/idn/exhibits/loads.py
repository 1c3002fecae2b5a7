"""Figure 9: the gain of a request under growing load, popularity fixed and sliding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from edgeopt.studies.exhibits import Exhibit, Printed, lead, means, plays
from edgeopt.studies.idn.exhibits.setting import OPEN, RUNS, TITLES, recipe, seeds
from edgeopt.studies.pictures.canvas import BAND, blank, colours
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_9"]

_RATES: Final = (7083.0, 7500.0, 8333.0, 9167.0, 10000.0)
_PROFILES: Final = ("fixed", "sliding")
_MARKS: Final = "osD^"


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for popularity in _PROFILES
        for rate in (_RATES[::4] if quick else _RATES)
        for seed in seeds(quick)
        for cell in plays(
            "idn",
            recipe(quick, seed, topology=1, popularity=popularity, rate=rate),
            TITLES,
            runs=RUNS,
            at={"popularity": popularity, "rate": rate},
        )
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return means(table, ("value",), ("popularity", "policy", "rate"))


def _loss(policy: str, rows: pd.DataFrame) -> float:
    """Return which share of the gain a policy loses because popularity slides."""
    own = rows[rows["policy"] == policy].groupby("popularity")["value"].mean()
    return float(1.0 - own["sliding"] / own["fixed"])


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.8)
    grid = figure.subplots(1, 2, sharey=True)
    shades = colours(TITLES)
    for axes, popularity in zip(grid, _PROFILES, strict=True):
        for (name, title), mark in zip(TITLES.items(), _MARKS, strict=True):
            own = rows[(rows["policy"] == name) & (rows["popularity"] == popularity)]
            axes.plot(
                own["rate"], own["value"], marker=mark, markersize=4.5, color=shades[name],
                label=title,
            )  # fmt: skip
            axes.fill_between(
                own["rate"], own["value_low"], own["value_high"], color=shades[name], alpha=BAND,
                linewidth=0,
            )  # fmt: skip
        axes.set_title(f"{popularity} popularity", fontsize=9)
        axes.set_xlabel("requests per second")
    grid[0].set_ylabel("gain per request, NTAG (ms)")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _notice(rows: pd.DataFrame) -> str:
    losses = {name: _loss(name, rows) for name in TITLES}
    most, least = max(losses, key=lambda n: losses[n]), min(losses, key=lambda n: losses[n])
    best = rows.loc[[int(rows["value"].to_numpy().argmax())]].to_dict("records")[0]
    return (
        f"A request gains at most {number(best['value'], 4)} ms, with {TITLES[best['policy']]}; "
        f"sliding popularity costs {TITLES[most]} {percent(losses[most])} of its gain, "
        f"{TITLES[least]} {percent(losses[least])}"
    )


FIGURE_9 = Exhibit(
    kind="figure",
    number="9",
    title="gain under growing load, topology I, alpha 1",
    cells=_cells,
    rows=_rows,
    columns={
        "popularity": "Popularity",
        "policy": "Policy",
        "rate": "Requests per second",
        "value": "NTAG (ms)",
    },
    draw=_draw,
    notice=_notice,
    printed=(
        Printed(
            what="INFIDA above OLAG at 7,083 requests per second, fixed popularity",
            value=0.10,
            percent=True,
            ours=lead("value", "infida", "olag", popularity="fixed", rate=7083.0),
            why="With the reading of OLAG that is taken here, it comes close to INFIDA.",
        ),
        Printed(
            what="INFIDA against INFIDA offline at 7,083 requests per second, fixed popularity",
            value="the same",
            percent=True,
            ours=lead("value", "infida", "infida-offline", popularity="fixed", rate=7083.0),
        ),
        Printed(
            what="loss of INFIDA offline when popularity slides",
            value=0.08,
            percent=True,
            ours=partial(_loss, "infida-offline"),
        ),
        Printed(
            what="loss of static greedy when popularity slides",
            value=0.30,
            percent=True,
            ours=partial(_loss, "sg"),
            why="What it plans for is taken to be the demand of all slots, as in equation (14).",
        ),
    ),
    differs=(
        *OPEN,
        "The text says 7,500 requests per second by default, the figure begins at 7,083.",
    ),
    caption="Means over drawn instances; bands are their 95 % intervals.",
)
