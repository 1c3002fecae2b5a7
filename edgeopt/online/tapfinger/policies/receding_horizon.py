"""Plan the oldest waiting tasks as well as possible in every slot, and start what starts now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.efficient_bundles import (
    LEAST_LOOK,
    Told,
    free_ahead,
    mean_durations,
    whole_slots,
)
from edgeopt.options import check_real, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.online.tapfinger.events import Round

    Ints = NDArray[np.int64]


class RollingState(NamedTuple):
    """What a rolling horizon remembers."""

    instance: TapFingerInstance
    duration: Ints  # slots that a task takes, in whole slots, [N, K, A, B]
    ahead: int  # slots after which running tasks are taken to be complete
    slot: int  # slot of the plan
    starts: Ints  # task, cluster, CPU cores and GPUs still to be started now, [s, 4]


@dataclass(frozen=True, eq=False, kw_only=True)
class RollingHorizon(Titled, Deterministic, IgnoresFeedback):
    """Solve the offline problem of the waiting tasks in every slot, and carry out its first slot.

    The tasks are those that were first to arrive among all that are in a pending set, so many at
    most, each on the clusters that show it; what running tasks hold is free once they are complete.
    What the plan starts in the present slot is started in the rounds of the slot, one task per
    cluster in each; if nothing runs, what it starts first is. The next slot plans anew.

    Parameters
    ----------
    tasks
        Most tasks that are planned.
    echo
        Slots of the past whose arrivals are expected once more in as many slots to come: what a
        plan leaves to them is not given away now. 0 expects none.
    gap
        Relative gap at which the search for a plan may stop. Where many tasks wait, a few percent
        save most of the time.
    time_limit
        Seconds after which the best plan so far is taken; None for no limit. With a limit a
        trajectory depends on the speed of the machine.

    Raises
    ------
    OptionError
        If there is no task to plan, or another option is negative.

    Notes
    -----
    The offline problem is that of Li et al., (1) to (8). A plan knows nothing of the tasks that are
    yet to arrive, nor of those that it leaves out: it is generous with what they will miss. It
    knows the durations of all kinds of tasks with all bundles, under noise their means, rounded up
    to whole slots.
    """

    title: ClassVar[str] = "RollingHorizon"
    preemptive: ClassVar[bool] = False
    told: ClassVar[Told] = "durations"

    tasks: int = 12
    echo: int = 0
    gap: float = 0.0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_whole("tasks", self.tasks, 1)
        check_whole("echo", self.echo)
        check_real("gap", self.gap, "[0, inf]")
        check_real("time_limit", self.time_limit, "[0, inf]", none=True)

    def start(self, instance: TapFingerInstance) -> RollingState:
        """Return the state before the first round."""
        duration = whole_slots(mean_durations(instance))
        ahead = max(LEAST_LOOK, int(instance.duration.max()) + 1)
        return RollingState(instance, duration, ahead, -1, np.zeros((0, 4), dtype=np.int64))

    def decide(
        self, state: RollingState, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, RollingState]:
        """Answer a round."""
        if state.slot != observation.slot:
            starts = self._planned(state, observation)
            state = state._replace(slot=observation.slot, starts=starts)
        decision = Decision.void(state.instance.clusters)
        later = np.ones(state.starts.shape[0], dtype=bool)
        for row, (j, n, *bundle) in enumerate(state.starts.tolist()):
            if decision.task[n] < 0:
                decision.task[n], decision.bundle[n] = j, bundle
                later[row] = False
        return decision, state._replace(starts=state.starts[later])

    def _planned(self, state: RollingState, seen: Round) -> Ints:
        """Return what the best plan starts now."""
        from edgeopt.models.tapfinger.branch_and_bound import optimal_schedule

        pending = np.unique(seen.pending)
        task = pending[pending >= 0][: self.tasks]
        if not task.size:
            return np.zeros((0, 4), dtype=np.int64)
        problem = self._problem(state, seen, task)
        plan = optimal_schedule(problem, gap=self.gap, time_limit=self.time_limit).schedule
        mine = slice(task.size)
        rows = np.column_stack([task, plan.cluster[mine], plan.bundle[mine]])
        begin = plan.start[mine]
        if not (seen.running.task.size or seen.started.any()):
            # A plan that is not the best one might put it off, in every slot anew.
            begin = begin - begin.min()
        return np.asarray(rows[begin == 0])

    def _problem(self, state: RollingState, seen: Round, task: Ints) -> SchedulingProblem:
        """Return the problem of tasks that wait, followed by those that are expected."""
        from edgeopt.models.tapfinger.problem import SchedulingProblem

        instance, running, tasks = state.instance, seen.running, seen.tasks
        assert instance.slowing is not None
        ahead = free_ahead(
            seen.free, running.cluster, running.bundle, running.progress, running.task, tasks.kind,
            instance.speed, instance.slowing, state.ahead,
        )  # fmt: skip
        occupied = (instance.capacity[:, None] - ahead).swapaxes(0, 1)
        busy = np.flatnonzero(occupied.any(axis=(1, 2)))
        shown = np.asarray((seen.pending == task[:, None, None]).any(axis=2))
        recent = np.flatnonzero(tasks.arrival > seen.slot - self.echo)
        both = np.concatenate([task, recent])
        again = tasks.arrival[recent] - seen.slot + self.echo
        return SchedulingProblem(
            capacity=instance.capacity,
            duration=state.duration,
            arrival=np.concatenate([np.zeros(task.size, dtype=np.int64), again]),
            kind=tasks.kind[both],
            eligible=np.concatenate([shown, tasks.eligible[recent]]),
            # Tasks without weight may wait for others, but not for nothing.
            weight=tasks.weight[both] if tasks.weight[both].any() else np.ones(both.size),
            single_start=instance.single_start,
            occupied=occupied[: busy.max(initial=-1) + 1],
            started=seen.started,
        )
