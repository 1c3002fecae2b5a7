"""What is proven about one run: the least it could have had, beside what it kept for jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.solvers.tolerance import LOOSE
from edgeopt.studies.oinc.benchmarks import GAP, apart
from edgeopt.studies.oinc.ledger import Parts, parts, plays
from edgeopt.studies.pictures.shown import lead

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = ["Proof", "proof", "retraining_at", "slot_bounds"]


class Proof(NamedTuple):
    """The first run of a policy between what it came to and what it must have come to.

    Parameters
    ----------
    value
        Weighted sum of the run.
    beside
        Bound on it beside the shares that the run kept.
    alone
        Bound on it with all CPUs for either kind.
    slots
        By how much the latencies of each slot lie above their bound beside what was kept,
        relative, shape [T]; NaN where there are no requests.
    """

    value: Parts
    beside: Parts
    alone: Parts
    slots: Floats


def slot_bounds(instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    """Bound the latencies of every slot of the first run beside what was kept for jobs.

    Of all plans that answer the requests which were answered, and meet the objectives which were
    met, with a little room for rounding.
    """
    from edgeopt.models.oinc.slot import slot_problem
    from edgeopt.models.oinc.slot.columns import slot_bound

    bounds = np.zeros(instance.slots)
    answered, met = ~trajectory.refused[0], trajectory.met[0]
    ends = np.searchsorted(trajectory.slot, np.arange(instance.slots + 1))
    for slot in np.flatnonzero(np.diff(ends)).tolist():
        mine = slice(ends[slot], ends[slot + 1])
        here = answered[mine]
        if not here.any():
            continue
        whole = slot_problem(instance, slot, trajectory.reserved[0, slot])
        problem = replace(
            whole,
            transmission=whole.transmission[here],
            computation=whole.computation[here],
            slo=np.where(met[mine], (1.0 + LOOSE) * whole.slo, np.inf)[here],
            weight=None,
            device=None,
        )
        bounds[slot] = slot_bound(problem, objectives=True, gap=GAP).value
    return bounds


def retraining_at(instance: OincInstance, share: Floats) -> float:
    """Bound the weighted completion times of all jobs when sites keep at most these shares."""
    from edgeopt.models.oinc.retraining import flow_bound, retraining_problem

    if not instance.jobs:
        return 0.0
    assert instance.weight is not None
    least = flow_bound(retraining_problem(instance, share)).value
    return least + float(instance.weight @ instance.arrival)


def proof(case: Case) -> Proof:
    """Return what is proven about the policy that a study shows in detail."""
    instance: OincInstance = case.instance
    trajectory = plays(case)[lead(case)]
    assert instance.request_weight is not None
    value = parts(instance, trajectory)
    value = Parts(value.inference[:1], value.retraining[:1])
    alone = apart(case)
    bounds = slot_bounds(instance, trajectory)
    latency = np.bincount(trajectory.slot, trajectory.counted_latency[0], instance.slots)
    refused = np.bincount(trajectory.slot[trajectory.refused[0]], minlength=instance.slots)
    # Those which were refused are taken as such.
    bounds = bounds + refused * instance.refusal_latency
    gaps = np.divide(
        latency, bounds, out=np.full(instance.slots, np.nan), where=bounds > 0
    )  # fmt: skip
    inference = float(bounds @ instance.request_weight) / instance.latency_scale
    retraining = 0.0
    # What was never complete counts with the end of the run, of which nothing is proven.
    if instance.jobs and trajectory.complete[0].all():
        largest = trajectory.reserved[0].max(axis=0)
        retraining = retraining_at(instance, largest) / instance.completion_scale
    else:
        alone = Parts(alone.inference, np.zeros(()))
    beside = Parts(np.maximum(inference, alone.inference), np.maximum(retraining, alone.retraining))
    return Proof(value, beside, alone, np.maximum(gaps - 1.0, 0.0))
