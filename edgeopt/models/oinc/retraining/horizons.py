"""How many slots the linear programs of retraining need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

__all__ = ["SERVICES", "ServiceMode", "check_horizon", "check_service", "horizon"]

ServiceMode = Literal["fluid", "slot"]
"""What becomes of the rest of a slot in which a job ends: the next one uses it, or it is wasted."""

SERVICES: Final = ("fluid", "slot")


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


def check_service(service: str) -> None:
    """Refuse an unknown service.

    Raises
    ------
    OptionError
        Naming what there is.
    """
    if service not in SERVICES:
        raise OptionError(f"service = {service!r}: must be 'fluid' or 'slot'")


def check_horizon(problem: RetrainingProblem, slots: int | None) -> int:
    """Return a number of slots that lasts until every job has arrived; `horizon` by default.

    Raises
    ------
    OptionError
        If it does not.
    """
    if slots is None:
        return horizon(problem)
    last = int(problem.arrival[-1]) if problem.jobs else 0
    if not slots > last:
        raise OptionError(f"horizon = {slots}: must end after the last arrival, slot {last}")
    return int(slots)
