"""Queues of training that is owed, which several policies keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.online.edr.relaxed import live, typical
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame, Settled

    Floats = NDArray[np.float64]

__all__ = ["QueueMemory", "check_queue", "drift_weight", "owed_after", "whole"]

DRIFT = 2.0
"""Weight of cost against queues, in typical rounds per typical cost, where none is given."""


@dataclass(frozen=True, eq=False)
class QueueMemory:
    """What a policy with queues keeps.

    Attributes
    ----------
    instance
        The sites.
    owed
        Rounds that each task is behind its even rate, shape [I].
    pressure
        Queue of energy: cost per Wh on top of the price, or cost, as the policy says.
    weight
        Weight of cost against queues, rounds per cost, once it is known.
    price
        Price at which requests of the frame are routed, $/Wh.
    reference
        Energy cost of an average plan, summed over the frames so far.
    """

    instance: EdrInstance
    owed: Floats
    pressure: float = 0.0
    weight: float | None = None
    price: float = 0.0
    reference: float = 0.0


def check_queue(weight: float | None, catch_up: float) -> None:
    """Refuse a weight or a multiple that is out of range."""
    check_real("weight", weight, "[0, inf)", none=True)
    check_real("catch_up", catch_up, "(0, inf)")


def drift_weight(
    memory: QueueMemory, weight: float | None, frame: Frame, cost: Floats
) -> QueueMemory:
    """Return the memory with the weight that is given, or with one of the right unit."""
    if weight is None and memory.weight is None:
        scale = typical(frame, cost)
        weight = None if scale is None else DRIFT * scale.rate / scale.cost
    return memory if weight is None else replace(memory, weight=weight)


def whole(rounds: Floats, cap: float) -> Floats:
    """Round down in a capped frame, up in another, shape [I]."""
    close = np.round(rounds)
    exact = np.where(np.abs(rounds - close) < 1e-9, close, rounds)
    return np.floor(exact) if np.isfinite(cap) else np.ceil(exact)


def owed_after(owed: Floats, frame: Frame, settled: Settled) -> Floats:
    """Return the rounds that tasks are behind after a frame, 0 for those not live, shape [I]."""
    behind = np.maximum(owed + frame.even_rate - settled.rounds, 0.0)
    return np.where(live(frame), behind, 0.0)
