"""The figures and tables of OINC's evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.instances.oinc import generate
from edgeopt.studies.exhibits import Exhibit, Printed, Recipe, found, means, plays
from edgeopt.studies.exhibits.drawing import bars
from edgeopt.studies.oinc.table_one import PRINTED
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["EXHIBITS"]

_TITLES = {
    "oinc": "OINC",
    "ekya": "Ekya",
    "kalmia": "Kalmia",
    "greedy+density": "Greedy and A_ret",
    "liu+density": "Liu and A_ret",
    "near+dedas": "A_inf and Dedas",
    "near+zhang": "A_inf and Zhang",
}


def _cells(quick: bool) -> list[Cell]:
    settings = {"slots": 20, "jobs": 4} if quick else {}
    return [
        cell
        for seed in range(2 if quick else 10)
        for cell in plays("oinc", Recipe.of(generate, rng=seed, **settings), _TITLES, runs=2)
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(both_times=table["latency"] + table["completion"])
    return means(table, ("latency", "completion", "both_times"), ("policy",))


def _draw(rows: pd.DataFrame) -> Figure:
    printed = {policy: completion for policy, (_, completion, _) in PRINTED.items()}
    return bars(
        rows, "completion", xlabel="mean completion time of jobs (s)", titles=_TITLES,
        printed=printed,
    )  # fmt: skip


def _notice(rows: pd.DataFrame) -> str:
    best = min(rows.to_dict("records"), key=lambda row: row["completion"])
    return f"{_TITLES[best['policy']]} completes jobs first, after {number(best['completion'])} s"


EXHIBITS = (
    Exhibit(
        kind="table",
        number="I",
        title="average latency of requests, completion time of jobs, and their sum",
        cells=_cells,
        rows=_rows,
        columns={
            "policy": "Policy",
            "latency": "Latency (s)",
            "completion": "Completion (s)",
            "both_times": "Their sum (s)",
        },
        draw=_draw,
        notice=_notice,
        printed=[
            Printed(what=f"{title}, {what} (s)", value=value, ours=found(column, policy=policy))
            for policy, title in _TITLES.items()
            for what, column, value in zip(
                ("latency", "completion", "sum"),
                ("latency", "completion", "both_times"),
                PRINTED[policy],
                strict=True,
            )
        ],
        differs=["The trace of activity and the sizes of jobs are not given."],
        caption="Hollow diamonds: as printed.",
    ),
)
"""In the order of the paper."""
