"""What runs when in a slot, given the order in which the sites serve their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.oinc.events import Runs
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.oinc.policies.parts import Queues

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Service", "check_service", "run_in_order"]

Service: TypeAlias = Literal["fluid", "slot"]
"""What becomes of the rest of a slot in which a job ends: the next job runs, or nothing does."""


def check_service(service: str) -> None:
    """Refuse what is no way of service."""
    check_choice("service", service, get_args(Service))


def run_in_order(queues: Queues, order: Ints, service: Service = "fluid") -> Runs:
    """Let every site serve its jobs one after the other, with all that is kept for jobs there.

    Zeng et al., algorithm 4, lines 5 to 9, is ``"slot"``; the analysis needs ``"fluid"``.
    """
    check_service(service)
    places = np.asarray(order, dtype=np.int64)
    begin, end = np.empty((2, places.size))
    jobs = queues.jobs
    ran = _fill(
        places, jobs.site, jobs.remaining, queues.speed, service == "slot", begin, end
    )  # fmt: skip
    site = jobs.site[places[ran]]
    return Runs(jobs.job[places[ran]], queues.share[site], begin[ran], end[ran])


@compiled(writes="begin end")
def _fill(
    order: Ints,
    site: Ints,
    remaining: Floats,
    speed: Floats,
    whole: bool,
    begin: Floats,
    end: Floats,
) -> NDArray[np.bool_]:
    """Fill in when each job of the order runs, and return which run at all."""
    free = np.zeros(speed.size)
    ran = np.zeros(order.size, dtype=np.bool_)
    for place in range(order.size):
        job = order[place]
        j = site[job]
        if j < 0 or not speed[j] > 0.0 or free[j] >= 1.0:
            continue
        begin[place], end[place], ran[place] = free[j], 1.0, True
        if not whole:
            # Next to nothing still takes a time that a clock can show.
            later = max(free[j] + remaining[job] / speed[j], np.nextafter(free[j], 2.0))
            end[place] = min(later, 1.0)
        free[j] = end[place]
    return ran
