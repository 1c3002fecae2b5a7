"""One run through the slots: clusters that show rounds, take decisions, and let tasks run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.scenarios import BLOCK, noise_block
from edgeopt.online.tapfinger import kernels
from edgeopt.online.tapfinger.conflicts import REFUSALS, carry_out, orders_of
from edgeopt.online.tapfinger.events import Outcome, Round, Row, Tasks, stretches
from edgeopt.online.tapfinger.state import (
    ACTIVE,
    ARRIVED,
    BOOKED,
    LOST,
    NUMBER,
    SLOT,
    emptied,
    opened,
    placed,
    rules_of,
    truth_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Decision, Held
    from edgeopt.online.tapfinger.state import Log, Rules, State, Truth

    Ints = NDArray[np.int64]

_NONE: Final = np.zeros(0, dtype=np.int64)
_NONE.flags.writeable = False

_ROWS: Final = 64  # of a new log


class TapFingerEpisode:
    """A run through one scenario.

    Slots in which no task is in the system pass without a round. A run ends when all tasks are
    complete, or when after the last arrival no task has made progress for `patience` slots.

    Parameters
    ----------
    instance
        Clusters and kinds of tasks, noise, cost of switching, and the rules of the mode.
    tasks
        The tasks, past and future.
    scenario
        Seed of the noise; None for a run without any.
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
        See above.
    record
        Whether to keep what every task held when.
    """

    def __init__(
        self,
        instance: TapFingerInstance,
        tasks: Tasks,
        *,
        scenario: int | None = None,
        refill: Literal["slot", "round"] = "slot",
        conflict: Literal["count", "ratio"] = "count",
        pass_on: bool = False,
        preemption: bool = True,
        patience: int = 1000,
        record: bool = False,
    ) -> None:
        self._tasks, self._truth = tasks, truth_of(tasks)
        self._rules = rules_of(
            instance, by_ratio=conflict == "ratio", pass_on=pass_on, preemption=preemption,
            each_round=refill == "round", patience=patience, noisy=scenario is not None,
        )  # fmt: skip
        self.scenario = scenario
        self.state: State = opened(self._rules, instance.pending, tasks.arrival.size)
        self._clusters = instance.clusters
        self._round: Round | None = None
        self._log = emptied(instance.clusters, _ROWS)
        self._recorded: list[Row] | None = [] if record else None
        kernels.arrive(self._truth, self.state)
        if tasks.arrival.size and not self.state.clock[ARRIVED]:
            self._pass()

    @classmethod
    def resumed(
        cls,
        instance: TapFingerInstance,
        seen: Round,
        *,
        refill: Literal["slot", "round"] = "slot",
        preemption: bool = True,
        patience: int = 1000,
    ) -> TapFingerEpisode:
        """Return a run that goes on from a round as a policy has seen it.

        No task arrives any more and there is no noise. A running task whose bundle has changed in
        the slot pays for it only if it changes again.
        """
        run = cls(
            instance, seen.tasks._replace(arrival=np.zeros_like(seen.tasks.arrival)),
            refill=refill, preemption=preemption, patience=patience,
        )  # fmt: skip
        run._tasks = seen.tasks
        run._go_on(seen)
        return run

    def _go_on(self, seen: Round) -> None:
        state, running = self.state, seen.running
        active, task = running.task.size, running.task
        complete = ~seen.tasks.waits
        complete[task] = False
        done = int(complete.sum())
        state.clock[:5] = (seen.slot, seen.number, seen.tasks.waits.size, active, done)
        state.free[:], state.waiting[:], state.crowd[:] = seen.free, seen.waiting, seen.crowd
        state.started[:], state.pending[:] = seen.started, seen.pending
        state.in_pending[:] = (seen.pending >= 0).sum(axis=1)
        # The queue behind goes on after the last task that has come to the pending set.
        state.head[:] = seen.pending.max(axis=1) + 1
        state.active[:active] = task
        state.cluster[complete], state.completion[complete] = 0, 0
        state.cluster[task], state.start[task] = running.cluster, running.start
        state.bundle[task], state.progress[task] = running.bundle, running.progress
        state.attained[task] = running.attained
        state.before[task] = np.where(running.start[:, None] < seen.slot, running.bundle, -1)
        self._round = None

    # --- rounds ----------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        # Asked so often that a compiled call would cost more than it saves.
        return bool(kernels.over.py_func(self._rules, self._truth, self.state))

    def observe(self) -> Round | None:
        """Show the clusters before the next decision, or None if the run is over."""
        if self.over:
            return None
        if self._round is None:
            state, tasks = self.state, self._tasks
            past = slice(int(state.clock[ARRIVED]))
            self._round = Round(
                int(state.clock[SLOT]),
                int(state.clock[NUMBER]),
                state.free.copy(),
                state.pending.copy(),
                state.waiting.copy(),
                state.crowd.copy(),
                state.started.copy(),
                placed(state),
                Tasks(
                    tasks.arrival[past], tasks.kind[past], tasks.eligible[past],
                    tasks.weight[past], state.cluster[past] < 0,
                ),
            )  # fmt: skip
        return self._round

    def act(self, decision: Decision) -> Outcome:
        """Carry a round out; the slot passes once a round has placed no task.

        With `single_start` it passes after every round. Of a refused decision nothing is done.
        """
        if self.over:
            raise OptionError("the scenario is over: no decision is due")
        clock = self.state.clock
        orders = orders_of(decision, self._clusters)
        if orders is None:  # as in the last round of most slots: nothing to check or carry out
            clock[NUMBER] += 1
            self._round = None
            return Outcome(np.full(self._clusters, -1), True, self._pass())
        started = np.empty(self._clusters, dtype=np.int64)
        code, task, cluster, goes_on = carry_out(
            self._rules, self._truth, self.state, orders, started
        )
        if code:
            reason = REFUSALS[code].format(task=task, cluster=cluster)
            raise OptionError(f"slot {clock[SLOT]}, round {clock[NUMBER]}: {reason}")
        self._round = None
        if goes_on:
            return Outcome(started, False, _NONE)
        return Outcome(started, True, self._pass())

    def drive(self, advance: Callable[[Rules, Truth, State, Log], int]) -> None:
        """Let compiled decisions change the state themselves.

        `advance` simulates rounds and slots as `act` does until something is `missing`, which it
        returns, or it has decided enough, when it returns 0.
        """
        self._round = None
        while lacking := advance(self._rules, self._truth, self.state, self._log):
            self._provide(lacking)

    # --- time ------------------------------------------------------------------------------

    def _pass(self) -> Ints:
        """Let the slot pass, and those after it in which no task is in the system."""
        state = self.state
        active = state.active[: state.clock[ACTIVE]].copy()
        slot = int(state.clock[SLOT])
        if self._recorded is not None and active.size:
            self._recorded.append(Row(slot, active, state.cluster[active], state.bundle[active]))
        while lacking := kernels.missing(self._rules, self._truth, self.state, self._log):
            self._provide(lacking)
        kernels.pass_slot(self._rules, self._truth, self.state, self._log)
        return np.asarray(active[self.state.completion[active] == slot + 1])

    def _provide(self, lacking: int) -> None:
        """Draw more noise, or make room in the log."""
        if lacking == kernels.NOISE:
            assert self.scenario is not None
            noise = self.state.noise
            more = noise_block(self.scenario, noise.shape[0], noise.shape[1] // BLOCK)
            self.state = self.state._replace(noise=np.concatenate([noise, more], axis=1))
            return
        rows = max(lacking, 2 * self._log.alive.size)
        longer, booked = emptied(self._clusters, rows), self._log.alive.size
        for new, old in zip(longer, self._log, strict=True):
            new[:booked] = old
        self._log = longer

    # --- what has been booked of every slot ---------------------------------------------------

    @property
    def alive(self) -> Ints:
        """Tasks in the system during each slot, shape [T]."""
        return self._log.alive[: self.state.clock[BOOKED]]

    @property
    def used(self) -> Ints:
        """CPU cores and GPUs held during each slot, shape [T, N, 2]."""
        return self._log.used[: self.state.clock[BOOKED]]

    @property
    def rounds(self) -> Ints:
        """Rounds of decisions in each slot, shape [T]."""
        return self._log.rounds[: self.state.clock[BOOKED]]

    @property
    def lost(self) -> int:
        """How often a cluster has lost a task that it would have started."""
        return int(self.state.clock[LOST])

    @property
    def held(self) -> Held:
        """What every task held when, by task, then by time; empty unless recorded."""
        return stretches(self._recorded or [])
