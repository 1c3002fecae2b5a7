"""Tables over slots that may be too large to exist at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["SlotTable", "slot_blocks"]

ENTRIES = 2**24
"""Entries that a block may have: 128 MB of float64."""


def slot_blocks(instance: RescueInstance) -> tuple[slice, ...]:
    """Cut the horizon into the fewest blocks of which profits and scores fit into memory."""
    width = max(instance.profiles, instance.max_duration)
    step = max(1, ENTRIES // (instance.devices * instance.servers * width))
    return tuple(
        slice(first, min(first + step, instance.horizon))
        for first in range(0, instance.horizon, step)
    )


class SlotTable:
    """An array whose first axis is the slot, computed by blocks; the latest block is kept.

    Parameters
    ----------
    compute
        Returns the rows of a slice of slots.
    blocks
        The slices, in order, together the whole horizon.
    """

    def __init__(
        self,
        compute: Callable[[slice], NDArray[np.float64]],
        blocks: tuple[slice, ...],
    ) -> None:
        self._compute = compute
        self._step = blocks[0].stop
        self.blocks = blocks
        self._latest: tuple[slice, NDArray[np.float64]] | None = None

    def block(self, slots: slice) -> NDArray[np.float64]:
        """Return the rows of one of the blocks."""
        if self._latest is None or self._latest[0] != slots:
            self._latest = slots, self._compute(slots)
        return self._latest[1]

    def at(self, slot: int) -> NDArray[np.float64]:
        """Return the row of one slot."""
        slots = self.blocks[slot // self._step]
        row: NDArray[np.float64] = self.block(slots)[slot - slots.start]
        return row
