"""The network that policies of IDN live in: requests come slot by slot and are served at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn.episode import IdnEpisode
from edgeopt.online.idn.serving import ORDERS, Order
from edgeopt.online.idn.trajectory import IdnTrajectory
from edgeopt.options import check_choice, check_kind, check_room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.idn.events import Outcome, Slot
    from edgeopt.online.simulate import Episode

__all__ = ["IdnEnvironment"]

_FIELDS = (
    "reward", "violations", "gain", "cost", "latency", "inaccuracy", "fetched",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class IdnEnvironment:
    """Worlds of an IDN instance.

    The requests are those of the instance in every world; what differs is the order in which they
    arrive within a slot.

    Parameters
    ----------
    truth
        The instance with its requests.
    order
        How requests arrive within a slot, see :func:`edgeopt.online.idn.serve`. A world is one
        permutation of the types per slot for ``"sequential"``, shape [T, R]; one seed per slot for
        ``"random"``, shape [T]; nothing random for ``"fluid"``.

    Raises
    ------
    OptionError
        If the order is unknown.
    """

    truth: IdnInstance
    order: Order = "sequential"

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, IdnInstance)
        check_choice("order", self.order, ORDERS)

    @cached_property
    def instance(self) -> IdnInstance:
        """The network without its requests: all that a policy may know beforehand."""
        return self.truth.replace(requests=np.zeros_like(self.truth.requests))

    def worlds(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Draw the order of arrivals of every slot.

        Returns
        -------
        Shape [runs, T, R] for the sequential order, else [runs, T].
        """
        slots, types = self.truth.requests.shape
        check_room("runs * slots", runs, slots * types if self.order == "sequential" else slots)
        if self.order == "sequential":
            return np.argsort(rng.random((runs, slots, types)), axis=2, kind="stable")
        if self.order == "random":
            return rng.integers(2**63 - 1, size=(runs, slots))
        return np.zeros((runs, slots), dtype=np.int64)

    def episode(self, world: NDArray[np.int64], *, record: bool = False) -> IdnEpisode:
        """Open a world at its first slot."""
        return IdnEpisode(self.truth, self.order, world, record=record)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Slot, NDArray[np.bool_], Outcome]],
        *,
        seconds: float,
        record: bool = False,
    ) -> IdnTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, IdnEpisode)]
        booked = {field: np.stack([getattr(one, field) for one in mine]) for field in _FIELDS}
        return IdnTrajectory(
            name=name,
            seconds=seconds,
            compiled=False,
            decisions=np.ones((len(mine), self.truth.horizon), dtype=np.int64),
            hosted=mine[0].hosted if record else None,
            **booked,
        )
