"""Tables of OINC: its Table I over instances, and what happens in every slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from edgeopt.models.tabular import named
from edgeopt.studies.comparison import GAP, over_instances
from edgeopt.studies.entries import Comparison, Log, Metric
from edgeopt.studies.wording import NO_BOUND

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.arrays import Floats
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.results import Case, Study


_TIMES: Final = ("latency", "completion", "both_times")
_SHARES: Final = ("requests_met", "jobs_met", "success")
_COLUMNS: Final = ("gap", "value", "violated_share", *_TIMES, *_SHARES, "refused", "total")


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
        "value_relative": "Against OINC",
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
    "certified bound, itself, and over OINC's on the same instances, beside which "
    "stands how the two compare, for all policies together; and the share of "
    "objectives and deadlines that are missed. Then, as in the paper's Table I, the mean latency "
    "of requests, the mean completion time of jobs since the start and their sum in seconds, "
    "nearly all of them of jobs.",
)
"""Over all instances of a study."""


class Parts(NamedTuple):
    """A figure of inference and one of retraining."""

    inference: Floats
    retraining: Floats

    @property
    def total(self) -> Floats:
        """Their sum."""
        return np.asarray(self.inference + self.retraining)


def simulated(case: Case) -> dict[str, OincTrajectory]:
    """Return the trajectories of a study of OINC by the name of the policy."""
    return {name: cast("OincTrajectory", runs) for name, runs in case.trajectories.items()}


def request_count(instance: OincInstance) -> int:
    """Return how many requests there are in all slots together."""
    return int(instance.active.sum())


def constraint_count(instance: OincInstance) -> int:
    """Return how many objectives and deadlines a run can miss."""
    return request_count(instance) + instance.jobs


TOTAL = (
    "objective of program (1), which adds up all requests and all jobs at the same scales, so that "
    "thousands of requests outweigh the jobs"
)
"""What total cost is."""

METRICS = (
    Metric("latency", "Latency (s)", lambda _, runs: runs.mean_latency()),
    Metric("completion", "Completion (s)", lambda _, runs: runs.mean_completion()),
    Metric(
        "requests_met", "Requests in time", lambda _, runs: runs.request_success(), percent=True
    ),
    Metric("jobs_met", "Jobs in time", lambda _, runs: runs.job_success(), percent=True),
    Metric("success", "Both in time", lambda _, runs: runs.success(), percent=True),
    Metric("refused", "Refused requests", lambda _, runs: runs.refused.sum(axis=1).astype(float)),
    Metric("total", "Total cost, program (1)", lambda _, runs: runs.total),
)
"""Mean times as in the paper's Table I, shares in time, and the objective of the program."""


_MISSED, _REFUSED, _LATE = "objectives missed", "refused", "late by (s)"


def _slots(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: OincInstance = case.instance
    trajectory = simulated(case)[policy]
    slots, slot = instance.slots, trajectory.slot
    count = np.bincount(slot, minlength=slots)
    latency = np.bincount(slot, trajectory.counted_latency[0], slots)
    mean = np.divide(latency, count, out=np.full(slots, np.nan), where=count > 0)
    per_request, per_job = instance.scaled_units
    completion = instance.weight * trajectory.counted_completion[0]
    jobs = np.bincount(instance.arrival, completion, slots)
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
            case.objective.name: instance.request_weight * latency / per_request + jobs / per_job,
        }
    )


def _logs_jobs(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: OincInstance = case.instance
    trajectory = simulated(case)[policy]
    kind = [kind_name(instance, job) for job in range(instance.jobs)]
    completion = trajectory.completion[0]
    site = trajectory.job_site[0]
    return pd.DataFrame(
        {
            "job": named(instance.called("job"), np.arange(instance.jobs)),
            "kind": kind,
            "work (Gcycle)": instance.work,
            "weight": instance.weight,
            "arrival (s)": instance.arrival,
            "deadline (s)": instance.deadline,
            "site": ["none" if j < 0 else instance.name_of("site", j) for j in site.tolist()],
            "completion (s)": completion,
            "flow time (s)": completion - instance.arrival,
            _LATE: np.maximum(completion - instance.deadline, 0.0),
        }
    )


def kind_name(instance: OincInstance, job: int) -> str:
    """Return the name of the kind of a job, "" if it has none."""
    if instance.job_kind is None:
        return ""
    kind = int(instance.job_kind[job])
    return instance.name_of("kind", kind)


def _sites(case: Case, policy: str) -> pd.DataFrame:
    import pandas as pd

    instance: OincInstance = case.instance
    trajectory = simulated(case)[policy]
    sites, site = instance.sites, trajectory.site[0]
    answered = site >= 0
    count = np.bincount(site[answered], minlength=sites)
    latency = np.bincount(site[answered], trajectory.latency[0, answered], sites)
    late = answered & ~trajectory.met[0]
    job_site = trajectory.job_site[0]
    return pd.DataFrame(
        {
            "site": [instance.name_of("site", j) for j in range(sites)],
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


SLOTS_LOG = Log(
    "slots",
    "Every slot",
    _slots,
    bad=(_MISSED, _REFUSED),
    caption="The first run. Missed objectives include refused requests. The weighted scaled sum of "
    "a slot is what the requests and jobs that arrive in it add to that of the run.",
)
"""One row per slot: requests, latency, what was missed, what was kept and used."""

JOBS_LOG = Log(
    "jobs",
    "Every job",
    _logs_jobs,
    bad=(_LATE,),
    caption="The first run. A completion time of infinity means that the job is never complete.",
)
"""One row per job: what it asks for, where it went, when it was complete."""

SITES_LOG = Log(
    "sites",
    "Every site",
    _sites,
    bad=(_MISSED,),
    caption="The first run. Shares kept are means over the slots. A second counts as busy if any "
    "job ran in it, also after the last slot.",
)
"""One row per site: requests and their latency, jobs, shares kept."""
