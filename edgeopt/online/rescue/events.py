"""What a RESCUE policy sees, says and hears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Arrival", "FinishedRun", "Placement"]


@dataclass(frozen=True, eq=False)
class Arrival:
    """A retraining task that has just arrived and wants a decision now.

    Attributes
    ----------
    slot, device
        When and whose.
    idle
        Whether each server runs no retraining, shape [K].
    remaining
        Reserved work left of every reserved task at the start of the slot, TMAC, shape [H].
    coin
        Uniform random number in [0, 1) for policies that route at random. It is drawn with the
        world, so that such policies are compared on the same coins.
    """

    slot: int
    device: int
    idle: NDArray[np.bool_]
    remaining: NDArray[np.float64]
    coin: float


class Placement(NamedTuple):
    """Accept a task: run it now on a server with a profile. Turning it down is None instead."""

    server: int
    profile: int


class FinishedRun(NamedTuple):
    """A run that has come to its end, with all that has become known of it.

    Attributes
    ----------
    slot, device, server, profile
        When it was accepted, whose it was, and where and how it ran.
    duration
        Slots that it took.
    profit
        What it earned.
    """

    slot: int
    device: int
    server: int
    profile: int
    duration: int
    profit: float
