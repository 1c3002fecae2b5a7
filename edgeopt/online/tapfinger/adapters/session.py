"""Runs side by side that a learner steps through round by round, with what it earns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.kernels import compiled, put
from edgeopt.online.tapfinger.adapters.encoding import (
    Observation,
    checked,
    decode,
    encode,
    room_for,
)
from edgeopt.online.tapfinger.conflicts import carry_out
from edgeopt.online.tapfinger.environment import TapFingerEnvironment
from edgeopt.online.tapfinger.episode import TapFingerEpisode
from edgeopt.online.tapfinger.events import Tasks
from edgeopt.online.tapfinger.kernels import pass_slots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.state import State

    Truth = TapFingerInstance | Callable[[np.random.Generator], TapFingerInstance]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Ints = NDArray[np.int64]

_SAME = ("capacity", "minimum", "task_kinds", "largest", "pending")


class Step(NamedTuple):
    """What a round came to for a learner, in each of E scenarios.

    Attributes
    ----------
    observation
        The next round; the arrays are written anew by every step.
    shared
        Less the number of tasks in the system in a slot that is over, 0 within it, shape [E].
    local
        The same for what each cluster serves or has waiting, shape [E, N]: a task that waits for
        several clusters counts at each of them.
    terminated
        Whether all tasks are complete, shape [E].
    truncated
        Whether the run was stopped before that, shape [E].
    details
        ``slot`` and ``round`` of the observation, and how many slots have ``passed``, shapes [E];
        the task that each cluster has ``started`` (-1 for none), whether what it has named
        ``stood``, not lost to another cluster, and whether its action was ``refused``, [E, N].
    """

    observation: Observation
    shared: Floats
    local: Floats
    terminated: Flags
    truncated: Flags
    details: dict[str, NDArray[Any]]


class Session:
    """Runs of the environment without preemption, a number of them side by side.

    Parameters
    ----------
    truth
        The instance of all runs, or a function of a generator that draws one for each run; all of
        them have the same clusters, smallest and largest bundles and number of pending tasks.
    count
        Number of scenarios side by side.
    **options
        Options of `TapFingerEnvironment` but for `preemption`, of which there is none.
    """

    def __init__(self, truth: Truth, count: int = 1, **options: Any) -> None:
        self._truth, self._options = truth, options
        self.instance = self._draw(np.random.default_rng(0))
        environment = TapFingerEnvironment(self.instance, preemption=False, **options)
        self.environments = [environment] * count
        self._batch = environment.batch(count)
        self._observation, self._boxes = room_for(self.instance, count)
        self._begun = False

    @property
    def observation(self) -> Observation:
        """The round to decide in every scenario, in arrays that every step writes anew."""
        return self._observation

    @property
    def environment(self) -> TapFingerEnvironment:
        """The environment of the first scenario."""
        return self.environments[0]

    @property
    def episode(self) -> TapFingerEpisode:
        """The run of the first scenario, with which the environment gathers a trajectory."""
        if not self._begun:
            raise OptionError("no run is open: reset the environment first")
        return TapFingerEpisode(self._batch, 0, Tasks.of(self.environment.truth))

    @property
    def seen(self) -> Round | None:
        """The round to decide in the first scenario, None if it is over or has not begun."""
        return self.episode.observe() if self._begun else None

    def _draw(self, rng: np.random.Generator) -> TapFingerInstance:
        return self._truth if isinstance(self._truth, TapFingerInstance) else self._truth(rng)

    def open(self, streams: Mapping[int, np.random.Generator]) -> dict[str, NDArray[Any]]:
        """Begin runs anew: each draws its instance, unless it is fixed, and then its scenario."""
        for e, rng in streams.items():
            truth = self._draw(rng)
            if truth is not self.instance:
                for name in _SAME:
                    if not np.array_equal(getattr(self.instance, name), getattr(truth, name)):
                        says = "must be the same in every instance that is drawn"
                        raise OptionError(f"{name}: {says}")
                self.environments[e] = replace(self.environments[e], truth=truth)
            seed = int(self.environments[e].scenarios(rng, 1)[0])
            self._batch.open(e, truth, Tasks.of(truth), seed)
            encode(self._batch.state, e, self._observation, self._boxes)
        self._begun = True
        return self._details()

    def step(self, action: ArrayLike, score: ArrayLike | None = None) -> Step:
        """Carry out the actions of a round, [E, N, 3], with scores, [E, N]; see `decision_of`."""
        state, seen = self._batch.state, self._observation
        if not self._begun or state.scenario["over"].any():
            raise OptionError("no run is open: reset the environment first")
        chosen = checked(action, seen.mask)
        wanted = np.ones(chosen.shape[:-1]) if score is None else np.asarray(score, dtype=float)
        if score is not None and not ((wanted >= 0.0) & (wanted <= 1.0)).all():
            raise OptionError("score: must lie in [0, 1]")
        _take(state, chosen, np.broadcast_to(wanted, chosen.shape[:-1]), seen.mask)
        self._batch.drive(self._pass)
        scenario = self._batch.state.scenario
        passed, over = scenario["passed"] > 0, scenario["over"]
        done = over & (scenario["completed"] == scenario["tasks"])
        return Step(
            seen,
            -(scenario["alive"] * passed).astype(np.float64),
            -(state.cluster["around"] * passed[:, None]).astype(np.float64),
            done,
            over & ~done,
            self._details(),
        )

    def _pass(self, state: State) -> int:
        return int(_pass(state, self._observation, self._boxes))

    def _details(self) -> dict[str, NDArray[Any]]:
        scenario, order = self._batch.state.scenario, self._batch.state.order
        return {
            "slot": scenario["slot"].copy(),
            "round": scenario["number"].copy(),
            "passed": scenario["passed"].copy(),
            "started": order["placed"].copy(),
            "stood": order["stood"].copy(),
            "refused": order["refused"].copy(),
        }


@compiled
def _take(state: State, action: Ints, score: Floats, mask: Flags) -> None:
    """Carry out actions."""
    clusters = score.shape[1]
    task, bundle = np.empty(clusters, dtype=np.int64), np.empty((clusters, 2), dtype=np.int64)
    refused = np.empty(clusters, dtype=np.bool_)
    for e in range(score.shape[0]):
        decode(state.pending[e], mask[e], action[e], task, bundle, refused)
        for n in range(clusters):
            order = state.order[e, n]
            order.task, order.score, order.place = task[n], score[e, n], False
            order.refused = refused[n]
            put(bundle[n], order.bundle)
        carry_out(state, e)


@compiled(writes="boxes")
def _pass(state: State, seen: Observation, boxes: Ints) -> int:
    """Let slots pass that have ended, and write what is seen then; or say which one lacks what."""
    count = state.scenario.size
    lacking = pass_slots(state, 0, count)
    if lacking < 0:
        for e in range(count):
            encode(state, e, seen, boxes)
    return lacking
