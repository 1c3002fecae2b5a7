"""Tables of decisions as policies, and the environment of a decision process for `simulate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.online.protocols import Trajectory
from edgeopt.online.simulate import IgnoresFeedback
from edgeopt.options import check_kind, check_whole
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Kernel
    from edgeopt.online.value_iteration.process import DecisionProcess

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Moment(NamedTuple):
    """What a policy sees: the slot, and the state by its label."""

    slot: int
    state: Any


class Outcome(NamedTuple):
    """What a decision comes to: its reward and the next state by its label."""

    reward: float
    state: Any


@compact_repr
@dataclass(frozen=True, eq=False)
class ProcessEnvironment:
    """A decision process that runs for some slots.

    Parameters
    ----------
    process
        The process.
    start
        Label of the first state.
    horizon
        Number of slots.

    Raises
    ------
    OptionError
        If there is no such state, or no slot.

    Examples
    --------
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.value_iteration import DecisionProcess, discounted
    >>> coin = DecisionProcess([0, 1], [0.0, 1.0], [[0.5, 0.5], [0.5, 0.5]])
    >>> environment = ProcessEnvironment(coin, start=0, horizon=1000)
    >>> runs = simulate(environment, discounted(coin, 0.9).policy, runs=20)
    >>> print(round(float(runs.total.mean()), -2))
    500.0
    """

    process: DecisionProcess
    start: Any
    horizon: int

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, 1)
        self.process.number(self.start)

    @property
    def instance(self) -> DecisionProcess:
        """The process, which a policy may know."""
        return self.process

    def scenarios(self, rng: np.random.Generator, runs: int) -> Floats:
        """Draw a coin for every slot, shape [runs, slots]."""
        return rng.random((runs, self.horizon))

    def episode(self, scenario: Floats, *, keep_trace: bool = False) -> ProcessEpisode:
        """Open a scenario."""
        return ProcessEpisode(self, scenario)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[ProcessEpisode],
        *,
        seconds: float,
        keep_trace: bool = False,
    ) -> Trajectory:
        """Gather finished episodes."""
        return self.gathered(name, np.stack([one.earned for one in episodes]), seconds, False)

    def gathered(self, name: str, earned: Floats, seconds: float, compiled: bool) -> Trajectory:
        """Return rewards, shape [runs, slots], as a trajectory."""
        none = np.zeros(earned.shape, dtype=np.int64)
        return Trajectory(name, earned, none, none + 1, seconds, compiled)


class ProcessEpisode:
    """A run of a process."""

    def __init__(self, environment: ProcessEnvironment, coins: Floats) -> None:
        self._process, self._coins = environment.process, coins
        self._slot, self._state = 0, self._process.number(environment.start)
        self.earned = np.zeros(coins.size)

    def observe(self) -> Moment | None:
        """Show slot and state, or None after the last slot."""
        if self._slot == self._coins.size:
            return None
        return Moment(self._slot, self._process.states[self._state])

    def act(self, decision: Any) -> Outcome:
        """Take the decision whose action is given by its label, and move on."""
        process = self._process
        first, last = process.first[self._state : self._state + 2]
        able = [pair for pair in range(first, last) if process.actions[pair] == decision]
        if len(able) != 1:
            known = ", ".join(repr(process.actions[pair]) for pair in range(first, last))
            raise OptionError(f"action {decision!r}: must be one of {known}")
        (pair,) = able
        begin, target, _, reward = process.arrays
        row = slice(begin[pair], begin[pair + 1] - 1)
        place = np.searchsorted(process.running[row], self._coins[self._slot], side="right")
        self._state = int(target[begin[pair] + place])
        self.earned[self._slot] = reward[pair]
        self._slot += 1
        return Outcome(float(reward[pair]), process.states[self._state])


@compact_repr
@dataclass(frozen=True, eq=False)
class TablePolicy(IgnoresFeedback):
    """A policy that looks its decision up by slot and state.

    Parameters
    ----------
    process
        The process that it decides for.
    decision
        Number of the decision, shape [stages, states]; the last stage goes on for ever.
    name
        Name in tables and pictures.

    Raises
    ------
    OptionError
        If a decision is not one of its state.

    Notes
    -----
    A Markov policy of Puterman, Markov Decision Processes (1994), chapter 2.

    Examples
    --------
    >>> from edgeopt.online.value_iteration import DecisionProcess
    >>> coin = DecisionProcess([0, 0], [0.0, 1.0], [[1.0], [1.0]], actions=["left", "right"])
    >>> TablePolicy(coin, [[1]]).pair(7, 0)
    1
    """

    process: DecisionProcess
    decision: Ints
    name: str = "Table"

    def __post_init__(self) -> None:
        from edgeopt.online.value_iteration.process import DecisionProcess

        check_kind("process", self.process, DecisionProcess)
        table = np.array(self.decision, dtype=np.int64)
        states = len(self.process.first) - 1
        if table.ndim != 2 or table.shape[1] != states or not table.size:
            raise OptionError(f"decision: must have shape [stages, {states}]")
        inside = (table >= 0) & (table < self.process.state.size)
        if not inside.all() or (self.process.state[table] != np.arange(states)).any():
            raise OptionError("decision: must be a decision of its state, by number")
        table.flags.writeable = False
        object.__setattr__(self, "decision", table)

    def pair(self, slot: int, state: int) -> int:
        """Return the number of the decision in a slot and a state, by its number."""
        return int(self.decision[min(slot, len(self.decision) - 1), state])

    def start(self, instance: DecisionProcess) -> DecisionProcess:
        """Check that the process is the one that the table is for, by its sizes."""
        if instance.first.tolist() != self.process.first.tolist():
            raise OptionError("the table is for a process with other states or decisions")
        return instance

    def decide(
        self, state: DecisionProcess, observation: Moment, rng: np.random.Generator
    ) -> tuple[Any, DecisionProcess]:
        """Look the action up."""
        pair = self.pair(observation.slot, state.number(observation.state))
        return state.actions[pair], state

    def compiled(self, environment: Any, state: DecisionProcess) -> Kernel | None:
        """Return the loop over scenarios, compiled."""
        if not isinstance(environment, ProcessEnvironment):
            return None

        def kernel(scenarios: Any, rng: Any, *, keep_trace: bool = False) -> Trajectory:
            import time

            begin, target, _, reward = state.arrays
            earned, visited = np.empty(scenarios.shape), np.empty(scenarios.shape[1], np.int64)
            began = time.perf_counter()
            for coins, row in zip(scenarios, earned, strict=True):
                follow(
                    self.decision, begin, target, state.running, reward,
                    state.number(environment.start), coins, row, visited,
                )  # fmt: skip
            seconds = time.perf_counter() - began
            return environment.gathered(self.name, earned, seconds, True)

        return kernel


@compiled(writes="earned visited")
def follow(
    table: Ints, begin: Ints, target: Ints, running: Floats, reward: Floats, state: int,
    coins: Floats, earned: Floats, visited: Ints,
) -> None:  # fmt: skip
    """Run decisions, shape [stages, states], the last row for all later slots; a coin a slot."""
    for slot in range(coins.size):
        pair = table[min(slot, table.shape[0] - 1), state]
        visited[slot], earned[slot] = pair, reward[pair]
        low, high = begin[pair], begin[pair + 1] - 1
        place = low + np.searchsorted(running[low:high], coins[slot], side="right")
        state = target[place]
