"""What happened to a policy in an inference delivery network, slot by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.online.simulate import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IdnTrajectory"]


@dataclass(frozen=True, eq=False)
class IdnTrajectory(Trajectory):
    """A trajectory of IDN.

    The reward of a slot is its allocation gain per request, ms; a slot without requests has 0.
    Violations count the nodes whose models exceed their budget.

    Attributes
    ----------
    gain
        Allocation gain of the slot, ms summed over requests, shape [runs, T].
    cost
        Serving cost of the slot, ms summed over requests, shape [runs, T].
    latency
        Mean of network and inference delay over requests, ms, shape [runs, T]; NaN without any.
    inaccuracy
        Mean of 100 less the accuracy over requests, percent, shape [runs, T]; NaN without any.
    fetched
        Size of the models that were loaded at the start of the slot, MB, shape [runs, T]; the first
        slot counts nothing.
    hosted
        Recorded only on request: what the first run deployed, shape [T, V, M].
    """

    gain: NDArray[np.float64]
    cost: NDArray[np.float64]
    latency: NDArray[np.float64]
    inaccuracy: NDArray[np.float64]
    fetched: NDArray[np.float64]
    hosted: NDArray[np.bool_] | None = None

    def time_averaged_gain(self) -> NDArray[np.float64]:
        """Return the gain per request, averaged over slots (NTAG), ms, shape [runs].

        Si Salem et al., equation (23).
        """
        return np.asarray(self.reward.mean(axis=1))

    def model_updates(self) -> NDArray[np.float64]:
        """Return the size of fetched models per slot (MU), MB, shape [runs].

        Si Salem et al., equation (24).
        """
        return np.asarray(self.fetched.mean(axis=1))
