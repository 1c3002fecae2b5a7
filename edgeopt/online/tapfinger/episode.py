"""One run through the slots: clusters that show rounds, take decisions, and let tasks run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import kernels
from edgeopt.online.tapfinger.batch import Batch
from edgeopt.online.tapfinger.events import Outcome, Round, Row, Running, Tasks, stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Decision, Held
    from edgeopt.online.tapfinger.state import Records

    Ints = NDArray[np.int64]

_NONE: Final = np.zeros(0, dtype=np.int64)
_NONE.flags.writeable = False

class TapFingerEpisode:
    """A run through one scenario.

    Slots in which no task is in the system pass without a round. A run ends when all tasks are
    complete, or when after the last arrival no task has made progress for `patience` slots.

    Parameters
    ----------
    batch, row
        Where the run is kept, and as which of the scenarios there.
    instance
        Clusters and kinds of tasks, noise, cost of switching, and the rules of the mode.
    tasks
        The tasks, past and future; by default those of the instance.
    scenario
        Seed of the noise; None for a run without any.
    slot
        Where it begins.
    record
        Whether to keep what every task held when.
    """

    def __init__(
        self,
        batch: Batch,
        row: int,
        instance: TapFingerInstance,
        tasks: Tasks | None = None,
        *,
        scenario: int | None = None,
        slot: int = 0,
        record: bool = False,
    ) -> None:
        if tasks is None:
            waits = np.ones(instance.tasks, dtype=bool)
            tasks = Tasks(instance.arrival, instance.kind, instance.eligible, instance.weight, waits)
        self.batch, self.row = batch, row
        self._tasks = tasks
        self._round: Round | None = None
        self._recorded: list[Row] | None = [] if record else None
        batch.open(row, instance, tasks, scenario, slot)

    @classmethod
    def resumed(cls, instance: TapFingerInstance, seen: Round, **options: Any) -> TapFingerEpisode:
        """Return a run that goes on from a round as a policy has seen it.

        No task arrives any more and there is no noise. A running task whose bundle has changed in
        the slot pays for it only if it changes again. The options are those of the environment.
        """
        run = cls(Batch(instance, **options), 0, instance, seen.tasks, slot=seen.slot)
        state, running, e = run.batch.state, seen.running, run.row
        scenario, cluster, task = state.scenario[e], state.cluster[e], run.task
        active, number = running.task.size, running.task
        complete = ~seen.tasks.waits
        complete[number] = False
        state.waits[e, : task.size] = seen.tasks.waits
        state.pending[e], state.crowd[e] = seen.pending, seen.crowd
        state.active[e, :active] = number
        scenario["number"], scenario["active"] = seen.number, active
        scenario["completed"] = complete.sum()
        for name in ("free", "waiting", "started"):
            cluster[name] = getattr(seen, name)
        cluster["size"] = (seen.pending >= 0).sum(axis=1)
        # The queue behind goes on after the last task that has come to the pending set.
        cluster["head"] = seen.pending.max(axis=1) + 1
        task["cluster"][complete] = task["completion"][complete] = 0
        for name in ("cluster", "bundle", "progress", "start", "attained"):
            task[name][number] = getattr(running, name)
        new = running.start == seen.slot
        task["before"][number] = np.where(new[:, None], -1, running.bundle)
        run._round = None
        return run

    # --- rounds ----------------------------------------------------------------------------

    @property
    def task(self) -> Records:
        """What has become of each task, records as in the state, shape [J]."""
        return self.batch.state.task[self.row, : self._tasks.arrival.size]

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return bool(self._scenario["over"])

    @property
    def _scenario(self) -> Any:
        return self.batch.state.scenario[self.row]

    def observe(self) -> Round | None:
        """Show the clusters before the next decision, or None if the run is over."""
        scenario = self._scenario
        if scenario["over"]:
            return None
        if self._round is None:
            state, tasks, e = self.batch.state, self._tasks, self.row
            past = slice(int(scenario["arrived"]))
            cluster = state.cluster[e]
            self._round = Round(
                int(scenario["slot"]),
                int(scenario["number"]),
                cluster["free"].copy(),
                state.pending[e].copy(),
                cluster["waiting"].copy(),
                state.crowd[e].copy(),
                cluster["started"].copy(),
                self._running(),
                Tasks(
                    tasks.arrival[past], tasks.kind[past], tasks.eligible[past],
                    tasks.weight[past], state.waits[e, past].copy(),
                ),
            )  # fmt: skip
        return self._round

    def _active(self) -> Ints:
        return self.batch.state.active[self.row, : self._scenario["active"]].copy()

    def _running(self) -> Running:
        number = self._active()
        task = self.batch.state.task[self.row, number]
        return Running(number, *(task[name].copy() for name in Running._fields[1:]))

    def act(self, decision: Decision) -> Outcome:
        """Carry a round out; the slot passes once a round has placed no task.

        With `single_start` it passes after every round. Of a refused decision nothing is done.
        """
        scenario = self._scenario
        if scenario["over"]:
            raise OptionError("the scenario is over: no decision is due")
        slot, active = int(scenario["slot"]), self._active()
        self.batch.carry_out(self.row, decision)
        self._round = None
        started = self.batch.state.order["placed"][self.row].copy()
        if not scenario["passed"]:
            return Outcome(started, False, _NONE)
        served = np.concatenate([active, started[started >= 0]])
        task = self.batch.state.task[self.row, served]
        if self._recorded is not None and served.size:
            # Of what is complete, too, the bundle is known.
            rows = Row(slot, served, task["cluster"].copy(), task["bundle"].copy())
            self._recorded.append(rows)
        return Outcome(started, True, served[task["completion"] == slot + 1])

    # --- what has been booked of every slot ---------------------------------------------------

    @property
    def alive(self) -> Ints:
        """Tasks in the system during each slot, shape [T]."""
        return self.batch.state.slot["alive"][self.row, : self._scenario["booked"]]

    @property
    def used(self) -> Ints:
        """CPU cores and GPUs held during each slot, shape [T, N, 2]."""
        return self.batch.state.used[self.row, : self._scenario["booked"]]

    @property
    def rounds(self) -> Ints:
        """Rounds of decisions in each slot, shape [T]."""
        return self.batch.state.slot["rounds"][self.row, : self._scenario["booked"]]

    @property
    def lost(self) -> int:
        """How often a cluster has lost a task that it would have started."""
        return int(self._scenario["lost"])

    @property
    def held(self) -> Held:
        """What every task held when, by task, then by time; empty unless recorded."""
        return stretches(self._recorded or [])
