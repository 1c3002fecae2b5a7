"""What a RESCUE policy did, in more detail than reward alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.online.simulate import Trajectory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RescueTrajectory"]


@dataclass(frozen=True, eq=False)
class RescueTrajectory(Trajectory):
    """Runs of one policy on one RESCUE instance.

    The reward of a run is booked in the slot that accepts it. Violations are counted in the last
    slot of the reserved task's window. One decision is asked for per arrival.

    Attributes
    ----------
    accepted
        Number of runs accepted in every slot, shape [runs, T].
    retraining_work
        Capacity of the servers that run retraining in the slot, TMAC, shape [runs, T].
    reserved_work
        Reserved work served in the slot on all servers, TMAC, shape [runs, T].
    device, profile
        Whose task each server runs, and with which profile, -1 when it runs none; shape
        [runs, K, T]. None unless recorded.
    served
        Reserved work that each server serves, TMAC, shape [runs, K, T]. None unless recorded.
    """

    accepted: NDArray[np.int64]
    retraining_work: NDArray[np.float64]
    reserved_work: NDArray[np.float64]
    device: NDArray[np.int64] | None = None
    profile: NDArray[np.int64] | None = None
    served: NDArray[np.float64] | None = None
