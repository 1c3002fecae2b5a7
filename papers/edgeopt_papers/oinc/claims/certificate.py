"""The dual point that Algorithm 4 leaves behind: what it proves, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.validate import frozen_array
from edgeopt.models.oinc.retraining import (
    FlowBound,
    RetrainingProblem,
    ServiceMode,
    certify,
    flow_bound,
)
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats, Ints


class Run(Protocol):
    """What a dual point needs of a run of Algorithm 4."""

    @property
    def site(self) -> Ints:
        """Site of each job, shape [K]."""
        ...

    @property
    def completion(self) -> Floats:
        """When each job was complete, s since the start, shape [K]."""
        ...

    @property
    def cost(self) -> Floats:
        """By what each job was to raise the weighted flow time as it was dispatched, shape [K]."""
        ...


def safe_scale(epsilon: float) -> float:
    """Return the share of the costs that the dual point takes, min(1, (1 + epsilon) / 2)."""
    return min(1.0, (1.0 + epsilon) / 2.0)


def competitive_factor(epsilon: float) -> float:
    """Return by how much Algorithm 4 may exceed every schedule at unit speed.

    Parameters
    ----------
    epsilon
        By how much its sites are faster, not negative.

    Returns
    -------
    2 / epsilon, or (1 + epsilon) / epsilon from 1 on; infinity at 0.

    Examples
    --------
    >>> from edgeopt_papers.oinc.claims import competitive_factor
    >>> [competitive_factor(epsilon) for epsilon in (0.0, 0.5, 1.0, 4.0)]
    [inf, 4.0, 2.0, 1.25]
    """
    if epsilon == 0:
        return np.inf
    return (1.0 + epsilon) / (epsilon * safe_scale(epsilon))


@in_html
@compact_repr
@dataclass(frozen=True, eq=False)
class DualCertificate:
    r"""A point of the dual program, built from a run of Algorithm 4.

    With :math:`s = 1 + \epsilon`, a scale :math:`c`, and :math:`W_j` the weight of the jobs that
    wait or run at a site,

    .. math:: \theta_k = c\, C_{k j^*}, \qquad \eta_{jt} = \frac{c}{s} \int_t^{t+1} W_j(\tau) d\tau.

    Parameters
    ----------
    problem
        The jobs.
    run
        The run.
    epsilon
        By how much the sites of the run are faster than `problem` says.
    scale
        The scale c.
    theta
        Price of each job, shape [K].
    eta
        Price of each slot of a site until the run ends, shape [J, T]; 0 later.

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> from edgeopt.online.oinc.retraining import run_density
    >>> from edgeopt_papers.oinc.claims import dual_certificate
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> point = dual_certificate(problem, run_density(problem, epsilon=0.5), 0.5)
    >>> round(point.value, 3), point.violation
    (1.083, 0.0)
    """

    problem: RetrainingProblem
    run: Run
    epsilon: float
    scale: float
    theta: Floats
    eta: Floats

    @property
    def value(self) -> float:
        """Value of the point in the dual program."""
        return float(self.theta.sum() - self.eta.sum())

    @property
    def heaviest(self) -> float:
        """Largest weight of a job, the unit of the violations."""
        return float(self.problem.weight.max(initial=0.0))

    @property
    def violation(self) -> float:
        """By how much it breaks a constraint of P2, with time counted from the middle of slots."""
        return certify(self.problem, self.theta, self.eta, midpoint=True).violation

    @cached_property
    def violation_in_time(self) -> float:
        r"""By how much it breaks the same constraints at the worst instant, before slots average.

        .. math:: \theta_k / h_{kj} - \tfrac cs W_j(\tau)
            \le l_k (\tau - a_k) / h_{kj} + l_k / 2, \qquad \tau \ge a_k

        Between arrivals and completions the left side stays and the right side grows: only
        instants at which a job is complete, and arrivals, matter. Where this is 0
        the value bounds schedules in real time, whatever the durations.
        """
        problem, run = self.problem, self.run
        arrival, weight = problem.arrival, problem.weight
        worst = 0.0
        for j in range(problem.sites):
            able = np.flatnonzero(np.isfinite(problem.duration[:, j]))
            here = np.flatnonzero(run.site == j)
            instant = np.unique(np.concatenate([arrival, run.completion[here]]))
            there = arrival[here] <= instant[:, None]
            waiting = (there & (instant[:, None] < run.completion[here])) @ weight[here]
            time = problem.duration[able, j, None]
            since = instant - arrival[able, None]
            l_k = weight[able, None]
            excess = (self.theta[able, None] - l_k * since) / time - l_k / 2.0
            excess = excess - self.scale / (1.0 + self.epsilon) * waiting
            worst = max(worst, float(np.max(excess[since >= 0], initial=0.0)))
        return worst

    def of_published_program(self) -> tuple[Floats, Floats]:
        """Return a point for P2 as printed, where time counts from the beginning of slots.

        Returns
        -------
        max(0, theta - l / 2), shape [K], and the same eta. It is worth at most half the sum of
        all weights less.
        """
        return np.maximum(self.theta - self.problem.weight / 2.0, 0.0), self.eta


def dual_certificate(
    problem: RetrainingProblem, run: Run, epsilon: float, *, scale: float | None = None
) -> DualCertificate:
    r"""Build the dual point of Theorem 1 from a run.

    Parameters
    ----------
    problem
        The jobs.
    run
        Run of Algorithm 4 in which the next job uses the rest of a slot; jobs keep the site that
        they were dispatched to.
    epsilon
        By how much its sites were faster, not negative.
    scale
        The scale c; ``min(1, (1 + epsilon) / 2)`` by default, the largest that is proven.

    Returns
    -------
    The point. It is feasible and worth :math:`c\, \epsilon / (1 + \epsilon)` times the weighted
    flow time of the run, that is :math:`\epsilon / 2` times it for :math:`\epsilon \le 1`.

    Raises
    ------
    OptionError
        If epsilon is negative, or a job of the run is never complete.

    Notes
    -----
    Zeng et al., Theorem 1, whose proof is not printed. This one follows the dual fitting of Anand,
    Garg and Kumar for weighted flow time on unrelated machines.

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> from edgeopt.online.oinc.retraining import run_density
    >>> from edgeopt_papers.oinc.claims import dual_certificate
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> run = run_density(problem, epsilon=0.5)
    >>> point = dual_certificate(problem, run, 0.5)
    >>> round(point.value / run.weighted_flow, 3), point.theta.round(2)
    (0.25, array([1.  , 1.5 , 0.75]))
    """
    if epsilon < 0:
        raise OptionError(f"epsilon = {epsilon}: must not be negative")
    if not np.isfinite(run.completion).all():
        raise OptionError("run: has to complete every job")
    c = safe_scale(epsilon) if scale is None else scale
    eta = c / (1.0 + epsilon) * _waiting_weight(problem, run)
    return DualCertificate(problem, run, epsilon, c, c * np.asarray(run.cost), eta)


def _waiting_weight(problem: RetrainingProblem, run: Run) -> Floats:
    """Integrate over each slot the weight of jobs at a site that are not complete, shape [J, T]."""
    full = np.floor(run.completion).astype(np.int64)
    slots = int(full.max(initial=-1)) + 1
    change = np.zeros((problem.sites, slots + 1))
    np.add.at(change, (run.site, problem.arrival), problem.weight)
    np.add.at(change, (run.site, full), -problem.weight)
    weight = np.cumsum(change, axis=1)[:, :slots]
    np.add.at(weight, (run.site, full), problem.weight * (run.completion - full))
    return weight


ROUNDING = 1e-6
"""Seconds by which a completion time may be too early."""


@in_html
@dataclass(frozen=True, eq=False)
class CertifiedRatio:
    """Weighted flow time of a schedule, and a lower bound on that of every schedule.

    Parameters
    ----------
    flow
        Weighted flow time of the schedule.
    bound
        What no schedule falls below that serves each job at one site, with its dual point.

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> from edgeopt_papers.oinc.claims import certified_ratio
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> ratio = certified_ratio(problem, [4.0, 2.0, 4.0])
    >>> ratio.flow, round(ratio.bound.value, 3), round(ratio.value, 3)
    (9.0, 6.5, 1.385)
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

    Examples
    --------
    >>> from edgeopt.models.oinc.retraining import RetrainingProblem
    >>> from edgeopt.online.oinc.retraining import run_density
    >>> from edgeopt_papers.oinc.claims import certified_ratio
    >>> problem = RetrainingProblem([0, 0, 1], [[2, 4], [2, 3], [1, 3]])
    >>> round(certified_ratio(problem, run_density(problem).completion).value, 3)
    1.077
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
