"""Schedules of retraining jobs, as what ran where and when."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.models.oinc.retraining import flow_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Schedule", "drawn_schedule"]

TINY = 1e-9
"""Seconds that rounding may cost."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """What ran where and when, each job with the whole of what its site has for jobs.

    Parameters
    ----------
    problem
        The jobs.
    job, site
        Job and site of each run, shape [r].
    begin, end
        When it began and ended, s since the start, shape [r].
    whole_slots
        Whether a job counts as complete when its last slot ends, whatever is left of that.

    Raises
    ------
    InputError
        If a run begins before its job arrives, two runs of a site or of a job overlap, or a job is
        not complete after all of its runs.
    """

    problem: RetrainingProblem
    job: Ints
    site: Ints
    begin: Floats
    end: Floats
    whole_slots: bool = False

    def __post_init__(self) -> None:
        for name, kind in (("job", np.int64), ("site", np.int64), ("begin", float), ("end", float)):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=kind))
        if (self.begin < self.problem.arrival[self.job] - TINY).any():
            raise InputError("begin", "must not be before the job arrives")
        for owner in (self.job, self.site):
            order = np.lexsort((self.begin, owner))
            same = np.diff(owner[order]) == 0
            late = self.end[order][:-1] > self.begin[order][1:] + TINY
            if (same & late).any():
                raise InputError("runs", "must not overlap at a site, nor those of a job")
        done = np.bincount(self.job, self._parts, self.problem.jobs)
        if (np.abs(done - 1.0) > 1e-6).any():
            raise InputError("runs", "must serve every job once", value=done)

    @property
    def _parts(self) -> Floats:
        """Which part of its job each run does, shape [r]."""
        parts: Floats = (self.end - self.begin) / self.problem.duration[self.job, self.site]
        return parts

    @cached_property
    def completion(self) -> Floats:
        """When each job is complete, s since the start, shape [K]."""
        last = np.zeros(self.problem.jobs)
        np.maximum.at(last, self.job, self.end)
        return np.ceil(last - TINY) if self.whole_slots else last

    @cached_property
    def flow(self) -> Floats:
        """Weighted flow time of each job, shape [K]."""
        assert self.problem.weight is not None
        flow: Floats = self.problem.weight * (self.completion - self.problem.arrival)
        return flow

    @property
    def objective(self) -> float:
        """Weighted flow time of all jobs."""
        return float(self.flow.sum())

    @property
    def moves(self) -> bool:
        """Whether some job is served at more than one site."""
        pairs = np.unique(np.column_stack([self.job, self.site]), axis=0)
        return len(pairs) > len(np.unique(self.job))

    @property
    def ends_with_slots(self) -> bool:
        """Whether every job is complete at the end of a slot."""
        return bool((np.abs(self.completion - np.round(self.completion)) < TINY).all())

    def potential(self, *, midpoint: bool = False) -> Floats:
        r"""Return what the linear program counts for each job, shape [K].

        .. math:: \phi_k = l_k \sum_{j,t} m_{kj}^t \Bigl(\frac{t - a_k}{h_{kj}} + \frac12\Bigr)

        Zeng et al., equation (7).
        """
        problem = self.problem
        phi = np.zeros(problem.jobs)
        if problem.jobs == 0:
            return phi
        slots = int(np.ceil(self.end.max()))
        cost = flow_matrix(problem, midpoint=midpoint, horizon=slots).cost
        # Columns go by job, site and slot.
        length = np.where(np.isfinite(problem.duration), slots - problem.arrival[:, None], 0)
        first = np.cumsum(length).reshape(length.shape) - length - problem.arrival[:, None]
        for k, j, begin, end in zip(self.job, self.site, self.begin, self.end, strict=True):
            slot = np.arange(max(int(np.floor(begin)), problem.arrival[k]), int(np.ceil(end)))
            used = np.minimum(end, slot + 1) - np.maximum(begin, slot)
            phi[k] += used @ cost[first[k, j] + slot]
        return phi


def drawn_schedule(
    problem: RetrainingProblem,
    rng: int | np.random.Generator,
    *,
    move: bool = False,
    whole_slots: bool = False,
) -> Schedule:
    """Serve jobs as chance has it: sites, order, preemptions and pauses are drawn."""
    draw = np.random.default_rng(rng)
    left = np.ones(problem.jobs)
    able = np.isfinite(problem.duration)
    home = np.array([draw.choice(np.flatnonzero(row)) for row in able], dtype=np.int64)
    step = 1.0 if whole_slots else 1.0 / 3.0
    runs: list[tuple[int, int, float, float]] = []
    count = 0
    while (left > TINY).any():
        start, stop = count * step, (count + 1) * step
        count += 1
        waiting = np.flatnonzero((left > TINY) & (problem.arrival <= start + TINY))
        if move:
            home[waiting] = [draw.choice(np.flatnonzero(able[k])) for k in waiting]
        for j in draw.permutation(problem.sites):
            now = start
            for k in draw.permutation(waiting[home[waiting] == j]):
                if now >= stop - TINY or draw.random() < 0.2:
                    break
                time = problem.duration[k, j]
                end = min(stop, now + left[k] * time)
                left[k] -= (end - now) / time
                runs.append((int(k), int(j), now, end))
                now = stop if whole_slots else end
    columns = list(zip(*runs, strict=True)) if runs else [(), (), (), ()]
    job, site, begin, end = (np.array(column) for column in columns)
    return Schedule(problem, job, site, begin, end, whole_slots)
