"""Tables of TapFinger: flow times over instances, and what happens in every slot."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from edgeopt.models.tabular import named
from edgeopt.studies.comparison import GAP, over_instances
from edgeopt.studies.entries import Comparison, Log, Metric
from edgeopt.studies.tapfinger.policies import FIXED, bound_label
from edgeopt.studies.wording import NO_BOUND

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.arrays import Floats
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import TapFingerTrajectory
    from edgeopt.studies.results import Case, Study


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
        table["plan_gap"] = (plan / table["bound_value"] - 1.0).where(table["gap_raw"].notna())
    found = over_instances(
        study,
        (*_MEASURED, *_PARTS, "seconds"),
        table=table,
        paired=("mean",),
        shares=("gpu", "cpu"),
        timings=("seconds",),
    )
    first = study.cases[0]
    bounds = {
        name: bound_label(first, own) if (own := first.bound_of(name)) else ""
        for name in first.entries
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
        "mean_relative": "Against the reference policy",
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


def simulated(case: Case) -> dict[str, TapFingerTrajectory]:
    """Return the trajectories of a study of TapFinger by the name of the policy."""
    return {name: cast("TapFingerTrajectory", runs) for name, runs in case.trajectories.items()}


def average(instance: TapFingerInstance, total: float) -> float:
    """Turn a weighted sum of flow times into their weighted mean, slots; 0 without tasks."""
    weight = float(instance.weight.sum())
    return total / weight if weight > 0 else 0.0


def shortest_flow_times(case: Case) -> Floats:
    """Return a number of slots below which no policy can bring a flow time, shape [J].

    Each task has its fastest bundle from its arrival on, and the most favourable noise.
    """
    from edgeopt.instances.tapfinger.durations import shortest_durations
    from edgeopt.models.tapfinger import scheduling_problem
    from edgeopt.models.tapfinger.programs import fastest

    instance: TapFingerInstance = case.instance
    duration = shortest_durations(instance)
    return fastest(scheduling_problem(instance, duration=duration)).astype(float)


def _reached(share: float, trajectory: TapFingerTrajectory) -> Floats:
    """Return the flow time that so many of the tasks do not exceed, shape [runs]."""
    flow = np.sort(trajectory.flow_time, axis=1)
    if not flow.shape[1]:
        return np.full(flow.shape[0], np.nan)
    # No interpolation between slots: some tasks may be never complete.
    return np.asarray(flow[:, max(0, int(np.ceil(share * flow.shape[1])) - 1)])


def _use(resource: int, instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    """Return the share of a resource of all clusters that is held until the run ends, [runs]."""
    most = float(instance.capacity[:, resource].sum()) * np.maximum(1, trajectory.end)
    held = trajectory.used[..., resource].sum(axis=(1, 2))
    return np.asarray(np.divide(held, most, out=np.zeros(held.size), where=most > 0))


METRICS = (
    Metric("mean", "Mean flow time (slots)", lambda _, runs: runs.mean_flow_time()),
    Metric("median", "Median (slots)", lambda _, runs: _reached(0.5, runs)),
    Metric("p95", "95th percentile (slots)", lambda _, runs: _reached(0.95, runs)),
    Metric("makespan", "Makespan (slots)", lambda _, runs: np.asarray(runs.end, dtype=float)),
    Metric("gpu", "Share of GPUs held", partial(_use, 1), percent=True),
    Metric("cpu", "Share of CPU cores held", partial(_use, 0), percent=True),
    Metric("preemptions", "Changes of bundles", lambda _, runs: runs.preemptions.sum(axis=1) * 1.0),
)
"""Flow times count from the arrival of a task; use, before completed tasks free their bundle."""


_OPEN = "incomplete"


def _tasks(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: TapFingerInstance = case.instance
    runs = simulated(case)[policy]
    placed = runs.start[0] >= 0
    cluster = runs.cluster[0].tolist()
    return pd.DataFrame(
        {
            "task": named(instance.called("task"), np.arange(instance.tasks)),
            "kind": [instance.name_of("kind", k) for k in instance.kind.tolist()],
            "weight": instance.weight,
            "eligible clusters": instance.eligible.sum(axis=1),
            "arrival (slot)": instance.arrival,
            "waiting (slots)": np.where(placed, runs.start[0] - instance.arrival, np.inf),
            "cluster": [instance.name_of("cluster", n) if n >= 0 else "none" for n in cluster],
            "completion (slot)": runs.completion[0],
            "flow time (slots)": runs.flow_time[0],
            "shortest (slots)": shortest_flow_times(case),
            "changes of bundle": runs.preemptions[0],
            _OPEN: (~runs.complete[0]).astype(int),
        }
    )


def _clusters(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: TapFingerInstance = case.instance
    runs = simulated(case)[policy]
    cluster, flow = runs.cluster[0], runs.flow_time[0]
    placed = cluster >= 0
    count = np.bincount(cluster[placed], minlength=instance.clusters)
    total = np.bincount(cluster[placed], flow[placed], instance.clusters)
    nothing = np.full(instance.clusters, np.nan)
    use = np.nan_to_num(runs.utilisation()[0])
    held = runs.used[0] > 0
    return pd.DataFrame(
        {
            "cluster": [instance.name_of("cluster", n) for n in range(instance.clusters)],
            "CPU cores": instance.capacity[:, 0],
            "GPUs": instance.capacity[:, 1],
            "tasks": count,
            "mean flow time (slots)": np.divide(total, count, out=nothing, where=count > 0),
            "mean share of CPU cores held": use[:, 0],
            "mean share of GPUs held": use[:, 1],
            "busy slots": np.asarray(held.any(axis=2)).sum(axis=0),
            _OPEN: np.bincount(cluster[placed & ~runs.complete[0]], minlength=instance.clusters),
        }
    )


TASKS_LOG = Log(
    "tasks",
    "Every task",
    _tasks,
    bad=(_OPEN,),
    caption="The first run. The shortest flow time is that of the task alone, with its fastest "
    "bundle and the most favourable noise. A completion of infinity means never complete.",
)
"""One row per task: where it came from, where it went, how long it took and could have taken."""

CLUSTERS_LOG = Log(
    "clusters",
    "Every cluster",
    _clusters,
    bad=(_OPEN,),
    caption="The first run. Shares are means over its slots, before completed tasks free their "
    "bundles.",
)
"""One row per cluster: what it has, whom it served, how much of it was held."""
