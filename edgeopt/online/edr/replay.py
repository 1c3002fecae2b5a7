"""What a round of each task would have cost in the frames before the task arrived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.edr.exchange import away_from, exchange_joules, exchange_seconds
from edgeopt.instances.edr.instance import JOULES_PER_WATT_HOUR

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame, Slot

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replay:
    """Energy and delay of a round in all frames seen, whether the task was there or not.

    Rows are the hours of the day before, if its rates are known, then frames up to the present one;
    columns are tasks. Rows are joint: one row is the same channel for all tasks. Columns of tasks
    that have not arrived, or whose window is over, mean nothing.
    """

    instance: EdrInstance
    energy: Floats  # Wh, [S, I]
    seconds: Floats  # s, [S, I]
    known: NDArray[np.bool_]  # which tasks have arrived, [I]
    rates: tuple[Floats, ...]  # of all rows, each [J, J]
    powers: tuple[Floats, ...] = ()  # of the frames seen, each [J]
    travels: tuple[Floats, ...] = ()  # mean propagation of the frames that are over, each [J, J]
    travel: Floats | float = 0.0  # sum over the slots so far of the frame that goes on, [J, J]
    slots: int = 0  # how many they are

    @classmethod
    def of(cls, instance: EdrInstance, *, history: bool) -> Self:
        """Begin with the channel of the day before, where it is to be used and known."""
        past = instance.history.rate if history and instance.history is not None else None
        rates = () if past is None else tuple(past)
        nothing = np.zeros((len(rates), instance.tasks))
        return cls(instance, nothing, nothing, np.zeros(instance.tasks, dtype=np.bool_), rates)

    def with_frame(self, frame: Frame) -> Self:
        """Add a frame, and for tasks that arrive in it all frames before."""
        energy = np.vstack([self.energy, frame.round_energy])
        seconds = np.vstack([self.seconds, frame.round_seconds])
        known = frame.arrival >= 0
        powers = (*self.powers, frame.power)
        new = np.flatnonzero(known & ~self.known).tolist()
        if new and self.rates:
            work = frame.round_work @ self.instance.energy_per_work
            rate, travel = np.stack(self.rates), self._travel()
            # The day before counts as the first frame.
            power = np.stack([powers[0]] * (len(rate) - len(self.powers)) + [*self.powers])
            for i in new:
                size, server = frame.model_size[i], int(frame.server[i])
                away = away_from(server, frame.client[i])
                joules = exchange_joules(size, away, server, power, rate)
                energy[:-1, i] = joules / JOULES_PER_WATT_HOUR + work[i]
                seconds[:-1, i] = exchange_seconds(
                    size, away, server, rate, travel, self.instance.round_delay
                )
        rates = (*self.rates, frame.rate)
        return replace(
            self, energy=energy, seconds=seconds, known=known, rates=rates, powers=powers
        )

    def with_slot(self, slot: Slot) -> Self:
        """Add the propagation of a slot."""
        travel = self.travel + slot.conditions.propagation
        return replace(self, travel=travel, slots=self.slots + 1)

    def closed(self) -> Self:
        """End the frame."""
        mean = self.travel / max(self.slots, 1) + np.zeros_like(self.rates[-1])
        return replace(self, travels=(*self.travels, mean), travel=0.0, slots=0)

    def _travel(self) -> Floats:
        """Return the mean propagation of every row; that of the day before counts as usual."""
        seen = np.zeros((len(self.rates), *self.rates[0].shape))
        if self.travels:
            first = len(self.rates) - len(self.travels)
            seen[first:] = self.travels
            seen[:first] = seen[first:].mean(axis=0)
        return seen
