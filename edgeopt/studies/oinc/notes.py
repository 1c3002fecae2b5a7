"""What a reader must know to read the figures of an OINC study rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.studies.oinc.ledger import parts, plays, request_count
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.result import Case

__all__ = ["describe", "notes"]


def notes(case: Case) -> list[str]:
    """Say what the data are, what the weighted sum weighs, and what each policy gets to see."""
    instance: OincInstance = case.instance
    origin = instance.origin.strip()
    return [
        f"The data: {origin}" if origin else "Nothing is said of the origin of the data.",
        _weighing(case),
        "Objectives of requests and deadlines of jobs are wishes: nothing forbids to miss them, "
        "and every miss is counted. A refused request counts with a latency of "
        f"{number(instance.refusal_latency, 3)} s, a job that is never complete with the time at "
        "which the run ends. After the last slot no requests arrive; jobs are served until all are "
        "complete, or until a policy has served none for as long as the run was.",
        f"{case.label} is proven: no policy that serves each job at one site can have a smaller "
        "weighted sum, for it gives all CPUs to the requests and, at the same time, all CPUs to "
        "the jobs, of which it knows every arrival beforehand. No policy reaches it; the picture "
        "of the gaps says how much of the distance is the price of sharing, proven too, and how "
        "much may still be gained.",
        "A slot shows its requests, its channel and the jobs that have arrived, with their work; "
        "no policy sees what comes later. Shares that are kept for jobs are set when a job arrives "
        "and given back when a site has no job left.",
        "Ekya, Kalmia, Liu, Dedas and Zhang are readings of one line each in the paper, and the "
        "paper does not give its deadlines, objectives, weights or number of jobs: the figures "
        "printed in its Table I stand beside ours, and cannot be expected to agree with them.",
        "Nothing random is left once an instance is drawn: all runs of a policy are the same, and "
        "have no error. What holds beyond one instance is seen by drawing several, with the option "
        "--draws.",
    ]


def _weighing(case: Case) -> str:
    """Say how much of the weighted sum is retraining, and what that means."""
    instance: OincInstance = case.instance
    said = (
        "The weighted sum adds the latency of every request, a latency of "
        f"{number(instance.latency_scale, 3)} s counting as 1, and the completion time of every "
        f"job, {number(instance.completion_scale, 3)} s counting as 1, each times its weight: "
        f"{plural(request_count(instance), 'request')} and {plural(instance.jobs, 'job')}."
    )
    name = lead(case)
    found = parts(instance, plays(case)[name])
    total = float(found.total.mean())
    if not (total > 0 and instance.jobs and request_count(instance)):
        return said
    share = percent(float(found.retraining.mean()) / total)
    return (
        f"{said} With {case.entries[name].title}, jobs are {share} of it, so that its ranking is "
        "nearly that of the latencies; the scaled sum, that of both means over their scales, and "
        "the picture of it count both kinds alike. Rankings depend on this choice."
    )


def describe(instance: OincInstance) -> Mapping[str, float | int | str]:
    """Return the sizes of an instance and what characterises it."""
    requests = request_count(instance)
    speed = float(instance.speed.sum())
    asked = float((instance.request_work * instance.active).sum()) / instance.slots
    found: dict[str, float | int | str] = {
        "sites": instance.sites,
        "devices": instance.devices,
        "slots": instance.slots,
        "jobs": instance.jobs,
        "requests": requests,
        "requests_per_slot": requests / instance.slots,
        "CPU_Gcycle_per_s": speed,
        "CPU_share_asked_by_requests": asked / speed,
        "CPU_share_asked_by_jobs": float(instance.work.sum()) / instance.slots / speed,
        "latency_that_counts_as_1_s": instance.latency_scale,
        "completion_that_counts_as_1_s": instance.completion_scale,
    }
    if requests:
        found["mean_rate_Mbit_per_s"] = float(instance.rate[instance.active].mean())
        found["mean_objective_s"] = float(instance.slo[instance.active].mean())
    return found
