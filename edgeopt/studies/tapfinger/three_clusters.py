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

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.results import Study

RECORDED: Final = {
    "single": {
        "optimus+swapped": (8.562, 7.0),
        "tiresias": (14.661, 15.0),
        "random": (12.839, 10.0),
        "min": (12.745, 13.0),
    },
    "several": {
        "optimus+swapped": (7.734, 6.0),
        "tiresias+elastic": (7.552, 7.0),
        "random": (15.120, 11.0),
        "min": (28.818, 25.0),
    },
    "pointer": {
        "optimus+swapped": (13.333, 11.0),
        "tiresias+elastic": (35.786, 36.5),
        "random": (52.974, 61.0),
        "min": (12.604, 12.0),
    },
}
"""Mean and median flow times of the authors' recorded runs, slots, by setting and policy."""

_PARTS: Final = ("gap", "over_plan", "plan_gap")
"""The gap to the bound, and its two parts."""

_MEASURED: Final = ("mean", "median", "p95", "makespan", "gpu", "cpu", "preemptions")


def setting(instance: TapFingerInstance) -> str:
    """Name the setting of the paper that an instance is drawn in, "" if it is none of them."""
    alike = instance.clusters == 3 and instance.tasks == 192 and (instance.capacity == 16).all()
    if not alike or instance.task_kinds != 2:
        return ""
    if (instance.minimum == 3).all():
        return "" if instance.single_start else "pointer"
    if not (instance.minimum == (2, 1)).all():
        return ""
    return "single" if instance.single_start else "several"


def _rows(study: Study) -> pd.DataFrame:
    """Average over the instances of a study, and add the recorded figures."""
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
    settings = {setting(case.instance) for case in study.cases}
    recorded = RECORDED.get(settings.pop(), {}) if len(settings) == 1 else {}
    for place, name in enumerate(("mean", "median")):
        found[f"{name}_recorded"] = [
            recorded.get(policy, (np.nan, np.nan))[place] for policy in found["policy"]
        ]
    return found


THREE_CLUSTERS = Comparison(
    "over_instances",
    "Flow times",
    _rows,
    {
        "mean": "Mean flow time (slots)",
        "mean_recorded": "recorded",
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
    "is one round of all clusters. The recorded means are those of the authors' own runs, one draw "
    "each, where the setting is theirs; their learned policy, not included here, which has learned "
    "on workloads of the same kinds, has 6.417 slots with a single start per slot, 4.292 with "
    "several, and 8.057 on tasks of 1 and 10 slots. The authors drew other arrivals, with a single "
    "start different ones for every policy, and their Optimus has the fit with CPU and GPU "
    "swapped.",
    absent={"gap": NO_BOUND, "plan_gap": NO_BOUND},
)
"""Our figures and the recorded ones, over all instances of a study."""
