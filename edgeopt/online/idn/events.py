"""What an inference delivery network shows to a policy, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Outcome", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot begins; nothing of its requests is known.

    Attributes
    ----------
    index
        Number of the slot, from 0.
    """

    index: int


class Outcome(NamedTuple):
    """What came to light in a slot under the allocation that was deployed.

    Attributes
    ----------
    requests
        Requests of every type, shape [R].
    load
        Requests that each option of the ranking served, shape [P].
    potential
        Potential available capacity of each option at run time, shape [P].
    cost
        Serving cost, ms.
    """

    requests: NDArray[np.int64]
    load: NDArray[np.float64]
    potential: NDArray[np.float64]
    cost: float
