"""Certified lower bounds on the weighted flow time of retraining, by column generation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.oinc.retraining.matrix import coarse_prices, flow_matrix
from edgeopt.models.oinc.retraining.problem import (
    certify,
    check_horizon,
    check_service,
    first_come,
    horizon,
    largest_theta,
)
from edgeopt.models.oinc.retraining.problem import horizon as slots_needed
from edgeopt.solvers import LinearProgram, Reusable, solve
from edgeopt.solvers.columns import Priced, ReusableMaster, generate_columns
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.retraining.problem import RetrainingProblem, ServiceMode

    Prices = tuple[Floats, Floats, Floats]


@compiled(writes="eta zeta served")
def price_slots(
    theta: Floats,
    weight: Floats,
    arrival: Ints,
    rate: Floats,
    offset: float,
    one_site: bool,
    eta: Floats,
    zeta: Floats,
    served: Ints,
) -> None:
    """Fill in prices and best services of all slots."""
    jobs, sites = rate.shape
    slots = eta.shape[1]
    gain = np.zeros((jobs, sites), dtype=np.float64)
    wanted = np.zeros(jobs, dtype=np.int64)
    wide = max(jobs, sites) + 2
    narrow = min(jobs, sites) + 1
    price_row, price_column = np.zeros(narrow, dtype=np.float64), np.zeros(wide, dtype=np.float64)
    row_of, before = np.zeros(wide, dtype=np.int64), np.zeros(wide, dtype=np.int64)
    slack, done = np.zeros(wide, dtype=np.float64), np.zeros(wide, dtype=np.bool_)
    cost = np.zeros((narrow, wide), dtype=np.float64)
    for t in range(slots):
        eta[:, t] = 0.0
        zeta[:, t] = 0.0
        served[:, t] = -1
        count = 0
        for k in range(jobs):
            if arrival[k] > t:
                break
            pays = False
            value = theta[k] - weight[k] * (t - arrival[k] + offset)
            for j in range(sites):
                gain[count, j] = 0.0
                if rate[k, j] > 0.0:
                    gain[count, j] = max(value * rate[k, j] - 0.5 * weight[k], 0.0)
                pays = pays or gain[count, j] > 0.0
            if pays:
                wanted[count] = k
                count += 1
        if count == 0:
            continue
        if not one_site:
            for j in range(sites):
                best = 0
                for other in range(1, count):
                    best = other if gain[other, j] > gain[best, j] else best
                if gain[best, j] > 0.0:
                    eta[j, t] = gain[best, j]
                    served[j, t] = wanted[best]
            continue
        turned = count < sites
        rows, columns = (count, sites) if turned else (sites, count)
        for i in range(rows):
            for j in range(columns):
                cost[i, j] = -(gain[i, j] if turned else gain[j, i])
        _assign(rows, columns, cost, price_row, price_column, row_of, before, slack, done)
        for i in range(rows):
            price = max(-price_row[i + 1], 0.0)
            if turned:
                zeta[wanted[i], t] = price
            else:
                eta[i, t] = price
        for j in range(columns):
            price = max(-price_column[j + 1], 0.0)
            if turned:
                eta[j, t] = price
            else:
                zeta[wanted[j], t] = price
            i = row_of[j + 1] - 1
            if i >= 0 and cost[i, j] < 0.0:
                if turned:
                    served[j, t] = wanted[i]
                else:
                    served[i, t] = wanted[j]


@compiled(writes="price_row price_column row_of before slack done")
def _assign(
    rows: int,
    columns: int,
    cost: Floats,
    price_row: Floats,
    price_column: Floats,
    row_of: Ints,
    before: Ints,
    slack: Floats,
    done: NDArray[np.bool_],
) -> None:
    """Assign every row to a column of its own at least cost, by shortest augmenting paths.

    Rows and columns count from 1, and 0 stands for none. On return the prices of a row and a column
    never sum to more than their cost, and to their cost where they are assigned; prices of columns
    are not positive, and 0 where the column is free or was assigned last. So prices of rows are not
    positive either if no cost is.
    """
    price_row[: rows + 1] = 0.0
    price_column[: columns + 1] = 0.0
    row_of[: columns + 1] = 0
    # The Hungarian method, row by row (Kuhn 1955; Jonker and Volgenant 1987).
    for start in range(1, rows + 1):
        row_of[0] = start
        column = 0
        slack[: columns + 1] = np.inf
        done[: columns + 1] = False
        while True:
            done[column] = True
            row = row_of[column]
            least, following = np.inf, 0
            for j in range(1, columns + 1):
                if done[j]:
                    continue
                reduced = cost[row - 1, j - 1] - price_row[row] - price_column[j]
                if reduced < slack[j]:
                    slack[j] = reduced
                    before[j] = column
                if slack[j] < least:
                    least = slack[j]
                    following = j
            for j in range(columns + 1):
                if done[j]:
                    price_row[row_of[j]] += least
                    price_column[j] -= least
                else:
                    slack[j] -= least
            column = following
            if row_of[column] == 0:
                break
        # Augment along the path that was found.
        while column != 0:
            earlier = before[column]
            row_of[column] = row_of[earlier]
            column = earlier


class _SlotPrices(NamedTuple):
    """The best dual point with some prices on jobs."""

    value: float  # its value, a lower bound
    theta: Floats  # price of each job, shape [K]
    # eta, zeta: price of each slot of a site, [J, T], and of a job, [K, T]
    eta: Floats
    zeta: Floats
    served: Ints  # job that each site would serve at these prices, -1 for none, shape [J, T]


class Pricing:
    """Finds prices of slots for prices of jobs, up to slot ``end`` or as far as they reach."""

    def __init__(
        self, problem: RetrainingProblem, *, midpoint: bool, one_site: bool, end: int | None
    ) -> None:
        self.problem, self.one_site, self.end = problem, one_site, end
        self.weight: Floats = problem.weight
        self.offset = 0.5 if midpoint else 0.0
        self.rate = np.where(np.isfinite(problem.duration), 1.0 / problem.duration, 0.0)
        # A job with this price is wanted in the first slot of all, if it were there; and one with
        # its weight more, in the next.
        alone = 0.5 * problem.duration.min(axis=1, initial=np.inf) + self.offset
        self._least = self.weight * (alone - problem.arrival)
        last = horizon(problem, "slot") if end is None else end
        self.highest = np.maximum(self._least + self.weight * last, 0.0)
        """Prices above this cannot be part of a best dual point: no slot is wanted so late."""

    def __call__(self, theta: Floats) -> _SlotPrices:
        """Price all slots; prices of jobs that cannot be best are cut first."""
        problem = self.problem
        theta = np.clip(theta, 0.0, self.highest)
        slots = self._reach(theta)
        eta, zeta = np.empty((problem.sites, slots)), np.empty((problem.jobs, slots))
        served = np.empty((problem.sites, slots), dtype=np.int64)
        price_slots(
            theta,
            self.weight,
            problem.arrival,
            self.rate,
            self.offset,
            self.one_site,
            eta,
            zeta,
            served,
        )
        value = float(theta.sum() - eta.sum() - zeta.sum())
        return _SlotPrices(value, theta, eta, zeta, served)

    def _reach(self, theta: Floats) -> int:
        """Return how many slots some job may be wanted in."""
        if self.end is not None:
            return self.end
        positive = self.weight > 0.0
        last = (theta - self._least)[positive] / self.weight[positive]
        return max(int(np.ceil(last.max(initial=0.0))), 0) + 1


PIECES: Final = 12  # into how many pieces the slots are cut for the first prices
SAMPLES: Final = 6
SPREAD: Final = 0.02  # how many prices near the first ones are tried to begin with, and how near
BLENDS: Final = (1.0, 0.5, 0.25, 0.1)
"""Parts of the way from the best prices to those of the master that are tried in a round."""


class Patterns(NamedTuple):
    """Patterns of slots."""

    slot: Ints  # slot of each, shape [n]
    # part of the slot that each site gives to each job, sparse, shape [n, K J]
    part: sparse.csr_array


def optimum_by_patterns(
    problem: RetrainingProblem,
    slots: int,
    *,
    midpoint: bool,
    one_site: bool,
    end: int | None,
    gap: float,
) -> tuple[tuple[Floats, Floats, Floats], float]:
    """Solve the relaxation by column generation."""
    pricing = Pricing(problem, midpoint=midpoint, one_site=one_site, end=end)
    master = _Master(pricing, slots)
    rng = np.random.default_rng(0)
    step = max(1, slots // PIECES)
    theta = coarse_prices(problem, slots, step, midpoint=midpoint, one_site=one_site)
    master.add(master.try_prices([theta]))
    near = rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, (SAMPLES, problem.jobs))
    master.add(master.try_prices(near * theta))
    solution = generate_columns(master, master.pricing, gap=gap)
    assert master.best is not None
    _, _, eta, zeta, _ = master.best
    theta = largest_theta(problem, eta, zeta, midpoint=midpoint, horizon=end)
    return (theta, eta, zeta), solution.objective


class _Master(ReusableMaster):
    """The restricted program over patterns, which stays in HiGHS."""

    def __init__(self, pricing: Pricing, slots: int) -> None:
        problem = pricing.problem
        self._price, self.problem, self.slots = pricing, problem, slots
        self.best: _SlotPrices | None = None
        self._known: set[tuple[int, bytes]] = set()
        self._flat_rate = pricing.rate.ravel()
        start = self._columns(self._schedule())
        free = np.full(slots, -np.inf)
        needed = np.where((pricing.weight > 0.0) | (pricing.end is not None), 1.0, 0.0)
        program = LinearProgram(
            start[0],
            start[1],
            np.concatenate([needed, free]),
            np.concatenate([np.full(problem.jobs, np.inf), np.ones(slots)]),
        )
        super().__init__(Reusable(program, threads=1))

    def add(self, patterns: Patterns) -> int:
        if patterns.slot.size:
            self._model.add_columns(*self._columns(patterns))
        return int(patterns.slot.size)

    def pricing(self, duals: Floats) -> Priced[Patterns]:
        """Price at the master's duals, and part of the way there from the best prices."""
        theta = np.maximum(duals[: self.problem.jobs], 0.0)
        # Smoothing of dual prices (Wentges 1997).
        centre = theta if self.best is None else self.best.theta
        patterns = self.try_prices([centre + part * (theta - centre) for part in BLENDS])
        assert self.best is not None
        return Priced(self.best.value, patterns if patterns.slot.size else None)

    def try_prices(self, several: Any) -> Patterns:
        """Keep the best prices, and return the patterns that are new."""
        slot, served = [], []
        for theta in several:
            found = self._price(theta)
            if self.best is None or found.value > self.best.value:
                self.best = found
            here = found.served[:, : self.slots]
            for t in np.flatnonzero((here >= 0).any(axis=0)).tolist():
                key = t, here[:, t].tobytes()
                if key not in self._known:
                    self._known.add(key)
                    slot.append(t)
                    served.append(here[:, t])
        jobs, sites = self.problem.jobs, self.problem.sites
        job = np.array(served, dtype=np.int64).reshape(-1, sites)
        row, site = np.nonzero(job >= 0)
        part = sparse.csr_array(
            (np.ones(row.size), (row, job[row, site] * sites + site)),
            shape=(len(slot), jobs * sites),
        )
        return Patterns(np.array(slot, dtype=np.int64), part)

    def _columns(self, patterns: Patterns) -> tuple[Floats, sparse.csc_array]:
        """Return cost and matrix of patterns."""
        jobs, sites = self.problem.jobs, self.problem.sites
        weight, arrival = self._price.weight, self.problem.arrival
        count = patterns.slot.size
        job = np.repeat(np.arange(jobs), sites)
        to_job = sparse.csr_array(
            (self._flat_rate, (np.arange(jobs * sites), job)), shape=(jobs * sites, jobs)
        )
        done = sparse.csr_array(patterns.part @ to_job)  # part of each job, [n, K]
        waited = patterns.slot[:, None] - arrival + self._price.offset
        cost = np.asarray(done.multiply(weight * waited).sum(axis=1)).ravel()
        cost += 0.5 * (patterns.part @ np.repeat(weight, sites))
        used = sparse.csr_array(
            (np.ones(count), (np.arange(count), patterns.slot)), shape=(count, self.slots)
        )
        return cost, sparse.csc_array(sparse.hstack([done, used]).T)

    def _schedule(self) -> Patterns:
        """Return the patterns of a schedule, so that there is a point to begin with."""
        problem, slots = self.problem, self.slots
        slot, entry, part = [], [], []
        for k, (j, begin, end) in enumerate(zip(*first_come(problem), strict=True)):
            t = np.arange(int(begin), int(np.ceil(end)))
            slot.append(t)
            entry.append(np.full(t.size, k * problem.sites + j))
            part.append(np.minimum(t + 1, end) - np.maximum(t, begin))
        shape = slots, problem.jobs * problem.sites
        every = sparse.csr_array(
            (np.concatenate(part), (np.concatenate(slot), np.concatenate(entry))), shape=shape
        )
        busy = np.flatnonzero(np.diff(every.indptr))
        return Patterns(busy, every[busy])


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

    Notes
    -----
    Zeng et al., problem (9); `zeta`, ours, prices that a job is at one site at a time.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import FlowBound, flow_bound, retraining_problem
    >>> flow_bound(retraining_problem(small(1))).slots
    3
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

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import flow_bound, retraining_problem
    >>> round(flow_bound(retraining_problem(small(1))).value, 4)
    1.4698
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
