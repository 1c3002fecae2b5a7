"""The sites that OINC policies live in: requests every slot, jobs in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.instances.oinc import OincInstance
from edgeopt.online.oinc.episode import OincEpisode
from edgeopt.online.oinc.trajectory import OincTrajectory
from edgeopt.options import check_flag, check_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.oinc.events import Decision, Outcome, Slot
    from edgeopt.online.simulate import Episode

__all__ = ["OincEnvironment"]

_FIELDS = (
    "decisions", "latency", "site", "completion", "job_site", "band_load", "cpu_load", "bound",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class OincEnvironment:
    """Worlds of an OINC instance, all alike: nothing but the coins of a policy is random.

    Parameters
    ----------
    truth
        The instance with its future.
    drain
        Whether jobs are served on after the last slot, in slots without requests, until all are
        complete. Otherwise those are never complete that are not complete by then. Such a run is
        stopped all the same once no job has run in as many of these slots in a row as the horizon
        has slots, or once there have been as many as the horizon has and as it takes to do all
        that was left on a hundredth of the slowest CPU.
    """

    alike: ClassVar[bool] = True
    """All worlds are the same, so that a policy without coins need live but once."""

    truth: OincInstance
    drain: bool = True

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, OincInstance)
        check_flag("drain", self.drain)

    @cached_property
    def instance(self) -> OincInstance:
        """The sites, scales and weights: all that a policy may know beforehand.

        Number of slots and devices included. No device is active, sizes and work are 0, rates 1,
        objectives as long as a slot, and there are no jobs.
        """
        truth = self.truth
        nothing = np.zeros((truth.slots, truth.devices))
        return replace(
            truth,
            rate=np.ones((truth.devices, truth.sites)),
            active=np.zeros_like(truth.active),
            request_size=nothing,
            request_work=nothing,
            slo=np.ones_like(nothing),
            arrival=np.zeros(0, dtype=np.int64),
            work=np.zeros(0),
            deadline=np.zeros(0),
            weight=np.zeros(0),
            job_kind=None,
        )

    def worlds(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Return the numbers of the worlds, shape [runs]; they do not differ in anything else."""
        return np.arange(runs)

    def episode(self, world: int, *, record: bool = False) -> OincEpisode:
        """Open a world at its first slot."""
        return OincEpisode(self.truth, drain=self.drain, record=record)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Slot, Decision, Outcome]],
        *,
        seconds: float,
        record: bool = False,
    ) -> OincTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, OincEpisode)]
        slot, device = np.nonzero(self.truth.active)
        booked = {field: np.stack([getattr(one, field) for one in mine]) for field in _FIELDS}
        return OincTrajectory(
            name=name,
            reward=np.stack([one.reward() for one in mine]),
            violations=np.stack([one.violations() for one in mine]),
            seconds=seconds,
            compiled=False,
            instance=self.truth,
            slot=slot,
            device=device,
            end=np.array([float(one.end) for one in mine]),
            reserved=_padded([one.reserved for one in mine]),
            job_load=_padded([one.job_load for one in mine]),
            served=mine[0].served if record else None,
            **booked,
        )


def _padded(runs: Sequence[Sequence[NDArray[np.float64]]]) -> NDArray[np.float64]:
    """Stack what each run has in every slot, with zeros after its end, shape [runs, T', J]."""
    longest = max(len(run) for run in runs)
    stacked = np.zeros((len(runs), longest, runs[0][0].size))
    for run, slots in zip(stacked, runs, strict=True):
        run[: len(slots)] = slots
    return stacked
