"""A placement that never changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_text, plain_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.events import Outcome, Slot

__all__ = ["FixedPlacement"]


@dataclass(frozen=True, eq=False)
class FixedPlacement:
    """Deploy the same models in every slot.

    Parameters
    ----------
    allocation
        Which models are deployed where, truth values, shape [V, M]; repositories included.
    name
        Name in tables.
    """

    allocation: NDArray[np.bool_]
    name: str = "Fixed"

    def __post_init__(self) -> None:
        check_text("name", self.name)

    def start(self, instance: IdnInstance) -> NDArray[np.bool_]:
        """Check the allocation; the state is a read-only copy of it.

        Raises
        ------
        OptionError
            If the allocation has another shape, is not made of truth values, or differs from the
            repository at a pinned node.
        """
        allocation = plain_array("allocation", self.allocation)
        if allocation.dtype != np.bool_ or allocation.shape != instance.size.shape:
            raise OptionError(
                f"allocation: must be a bool array of shape {instance.size.shape}, got "
                f"{allocation.dtype} of shape {allocation.shape}"
            )
        allocation = allocation.copy()
        changed = (allocation != instance.repository).any(axis=1) & instance.pinned
        if changed.any():
            raise OptionError(
                f"allocation: node {int(np.argmax(changed))} is a repository, its models are fixed"
            )
        allocation.flags.writeable = False
        return allocation

    def decide(
        self, state: NDArray[np.bool_], observation: Slot, rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the allocation."""
        return state, state

    def learn(
        self,
        state: NDArray[np.bool_],
        observation: Slot,
        decision: NDArray[np.bool_],
        feedback: Outcome,
    ) -> NDArray[np.bool_]:
        """Learn nothing."""
        return state
