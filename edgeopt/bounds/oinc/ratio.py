"""How far a schedule of retraining is from the best one at most, by a bound that proves itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.validate import frozen_array
from edgeopt.models.oinc.retraining import flow_bound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.models.oinc.retraining import FlowBound, RetrainingProblem, ServiceMode

__all__ = ["CertifiedRatio", "certified_ratio"]

ROUNDING = 1e-6
"""Seconds by which a completion time may be too early."""


@dataclass(frozen=True, eq=False)
class CertifiedRatio:
    """Weighted flow time of a schedule beside a bound on that of every one.

    Parameters
    ----------
    flow
        Weighted flow time of the schedule.
    bound
        What no schedule falls below that serves each job at one site, with its dual point.
    """

    flow: float
    bound: FlowBound

    @property
    def value(self) -> float:
        """By which factor the schedule exceeds the best one at most; 1 if there is no cost."""
        if self.flow == 0.0:
            return 1.0
        return self.flow / self.bound.value if self.bound.value > 0 else np.inf

    @property
    def horizon(self) -> int | None:
        """Slots by whose end those schedules have ended that are bounded; None if all are."""
        return self.bound.horizon

    @property
    def violation(self) -> float:
        """By how much the dual point breaks a constraint, recomputed from the data."""
        return self.bound.violation()


def certified_ratio(
    problem: RetrainingProblem,
    completion: ArrayLike,
    service: ServiceMode = "fluid",
    *,
    strong: bool = True,
) -> CertifiedRatio:
    r"""Bound the factor by which any schedule of retraining exceeds the best one.

    Parameters
    ----------
    problem
        The jobs, at the speed that the schedule has been given: where sites were faster by
        :math:`\epsilon`, the factor is that of the theory, over schedules at unit speed.
    completion
        When each job is complete, s since the start, infinite if never, shape [K].
    service
        Which schedules it is compared with: ``"fluid"``, in which jobs end within slots, or
        ``"slot"``, in which they end with slots, which are fewer and bounded better.
    strong
        Let the bound know that a job is served at one site at a time.

    Returns
    -------
    CertifiedRatio
        Its `value` is a proven upper bound, infinite if a job that weighs something is never
        complete.

    Raises
    ------
    InputError
        If the shape is wrong, a time is no number or before its job could be complete, or, with
        ``"slot"``, a job ends within a slot.
    OptionError
        If the service is unknown.

    Notes
    -----
    The bound is the optimum of problem P1 of Zeng et al. with the row that a job is served at one
    site at a time; its value is recomputed from its dual point.
    """
    sizes = {"job": problem.jobs}
    time = frozen_array("completion", completion, ("job",), sizes, empty=True, infinite=True)
    early = time < problem.arrival - ROUNDING
    if early.any():
        k = int(np.argmax(early))
        raise InputError("completion", "is before the job arrives", index=(k,), value=time[k])
    soonest = problem.arrival + problem.duration.min(axis=1, initial=np.inf)
    impossible = time < soonest * (1.0 - ROUNDING) - ROUNDING
    if impossible.any():
        k = int(np.argmax(impossible))
        rule = f"is before the job could be complete, {soonest[k]:g} with all of the fastest site"
        raise InputError("completion", rule, index=(k,), value=time[k])
    finite = np.isfinite(time)
    within = finite & (np.abs(time - np.round(np.where(finite, time, 0.0))) > ROUNDING)
    if service == "slot" and within.any():
        k = int(np.argmax(within))
        rule = "must be the end of a slot where service='slot'"
        raise InputError("completion", rule, index=(k,), value=time[k])
    weight = np.asarray(problem.weight)
    heavy = weight > 0
    flow = float(weight[heavy] @ (time - problem.arrival)[heavy])
    return CertifiedRatio(flow, flow_bound(problem, service=service, strong=strong))
