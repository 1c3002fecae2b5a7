"""What the environment of OINC shows, what it takes, and what it tells afterwards.

A slot shows its requests and the jobs that are not complete. The decision says for every request
where it goes and what it is given, for every job where it waits, and what runs when.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot import SlotPlan, SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["Decision", "Jobs", "Outcome", "Runs", "Slot"]


class Jobs(NamedTuple):
    """Jobs that have arrived and are not complete, in the order of their arrival.

    Attributes
    ----------
    job
        Number of each job, shape [q].
    site
        Site where it waits, -1 while it has not been dispatched, shape [q].
    started
        Whether it has been served at all, so that it may no longer move, shape [q].
    remaining
        Work that is left, Gcycle, shape [q].
    work
        Work at its arrival, Gcycle, shape [q].
    arrival
        Slot of its arrival, shape [q].
    deadline
        Time by which it should be complete, shape [q].
    weight
        Weight of its completion time, shape [q].
    """

    job: Ints
    site: Ints
    started: Flags
    remaining: Floats
    work: Floats
    arrival: Ints
    deadline: Floats
    weight: Floats

    def new(self, slot: int) -> Flags:
        """Return which jobs arrived in a slot, shape [q]."""
        return np.asarray(self.arrival == slot)


@dataclass(frozen=True, eq=False)
class Slot:
    """A slot that begins.

    Attributes
    ----------
    slot
        Its number; after the horizon there are slots without requests until all jobs are complete.
    requests
        Its requests, with the whole CPU of every site at their disposal.
    jobs
        The jobs that are not complete, those included that arrive now.
    """

    slot: int
    requests: SlotProblem
    jobs: Jobs


class Runs(NamedTuple):
    """What runs when within a slot; runs of different jobs may overlap.

    Attributes
    ----------
    job
        Number of the job that runs, shape [r]. It runs at the site where it waits.
    share
        Share of the CPU of that site, in (0, 1], shape [r].
    begin, end
        Beginning and end, s since the slot began, ``0 <= begin < end <= 1``, shape [r].
    """

    job: Ints
    share: Floats
    begin: Floats
    end: Floats

    @classmethod
    def none(cls) -> Runs:
        """Return no runs."""
        empty = np.zeros(0)
        return cls(np.zeros(0, dtype=np.int64), empty, empty, empty)


@dataclass(frozen=True, eq=False)
class Decision:
    """What to do in a slot.

    Attributes
    ----------
    plan
        Site, band and CPU of every request; its problem must be that of the slot.
    job_site
        Site of every job that the slot has shown, -1 to keep it waiting, shape [q]. A job that has
        started stays where it is.
    reserved
        Share of the CPU of each site that is kept for jobs, in [0, 1), shape [J]. Jobs may not run
        on more, requests may not be given what is kept.
    runs
        What runs when. A job is complete at the end of the run that does the last of its work.
    """

    plan: SlotPlan
    job_site: Ints
    reserved: Floats
    runs: Runs


class Outcome(NamedTuple):
    """What a slot came to.

    Attributes
    ----------
    latency
        Latency of each request, s, NaN where refused, shape [n].
    completed
        Numbers of the jobs that are complete now, shape [c].
    completion
        When each of them was, s since the start, shape [c].
    """

    latency: Floats
    completed: Ints
    completion: Floats
