"""Figure 1: what bursts do to each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.studies.exhibits import Exhibit, Printed, Recipe, means, plays
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.wording import number
from sixth_system.instance import generate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

TITLES = {"balance": "Balance", "random": "Random balance", "timer": "Timer", "alone": "At once"}


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for burst in ((1, 20) if quick else (1, 2, 5, 10, 20, 40))
        for seed in range(4 if quick else 10)
        for cell in plays(
            "sixth",
            Recipe.of(generate, burst=burst, slots=60 if quick else 300, rng=seed),
            TITLES,
            runs=10,
            at={"burst": burst},
        )
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return means(table, ("ratio",), ("burst", "policy"))


def _draw(rows: pd.DataFrame) -> Figure:
    return curves(
        rows, "burst", {"ratio": "cost over the optimum"}, xlabel="requests of a burst",
        titles=TITLES,
    )  # fmt: skip


def _worst(rows: pd.DataFrame, policy: str) -> float:
    return float(rows.loc[rows["policy"] == policy, "ratio"].max())


def _notice(rows: pd.DataFrame) -> str:
    worst = {policy: _worst(rows, policy) for policy in TITLES}
    least = min(worst, key=worst.__getitem__)
    return (
        f"{TITLES[least]} pays at most {number(worst[least])} times the optimum in the mean, "
        f"Timer up to {number(worst['timer'])} times"
    )


EXHIBITS = (
    Exhibit(
        kind="figure",
        number="1",
        title="cost over the optimum as bursts grow",
        cells=_cells,
        rows=_rows,
        columns={"burst": "Burst", "policy": "Policy", "ratio": "Cost over OPT"},
        draw=_draw,
        notice=_notice,
        printed=[
            Printed(
                what="Balance, worst mean ratio",
                value="at most 2",
                ours=lambda rows: _worst(rows, "balance"),
            )
        ],
        differs=["the ratio 2 is proven for the worst day; these days are drawn."],
        caption="Means over drawn days, with 95 % intervals.",
    ),
)
