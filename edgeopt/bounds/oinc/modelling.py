"""Single formulas: what share is kept for jobs, what the learned policy is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.oinc.evaluation import claim
from edgeopt.bounds.oinc.requests import Requests
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import OincInstance, sequence
from edgeopt.models.oinc.slot import SlotProblem, assignment_cost, slot_problem
from edgeopt.online.oinc.events import Jobs, Slot
from edgeopt.online.oinc.reservation import Reservation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from edgeopt.bounds.named import ParameterSpace


@dataclass(frozen=True)
class Split:
    """Sites, and how their CPU is to be split for one new job.

    Parameters
    ----------
    speed
        CPU of each site, Gcycle/s.
    share
        Share that each keeps for jobs already, 0 where it has none.
    needed
        CPU that requests need on the whole, Gcycle/s.
    part
        Part of the rest that is meant for jobs, beta / (alpha + beta), in (0, 1).
    """

    speed: tuple[float, ...]
    share: tuple[float, ...]
    needed: float
    part: float

    @property
    def chosen(self) -> int:
        """The fastest site without jobs, which takes the new one."""
        idle = np.flatnonzero(np.array(self.share) == 0.0)
        return int(idle[np.argmax(np.array(self.speed)[idle])])

    def published(self) -> float:
        """Return the share by equation (2) as printed, where speeds and shares are subtracted."""
        free = sum(f - p for f, p in zip(self.speed, self.share, strict=True)) - self.needed
        return self.part * free / self.speed[self.chosen]

    def corrected(self) -> float:
        """Return the share that the library reserves."""
        speed = np.array(self.speed)
        sites = speed.size
        none = np.zeros(0)
        requests = SlotProblem(np.zeros((0, sites)), np.zeros((0, sites)), none, np.ones(sites))
        job = Jobs(
            job=np.zeros(1, dtype=np.int64), site=np.full(1, -1), started=np.zeros(1, dtype=bool),
            remaining=np.ones(1), work=np.ones(1), arrival=np.zeros(1, dtype=np.int64),
            deadline=np.ones(1), weight=np.ones(1),
        )  # fmt: skip
        rule = Reservation(ratios=(1.0 / self.part - 1.0,))
        # What requests have needed so far stands for what they need now.
        memory = rule.start(_sites(speed))._replace(needed=self.needed, slots=1)
        share, _ = rule.reserve(memory, Slot(0, requests, job), np.array(self.share))
        return float(share[self.chosen])


def _sites(speed: np.ndarray) -> OincInstance:
    """Return an instance of these sites, with one device that asks for nothing."""
    return sequence([0], [1.0]).replace(speed=speed, rate=np.ones((1, 1, speed.size)))


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


LARGE: ParameterSpace = {
    "Split((5, 5), (0, 0), 1, 2/3)": lambda: Split((5.0, 5.0), (0.0, 0.0), 1.0, 2.0 / 3.0)
}

NEGATIVE: ParameterSpace = {
    "Split((5, 5), (0, 0), 12, 2/3)": lambda: Split((5.0, 5.0), (0.0, 0.0), 12.0, 2.0 / 3.0)
}

MIXED: ParameterSpace = {
    "Split((5, 5), (9/10, 0), 3, 1/2)": lambda: Split((5.0, 5.0), (0.9, 0.0), 3.0, 0.5)
}

_SPLIT = {"instance_type": Split, "view": lambda split: split}


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
        "equation2",
        "The share that is kept for jobs lies between the smallest and the largest one that are "
        "allowed, between 0 and 1.",
        "Equation (2), corrected",
        _above,
        Relation.AT_MOST,
        {**LARGE, **NEGATIVE, **MIXED},
        **_SPLIT,
    ),
    claim(
        "equation2.left",
        r"With $\sum_j f_j (1 - p_j)$ requests are left with at least what they need, if it is "
        "there and no clip decides.",
        "Equation (2), corrected",
        _left,
        Relation.AT_LEAST,
        {**LARGE, **MIXED},
        **_SPLIT,
    ),
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
        "state.published",
        "It is the best one in every slot of the same state, which holds data, work and what jobs "
        "leave of the CPUs. The channel is not in it, nor are the objectives.",
        "Section IV-C, the state",
        lambda instance: _transferred(instance, _shown),
        Relation.EQUAL,
        {"moved_devices()": moved_devices},
        corrected_by=("oinc.state",),
        **_INSTANCE,
    ),
)
