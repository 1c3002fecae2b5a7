"""The clusters of TapFinger: slots, rounds of decisions, and runs through them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.instances.tapfinger.durations import BLOCK, noise_block
from edgeopt.online.protocols import Trajectory
from edgeopt.online.simulate import padded
from edgeopt.online.tapfinger import kernels
from edgeopt.online.tapfinger.conflicts import REFUSALS, act, written
from edgeopt.online.tapfinger.events import Outcome, Round, Row, Running, Tasks, stretches
from edgeopt.online.tapfinger.kernels import emptied, made, widened
from edgeopt.options import check_choice, check_flag, check_kind, check_whole
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.online.protocols import Episode
    from edgeopt.online.tapfinger.events import Decision, Held
    from edgeopt.online.tapfinger.kernels import Records, State


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
    keep_trace
        Whether to keep what every task held when.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> environment, policy = TapFingerEnvironment(small(1)), Min()
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode, state, rounds = environment.episode(scenario), policy.start(small(1)), 0
    >>> rng = np.random.default_rng(0)
    >>> while (seen := episode.observe()) is not None:
    ...     decision, state = policy.decide(state, seen, rng)
    ...     state = policy.learn(state, seen, decision, episode.act(decision))
    ...     rounds += 1
    >>> rounds
    15
    """

    def __init__(
        self, batch: TapFingerBatch, row: int, tasks: Tasks, *, keep_trace: bool = False
    ) -> None:
        self.batch, self.row = batch, row
        self._tasks = tasks
        self._round: Round | None = None
        self._recorded: list[Row] | None = [] if keep_trace else None
        self._now: Any = batch.state.scenario[row]
        self._placed = batch.state.order["placed"][row]
        self._look()

    @classmethod
    def resumed(cls, instance: TapFingerInstance, seen: Round, **options: Any) -> TapFingerEpisode:
        """Return a run that goes on from a round as a policy has seen it.

        No task arrives any more and there is no noise. A running task whose bundle has changed in
        the slot pays for it only if it changes again. The options are those of the environment.
        """
        batch, e = TapFingerEnvironment(instance, **options).batch(1), 0
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

    def reveal(self, truth: TapFingerInstance) -> None:
        """Go on with other tasks in place of those that have not arrived."""
        state, e, new = self.batch.state, self.row, slice(self._shows.arrived, truth.tasks)
        task = state.task[e, new]
        task["arrival"], task["kind"] = truth.arrival[new], truth.kind[new]
        task["choice"] = truth.eligible[new].sum(axis=1, dtype=np.int64)
        state.eligible[e, new] = truth.eligible[new]
        self._tasks = Tasks.of(truth)

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


_NOTHING: Final = np.zeros(0, dtype=np.int64)


class TapFingerBatch:
    """Scenarios side by side, made by `TapFingerEnvironment.batch`.

    Parameters
    ----------
    environment
        Its rules. Any instance that is opened has as many clusters, kinds, places in a pending set,
        and CPU cores and GPUs in its largest bundle as the instance of the environment.
    count
        Number of scenarios E.

    Attributes
    ----------
    state
        All scenarios in arrays, whose first axis is the scenario: what they show, what has been
        decided in the last round, and what has come of it. Another object when it has grown.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment
    >>> batch = TapFingerEnvironment(small(1)).batch(3)
    >>> batch.open(0, small(1), None)
    >>> batch.over
    array([False,  True,  True])
    """

    def __init__(self, environment: TapFingerEnvironment, count: int) -> None:
        check_whole("count", count, 1)
        self._options = {
            "each_round": environment.refill == "round",
            "by_ratio": environment.conflict == "ratio",
            **{name: getattr(environment, name) for name in ("pass_on", "preemption", "patience")},
        }
        self.seeds: list[int | None] = [None] * count
        self.state: State = made(environment.truth, count)

    @property
    def over(self) -> NDArray[np.bool_]:
        """Which scenarios are over, or have not been opened, shape [E]."""
        return self.state.scenario["over"].copy()

    def open(
        self,
        e: int,
        instance: TapFingerInstance,
        seed: int | None,
        *,
        tasks: Tasks | None = None,
        slot: int = 0,
    ) -> None:
        """Begin a scenario anew.

        Parameters
        ----------
        e
            Its number.
        instance
            Its instance.
        seed
            Seed of the noise, None for none.
        tasks
            Its tasks, past and future; by default those of the instance.
        slot
            Slot in which it begins.
        """
        noise = {} if seed is not None else {"noise": 0.0}
        options: dict[str, Any] = self._options | noise | {"slot": slot}
        self.seeds[e] = seed
        self.state = emptied(self.state, e, instance, tasks or Tasks.of(instance), options)
        kernels.begin(self.state, e)
        self._pass(e, e + 1)

    def act(self, decision: Decision) -> None:
        """Carry out a round of all scenarios that are not over; each as an episode of its own.

        Parameters
        ----------
        decision
            What every cluster does. The arrays have one axis more, that of the scenarios, in front.
            No bundle of a running task changes.

        Raises
        ------
        OptionError
            If it cannot be carried out in some scenario; then nothing of it is.
        """
        self.carry_out(slice(None), decision, _NOTHING)

    def carry_out(self, rows: int | slice, decision: Decision, out: Ints) -> None:
        """Carry out a round of one scenario, or of all; `out` is for what the next one shows."""
        self.state = written(self.state, rows, decision)
        first, last = (rows, rows + 1) if isinstance(rows, int) else (0, len(self.seeds))
        code, task, cluster, e = act(self.state, first, last, out)
        if code:
            at, reason = self.state.scenario[e], REFUSALS[code].format(task=task, cluster=cluster)
            raise OptionError(f"slot {at['slot']}, round {at['number']}: {reason}")
        if e >= 0:
            self._pass(first, last)
            if out.size:
                kernels.show(self.state, first, out)

    def drive(self, advance: Callable[[State], int]) -> None:
        """Let compiled decisions change the state themselves.

        `advance` simulates rounds and slots as `act` does until a scenario lacks something, which
        it returns, or all have decided enough, when it returns -1.
        """
        while (e := advance(self.state)) >= 0:
            self._provide(e)

    def _pass(self, first: int, last: int) -> None:
        """Let the slots pass that have ended."""
        self.drive(lambda state: int(kernels.pass_slots(state, first, last)))

    def _provide(self, e: int) -> None:
        """Draw more noise of a scenario, or make room for what is booked."""
        state = self.state
        scenario, lacks = state.scenario[e], int(state.scenario[e]["lacks"])
        if lacks != kernels.NOISE:
            self.state = widened(state, max(lacks, 2 * state.slot.shape[1]), "slot", "used")
            return
        seed, block, tasks = self.seeds[e], int(scenario["blocks"]), int(scenario["tasks"])
        assert seed is not None
        ends = (block + 1) * BLOCK
        if ends > state.noise.shape[2]:
            self.state = state = widened(state, ends, "noise", axis=2)
        state.noise[e, :tasks, ends - BLOCK : ends] = noise_block(seed, tasks, block)
        scenario["blocks"] = block + 1


@compact_repr
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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> trajectory = simulate(TapFingerEnvironment(small(1)), Min(), runs=1)
    >>> trajectory.cluster, trajectory.start, trajectory.completion
    (array([[1, 1, 1, 1]]), array([[ 0, 11,  4,  7]]), array([[ 4., 15.,  7., 11.]]))
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
    progress, (e) what is complete leaves and releases what it holds. Nothing starts that might
    still run when its cluster is down, whatever the noise; what runs there all the same, since its
    bundle has changed, is paused. The noise of the i-th slot in
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
        Slots without progress after the last arrival and the last outage after which a run ends.

    Raises
    ------
    OptionError
        If an option has no such value.

    Notes
    -----
    Li et al., section III and Algorithm 1, whose condition for another round is inverted.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import ReservationSpt, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), ReservationSpt(), runs=2)
    TapFingerTrajectory(ReservationSpt, 2 scenarios, 9 slots, mean reward 14)
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

    def episode(self, scenario: int, *, keep_trace: bool = False) -> TapFingerEpisode:
        """Open a scenario at its first slot."""
        batch = self.batch(1)
        batch.open(0, self.truth, int(scenario))
        return TapFingerEpisode(batch, 0, Tasks.of(self.truth), keep_trace=keep_trace)

    def batch(self, count: int) -> TapFingerBatch:
        """Return room for scenarios side by side, none of which is open yet."""
        return TapFingerBatch(self, count)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Round, Decision, Outcome]],
        *,
        seconds: float,
        keep_trace: bool = False,
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
            held=mine[0].held if keep_trace else None,
            scenarios=np.array([one.scenario for one in mine], dtype=np.int64),
        )
