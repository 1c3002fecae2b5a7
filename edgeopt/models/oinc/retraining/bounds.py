"""Certified lower bounds on the weighted flow time of retraining."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining import horizons
from edgeopt.models.oinc.retraining.certificate import certify, largest_theta
from edgeopt.models.oinc.retraining.matrix import flow_matrix
from edgeopt.solvers import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.horizons import ServiceMode
    from edgeopt.models.oinc.retraining.problem import RetrainingProblem
    from edgeopt.solvers import Solution

    Floats = NDArray[np.float64]

__all__ = ["FlowBound", "flow_bound"]

GAP: Final = 1e-6
"""Relative gap at which the slots considered are enough."""


@dataclass(frozen=True, eq=False)
class FlowBound:
    """A lower bound on the weighted flow time of every schedule, with its proof.

    Parameters
    ----------
    problem
        The jobs.
    value
        The bound: the value of the dual point (theta, eta, zeta), recomputed from the data.
    objective
        Value of a point of the relaxation, which no bound by it can exceed.
    horizon
        Slots by whose end the schedules have ended that are bounded; None if all schedules are.
    slots
        Slots in which the prices are not 0 and services were considered. The dual point is
        feasible in those after them too.
    midpoint, one_site
        Which program proves it.
    theta
        Price of each job, shape [K].
    eta
        Price of each slot of a site, shape [J, T].
    zeta
        Price of each slot of a job, shape [K, T].
    seconds
        Time it took.
    """

    problem: RetrainingProblem = field(repr=False)
    value: float
    objective: float
    horizon: int | None
    slots: int
    midpoint: bool
    one_site: bool
    theta: NDArray[np.float64] = field(repr=False)
    eta: NDArray[np.float64] = field(repr=False)
    zeta: NDArray[np.float64] = field(repr=False)
    seconds: float

    @property
    def gap(self) -> float:
        """How far the bound may lie below the optimum of its program, relative."""
        return (self.objective - self.value) / max(1.0, abs(self.objective))

    def violation(self) -> float:
        """Return by how much the dual point breaks a constraint, recomputed from the data."""
        return certify(
            self.problem,
            self.theta,
            self.eta,
            self.zeta,
            midpoint=self.midpoint,
            horizon=self.horizon,
        ).violation


def flow_bound(
    problem: RetrainingProblem,
    *,
    service: ServiceMode = "fluid",
    strong: bool = True,
    midpoint: bool | None = None,
    horizon: int | None = None,
) -> FlowBound:
    r"""Bound the weighted flow time of every schedule that serves each job at one site.

    Parameters
    ----------
    problem
        The jobs.
    service
        Which schedules: ``"fluid"``, in which the next job may use the rest of a slot, or
        ``"slot"``, in which jobs end with a slot.
    strong
        Add the row that a job is served at one site at a time.
    midpoint
        Count the time of a slot from its middle, which raises the bound by half of all weights.
        By default this is done where it is valid: with ``"slot"``, or if all durations are whole.
    horizon
        Bound those schedules alone that end by this slot; by default all, however long they take.

    Returns
    -------
    The bound and its proof.

    Raises
    ------
    OptionError
        If `service` is unknown, the horizon ends before the last arrival or leaves too little time
        for the jobs, or the middle of slots is asked for where it bounds nothing.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Zeng et al., problems (8) and (9), Lemma 1. Jobs that move between sites of different speeds can
    have less flow time than this.
    """
    began = time.perf_counter()
    horizons.check_service(service)
    middle = _middle(problem, service, midpoint)
    slots = _span(problem) if horizon is None else horizons.check_horizon(problem, horizon)
    while True:
        matrix = flow_matrix(problem, midpoint=middle, one_site=strong, horizon=slots)
        solution = solve(matrix, raises=horizon is None)
        if solution.values is None:
            raise OptionError(f"horizon = {horizon}: leaves too little time for the jobs")
        bound = _bound(
            problem,
            solution,
            middle=middle,
            strong=strong,
            slots=slots,
            horizon=horizon,
            began=began,
        )
        if horizon is not None or bound.gap <= GAP or slots >= horizons.horizon(problem, service):
            return bound
        slots *= 2


def _middle(problem: RetrainingProblem, service: ServiceMode, asked: bool | None) -> bool:
    """Return whether time counts from the middle of slots, where that is valid."""
    served = problem.duration[np.isfinite(problem.duration)]
    valid = service == "slot" or bool((served == np.round(served)).all())
    if asked and not valid:
        raise OptionError(
            "midpoint = True: bounds no fluid schedule of jobs with fractional durations; "
            "leave midpoint out, or bound the schedules of service='slot'"
        )
    return valid if asked is None else asked


def _span(problem: RetrainingProblem) -> int:
    """Return slots within which the jobs can be done: each where it is complete first."""
    free = np.zeros(problem.sites)
    for k in range(problem.jobs):
        end = np.maximum(free, problem.arrival[k]) + problem.duration[k]
        free[np.argmin(end)] = end.min()
    return int(np.ceil(free.max(initial=0.0))) + 1


def _bound(
    problem: RetrainingProblem,
    solution: Solution,
    *,
    middle: bool,
    strong: bool,
    slots: int,
    horizon: int | None,
    began: float,
) -> FlowBound:
    """Turn the duals of a solver into a proof."""
    jobs, sites = problem.jobs, problem.sites
    prices = np.maximum(-solution.duals[jobs:], 0.0)
    eta = prices[: sites * slots].reshape(sites, slots)
    zeta = prices[sites * slots :].reshape(jobs, slots) if strong else np.zeros((jobs, slots))
    theta = largest_theta(problem, eta, zeta, midpoint=middle, horizon=horizon)
    proof = certify(problem, theta, eta, zeta, midpoint=middle, horizon=horizon)
    return FlowBound(
        problem=problem,
        value=proof.value,
        objective=solution.objective,
        horizon=horizon,
        slots=slots,
        midpoint=middle,
        one_site=strong,
        theta=theta,
        eta=eta,
        zeta=zeta,
        seconds=time.perf_counter() - began,
    )
