"""Mean flow times, gaps and seconds per decision over the instances of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.comparison import GAP, over_instances
from edgeopt.studies.entries import Comparison
from edgeopt.studies.tapfinger.policies import FIXED, bound_label
from edgeopt.studies.wording import NO_BOUND

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.studies.results import Study

_PARTS: Final = ("gap", "over_plan", "plan_gap")
"""The gap to the bound, and its two parts."""

_MEASURED: Final = ("mean", "median", "p95", "makespan", "gpu", "cpu", "preemptions")


def _rows(study: Study) -> pd.DataFrame:
    """Average over the instances of a study, with the gap to the bound in its two parts."""
    table = study.table.assign(seconds=1e-6 * study.table["decision_us"])
    planned = {case.name: case.benchmarks[FIXED].value for case in study.cases}
    plan = table["instance"].map(planned)
    with np.errstate(divide="ignore", invalid="ignore"):
        table["over_plan"] = table["value"] / plan - 1.0
        table["plan_gap"] = (plan / table["bound_value"] - 1.0).where(table["gap"].notna())
    found = over_instances(
        study,
        (*_MEASURED, *_PARTS, "seconds"),
        table=table,
        paired=("mean",),
        shares=("gpu", "cpu"),
        signed=_PARTS,
        timings=("seconds",),
    )
    first = study.cases[0]
    bounds = {
        name: bound_label(first, entry.bound) if entry.bound else ""
        for name, entry in first.entries.items()
    }
    proven = found["gap"].notna()
    found["bound"] = found["policy"].map(bounds).where(proven, NO_BOUND)
    return found


THREE_CLUSTERS = Comparison(
    "over_instances",
    "Flow times",
    _rows,
    {
        "mean": "Mean flow time (slots)",
        "mean_relative": "Times the reference",
        "median": "Median (slots)",
        "p95": "95th percentile (slots)",
        "gap": GAP,
        "over_plan": "Over the best plan",
        "plan_gap": "Best plan over the bound",
        "bound": "Bound",
        "seconds": "Seconds per decision",
        "gpu": "Share of GPUs held",
        "cpu": "Share of CPU cores held",
    },
    percent=(*_PARTS, "gpu", "cpu"),
    caption="The gap compares the sum of flow times with the bound that is valid for the policy: "
    "one for policies that never change the bundle of a running task, another for all; the word "
    "scenario says that it is that of each run's noise. The best plan found knows all tasks, and "
    "all noise, in advance and changes no bundle; a policy that does can be below it. A decision "
    "is one round of all clusters.",
    absent={"gap": NO_BOUND, "plan_gap": NO_BOUND},
)
"""Over all instances of a study."""
