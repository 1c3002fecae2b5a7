"""Certified lower bounds on the weighted flow time of retraining."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.oinc.retraining.generation import optimum_by_patterns
from edgeopt.models.oinc.retraining.matrix import flow_matrix
from edgeopt.models.oinc.retraining.problem import (
    certify,
    check_horizon,
    check_service,
    first_come,
    largest_theta,
)
from edgeopt.models.oinc.retraining.problem import horizon as slots_needed
from edgeopt.solvers import solve
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem, ServiceMode

    Floats = NDArray[np.float64]
    Prices = tuple[Floats, Floats, Floats]

GAP: Final = 1e-6  # relative gap at which the slots considered are enough
SMALL: Final = 4000  # services up to which the whole program is solved at once


@in_html
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
    theta
        Price of each job, shape [K].
    eta
        Price of each slot of a site, shape [J, T].
    zeta
        Price of each slot of a job, shape [K, T].
    midpoint, one_site
        Which program proves it.
    method
        How it was found.
    seconds
        Time it took.
    """

    problem: RetrainingProblem = field(repr=False)
    value: float
    objective: float
    horizon: int | None
    slots: int
    theta: NDArray[np.float64] = field(repr=False)
    eta: NDArray[np.float64] = field(repr=False)
    zeta: NDArray[np.float64] = field(repr=False)
    midpoint: bool
    one_site: bool
    method: str
    seconds: float

    @property
    def gap(self) -> float:
        """How far the bound may lie below the optimum of its program, relative."""
        size = float(np.abs(self.theta).sum() + np.abs(self.eta).sum() + np.abs(self.zeta).sum())
        return relative_gap(self.objective, self.value, bound_size=size)

    def violation(self) -> float:
        """Return the largest violation of the dual point, recomputed from the data."""
        return certify(
            self.problem,
            self.theta,
            self.eta,
            self.zeta,
            midpoint=self.midpoint,
            horizon=self.horizon,
        ).violation


@checked(horizon=1)
def flow_bound(
    problem: RetrainingProblem,
    *,
    service: ServiceMode = "fluid",
    strong: bool = True,
    midpoint: bool | None = None,
    horizon: int | None = None,
    gap: float = GAP,
    method: Literal["patterns", "highs"] | None = None,
) -> FlowBound:
    r"""Bound the weighted flow time of every schedule that serves each job at one site.

    The bound is the value of prices that are checked against the data, in all slots there will ever
    be: neither a solver nor a horizon has to be trusted.

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
    gap
        Relative gap to the optimum of the relaxation at which to stop.
    method
        ``"patterns"``: column generation over what is done in a slot. ``"highs"``: the whole linear
        program at once. By default the latter for small problems.

    Returns
    -------
    The bound and its proof.

    Raises
    ------
    OptionError
        If `service` or `method` is unknown, the horizon ends before the last arrival or leaves too
        little time for the jobs, or the middle of slots is asked for where it bounds nothing.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Zeng et al., problems (8) and (9), Lemma 1. Jobs that move between sites of different speeds can
    have less flow time than this.
    """
    began = time.perf_counter()
    check_service(service)
    if method not in (None, "patterns", "highs"):
        raise OptionError(f"method = {method!r}: must be 'patterns' or 'highs'")
    form = {"midpoint": _middle(problem, service, midpoint), "one_site": strong}
    enough = int(np.ceil(first_come(problem)[2].max(initial=0.0))) + 1
    end = None if horizon is None else check_horizon(problem, horizon)
    slots = enough if end is None else min(enough, end)
    small = np.isfinite(problem.duration).sum() * slots <= SMALL
    few = problem.jobs == 0 or (method is None and small)
    whole = method == "highs" or few or slots < enough
    while True:
        if whole:
            prices, objective = _whole(problem, slots, end, form)
        else:
            prices, objective = optimum_by_patterns(problem, slots, end=end, gap=gap, **form)
        proof = certify(problem, *prices, midpoint=form["midpoint"], horizon=end)
        bound = FlowBound(
            problem=problem,
            value=proof.value,
            objective=objective,
            horizon=end,
            slots=slots,
            theta=prices[0],
            eta=prices[1],
            zeta=prices[2],
            method="highs" if whole else "patterns",
            seconds=time.perf_counter() - began,
            **form,
        )
        last = slots_needed(problem, "slot") if end is None else end
        if bound.gap <= gap or slots >= last:
            return bound
        # A best point of the relaxation may need more slots than the first schedule in hand.
        slots = min(2 * slots, last)


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


def _whole(
    problem: RetrainingProblem, slots: int, end: int | None, form: dict[str, bool]
) -> tuple[Prices, float]:
    """Solve over all services, and turn the duals of the solver into a proof."""
    jobs, sites = problem.jobs, problem.sites
    program = flow_matrix(problem, horizon=slots, **form)
    solution = solve(program, raises=end is None, threads=1)
    if solution.values is None:
        raise OptionError(f"horizon = {end}: leaves too little time for the jobs")
    duals = np.maximum(-solution.duals[jobs:], 0.0)
    reach = slots if end is None else end
    eta, zeta = np.zeros((sites, reach)), np.zeros((jobs, reach))
    eta[:, :slots] = duals[: sites * slots].reshape(sites, slots)
    if form["one_site"]:
        zeta[:, :slots] = duals[sites * slots :].reshape(jobs, slots)
    theta = largest_theta(problem, eta, zeta, midpoint=form["midpoint"], horizon=end)
    return (theta, eta, zeta), solution.objective
