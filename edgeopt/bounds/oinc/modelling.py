"""Single formulas of the model: remaining work, what the learned policy is shown."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.oinc.requests import Requests
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.slot import assignment_cost, slot_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["CLAIMS", "moved_devices", "slower_radio"]


def _two_slots(rate: NDArray[np.float64], size: NDArray[np.float64]) -> OincInstance:
    """Return an instance of one device, two slots and two sites, without jobs."""
    one, none = np.ones((2, 1)), np.zeros(0)
    return OincInstance(
        speed=np.ones(2), rate=rate[:, None, :], active=one > 0, request_size=size[:, None],
        request_work=0.1 * one, slo=0.9 * one, arrival=none.astype(int), work=none, deadline=none,
    )  # fmt: skip


@cache
def moved_devices() -> OincInstance:
    """Let a device be near site 0 at first, 0.1 s to send there and 0.4 s to site 1, then near 1.

    Its requests are equal.
    """
    return _two_slots(np.array([[10.0, 2.5], [2.5, 10.0]]), np.ones(2))


@cache
def slower_radio() -> OincInstance:
    """Let a device send half the data at half the rate in the second slot."""
    return _two_slots(np.array([[10.0, 2.5], [5.0, 1.25]]), np.array([1.0, 0.5]))


State = tuple[bytes, ...]


def _shown(instance: OincInstance, slot: int) -> State:
    """Return what the actor is shown: data and work; rooms are equal here."""
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


def _transferred(
    instance: OincInstance, state: Callable[[OincInstance, int], State]
) -> Measurement:
    """Use the best assignment of a slot in others of the same state."""
    found = []
    for before, slot in _pairs(instance, state):
        best = [slot_problem(instance, t) for t in (before, slot)]
        kept, own = (_best_assignment(Requests(problem)) for problem in best)
        cost, least = (assignment_cost(best[1], site) for site in (kept, own))
        found.append(Measurement(cost, least, {"slots": (before, slot)}))
    if not found:
        raise NotApplicableError("no two slots have the same state")
    return worst(Relation.EQUAL, found)


def _best_assignment(view: Requests) -> NDArray[np.int64]:
    return min(view.assignments(), key=lambda site: assignment_cost(view.problem, site))


_INSTANCE = {"instance_type": OincInstance, "view": lambda instance: instance}

CLAIMS = (
    claim(
        "state",
        "The best assignment of a slot is the best one in every slot in which requests take the "
        "same time to send and to compute.",
        "Section IV-C, the state, corrected",
        lambda instance: _transferred(instance, _seconds),
        Relation.EQUAL,
        {"slower_radio()": slower_radio},
        **_INSTANCE,
    ),
    claim(
        "state.printed",
        "It is the best one in every slot of the same state, which holds data, work and what jobs "
        "leave of the CPUs. The channel is not in it, nor are the objectives.",
        "Section IV-C, the state",
        lambda instance: _transferred(instance, _shown),
        Relation.EQUAL,
        {"moved_devices()": moved_devices},
        counterexample="moved_devices()",
        corrected_by=("oinc.state",),
        **_INSTANCE,
    ),
)
