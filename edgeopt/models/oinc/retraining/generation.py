"""The relaxation over slots and what is done in each: patterns join as prices require.

A pattern says which job each site serves in a slot. The program over patterns has a row per job and
a row per slot, where the one over services has a row per slot of each site and each job. Prices of
jobs are judged slot by slot; the rest of what they prove is a sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.kernels import compiled
from edgeopt.models.oinc.retraining.matrix import coarse_prices
from edgeopt.models.oinc.retraining.problem import first_come, horizon, largest_theta
from edgeopt.solvers import LinearProgram, Reusable
from edgeopt.solvers.columns import Priced, ReusableMaster, generate_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


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


PIECES: Final = 20  # into how many pieces the slots are cut for the first prices
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
