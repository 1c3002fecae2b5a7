"""Figure 5: utilisation and profit of RESCUE as time goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.rescue import generate
from edgeopt.studies.exhibits import Estimate, Exhibit, Printed, Recipe, means
from edgeopt.studies.pictures.canvas import BAND, blank, colours
from edgeopt.studies.rescue.exhibits.compared import compared, unfolded
from edgeopt.studies.rescue.exhibits.sweeps import OPEN, QUICK, VARIANTS
from edgeopt.studies.rescue.pictures import utilisation
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

__all__ = ["OVER_TIME"]

_TITLES: Final = {
    "rescue": "RESCUE, unguarded",
    "rescue+guard": "RESCUE, guarded",
    "rescueplus": "RESCUE+ (ours), unguarded",
    "rescueplus+guard": "RESCUE+ (ours), guarded",
}
_INSTANCES: Final = 20
_MEASURES: Final = ("utilisation", "earned")


def read(case: Case, policy: str) -> Mapping[str, Any]:
    """Return utilisation and profit so far, after each slot, the latter as a share of OPT(LP)."""
    run: Any = case.trajectories[policy]
    earned = np.cumsum(run.reward, axis=1).mean(axis=0) / case.benchmark.bound
    return {
        "slot": list(range(1, case.instance.horizon + 1)),
        "utilisation": utilisation(case.instance, run).mean(axis=0).tolist(),
        "earned": earned.tolist(),
    }


def _cells(quick: bool) -> list[Cell]:
    settings = QUICK if quick else {}
    return [
        compared(
            Recipe.of(generate, rng=draw, **settings),
            list(_TITLES),
            runs=20 if quick else 200,
            at={"draw": draw},
            reading=read,
        )
        for draw in range(3 if quick else _INSTANCES)
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    columns = ("slot", *_MEASURES)
    series = unfolded(table, columns).explode(list(columns), ignore_index=True)
    return means(series, _MEASURES, ("policy", "slot"), shares=("utilisation",))


def _last(rows: pd.DataFrame, policy: str) -> Mapping[Any, Any]:
    own = rows[(rows["policy"] == policy) & (rows["slot"] == rows["slot"].max())]
    found: dict[Any, Any] = own.iloc[-1].to_dict()
    return found


def _final(measure: str, policy: str) -> Callable[[pd.DataFrame], Estimate]:
    def read(rows: pd.DataFrame) -> Estimate:
        row = _last(rows, policy)
        return Estimate(*(float(row[name]) for name in (measure, f"{measure}_low",
                                                        f"{measure}_high")))  # fmt: skip

    return read


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.8)
    shades = colours(_TITLES)
    labels = ("utilisation so far (%)", "profit so far (% of OPT(LP))")
    for axes, measure, label in zip(figure.subplots(1, 2), _MEASURES, labels, strict=True):
        for policy, shade in shades.items():
            own = rows[rows["policy"] == policy].astype({"slot": float})
            name = _TITLES[policy] if measure == "earned" else None
            axes.plot(own["slot"], 100 * own[measure], color=shade, label=name)
            axes.fill_between(
                own["slot"], 100 * own[f"{measure}_low"], 100 * own[f"{measure}_high"],
                color=shade, alpha=BAND, linewidth=0,
            )  # fmt: skip
        axes.set_ylabel(label)
        axes.set_xlabel("slot")
        axes.set_xlim(0, float(rows["slot"].max()))
        axes.set_ylim(0, 115 * max(0.01, float(rows[measure].max())))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _notice(rows: pd.DataFrame) -> str:
    said = [
        f"{variant} to {percent(_last(rows, f'rescue{ending}')['utilisation'], 0)} of what is left "
        f"and {percent(_last(rows, f'rescue{ending}')['earned'], 0)} of OPT(LP)"
        for variant, ending in VARIANTS.items()
    ]
    return f"In the end RESCUE has come, {'; '.join(said)}"


OVER_TIME = Exhibit(
    kind="figure",
    number="5",
    title="utilisation and profit over time",
    cells=_cells,
    rows=_rows,
    columns={
        "policy": "Policy",
        "slot": "Slot",
        "utilisation": "Utilisation so far",
        "earned": "Share of OPT(LP) so far",
    },
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(
            what=f"{what}, {variant}",
            value=value,
            ours=_final(name, f"rescue{ending}"),
            percent=True,
        )
        for what, value, name in (
            ("utilisation of RESCUE in the end", 0.53, "utilisation"),
            ("share of OPT(LP) of RESCUE in the end", 0.64, "earned"),
        )
        for variant, ending in VARIANTS.items()
    ],
    differs=[
        *OPEN,
        f"In full size means over {_INSTANCES} drawn instances, 200 runs each; the paper shows one "
        "setting.",
    ],
    percent=_MEASURES,
    caption="Left: retraining work so far as a share of the capacity that reserved work has left. "
    "Mean over drawn instances with interval.",
)
