"""The relaxation over slots and what is done in each: patterns join as prices require.

A pattern says which job each site serves in a slot. The program over patterns has a row per job and
a row per slot, where the one over services has a row per slot of each site and each job. Prices of
jobs are judged slot by slot; the rest of what they prove is a sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.models.oinc.retraining.kernels import price_slots
from edgeopt.models.oinc.retraining.matrix import coarse_prices
from edgeopt.models.oinc.retraining.problem import first_come, horizon, largest_theta
from edgeopt.solvers import LinearProgram, Reusable
from edgeopt.solvers.columns import Priced, ReusableMaster, generate_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


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
