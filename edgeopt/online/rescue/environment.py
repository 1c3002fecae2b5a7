"""The system that RESCUE's policies live in: random arrivals and durations, reserved work by EDF.

A slot goes like this: servers whose run has ended are idle; tasks arrive and are decided on one by
one; then every server that runs no retraining serves its reserved tasks, earliest deadline first,
and one that does serves none; a reserved task that is not finished at its deadline has failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.edf import edf_order
from edgeopt.instances.rescue import RescueInstance
from edgeopt.online.rescue.blocks import SlotTable, slot_blocks
from edgeopt.online.rescue.episode import RescueEpisode
from edgeopt.online.rescue.trajectory import RescueTrajectory
from edgeopt.online.rescue.values import steps_per_slot
from edgeopt.options import check_kind, check_room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.rescue.events import Arrival, FinishedRun, Placement
    from edgeopt.online.simulate import Episode

__all__ = ["RescueEnvironment"]


@dataclass(frozen=True, eq=False)
class RescueEnvironment:
    """Worlds of a RESCUE instance.

    A world is an array of uniform random numbers [T, S, 3]: S = 1 step per slot for exclusive
    arrivals, one per device for independent ones. The three numbers of a step say what arrives, the
    coin of a policy that routes at random, and how long the run lasts if the task is accepted. So
    all policies see the same arrivals, and a task that two policies run with the same profile takes
    equally long.

    Attributes
    ----------
    instance
        The instance; its distributions and reserved tasks are known to the policies.
    """

    instance: RescueInstance

    def __post_init__(self) -> None:
        check_kind("instance", self.instance, RescueInstance)

    @cached_property
    def steps(self) -> int:
        """Decisions that may be asked for in a slot: 1, or J if arrivals are independent."""
        return steps_per_slot(self.instance)

    @cached_property
    def arrival_cumulative(self) -> NDArray[np.float64]:
        """Running sums over devices of the arrival probabilities, shape [T, J]."""
        return np.cumsum(self.instance.arrival, axis=1)

    @cached_property
    def duration_cumulative(self) -> NDArray[np.float64]:
        """Distribution functions of the durations, 1 from the longest one on; shape [L, D]."""
        table = np.cumsum(self.instance.duration, axis=1)
        table[np.arange(table.shape[1]) >= self.instance.longest[:, np.newaxis] - 1] = 1.0
        return table

    @cached_property
    def profit(self) -> SlotTable:
        """What a run earns, by blocks of slots; views of shape [n, J, K, L, D]."""
        instance = self.instance

        def block(slots: slice) -> NDArray[np.float64]:
            shape = (slots.stop - slots.start, *instance.shape[1:])
            return np.broadcast_to(instance.profit_block(slots), shape)

        return SlotTable(block, slot_blocks(instance))

    @cached_property
    def reserved_order(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Reserved tasks by server and deadline, see `edgeopt.instances.edf.edf_order`."""
        tasks = self.instance.reserved
        return edf_order(tasks.server, tasks.end, self.instance.servers)

    def worlds(self, rng: np.random.Generator, runs: int) -> NDArray[np.float64]:
        """Draw worlds.

        Returns
        -------
        Shape [runs, T, S, 3].
        """
        check_room("runs * slots", runs, 3 * self.instance.horizon * self.steps)
        return rng.random((runs, self.instance.horizon, self.steps, 3))

    def episode(self, world: NDArray[np.float64], *, record: bool = False) -> RescueEpisode:
        """Open a world at its first arrival."""
        return RescueEpisode(self, world, record=record)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Arrival, Placement | None, tuple[FinishedRun, ...]]],
        *,
        seconds: float,
        record: bool = False,
    ) -> RescueTrajectory:
        """Gather finished episodes."""
        ledgers = [episode.ledger for episode in episodes if isinstance(episode, RescueEpisode)]
        recorded = ("device", "profile", "served") if record else ()
        return RescueTrajectory(
            name=name,
            seconds=seconds,
            compiled=False,
            **{
                field: np.stack([getattr(ledger, field) for ledger in ledgers])
                for field in (
                    "reward",
                    "violations",
                    "decisions",
                    "accepted",
                    "retraining_work",
                    "reserved_work",
                    *recorded,
                )
            },
        )
