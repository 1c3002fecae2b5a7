"""How many slots the linear programs of retraining need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SERVICES", "ServiceMode", "check_horizon", "check_service", "first_come", "horizon"]

ServiceMode = Literal["fluid", "slot"]
"""What becomes of the rest of a slot in which a job ends: the next one uses it, or it is wasted."""

SERVICES: Final = ("fluid", "slot")


@checked()
def horizon(problem: RetrainingProblem, service: ServiceMode = "fluid") -> int:
    r"""Return a number of slots within which some optimal schedule ends.

    From the last arrival on, a schedule that never idles needs at most the longest duration of
    every job,

    .. math:: T = \max_k a_k + \Big\lceil \sum_k \max_j h_{kj} \Big\rceil,

    or the sum of the durations rounded up where the rest of a slot is wasted. Sites that cannot
    serve a job do not count for it.

    Parameters
    ----------
    problem
        The jobs.
    service
        ``"fluid"`` or ``"slot"``.

    Returns
    -------
    Slots, at least 1.

    Raises
    ------
    OptionError
        If `service` is unknown.
    """
    check_service(service)
    if problem.jobs == 0:
        return 1
    longest = np.where(np.isfinite(problem.duration), problem.duration, 0.0).max(axis=1)
    total = np.ceil(longest).sum() if service == "slot" else np.ceil(longest.sum())
    return int(problem.arrival[-1]) + int(total)


def first_come(problem: RetrainingProblem) -> tuple[Ints, Floats, Floats]:
    """Serve the jobs as they come, each where it is complete first.

    Some schedule at least ends when this one does: that many slots are enough to serve in, though
    perhaps not to serve best.
    """
    free = np.zeros(problem.sites)
    site = np.zeros(problem.jobs, dtype=np.int64)
    begin, end = np.zeros(problem.jobs), np.zeros(problem.jobs)
    for k in range(problem.jobs):
        start = np.maximum(free, problem.arrival[k])
        done = start + problem.duration[k]
        j = int(np.argmin(done))
        site[k], begin[k], end[k] = j, start[j], done[j]
        free[j] = done[j]
    return site, begin, end


def check_service(service: str) -> None:
    """Refuse an unknown service."""
    if service not in SERVICES:
        raise OptionError(f"service = {service!r}: must be 'fluid' or 'slot'")


def check_horizon(problem: RetrainingProblem, slots: int | None) -> int:
    """Return a number of slots that lasts until every job has arrived; `horizon` by default."""
    if slots is None:
        return horizon(problem)
    last = int(problem.arrival[-1]) if problem.jobs else 0
    if not slots > last:
        raise OptionError(f"horizon = {slots}: must end after the last arrival, slot {last}")
    return int(slots)
