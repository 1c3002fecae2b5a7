"""Figure 4e: how far training has come, by the bound from which its rounds follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.studies.edr.exhibits.kinds import KINDS
from edgeopt.studies.edr.exhibits.living import STEPS
from edgeopt.studies.edr.exhibits.setting import OPEN, weeks
from edgeopt.studies.exhibits import Exhibit, Printed, means
from edgeopt.studies.exhibits.drawing import curves
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_4E"]


def _cells(quick: bool) -> list[Cell]:
    return weeks(quick, ["saddle_point"])


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    long = pd.DataFrame(
        [
            {"kind": KINDS[place], "passed": 100 * step / STEPS, "bound": bound}
            for row in table["loss"]
            for place, bounds in enumerate(row)
            for step, bound in enumerate(bounds)
        ]
    )
    return means(long, ("bound",), ("kind", "passed"))


def _draw(rows: pd.DataFrame) -> Figure:
    return curves(
        rows, "passed", {"bound": "bound on loss above the least"},
        xlabel="share of the window of a task that is over (%)",
        titles=dict(zip(KINDS, KINDS, strict=True)), series="kind", logy=True,
    )  # fmt: skip


def _ends(rows: pd.DataFrame, passed: float) -> tuple[float, float]:
    bounds = rows.loc[rows["passed"] == passed, "bound"]
    return float(bounds.min()), float(bounds.max())


def _found(rows: pd.DataFrame) -> str:
    (_, first), (_, last) = _ends(rows, 0.0), _ends(rows, 100.0)
    return f"its bound goes from {number(first, 3)} to {number(last, 3)} or less"


def _notice(rows: pd.DataFrame) -> str:
    (_, first), (least, most) = _ends(rows, 0.0), _ends(rows, 100.0)
    best, worst = number(least, 3), number(most, 3)
    last = f"{worst} for every kind of task"
    if best != worst:
        last = f"{best} for the best kind of task, {worst} for the worst"
    return f"With PROPOSED the bound on the loss goes from {number(first, 3)} to {last}"


FIGURE_4E = Exhibit(
    kind="figure",
    number="4e",
    title="global loss of the training tasks",
    cells=_cells,
    rows=_rows,
    columns={
        "kind": "Kind of task",
        "passed": "Window that is over (%)",
        "bound": "Bound on loss above the least",
    },
    draw=_draw,
    notice=_notice,
    printed=[Printed(what="global loss", value="falls to a satisfying one", ours=_found)],
    differs=(
        "No model is trained here, so there is no loss. Shown is the bound on its distance from "
        "the least one from which the rounds of a task follow: it falls like 1 / (q + 5) with the "
        "rounds q done, and is the accuracy asked for when all rounds are.",
        *OPEN,
    ),
    caption="Mean over the tasks of a kind. Bands: 95 % intervals over the drawn weeks.",
)
"""A bound on the loss in place of the loss."""
