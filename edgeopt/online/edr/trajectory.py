"""What a policy did under demand response, frame by frame, and what it failed to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.online.simulate import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["QUALITY_BINS", "EdrTrajectory"]

QUALITY_BINS = 20
"""Bins of the histogram of delays, evenly from 0 to the objective."""


@dataclass(frozen=True, eq=False)
class EdrTrajectory(Trajectory):
    """A trajectory of EDR; its slots are frames, and less is better.

    The reward of a frame is its penalised cost: energy and delay at the true price, requests that
    stayed unserved, and rounds that tasks whose deadline it was still lack. Energy above the cap is
    never priced; a frame with any counts as a violation. One decision is asked for per frame, and
    one per slot.

    Attributes
    ----------
    energy
        Energy of training and inference, Wh, shape [runs, T].
    training_energy
        Energy of training alone, communication included, Wh, shape [runs, T].
    energy_cost
        Cost of all energy at the true price, shape [runs, T].
    delay_cost
        Cost of the delays of served requests, shape [runs, T].
    training_delay_cost
        Cost of the communication delays of training, shape [runs, T].
    late_cost
        Price of missing rounds, in the frame of the deadline, shape [runs, T].
    unserved_cost
        Price of unserved requests, shape [runs, T].
    excess
        Energy above the cap, Wh, shape [runs, T]; exactly 0 where the cap was kept.
    asked
        Requests that arrived, shape [runs, T].
    unserved
        Requests that were not served, shape [runs, T].
    rounds
        Rounds that each task trained, shape [runs, T, I].
    missing
        Rounds that each task lacked at its deadline, shape [runs, I].
    quality
        Served requests by delay over objective, shape [runs, 20]; bins from 0 to 1.
    cap
        Caps of the frames, Wh, shape [T].
    needed
        Rounds that each task needs, shape [I].
    flows
        Recorded only on request: requests from each origin to each serving site, summed over the
        first run, shape [J, J].
    """

    energy: Floats
    training_energy: Floats
    energy_cost: Floats
    delay_cost: Floats
    training_delay_cost: Floats
    late_cost: Floats
    unserved_cost: Floats
    excess: Floats
    asked: Floats
    unserved: Floats
    rounds: Ints
    missing: Ints
    quality: Floats
    cap: Floats
    needed: Ints
    flows: Floats | None = None

    @property
    def cost(self) -> Floats:
        """Cost without penalties, shape [runs, T]."""
        return self.energy_cost + self.delay_cost + self.training_delay_cost

    @property
    def inference_energy(self) -> Floats:
        """Energy of inference, Wh, shape [runs, T]."""
        return self.energy - self.training_energy

    def completion(self) -> Floats:
        """Return the share of needed rounds that were trained, shape [runs]; 1 without tasks."""
        needed = int(self.needed.sum())
        done = self.rounds.sum(axis=(1, 2))
        return np.asarray(done / needed if needed else np.ones(self.runs))

    def excess_share(self) -> Floats:
        """Return energy above the caps over all capped energy, shape [runs].

        0 where nothing is above a cap, infinity where it is and all caps are 0.
        """
        capped = float(self.cap[np.isfinite(self.cap)].sum())
        excess = self.excess.sum(axis=1)
        return np.asarray(excess / capped if capped > 0 else np.where(excess > 0, np.inf, 0.0))

    def late(self) -> NDArray[np.bool_]:
        """Return which tasks lacked rounds at their deadline, shape [runs, I]."""
        return np.asarray(self.missing > 0)

    def served_share(self) -> Floats:
        """Return the share of requests that were served, shape [runs]; 1 without any."""
        asked = self.asked.sum(axis=1)
        lost = self.unserved.sum(axis=1)
        return np.asarray(1.0 - np.divide(lost, asked, out=np.zeros_like(lost), where=asked > 0))
