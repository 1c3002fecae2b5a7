"""The clusters of TapFinger: slots, and rounds of decisions within them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.protocols import Trajectory
from edgeopt.online.simulate import padded
from edgeopt.online.tapfinger.events import Tasks
from edgeopt.online.tapfinger.simulation import TapFingerBatch, TapFingerEpisode
from edgeopt.options import check_choice, check_flag, check_kind, check_whole
from edgeopt.representation import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Episode
    from edgeopt.online.tapfinger.events import Decision, Held, Outcome, Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@brief
@dataclass(frozen=True, eq=False)
class TapFingerTrajectory(Trajectory):
    """A trajectory of TapFinger; less is better.

    The reward of a slot is the number of tasks in the system during it, those that wait included,
    so that the rewards of a run in which all tasks are complete sum to the sum of their flow times.
    There is no service constraint. T' is the number of slots of the longest run.

    Attributes
    ----------
    instance
        The instance that was simulated, with its future.
    cluster
        Where each task was placed, shape [runs, J]; -1 where it never was.
    start
        Slot in which each task was placed, shape [runs, J]; -1 where it never was.
    completion
        When each task was complete, slots since the start, shape [runs, J]; infinite where it was
        not when the run ended.
    preemptions
        Slots in which the bundle of each task was another one than in the slot before, [runs, J].
    used
        CPU cores and GPUs that were held during each slot, shape [runs, T', N, 2].
    end
        Number of slots of each run, shape [runs].
    lost
        How often a cluster did not start a task that it would have started because another one that
        named it too had won it, shape [runs].
    held
        Recorded only on request: what every task of the first run held when.
    scenarios
        Scenario of each run, see `TapFingerEnvironment.scenarios`, shape [runs]; None where it is
        not known.
    """

    instance: TapFingerInstance
    cluster: Ints
    start: Ints
    completion: Floats
    preemptions: Ints
    used: Ints
    end: Ints
    lost: Ints
    held: Held | None = None
    scenarios: Ints | None = None

    @property
    def accumulation(self) -> Floats:
        """Number of tasks in the system during each slot, shape [runs, T']."""
        return self.reward

    @property
    def complete(self) -> Flags:
        """Whether each task was complete when the run ended, shape [runs, J]."""
        return np.asarray(np.isfinite(self.completion))

    @property
    def flow_time(self) -> Floats:
        """Slots from the arrival of each task to its completion, shape [runs, J]."""
        return np.asarray(self.completion - self.instance.arrival)

    def mean_flow_time(self) -> Floats:
        """Return the mean flow time of the tasks, slots, shape [runs]; NaN without tasks.

        Infinite where a task was not complete when the run ended.
        """
        if not self.instance.tasks:
            return np.full(self.runs, np.nan)
        return np.asarray(self.flow_time.mean(axis=1))

    def weighted_flow_time(self) -> Floats:
        """Return the weighted sum of the flow times, slots, shape [runs]."""
        heavy = self.instance.weight > 0  # the others may never be complete
        return np.asarray(self.flow_time[:, heavy] @ self.instance.weight[heavy])

    def utilisation(self) -> Floats:
        """Return the mean share of each cluster that was held, shape [runs, N, 2].

        Over the slots of the run, those included in which no task was in the system; NaN where a
        cluster has nothing of a resource.
        """
        capacity = self.instance.capacity.astype(np.float64)
        slots = np.maximum(self.end, 1)[:, None, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.used.sum(axis=1) / slots / capacity)


@dataclass(frozen=True, eq=False)
class TapFingerEnvironment:
    """Scenarios of a TapFinger instance: the same arrivals in all of them, other noise in each.

    In every slot (a) the tasks that arrive join the queues of all clusters on which they may run,
    (b) pending sets are filled from the queues, (c) rounds of decisions follow, (d) what runs makes
    progress, (e) what is complete leaves and releases what it holds. The noise of the i-th slot in
    which a task is served does not depend on the policy.

    Parameters
    ----------
    truth
        The instance with its future. Its `single_start` says whether a slot has one round, or
        rounds until one has placed no task.
    refill
        When pending sets are filled from the queues behind them: when a slot begins, or before
        every round.
    conflict
        How much room a cluster is said to have for a task that several of them name: how often the
        smallest bundle fits into what is free once running tasks have their new bundles
        (``"count"``), or the exponential of the unrounded number (``"ratio"``). The largest product
        with the score wins.
    pass_on
        Whether a cluster that would give the task nothing makes way for the next one.
    preemption
        Whether bundles of running tasks may change.
    patience
        Slots without progress after the last arrival after which a run ends.

    Raises
    ------
    OptionError
        If an option has no such value.

    Notes
    -----
    Li et al., section III and Algorithm 1, whose condition for another round is inverted.
    """

    truth: TapFingerInstance
    refill: Literal["slot", "round"] = "slot"
    conflict: Literal["count", "ratio"] = "count"
    pass_on: bool = False
    preemption: bool = True
    patience: int = 1000

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, TapFingerInstance)
        check_choice("refill", self.refill, ("slot", "round"))
        check_choice("conflict", self.conflict, ("count", "ratio"))
        check_flag("pass_on", self.pass_on)
        check_flag("preemption", self.preemption)
        check_whole("patience", self.patience, 1)

    @property
    def alike(self) -> bool:
        """Whether all scenarios are the same, so that a policy without coins is simulated once."""
        return self.truth.noise == 0.0

    @cached_property
    def instance(self) -> TapFingerInstance:
        """Clusters, kinds of tasks and rules: all that a policy may know beforehand."""
        truth = self.truth
        nothing = np.zeros(0, dtype=np.int64)
        return truth.replace(
            arrival=nothing,
            kind=nothing,
            eligible=np.zeros((0, truth.clusters), dtype=bool),
            weight=np.zeros(0),
        )

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Draw the seeds of the noise, shape [runs]."""
        return rng.integers(2**63, size=runs)

    def episode(self, scenario: int, *, record: bool = False) -> TapFingerEpisode:
        """Open a scenario at its first slot."""
        batch = self.batch(1)
        batch.open(0, self.truth, int(scenario))
        return TapFingerEpisode(batch, 0, Tasks.of(self.truth), record=record)

    def batch(self, count: int) -> TapFingerBatch:
        """Return room for scenarios side by side, none of which is open yet."""
        return TapFingerBatch(
            self.truth, count, refill=self.refill, conflict=self.conflict, pass_on=self.pass_on,
            preemption=self.preemption, patience=self.patience,
        )  # fmt: skip

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Round, Decision, Outcome]],
        *,
        seconds: float,
        record: bool = False,
    ) -> TapFingerTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, TapFingerEpisode)]
        end = np.array([one.alive.size for one in mine])
        alive = padded([one.alive.astype(np.float64) for one in mine])
        tasks = np.stack([one.task for one in mine])
        return TapFingerTrajectory(
            name=name,
            reward=alive,
            violations=np.zeros(alive.shape, dtype=np.int64),
            decisions=padded([one.rounds for one in mine]),
            seconds=seconds,
            compiled=False,
            instance=self.truth,
            cluster=tasks["cluster"].copy(),
            start=tasks["start"].copy(),
            completion=np.where(tasks["completion"] < 0, np.inf, tasks["completion"]),
            preemptions=tasks["switches"].copy(),
            used=padded([one.used for one in mine]),
            end=end,
            lost=np.array([one.lost for one in mine]),
            held=mine[0].held if record else None,
            scenarios=np.array([one.scenario for one in mine], dtype=np.int64),
        )
