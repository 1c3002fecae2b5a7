"""Training in a frame with fractions of rounds allowed: what the saddle-point driver steps on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.edr.training import take_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame

    Floats = NDArray[np.float64]

__all__ = ["RelaxedFrame", "Scale", "TrainingSet", "fill_cap", "live", "typical", "unit_cost"]


@dataclass(frozen=True, eq=False)
class RelaxedFrame:
    """Cost and progress of training in a frame; a `RevealedSlot` of the driver.

    Attributes
    ----------
    cost
        Cost of a round of each task, shape [I].
    wanted
        Rounds that each task is to do on average, 0 where it may not train, shape [I].
    live
        Whether a task may train and is not finished, shape [I].
    """

    cost: Floats
    wanted: Floats
    live: NDArray[np.bool_]

    def gradient(self, point: Floats) -> Floats:
        """Return the cost of a round, shape [I]."""
        return self.cost

    def constraints(self, point: Floats) -> Floats:
        """Return what each live task lacks of its average, shape [I]."""
        return np.where(self.live, self.wanted - point, 0.0)

    def pull(self, point: Floats, multipliers: Floats) -> Floats:
        """Return what a round is worth to the averages, with a minus, shape [I]."""
        return np.where(self.live, -multipliers, 0.0)


class TrainingSet(NamedTuple):
    """Rounds, in fractions, that may be trained in a frame; a `FeasibleSet` of the driver.

    Attributes
    ----------
    energy
        Energy of a round, Wh, shape [I].
    cap
        Energy that training may use, Wh, possibly infinite.
    upper
        Most rounds of each task, shape [I].
    """

    energy: Floats
    cap: float
    upper: Floats

    def step(self, point: Floats, direction: Floats, size: float) -> Floats:
        """Return the proximal step within the cap, shape [I]; see `take_step`."""
        return take_step(point, direction, self.energy, self.cap, self.upper, size).rounds

    def shrink(self, point: Floats) -> Floats:
        """Return a point cut to the upper bounds and then scaled into the cap, shape [I]."""
        cut = np.minimum(point, self.upper)
        used = float(self.energy @ cut)
        return cut * (self.cap / used) if used > self.cap else cut


class Scale(NamedTuple):
    """Typical numbers, from which step sizes and weights of queues get their units.

    Attributes
    ----------
    rate
        Rounds of a task in a frame.
    cost
        Cost of a round.
    """

    rate: float
    cost: float


def live(frame: Frame) -> NDArray[np.bool_]:
    """Return whether a task may train and is not finished, shape [I]."""
    return frame.active & (frame.remaining > 0)


def unit_cost(instance: EdrInstance, frame: Frame, price: float) -> Floats:
    """Return the cost of a round at a price in $/Wh, 0 where a task may not train, shape [I]."""
    energy = instance.energy_weight * price * frame.round_energy
    return np.asarray(energy + instance.delay_weight * frame.round_seconds)


def typical(frame: Frame, cost: Floats) -> Scale | None:
    """Return means over the live tasks of a frame, None while there are none.

    Negative prices count by their size; costs that are all 0 have no scale, 1 stands for it.
    """
    tasks = live(frame)
    if not tasks.any():
        return None
    return Scale(float(frame.even_rate[tasks].mean()), float(np.abs(cost[tasks]).mean()) or 1.0)


def fill_cap(worth: Floats, energy: Floats, upper: Floats, cap: float) -> Floats:
    r"""Return the rounds of most worth within a cap, :math:`\arg\max_x w \cdot x`, shape [I]."""
    rounds = np.where(worth > 0.0, upper, 0.0).astype(np.float64)
    spending = np.flatnonzero((rounds > 0.0) & (energy > 0.0))
    order = spending[np.argsort(-worth[spending] / energy[spending], kind="stable")]
    before = np.concatenate([[0.0], np.cumsum(rounds[order] * energy[order])])[:-1]
    rounds[order] = np.clip((cap - before) / energy[order], 0.0, rounds[order])
    return rounds
