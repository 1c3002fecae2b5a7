"""Figures 4c and 4d: cost by kind of training task, and by type of request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.edr.draw import LEARNING_MODELS
from edgeopt.studies.edr.exhibits.setting import ONLINE, OPEN, TITLES, per_step, weekly, weeks
from edgeopt.studies.exhibits import Exhibit, Printed, means
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_4C", "FIGURE_4D", "KINDS"]

KINDS: Final = tuple(model.name for model in LEARNING_MODELS)
"""The four models, which tasks train and requests ask for."""

_OTHERS: Final = ("greedy", "oasdr", "lyapunov")


def _online(quick: bool) -> list[Cell]:
    return weeks(quick, ONLINE)


def _by_kind(table: pd.DataFrame, measure: str) -> pd.DataFrame:
    long = per_step(table, (measure,), "place").rename(columns={measure: "cost"})
    long["kind"] = [KINDS[place] for place in long["place"]]
    return means(long, ("cost",), ("kind", "policy"))


def _task_rows(table: pd.DataFrame) -> pd.DataFrame:
    return _by_kind(table, "task_cost")


def _type_rows(table: pd.DataFrame) -> pd.DataFrame:
    return _by_kind(table, "type_cost")


def _draw(rows: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    from matplotlib.patches import Patch

    figure = blank(height=1.5 + 0.17 * len(KINDS) * (len(titles) + 1))
    axes = figure.subplots()
    shades = colours(titles)
    thick = 0.86 / len(titles)
    for place, name in enumerate(titles):
        own = rows[rows["policy"] == name].set_index("kind").loc[list(KINDS)]
        at = np.arange(len(KINDS)) + (place - (len(titles) - 1) / 2) * thick
        axes.barh(at, own["cost"], thick, color=shades[name], alpha=0.85, linewidth=0)
        axes.hlines(at, own["cost_low"], own["cost_high"], color=INK, linewidth=1.0)
    axes.set_yticks(range(len(KINDS)), KINDS)
    axes.set_ylim(len(KINDS) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("cost of the week (points)")
    handles = [Patch(color=shades[n], alpha=0.85, label=title) for n, title in titles.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _draw_tasks(rows: pd.DataFrame) -> Figure:
    return _draw(rows, TITLES)


def _draw_types(rows: pd.DataFrame) -> Figure:
    return _draw(rows, ONLINE)


def _costs(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.pivot(index="kind", columns="policy", values="cost").loc[list(KINDS)]


def _least(rows: pd.DataFrame) -> str:
    """Say for how many kinds PROPOSED costs less than the baselines."""
    costs = _costs(rows)
    said = [
        f"{TITLES[other]} for {int((costs['saddle_point'] < costs[other]).sum())} of {len(KINDS)}"
        for other in _OTHERS
    ]
    return f"below {', '.join(said)}"


def _notice(rows: pd.DataFrame) -> str:
    costs = {(row["kind"], row["policy"]): row["cost"] for row in rows.to_dict("records")}
    dear = max(KINDS, key=lambda kind: costs[kind, "saddle_point"])
    best = min(ONLINE, key=lambda name: costs[dear, name])
    least = f"{ONLINE[best]} pays the least for it, {number(costs[dear, best], 3)}"
    if best == "saddle_point":
        least = "no other pays less for it"
    own = number(costs[dear, "saddle_point"], 3)
    return f"{dear} costs PROPOSED most, {own} points; {least}"


FIGURE_4C = Exhibit(
    kind="figure",
    number="4c",
    title="total cost by kind of training task",
    cells=weekly,
    rows=_task_rows,
    columns={"kind": "Kind of task", "policy": "Policy", "cost": "Cost"},
    draw=_draw_tasks,
    notice=_notice,
    printed=[
        Printed(what="PROPOSED by kind of task", value="below GREEDY, OASDR, LYNO", ours=_least),
        Printed(what="PROPOSED by kind of task against RL", value="below", ours=None),
    ],
    differs=OPEN,
    caption="Energy and exchange of models, and rounds that miss their deadline. Thin lines: "
    "95 % intervals over the drawn weeks.",
)
"""What training costs."""

FIGURE_4D = Exhibit(
    kind="figure",
    number="4d",
    title="total cost by type of request",
    cells=_online,
    rows=_type_rows,
    columns={"kind": "Type of request", "policy": "Policy", "cost": "Cost"},
    draw=_draw_types,
    notice=_notice,
    printed=[
        Printed(what="PROPOSED by type of request", value="below GREEDY, OASDR, LYNO", ours=_least),
        Printed(what="PROPOSED by type of request against RL", value="below", ours=None),
    ],
    differs=OPEN,
    caption="Energy and delay of requests, and those that stay unserved. Thin lines: 95 % "
    "intervals over the drawn weeks.",
)
"""What serving costs."""
