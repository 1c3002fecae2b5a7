"""The paper's Table I: latency, completion and their sum, for every combination of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.comparison import GAP, over_instances
from edgeopt.studies.entries import Comparison
from edgeopt.studies.wording import NO_BOUND

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.results import Study

_TIMES: Final = ("latency", "completion", "both_times")
_SHARES: Final = ("requests_met", "jobs_met", "success")
_COLUMNS: Final = ("gap", "value", "ratio", "violated_share", *_TIMES, *_SHARES, "refused", "total")


def _rows(study: Study) -> pd.DataFrame:
    """Average over the instances of a study."""
    return over_instances(
        study,
        _COLUMNS,
        paired=("value",),
        shares=(*_SHARES, "violated_share"),
        table=study.table.assign(both_times=study.table["latency"] + study.table["completion"]),
    )


TABLE_ONE = Comparison(
    "table_one",
    "Table I",
    _rows,
    {
        "gap": GAP,
        "value": "Weighted scaled sum",
        "ratio": "Ratio (>= 1, less is better) to BOUND(apart)",
        "value_relative": "Times OINC",
        "violated_share": "Missed objectives",
        "latency": "Latency (s)",
        "completion": "Completion (s)",
        "both_times": "Their sum (s)",
        "requests_met": "Requests in time",
        "jobs_met": "Jobs in time",
    },
    percent=("gap", *_SHARES, "violated_share"),
    absent={"gap": NO_BOUND},
    caption="First the weighted scaled sum, by which policies are compared: its gap to its "
    "certified bound, itself, over the bound, and over OINC's on the same instances, beside which "
    "stands whether the difference is resolved, for all policies together; and the share of "
    "objectives and deadlines that are missed. Then, as in the paper's Table I, the mean latency "
    "of requests, the mean completion time of jobs since the start and their sum in seconds, "
    "nearly all of them of jobs.",
)
"""Over all instances of a study."""
