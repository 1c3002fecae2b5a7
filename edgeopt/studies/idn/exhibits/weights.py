"""Figures 6 and 10: latency against inaccuracy as their weight changes, popularity fixed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from edgeopt.studies.exhibits import Exhibit, Printed, means, plays
from edgeopt.studies.idn.exhibits.setting import OPEN, RUNS, TITLES, holds, recipe, seeds
from edgeopt.studies.pictures.canvas import BAND, blank, colours
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_6", "FIGURE_10"]

_ALPHAS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
_RATES: Final = (7500.0, 10000.0)
_MARKS: Final = "osD^"


def _cells(
    topology: int,
    alphas: Sequence[float],
    rates: Sequence[float],
    policies: Sequence[str],
    quick: bool,
) -> list[Cell]:
    return [
        cell
        for rate in rates
        for alpha in (alphas[1::2] if quick else alphas)
        for seed in seeds(quick, topology)
        for cell in plays(
            "idn",
            recipe(quick, seed, topology=topology, alpha=alpha, rate=rate),
            policies,
            runs=RUNS,
            at={"rate": rate, "alpha": alpha},
        )
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return means(table, ("latency", "inaccuracy"), ("rate", "policy", "alpha"))


def _draw_6(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.6)
    left = figure.subplots()
    right = left.twinx()
    shades = colours(("latency", "inaccuracy"))
    for axes, name, style, unit in (
        (left, "latency", "--", "latency of a request (ms)"),
        (right, "inaccuracy", "-", "inaccuracy (%)"),
    ):
        colour = shades[name]
        axes.plot(rows["alpha"], rows[name], style, marker="o", color=colour, label=name)
        axes.fill_between(
            rows["alpha"], rows[f"{name}_low"], rows[f"{name}_high"], color=colour, alpha=BAND,
            linewidth=0,
        )  # fmt: skip
        axes.set_ylabel(unit, color=colour)
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    left.set_xlabel("alpha, weight of inaccuracy (ms per percent)")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _notice_6(rows: pd.DataFrame) -> str:
    ends = rows.sort_values("alpha").iloc[[0, -1]].to_dict("records")
    first, last = (
        f"{number(row['latency'], 3)} ms at {number(row['inaccuracy'], 3)} % inaccuracy"
        for row in ends
    )
    return (
        f"INFIDA serves requests in {first} with alpha {ends[0]['alpha']:g}, in {last} with alpha "
        f"{ends[1]['alpha']:g}"
    )


def _rises(measure: str, up: bool, rows: pd.DataFrame) -> str:
    own = rows.sort_values("alpha")[measure]
    fine = own.is_monotonic_increasing if up else own.is_monotonic_decreasing
    return holds(bool(fine), rows, measure)


def _at_first(rows: pd.DataFrame) -> float:
    return float(rows.sort_values("alpha")["latency"].iloc[0])


FIGURE_6 = Exhibit(
    kind="figure",
    number="6",
    title="latency and inaccuracy under INFIDA over the weight of accuracy, topology I",
    cells=partial(_cells, 1, (0.1, *_ALPHAS), (7500.0,), ("infida",)),
    rows=_rows,
    columns={"alpha": "alpha", "latency": "Latency (ms)", "inaccuracy": "Inaccuracy (%)"},
    draw=_draw_6,
    notice=_notice_6,
    printed=(
        Printed(
            what="latency (ms) rises with alpha", value="yes", ours=partial(_rises, "latency", True)
        ),
        Printed(
            what="inaccuracy (%) falls as alpha grows",
            value="yes",
            ours=partial(_rises, "inaccuracy", False),
        ),
        Printed(
            what="latency (ms) at the smallest alpha",
            value="a few",
            ours=_at_first,
            why="The paper says so of alpha near 0; the smallest here is 0.1, in a quick look 0.5.",
        ),
    ),
    differs=OPEN[:2],
    caption="Means over drawn instances; bands are their 95 % intervals.",
)


def _draw_10(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.9)
    grid = figure.subplots(1, len(_RATES), sharex=True, sharey=True)
    shades = colours(TITLES)
    for axes, rate in zip(grid, _RATES, strict=True):
        for (name, title), mark in zip(TITLES.items(), _MARKS, strict=True):
            own = rows[(rows["policy"] == name) & (rows["rate"] == rate)].sort_values("alpha")
            axes.plot(
                own["latency"], own["inaccuracy"], marker=mark, markersize=4.5, linewidth=1.0,
                color=shades[name], label=title,
            )  # fmt: skip
        axes.set_title(f"{rate:,.0f} requests per second", fontsize=9)
        axes.set_xlabel("latency of a request (ms)")
    grid[0].set_ylabel("inaccuracy (%)")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _cost(rows: pd.DataFrame) -> pd.Series:
    return rows["latency"] + rows["alpha"] * rows["inaccuracy"]


def _cheapest(rate: float, rows: pd.DataFrame) -> str:
    own = rows[rows["rate"] == rate]
    wide = own.assign(cost=_cost(own)).pivot_table(index="alpha", columns="policy", values="cost")
    first = wide[["infida", "infida-offline"]].min(axis=1)
    others = wide[["sg", "olag"]].min(axis=1)
    worst = float((first / others - 1.0).max())
    count = int((first <= others).sum())
    return f"at {count} of {len(wide)} values of alpha; {100 * worst:+.1f} % at the worst"


def _notice_10(rows: pd.DataFrame) -> str:
    total = rows.assign(cost=_cost(rows)).groupby("policy")["cost"].mean()
    best = str(total.idxmin())
    return (
        f"{TITLES[best]} serves requests at the least mean cost, latency plus alpha times "
        f"inaccuracy: {number(float(total[best]), 4)} ms; {TITLES[str(total.idxmax())]} at the "
        f"highest, {number(float(total.max()), 4)} ms"
    )


FIGURE_10 = Exhibit(
    kind="figure",
    number="10",
    title="latency against inaccuracy under two loads, topology II, fixed popularity",
    cells=partial(_cells, 2, _ALPHAS, _RATES, tuple(TITLES)),
    rows=_rows,
    columns={
        "rate": "Requests per second",
        "policy": "Policy",
        "alpha": "alpha",
        "latency": "Latency (ms)",
        "inaccuracy": "Inaccuracy (%)",
    },
    draw=_draw_10,
    notice=_notice_10,
    printed=tuple(
        Printed(
            what=f"INFIDA, online or offline, is the cheapest at {rate:,.0f} requests per second",
            value="at every alpha",
            ours=partial(_cheapest, rate),
            why="The paper says lowest latency and inaccuracy; at one alpha only their weighted "
            "sum can be compared.",
        )
        for rate in _RATES
    ),
    differs=OPEN,
    caption="One mark per weight alpha; along a curve it grows towards the right. Means over drawn "
    "instances.",
)
