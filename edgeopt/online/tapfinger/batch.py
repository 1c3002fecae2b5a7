"""Scenarios side by side in the same arrays, each of which runs as it would alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.scenarios import BLOCK, noise_block
from edgeopt.online.tapfinger import kernels
from edgeopt.online.tapfinger.conflicts import REFUSALS, act, written
from edgeopt.online.tapfinger.events import Tasks
from edgeopt.online.tapfinger.state import emptied, made, widened
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Decision
    from edgeopt.online.tapfinger.state import State

    Ints = NDArray[np.int64]

_NOTHING: Final = np.zeros(0, dtype=np.int64)


class TapFingerBatch:
    """Scenarios side by side, made by `TapFingerEnvironment.batch`.

    Parameters
    ----------
    instance
        Clusters, kinds of tasks and rules. Any instance that is opened has as many clusters, kinds,
        places in a pending set, and CPU cores and GPUs in its largest bundle.
    count
        Number of scenarios E.
    refill, conflict, pass_on, preemption, patience
        See `TapFingerEnvironment`.

    Attributes
    ----------
    state
        All scenarios in arrays, whose first axis is the scenario: what they show, what has been
        decided in the last round, and what has come of it. Another object when it has grown.
    """

    def __init__(
        self,
        instance: TapFingerInstance,
        count: int = 1,
        *,
        refill: Literal["slot", "round"] = "slot",
        conflict: Literal["count", "ratio"] = "count",
        pass_on: bool = False,
        preemption: bool = True,
        patience: int = 1000,
    ) -> None:
        check_whole("count", count, 1)
        self._options = {
            "each_round": refill == "round", "by_ratio": conflict == "ratio", "pass_on": pass_on,
            "preemption": preemption, "patience": patience,
        }  # fmt: skip
        self.seeds: list[int | None] = [None] * count
        self.state: State = made(instance, count)

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
