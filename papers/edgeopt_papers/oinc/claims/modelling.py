"""Single formulas: what share is kept for jobs, what the learned policy is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.slot import assignment_cost, slot_problem
from edgeopt.online.oinc.reservation import Reservation
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims.evaluation import claim
from edgeopt_papers.oinc.claims.instances import Split
from edgeopt_papers.oinc.claims.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray


def left_for_requests(split: Split, share: float) -> float:
    """Return what requests are left with, Gcycle/s."""
    shares = list(split.share)
    shares[split.chosen] = share
    return sum(f * (1.0 - p) for f, p in zip(split.speed, shares, strict=True))


def _left(split: Split) -> Measurement:
    share = split.corrected()
    return Measurement(left_for_requests(split, share), split.needed, {"share": share})


def _above(split: Split) -> Measurement:
    rule = Reservation()
    share = split.corrected()
    over = max(share - rule.largest, rule.smallest - share)
    return Measurement(over, 0.0, {"share": share})


_SPLIT = {"instance_type": Split, "view": lambda split: split}


State = tuple[bytes, ...]


def _shown(instance: OincInstance, slot: int) -> State:
    """Return what the actor is shown: data and work; the free shares of the CPUs are equal here."""
    here = instance.active[slot]
    parts = (instance.request_size, instance.request_work)
    return here.tobytes(), *(np.where(here, part[slot], 0.0).tobytes() for part in parts)


def _seconds(instance: OincInstance, slot: int) -> State:
    """Return what the latencies depend on."""
    here = instance.active[slot]
    parts = (instance.transmission_seconds, instance.computation_seconds)
    # Quotients of equal times may differ in the last bits.
    times = (np.where(here[:, None], part[slot], 0.0).round(12) for part in parts)
    return here.tobytes(), *(time.tobytes() for time in times)


def _pairs(
    instance: OincInstance, state: Callable[[OincInstance, int], State]
) -> Iterator[tuple[int, int]]:
    """Yield each slot with the first one that has the same state."""
    first: dict[State, int] = {}
    for slot in range(instance.slots):
        if instance.active[slot].any():
            before = first.setdefault(state(instance, slot), slot)
            if before < slot:
                yield before, slot


def _transferred(instance: OincInstance, state: Callable[[OincInstance, int], State]) -> Measured:
    """Use the best assignment of a slot in others of the same state."""
    found = []
    for before, slot in _pairs(instance, state):
        best = [slot_problem(instance, t) for t in (before, slot)]
        kept, own = (_best_assignment(Requests(problem)) for problem in best)
        cost, least = (assignment_cost(best[1], site) for site in (kept, own))
        found.append(Measurement(cost, least, {"slots": (before, slot)}))
    if not found:
        raise NotApplicableError("no two slots have the same state")
    return found


def _best_assignment(view: Requests) -> NDArray[np.int64]:
    return min(view.assignments(), key=lambda site: assignment_cost(view.problem, site))


_INSTANCE = {"instance_type": OincInstance, "view": lambda instance: instance}

CLAIMS = (
    claim(
        "equation2", _above, (named.idle_sites, named.overloaded_sites, named.busy_site), **_SPLIT
    ),
    claim("equation2.left", _left, (named.idle_sites, named.busy_site), **_SPLIT),
    claim(
        "state", lambda instance: _transferred(instance, _seconds), named.slower_radio, **_INSTANCE
    ),
    claim(
        "state.published",
        lambda instance: _transferred(instance, _shown),
        named.moved_devices,
        **_INSTANCE,
    ),
)
