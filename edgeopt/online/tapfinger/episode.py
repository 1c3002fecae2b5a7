"""One run through the slots: clusters that show rounds, take decisions, and let tasks run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger import kernels
from edgeopt.online.tapfinger.batch import TapFingerBatch
from edgeopt.online.tapfinger.events import Outcome, Round, Row, Running, Tasks, stretches

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Decision, Held
    from edgeopt.online.tapfinger.state import Records, State

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
        Where the run is kept, opened before, and as which of the scenarios there.
    tasks
        The tasks, past and future.
    record
        Whether to keep what every task held when.
    """

    def __init__(
        self, batch: TapFingerBatch, row: int, tasks: Tasks, *, record: bool = False
    ) -> None:
        self.batch, self.row = batch, row
        self._tasks = tasks
        self._round: Round | None = None
        self._recorded: list[Row] | None = [] if record else None
        self._now: Any = batch.state.scenario[row]
        self._placed = batch.state.order["placed"][row]
        self._look()

    @classmethod
    def resumed(cls, instance: TapFingerInstance, seen: Round, **options: Any) -> TapFingerEpisode:
        """Return a run that goes on from a round as a policy has seen it.

        No task arrives any more and there is no noise. A running task whose bundle has changed in
        the slot pays for it only if it changes again. The options are those of the environment.
        """
        batch, e = TapFingerBatch(instance, **options), 0
        batch.open(e, instance, None, tasks=seen.tasks, slot=seen.slot)
        state, running = batch.state, seen.running
        scenario, cluster = state.scenario[e], state.cluster[e]
        task = state.task[e, : seen.tasks.waits.size]
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
        return cls(batch, e, seen.tasks)

    # --- rounds ----------------------------------------------------------------------------

    @property
    def task(self) -> Records:
        """What has become of each task, records as in the state, shape [J]."""
        return self.batch.state.task[self.row, : self._tasks.arrival.size]

    @property
    def scenario(self) -> int | None:
        """Seed of the noise, None for none."""
        return self.batch.seeds[self.row]

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return bool(self._now["over"])

    def observe(self) -> Round | None:
        """Show the clusters before the next decision, or None if the run is over."""
        if self._round is None and not self._shows.over:
            state, tasks, e = self.batch.state, self._tasks, self.row
            N, past = state.pending.shape[1], slice(self._shows.arrived)
            self._round = Round(
                self._shows.slot,
                self._shows.number,
                self._seen[kernels.HEAD : kernels.HEAD + 2 * N].reshape(N, 2),
                state.pending[e].copy(),
                self._seen[kernels.HEAD + 2 * N : kernels.HEAD + 3 * N],
                state.crowd[e].copy(),
                state.cluster["started"][e].copy(),
                self._running(),
                Tasks(
                    tasks.arrival[past], tasks.kind[past], tasks.eligible[past],
                    tasks.weight[past], state.waits[e, past].copy(),
                ),
            )  # fmt: skip
        return self._round

    def _running(self) -> Running:
        m, N = self._shows.active, self.batch.state.pending.shape[1]
        rows = self._seen[kernels.HEAD + 3 * N :]
        return Running(
            rows[:m],
            rows[m : 2 * m],
            rows[4 * m : 6 * m].reshape(m, 2),
            rows[3 * m : 4 * m].view(np.float64),
            rows[2 * m : 3 * m],
            rows[6 * m : 8 * m].reshape(m, 2),
        )

    def _room(self, active: int) -> Ints:
        """Return room for what a round shows when so many tasks are active."""
        return np.empty(
            kernels.HEAD + 3 * self.batch.state.pending.shape[1] + 8 * active, dtype=np.int64
        )

    def _look(self) -> None:
        """Look at the state anew, which something else has changed."""
        out = self._room(int(self._now["active"]))
        kernels.show(self.batch.state, self.row, out)
        self._take(out)

    def _take(self, out: Ints) -> None:
        self._seen, self._shows = out, kernels.Numbers(*out[: kernels.HEAD].tolist())
        self._round = None

    def drive(self, advance: Callable[[State], int]) -> None:
        """Let compiled decisions change the state themselves; see `TapFingerBatch.drive`."""
        self.batch.drive(advance)
        self._look()

    def act(self, decision: Decision) -> Outcome:
        """Carry a round out; the slot passes once a round has placed no task.

        With `single_start` it passes after every round. Of a refused decision nothing is done.
        """
        before = self._shows
        if before.over:
            raise OptionError("the scenario is over: no decision is due")
        clusters = self._placed.size
        served = self._seen[kernels.HEAD + 3 * clusters :][: before.active]
        out = self._room(before.active + clusters)
        self.batch.carry_out(self.row, decision, out)
        self._take(out)
        started = self._placed.copy()
        if not self._shows.passed:
            return Outcome(started, False, _NONE)
        if self._now["single_start"]:
            served = np.concatenate([served, started[started >= 0]])
        task, completed = self.batch.state.task[self.row], _NONE
        if self._recorded is not None and served.size:
            # Of what is complete, too, the bundle is known.
            rows = Row(before.slot, served, task["cluster"][served], task["bundle"][served])
            self._recorded.append(rows)
        if self._shows.completed > before.completed:
            completed = served[task["completion"][served] == before.slot + 1]
        return Outcome(started, True, completed)

    # --- what has been booked of every slot ---------------------------------------------------

    @property
    def alive(self) -> Ints:
        """Tasks in the system during each slot, shape [T]."""
        return self.batch.state.slot["alive"][self.row, : self._now["booked"]]

    @property
    def used(self) -> Ints:
        """CPU cores and GPUs held during each slot, shape [T, N, 2]."""
        return self.batch.state.used[self.row, : self._now["booked"]]

    @property
    def rounds(self) -> Ints:
        """Rounds of decisions in each slot, shape [T]."""
        return self.batch.state.slot["rounds"][self.row, : self._now["booked"]]

    @property
    def lost(self) -> int:
        """How often a cluster has lost a task that it would have started."""
        return int(self._now["lost"])

    @property
    def held(self) -> Held:
        """What every task held when, by task, then by time; empty unless recorded."""
        return stretches(self._recorded or [])
