"""Equation (2): what share of a site is kept for jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import sequence
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.online.oinc.events import Jobs, Slot
from edgeopt.online.oinc.reservation import Reservation

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance

__all__ = ["CLAIMS", "LARGE", "MIXED", "NEGATIVE", "Split", "left_for_requests"]


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

    def printed(self) -> float:
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


LARGE = {"Split((5, 5), (0, 0), 1, 2/3)": lambda: Split((5.0, 5.0), (0.0, 0.0), 1.0, 2.0 / 3.0)}
NEGATIVE = {
    "Split((5, 5), (0, 0), 12, 2/3)": lambda: Split((5.0, 5.0), (0.0, 0.0), 12.0, 2.0 / 3.0)
}
MIXED = {"Split((5, 5), (9/10, 0), 3, 1/2)": lambda: Split((5.0, 5.0), (0.9, 0.0), 3.0, 0.5)}

_SPLIT = {"instance_type": Split, "view": lambda split: split}

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
)
