"""Every task and every cluster of a policy in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Account
from edgeopt.studies.tapfinger.floors import shortest_flow_times
from edgeopt.studies.tapfinger.ledger import cluster_name, kind_name, plays

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.result import Case

__all__ = ["CLUSTERS_ACCOUNT", "TASKS_ACCOUNT"]

_OPEN = "incomplete"


def _tasks(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: TapFingerInstance = case.instance
    runs = plays(case)[policy]
    placed = runs.start[0] >= 0
    cluster = runs.cluster[0].tolist()
    return pd.DataFrame(
        {
            "task": np.arange(instance.tasks),
            "kind": [kind_name(instance, k) for k in instance.kind.tolist()],
            "weight": instance.weight,
            "eligible clusters": instance.eligible.sum(axis=1),
            "arrival (slot)": instance.arrival,
            "waiting (slots)": np.where(placed, runs.start[0] - instance.arrival, np.inf),
            "cluster": [cluster_name(instance, n) if n >= 0 else "none" for n in cluster],
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
    runs = plays(case)[policy]
    cluster, flow = runs.cluster[0], runs.flow_time[0]
    placed = cluster >= 0
    count = np.bincount(cluster[placed], minlength=instance.clusters)
    total = np.bincount(cluster[placed], flow[placed], instance.clusters)
    nothing = np.full(instance.clusters, np.nan)
    use = np.nan_to_num(runs.utilisation()[0])
    held = runs.used[0] > 0
    return pd.DataFrame(
        {
            "cluster": [cluster_name(instance, n) for n in range(instance.clusters)],
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


TASKS_ACCOUNT = Account(
    "tasks",
    "Every task",
    _tasks,
    bad=(_OPEN,),
    caption="The first run. The shortest flow time is that of the task alone, with its fastest "
    "bundle and all noise on its side. A completion of infinity: never complete.",
)
"""One row per task: where it came from, where it went, how long it took and could have taken."""

CLUSTERS_ACCOUNT = Account(
    "clusters",
    "Every cluster",
    _clusters,
    bad=(_OPEN,),
    caption="The first run. Shares are means over its slots, before the end of a slot frees any.",
)
"""One row per cluster: what it has, whom it served, how much of it was held."""
