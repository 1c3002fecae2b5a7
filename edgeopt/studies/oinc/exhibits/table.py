"""Table I: mean latency and completion time of OINC, two joint policies and four ablations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.exhibits import Exhibit, Printed, found, plays
from edgeopt.studies.exhibits.drawing import bars
from edgeopt.studies.oinc.exhibits.setting import ALL, OPEN, averages, recipe
from edgeopt.studies.oinc.table_one import PRINTED
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["TABLE_I"]

_TIMES: Final = ("latency", "completion", "both_times")
_WORDS: Final = ("latency", "completion", "sum")
_SEEDS: Final = (4, 20)


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for seed in range(_SEEDS[0] if quick else _SEEDS[1])
        for cell in plays("oinc", recipe(quick, seed), ALL, runs=2, bounded=False)
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return averages(table, ("policy",))


def _draw(rows: pd.DataFrame) -> Figure:
    printed = {
        measure: {policy: figures[place] for policy, figures in PRINTED.items()}
        for place, measure in enumerate(_TIMES[:2])
    }
    labels = {"latency": "mean latency (s)", "completion": "mean completion time (s)"}
    return bars(rows, labels, titles=ALL, printed=printed)


def _notice(rows: pd.DataFrame) -> str:
    said = []
    for what, measure in (("shortest mean latency", "latency"), ("earliest jobs", "completion")):
        best = min(rows.to_dict("records"), key=lambda row: row[measure])
        said.append(f"{ALL[best['policy']]} has the {what}, {number(best[measure], 3)} s")
    return "; ".join(said)


TABLE_I = Exhibit(
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
        "requests_met": "Requests in time",
        "jobs_met": "Jobs in time",
    },
    percent=("requests_met", "jobs_met"),
    draw=_draw,
    notice=_notice,
    printed=[
        Printed(what=f"{title}, {word} (s)", value=value, ours=found(measure, policy=policy))
        for policy, title in ALL.items()
        for word, measure, value in zip(_WORDS, _TIMES, PRINTED[policy], strict=True)
    ],
    differs=OPEN,
    caption="Thin lines: 95 % intervals over the drawn instances. Completion times count from the "
    "start of the run.",
)
"""Our figures beside all printed ones."""
