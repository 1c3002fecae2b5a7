"""Even rate: what is left of a task is spread evenly over the frames that are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.edr.policies.policy import EdrPolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame

__all__ = ["EvenRate"]


@dataclass(frozen=True, eq=False, kw_only=True)
class EvenRate(EdrPolicy[None]):
    """Train the rounds left over the frames left, rounded up, whatever they cost.

    It looks at neither prices nor channels; a policy that does should do better.
    """

    title: ClassVar[str] = "Even rate"

    def begin(self, instance: EdrInstance) -> None:
        """Remember nothing."""

    def wish(
        self, memory: None, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], None]:
        """Wish for the even rate of what is left."""
        frames_left = np.maximum(frame.deadline - frame.frame + 1, 1)
        return frame.remaining / frames_left, None
