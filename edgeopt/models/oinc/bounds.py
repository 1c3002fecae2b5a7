"""A lower bound on the weighted sum of a whole instance, whatever the policy."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.instances.validate import frozen
from edgeopt.models.oinc.retraining import flow_bound, retraining_problem
from edgeopt.models.oinc.slot import slot_problem, solve_slot
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.retraining import FlowBound
    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem


ASCENT: Final = 1e-4
"""Relative gap from which on the ascent of prices is enough, whatever gap it proves.

The linear program over columns takes many times as long and hardly raises the bound.
"""


@in_html
@dataclass(frozen=True, eq=False)
class WeightedSumBound:
    """What no policy can fall below that completes all jobs, each at one site.

    Parameters
    ----------
    instance
        The instance.
    latency
        Least sum of the latencies of each slot, s, refused requests included, shape [T].
    plans
        Plan of each slot from which the search for its bound began, with short latencies.
    flow
        Least weighted flow time of the jobs, with its proof.
    seconds
        Time it took.

    Notes
    -----
    Ours, see `weighted_sum_bound`.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import WeightedSumBound, weighted_sum_bound
    >>> bound = weighted_sum_bound(small(1))
    >>> len(bound.plans), round(bound.flow.value, 3)
    (2, 1.47)
    """

    instance: OincInstance = field(repr=False)
    latency: NDArray[np.float64] = field(repr=False)
    plans: tuple[SlotPlan, ...] = field(repr=False)
    flow: FlowBound
    seconds: float

    @property
    def completion(self) -> float:
        """Least weighted sum of completion times, s."""
        return self.flow.value + float(self.instance.weight @ self.instance.arrival)

    @property
    def inference(self) -> float:
        """Bound on the part of the weighted sum that latencies make up."""
        return float(self.instance.request_weight @ self.latency) / self.instance.latency_scale

    @property
    def retraining(self) -> float:
        """Bound on the part of the weighted sum that completion times make up."""
        return self.completion / self.instance.completion_scale

    @property
    def value(self) -> float:
        """Bound on the weighted sum."""
        return self.inference + self.retraining

    @property
    def scaled_parts(self) -> tuple[float, float]:
        """Bounds on both parts of the weighted scaled sum, of inference and of retraining.

        Each is the bound on the weighted sum of latencies, or of completion times, over a constant
        of the instance; so no policy falls below either of them, nor below their sum.
        """
        per_request, per_job = self.instance.scaled_units
        latency = float(self.instance.request_weight @ self.latency)
        return latency / per_request, self.completion / per_job


@checked()
def weighted_sum_bound(
    instance: OincInstance, *, gap: float = 3e-4, time_limit: float | None = None
) -> WeightedSumBound:
    """Bound the weighted sum as if requests and jobs each had all CPUs to themselves.

    Parameters
    ----------
    instance
        The instance.
    gap
        Relative gap at which the search for the bound of a slot stops, see `least_latency`.
    time_limit
        Seconds for the slots together, after which each has the best bound so far.

    Returns
    -------
    The bound and its parts. It holds for policies that refuse requests, that miss objectives, that
    let jobs share a site and that change what they reserve; not if a job is never complete, or
    moves after it has started.

    Raises
    ------
    OptionError
        If the gap is not positive.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Ours: the objective of problem (1) of Zeng et al., whose two parts are bounded by themselves, by
    `least_latency` and `flow_bound`.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import weighted_sum_bound
    >>> bound = weighted_sum_bound(small(1))
    >>> bound.latency.shape
    (2,)
    """
    began = time.perf_counter()
    refusal = instance.refusal_latency
    latency, plans = [], []
    for slot in range(instance.slots):
        left = None
        if time_limit is not None:
            spent = time.perf_counter() - began
            left = max(0.0, time_limit - spent) / (instance.slots - slot)
        problem = slot_problem(instance, slot)
        plans.append(solve_slot(problem, objectives=False))
        site = plans[-1].site
        latency.append(least_latency(problem, refusal, gap=gap, site=site, time_limit=left))
    flow = flow_bound(retraining_problem(instance))
    seconds = time.perf_counter() - began
    return WeightedSumBound(instance, frozen(np.array(latency)), tuple(plans), flow, seconds)


@checked(refusal="(0, inf)")
def least_latency(
    problem: SlotProblem,
    refusal: float,
    *,
    gap: float = 3e-4,
    site: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
) -> float:
    r"""Bound the weighted sum of latencies of a slot in which requests may be refused.

    Prices :math:`\pi` of requests prove that sets of them cost a site at least their prices and
    some :math:`\rho_j \le 0`. Lower prices prove it too; lowered to what refusing costs, a refused
    request also costs at least its price, so that every plan costs at least
    :math:`\sum_i \min(\pi_i, w_i R) + \sum_j \rho_j`. Neither is any request answered faster than
    alone.

    Parameters
    ----------
    problem
        The requests; objectives are ignored. Those that reach no site are refused.
    refusal
        Latency R that a refused request counts with, s.
    gap
        Relative gap at which the search for prices stops; from 1e-4 on also where it promises a
        rise of less than half of that.
    site
        A good site of every request to begin with, -1 where it can reach none, shape [n]; searched
        for by default.
    time_limit
        Seconds after which it stops, too.

    Returns
    -------
    The bound, s.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc import least_latency
    >>> from edgeopt.models.oinc.slot import slot_problem
    >>> least_latency(slot_problem(small(1), 0), refusal=10.0) > 0
    True
    """
    from edgeopt.models.oinc.slot.columns import slot_bound

    linked = problem.linked
    cut_off = refusal * float(problem.weight[~linked].sum())
    problem = problem.of(linked)
    if not problem.requests:
        return cut_off
    refused = problem.weight * refusal
    alone = (problem.transmission + problem.computation / problem.room).min(axis=1)
    each = np.minimum(problem.weight * alone, refused)
    limit = 0.0 if gap >= ASCENT else time_limit
    site = None if site is None else np.asarray(site)[linked]
    found = slot_bound(problem, gap=gap, site=site, time_limit=limit)
    together = np.minimum(found.prices, refused).sum() + found.reduced.sum()
    return cut_off + float(max(together, each.sum()))
