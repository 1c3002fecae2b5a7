"""Every slot, every job and every site of a policy in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Account
from edgeopt.studies.oinc.ledger import plays
from edgeopt.studies.oinc.load import site_name

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.result import Case

__all__ = ["JOBS_ACCOUNT", "SITES_ACCOUNT", "SLOTS_ACCOUNT"]

_MISSED, _REFUSED, _LATE = "objectives missed", "refused", "late by (s)"


def _slots(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: OincInstance = case.instance
    trajectory = plays(case)[policy]
    slots, slot = instance.slots, trajectory.slot
    count = np.bincount(slot, minlength=slots)
    latency = np.bincount(slot, trajectory.counted_latency[0], slots)
    mean = np.divide(latency, count, out=np.full(slots, np.nan), where=count > 0)
    return pd.DataFrame(
        {
            "slot": np.arange(slots),
            "requests": count,
            "mean latency (s)": mean,
            _MISSED: np.bincount(slot[~trajectory.met[0]], minlength=slots),
            _REFUSED: np.bincount(slot[trajectory.refused[0]], minlength=slots),
            "jobs arriving": np.bincount(instance.arrival, minlength=slots),
            "CPU kept (Gcycle/s)": trajectory.reserved[0, :slots] @ instance.speed,
            "CPU used by jobs (Gcycle/s)": trajectory.job_load[0, :slots] @ instance.speed,
            case.system.value: trajectory.reward[0],
        }
    )


def _jobs(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: OincInstance = case.instance
    trajectory = plays(case)[policy]
    kind = ["" if instance.job_kind is None else _kind(instance, k) for k in range(instance.jobs)]
    completion = trajectory.completion[0]
    site = trajectory.job_site[0]
    return pd.DataFrame(
        {
            "job": np.arange(instance.jobs),
            "kind": kind,
            "work (Gcycle)": instance.work,
            "weight": instance.weight,
            "arrival (s)": instance.arrival,
            "deadline (s)": instance.deadline,
            "site": ["none" if j < 0 else site_name(instance, j) for j in site.tolist()],
            "completion (s)": completion,
            "flow time (s)": completion - instance.arrival,
            _LATE: np.maximum(completion - instance.deadline, 0.0),
        }
    )


def _kind(instance: OincInstance, job: int) -> str:
    assert instance.job_kind is not None
    kind = int(instance.job_kind[job])
    return f"kind {kind}" if instance.kinds is None else instance.kinds[kind]


def _sites(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: OincInstance = case.instance
    trajectory = plays(case)[policy]
    sites, site = instance.sites, trajectory.site[0]
    answered = site >= 0
    count = np.bincount(site[answered], minlength=sites)
    latency = np.bincount(site[answered], trajectory.latency[0, answered], sites)
    late = answered & ~trajectory.met[0]
    job_site = trajectory.job_site[0]
    return pd.DataFrame(
        {
            "site": [site_name(instance, j) for j in range(sites)],
            "CPU (Gcycle/s)": instance.speed,
            "requests": count,
            "mean latency (s)": np.divide(
                latency, count, out=np.full(sites, np.nan), where=count > 0
            ),
            _MISSED: np.bincount(site[late], minlength=sites),
            "jobs": np.bincount(job_site[job_site >= 0], minlength=sites),
            "mean share kept": trajectory.reserved[0, : instance.slots].mean(axis=0),
            "largest share kept": trajectory.reserved[0].max(axis=0),
            "busy with jobs (s)": (trajectory.job_load[0] > 0).sum(axis=0),
        }
    )


SLOTS_ACCOUNT = Account(
    "slots",
    "Every slot",
    _slots,
    bad=(_MISSED, _REFUSED),
    caption="The first run. Missed objectives include refused requests. The weighted sum of a slot "
    "is that of the requests and jobs which arrive in it.",
)
"""One row per slot: requests, latency, what was missed, what was kept and used."""

JOBS_ACCOUNT = Account(
    "jobs",
    "Every job",
    _jobs,
    bad=(_LATE,),
    caption="The first run. A completion of infinity: never complete.",
)
"""One row per job: what it asks for, where it went, when it was complete."""

SITES_ACCOUNT = Account(
    "sites",
    "Every site",
    _sites,
    bad=(_MISSED,),
    caption="The first run. Shares kept are means over the slots; a second in which jobs ran at "
    "all counts as busy, those after the last slot included.",
)
"""One row per site: requests and their latency, jobs, shares kept."""
