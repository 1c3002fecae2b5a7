"""Figure 7: the gain of a request over the weight of accuracy, popularity sliding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from edgeopt.studies.exhibits import Exhibit, Printed, means, plays
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.idn.exhibits.setting import OPEN, RUNS, TITLES, holds, recipe, seeds
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_7A", "FIGURE_7B"]

_ALPHAS: Final = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def _cells(topology: int, quick: bool) -> list[Cell]:
    return [
        cell
        for alpha in (_ALPHAS[1::2] if quick else _ALPHAS)
        for seed in seeds(quick, topology)
        for cell in plays(
            "idn",
            recipe(quick, seed, topology=topology, popularity="sliding", alpha=alpha),
            TITLES,
            runs=RUNS,
            at={"alpha": alpha},
        )
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return means(table, ("value",), ("policy", "alpha"))


def _falls(policy: str, rows: pd.DataFrame) -> str:
    own = rows[rows["policy"] == policy].sort_values("alpha")
    return holds(bool(own["value"].is_monotonic_decreasing), own, "value")


def _offline_ahead(rows: pd.DataFrame) -> str:
    wide = rows.pivot_table(index="alpha", columns="policy", values="value")
    lead = (wide["infida-offline"] / wide["sg"] - 1.0).rename("lead").to_frame()
    worst = float(lead["lead"].min())
    return f"{'yes' if worst >= 0 else 'no'}: {percent(worst, 2)} at the least"


def _draw(rows: pd.DataFrame) -> Figure:
    return curves(
        rows,
        "alpha",
        {"value": "gain per request, NTAG (ms)"},
        xlabel="alpha, weight of inaccuracy (ms per percent)",
        titles=TITLES,
    )


def _notice(rows: pd.DataFrame) -> str:
    last = rows[rows["alpha"] == rows["alpha"].max()].set_index("policy")["value"]
    first = rows[rows["alpha"] == rows["alpha"].min()].set_index("policy")["value"]
    best, worst = str(last.idxmax()), str(last.idxmin())
    ahead = number(100 * (last[best] / last[worst] - 1.0), 2)
    return (
        f"From alpha {rows['alpha'].min():g} to {rows['alpha'].max():g} a request gains "
        f"{number(first[best], 3)} to {number(last[best], 3)} ms with {TITLES[best]}, at the end "
        f"{ahead} % more than with {TITLES[worst]}"
    )


def _figure(number_of: str, topology: int, name: str) -> Exhibit:
    return Exhibit(
        kind="figure",
        number=number_of,
        title=f"gain over the weight of accuracy, {name}, sliding popularity",
        cells=partial(_cells, topology),
        rows=_rows,
        columns={"policy": "Policy", "alpha": "alpha", "value": "NTAG (ms)"},
        draw=_draw,
        notice=_notice,
        printed=(
            *(
                Printed(
                    what=f"{title}: NTAG (ms) falls as alpha grows",
                    value="yes",
                    ours=partial(_falls, policy),
                )
                for policy, title in TITLES.items()
            ),
            Printed(
                what="INFIDA offline ahead of static greedy at every alpha",
                value="yes",
                ours=_offline_ahead,
                why="One rounding of a fractional placement against a placement that is chosen "
                "whole: which is better depends on the step and the number of iterations, which "
                "are not given.",
            ),
        ),
        differs=OPEN,
        caption="Means over drawn instances; bands are their 95 % intervals.",
    )


FIGURE_7A = _figure("7a", 1, "topology I")
FIGURE_7B = _figure("7b", 2, "topology II")
