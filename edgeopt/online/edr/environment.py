"""The sites that EDR policies live in: frames with a cap and a price, slots with requests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.instances.edr import EdrInstance
from edgeopt.models.edr.penalties import late_price, unserved_price
from edgeopt.online.edr.episode import EdrEpisode
from edgeopt.online.edr.trajectory import EdrTrajectory
from edgeopt.options import check_flag, check_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.edr.events import Decision, Feedback, Observation
    from edgeopt.online.simulate import Episode

__all__ = ["EdrEnvironment"]

_FIELDS = (
    "reward", "violations", "decisions", "energy", "training_energy", "energy_cost", "delay_cost",
    "training_delay_cost", "late_cost", "unserved_cost", "excess", "asked", "unserved", "rounds",
    "missing", "quality",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class EdrEnvironment:
    """Worlds of an EDR instance, all alike: nothing but the coins of a policy is random.

    Parameters
    ----------
    truth
        The instance with its future.
    foresight
        Whether a frame shows the requests of its slots when it begins. Policies that split an
        energy budget by what slots need then know what no operator does.

    Examples
    --------
    >>> from edgeopt.instances.edr import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, EvenRate
    >>> environment = EdrEnvironment(generate(sites=4, tasks=3, frames=6, slots=2))
    >>> trajectory = simulate(environment, EvenRate(elastic="shed"), runs=1)
    >>> bool(trajectory.excess.any())
    False
    """

    alike: ClassVar[bool] = True
    """All worlds are the same, so that a policy without coins need live but once."""

    truth: EdrInstance
    foresight: bool = False

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, EdrInstance)
        check_flag("foresight", self.foresight)

    @cached_property
    def instance(self) -> EdrInstance:
        """The sites, request types and weights: all that a policy may know beforehand.

        Number of frames, slots and tasks included. Requests are 0, caps infinite, prices what was
        expected before the first one, delays 0, rates infinite, objectives as long as a slot, and
        every task takes one round at no cost in any frame.
        """
        truth = self.truth
        frames, sites, tasks = truth.frames, truth.sites, truth.tasks
        client = np.zeros((tasks, sites), dtype=np.bool_)
        client[:, 0] = True
        nothing = np.zeros(tasks, dtype=np.int64)
        return truth.replace(
            cap=np.full(frames, np.inf),
            price=np.full(frames, truth.price_prior),
            arrival=nothing,
            deadline=np.full(tasks, frames - 1),
            rounds=nothing + 1,
            client=client,
            server=nothing,
            local_steps=nothing + 1,
            step_work=np.zeros((tasks, sites)),
            aggregation_work=np.zeros(tasks),
            model_size=np.zeros(tasks),
            requests=np.zeros_like(truth.requests),
            propagation=np.zeros_like(truth.propagation),
            slo=np.full_like(truth.slo, truth.slot_seconds),
            rate=np.full_like(truth.rate, np.inf),
            task_kind=None,
        )

    @cached_property
    def late_price(self) -> NDArray[np.float64]:
        """Price of a missing round of each task, shape [I]."""
        return np.asarray(late_price(self.truth))

    @cached_property
    def unserved_price(self) -> NDArray[np.float64]:
        """Price of an unserved request of each type, shape [N]."""
        return np.asarray(unserved_price(self.truth))

    def worlds(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Return the numbers of the worlds, shape [runs]; they do not differ in anything else."""
        return np.arange(runs)

    def episode(self, world: int, *, record: bool = False) -> EdrEpisode:
        """Open a world at its first frame."""
        return EdrEpisode(
            self.truth, self.late_price, self.unserved_price, foresight=self.foresight
        )

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Observation, Decision, Feedback]],
        *,
        seconds: float,
        record: bool = False,
    ) -> EdrTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, EdrEpisode)]
        booked = {field: np.stack([getattr(one, field) for one in mine]) for field in _FIELDS}
        return EdrTrajectory(
            name=name,
            seconds=seconds,
            compiled=False,
            cap=self.truth.cap,
            needed=self.truth.rounds,
            flows=mine[0].flows if record else None,
            **booked,
        )
