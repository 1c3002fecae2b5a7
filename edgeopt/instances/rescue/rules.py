"""Rules that the data of a RESCUE instance must obey, beyond shapes and finiteness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.validate import check_probabilities, require

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_arrival", "check_block", "check_broadcastable", "check_duration"]

_ROW_SUM = 1e-12  # rounding allowed in sums of arrival probabilities
_UNIT_MASS = 1e-9  # rounding allowed in sums of duration probabilities


def check_arrival(arrival: NDArray[np.float64], arrivals: str) -> None:
    """Check probabilities of arrival, shape [T, J]."""
    check_probabilities("arrival", arrival)
    if arrivals == "exclusive":
        total = arrival.sum(axis=1)
        require(
            "arrival",
            total <= 1 + _ROW_SUM,
            total,
            "probabilities of the slot must sum to at most 1 over devices "
            '(use arrivals="independent" if several tasks may arrive in a slot)',
        )


def check_duration(duration: NDArray[np.float64]) -> None:
    """Check probabilities of durations, shape [L, D]."""
    check_probabilities("duration", duration)
    total = duration.sum(axis=1)
    unit = np.abs(total - 1) <= _UNIT_MASS
    require("duration", unit, total, "probabilities of the profile must sum to 1")
    mean = duration @ np.arange(1.0, duration.shape[1] + 1)
    increasing = np.concatenate(([True], np.diff(mean) > 0))
    require("duration", increasing, mean, "mean duration must exceed that of the profile before")


def check_broadcastable(shape: tuple[int, ...], full: tuple[int, ...]) -> None:
    """Check that profits of this shape spread over all of [T, J, K, L, D]."""
    if len(shape) != len(full) or any(
        n not in (1, whole) for n, whole in zip(shape, full, strict=True)
    ):
        raise InstanceError(
            "profit",
            f"must be broadcastable to [slot, device, server, profile, duration] = {full}",
            value=f"shape {shape}",
        )


def check_block(block: NDArray[np.float64], full: tuple[int, ...], first: int) -> None:
    """Check the profits that a model yields for the slots from ``first`` on."""
    check_broadcastable(block.shape, full)
    sound = np.isfinite(block) & (block >= 0)
    if not sound.all():
        slot, *rest = (int(i) for i in np.argwhere(~sound)[0])
        raise InstanceError(
            "profit",
            "must be finite and not negative",
            index=(first + slot, *rest),
            value=block[slot, *rest].item(),
        )
