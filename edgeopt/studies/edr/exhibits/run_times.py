"""Figure 4h: how long PROPOSED takes for a frame and for a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.edr.exhibits.living import STEPS
from edgeopt.studies.edr.exhibits.setting import OPEN, per_step, weeks
from edgeopt.studies.exhibits import Exhibit, Printed, found, means
from edgeopt.studies.exhibits.drawing import logarithmic
from edgeopt.studies.pictures.canvas import blank, colours
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_4H"]

_PARTS: Final = {"frame": "Algorithms 1 and 2, a frame", "slot": "Algorithm 3, a slot"}


def _cells(quick: bool) -> list[Cell]:
    return weeks(quick, ["saddle_point"])


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    parts = []
    for part in _PARTS:
        own = per_step(table, (f"{part}_ms",), "step").rename(columns={f"{part}_ms": "ms"})
        parts.append(own.assign(part=part, share=own["step"] / STEPS))
    return means(pd.concat(parts), ("ms",), ("part", "share"))


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.3)
    axes = figure.subplots()
    shades = colours(_PARTS)
    for part, title in _PARTS.items():
        own = rows[rows["part"] == part].sort_values("share")
        axes.plot(own["ms"], 100 * own["share"], color=shades[part], label=title)
    logarithmic(axes.xaxis)
    axes.set_xlabel("run time (ms)")
    axes.set_ylabel("decisions that take no longer (%)")
    axes.set_ylim(0, 100)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _at(rows: pd.DataFrame, part: str, share: float) -> float:
    return found("ms", part=part, share=share)(rows).value


def _notice(rows: pd.DataFrame) -> str:
    said = [
        f"{title}: half within {number(_at(rows, part, 0.5), 2)} ms, all within "
        f"{number(_at(rows, part, 1.0), 2)} ms"
        for part, title in _PARTS.items()
    ]
    return "; ".join(said)


FIGURE_4H = Exhibit(
    kind="figure",
    number="4h",
    title="distribution of the run times of Algorithms 1 to 3",
    cells=_cells,
    rows=_rows,
    columns={"part": "Part", "share": "Decisions that take no longer", "ms": "Run time (ms)"},
    percent=("share",),
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(
            what="Algorithms 1 and 2, longest (ms)",
            value="milliseconds",
            ours=found("ms", part="frame", share=1.0),
        ),
        Printed(
            what="Algorithm 3, longest (ms)",
            value="less than 2000",
            ours=found("ms", part="slot", share=1.0),
        ),
    ],
    differs=(
        "The paper ran on a laptop with 12 cores of 2.6 GHz; ours is the machine that ran this, "
        "and its other work takes part in the times. Algorithms 1 and 2 are one decision here, the "
        "guard on deadlines and the repair of caps included.",
        *OPEN,
    ),
    caption="Mean over the drawn weeks at each share of the decisions.",
)
"""Run times of a frame's and of a slot's decision."""
