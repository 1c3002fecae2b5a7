"""Jobs and sites at work, as arrays that compiled code changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.online.oinc.retraining.density.waiting import NOBODY, Waiting, nobody_waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining import RetrainingProblem

    Ints = NDArray[np.int64]
    Records = NDArray[np.void]

__all__ = ["JOB", "RUN", "SITE", "Rules", "State", "new_state"]


class Rules(NamedTuple):
    """How jobs are dispatched and served.

    Attributes
    ----------
    speed
        Speed of the sites, 1 plus the augmentation.
    whole
        Whether a site wastes what a job leaves of a slot.
    lightest
        Whether a site serves the job of least residual density instead of the densest.
    printed
        Whether a job ahead is said to delay another one by the other's own work.
    late
        Whether jobs that have not been served are dispatched anew when others arrive.
    """

    speed: float
    whole: bool
    lightest: bool
    printed: bool
    late: bool


JOB: Final = np.dtype(
    [
        ("weight", np.float64),
        ("left", np.float64),
        ("cost", np.float64),
        ("saved", np.float64),
        ("completion", np.float64),
        ("site", np.int64),
        ("started", np.bool_),
    ],
    align=True,
)
"""A job: its weight, its residual time at its site, what it cost, what was saved by moves as it
arrived, when it was complete, where it is, and whether it has been served."""

SITE: Final = np.dtype(
    [
        ("clock", np.float64),
        ("since", np.float64),
        ("served", np.int64),
        ("latest", np.int64),
    ]
)
"""A site: up to when it has served, since when it serves its job, which one that is, and the number
of its latest run."""

RUN: Final = np.dtype(
    [("job", np.int64), ("site", np.int64), ("begin", np.float64), ("end", np.float64)]
)
"""A job that runs at a site for a while."""


class State(NamedTuple):
    """Jobs and sites at work.

    Records keep compiled code small: it handles every array of a state on its own.

    Attributes
    ----------
    arrival, duration
        The jobs as they are given, see `RetrainingProblem`.
    job
        What becomes of each job, records of `JOB`, shape [K].
    site
        What each site does, records of `SITE`, shape [J].
    waiting
        The jobs that wait at the sites.
    run
        What ran when, as far as there is room, records of `RUN`, shape [R].
    logged
        How many runs there were, shape [1].
    """

    arrival: Ints
    duration: NDArray[np.float64]
    job: Records
    site: Records
    waiting: Waiting
    run: Records
    logged: Ints


def new_state(problem: RetrainingProblem, runs: int) -> State:
    """Return the state before the first job, with room for so many runs."""
    job = np.zeros(problem.jobs, dtype=JOB)
    job["weight"], job["cost"], job["completion"] = problem.weight, np.nan, np.inf
    job["site"] = NOBODY
    site = np.zeros(problem.sites, dtype=SITE)
    site["served"] = site["latest"] = NOBODY
    return State(
        arrival=problem.arrival,
        duration=problem.duration,
        job=job,
        site=site,
        waiting=nobody_waits(problem.jobs, problem.sites),
        run=np.empty(runs, dtype=RUN),
        logged=np.zeros(1, dtype=np.int64),
    )
