"""Runs side by side that a learner steps through round by round, with what it earns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.kernels import compiled
from edgeopt.learning.tapfinger.adapters.encoding import (
    Observation,
    as_actions,
    decode,
    encode,
    no_such,
    outside,
    room_for,
)
from edgeopt.online.tapfinger.conflicts import carry_out
from edgeopt.online.tapfinger.environment import TapFingerEnvironment, TapFingerEpisode
from edgeopt.online.tapfinger.events import Tasks
from edgeopt.online.tapfinger.kernels import pass_slots
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.kernels import State

    Truth = TapFingerInstance | Callable[[np.random.Generator], TapFingerInstance]

_SAME = ("capacity", "minimum", "task_kinds", "largest", "pending")


@compact_repr
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
    slot, number
        Slot of the observation, and number of its round, shape [E].
    passed
        How many slots have passed, shape [E].
    started
        Task that each cluster has started, -1 for none, shape [E, N].
    stood
        Whether what it has named was not lost to another cluster, shape [E, N].
    refused
        Whether its action was not allowed, shape [E, N].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.learning.tapfinger.adapters import Session
    >>> session = Session(small(1))
    >>> step = session.open({0: np.random.default_rng(0)})
    >>> step = session.step([[[small(1).pending, 0, 0], [0, 1, 2]]])
    >>> step.started, step.refused, step.passed
    (array([[-1,  0]]), array([[False, False]]), array([1]))
    """

    observation: Observation
    shared: Floats
    local: Floats
    terminated: Flags
    truncated: Flags
    slot: Ints
    number: Ints
    passed: Ints
    started: Ints
    stood: Flags
    refused: Flags

    @property
    def details(self) -> dict[str, NDArray[Any]]:
        """What is neither observed nor earned, by name; that of the number is ``round``."""
        return {
            "slot": self.slot, "round": self.number, "passed": self.passed,
            "started": self.started, "stood": self.stood, "refused": self.refused,
        }  # fmt: skip


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

    Attributes
    ----------
    instance
        One that is like those of all runs.
    environments
        Environment of each scenario.
    batch
        The scenarios.
    boxes
        Bundles that may be given to each task now, see `encode`, shape [E, N, P, 4].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.learning.tapfinger.adapters import Session
    >>> session = Session(small(1), count=2)
    >>> step = session.open({e: np.random.default_rng(e) for e in range(2)})
    >>> nobody = np.array([small(1).pending, 0, 0])
    >>> step = session.step(np.broadcast_to(nobody, (2, 2, 3)))
    >>> step.slot, step.shared
    (array([1, 1]), array([-1., -1.]))
    """

    def __init__(self, truth: Truth, count: int = 1, **options: Any) -> None:
        self._truth, self._options = truth, options
        self.instance = self._draw(np.random.default_rng(0))
        environment = TapFingerEnvironment(self.instance, preemption=False, **options)
        self.environments = [environment] * count
        self.batch = environment.batch(count)
        self._observation, self.boxes = room_for(self.instance, count)
        self._score = np.ones((count, self.instance.clusters))
        self._begun = False

    @property
    def environment(self) -> TapFingerEnvironment:
        """The environment of the first scenario."""
        return self.environments[0]

    @property
    def episode(self) -> TapFingerEpisode:
        """The run of the first scenario, with which the environment gathers a trajectory."""
        return self.run(0)

    @property
    def seen(self) -> Round | None:
        """The round to decide in the first scenario, None if it is over or has not begun."""
        return self.episode.observe() if self._begun else None

    def run(self, e: int) -> TapFingerEpisode:
        """Return the run of a scenario as it is now."""
        if not self._begun:
            raise OptionError("no run is open: reset the environment first")
        return TapFingerEpisode(self.batch, e, Tasks.of(self.environments[e].truth))

    def _draw(self, rng: np.random.Generator) -> TapFingerInstance:
        drawn = self._truth if isinstance(self._truth, TapFingerInstance) else self._truth(rng)
        if drawn.outage is not None:
            raise OptionError("truth.outage: must be None: learners do not see outages")
        return drawn

    def open(self, streams: Mapping[int, np.random.Generator]) -> Step:
        """Begin runs anew: each draws its instance, unless it is fixed, and then its scenario."""
        for e, rng in streams.items():
            truth = self._draw(rng)
            if truth is not self.environments[e].truth:
                for name in _SAME:
                    if not np.array_equal(getattr(self.instance, name), getattr(truth, name)):
                        says = "must be the same in every instance that is drawn"
                        raise OptionError(f"{name}: {says}")
                self.environments[e] = replace(self.environments[e], truth=truth)
            seed = int(self.environments[e].scenarios(rng, 1)[0])
            self.batch.open(e, truth, seed)
        self._begun = True
        step = self._empty()
        _pass(self.batch.state, step, self.boxes)
        return step

    def step(self, action: ArrayLike, score: ArrayLike | None = None) -> Step:
        """Carry out the actions of a round, [E, N, 3], with scores, [E, N]; see `decision_of`."""
        count, clusters = self._score.shape
        chosen, wanted = as_actions(action, count, clusters), self._score
        if score is not None:
            wanted = np.array(score, dtype=np.float64)
            if wanted.shape != self._score.shape or not ((wanted >= 0.0) & (wanted <= 1.0)).all():
                raise OptionError(f"score: must have shape [{count}, {clusters}] and lie in [0, 1]")
        step = self._empty()
        e, n, lacking = _step(self.batch.state, chosen, wanted, step, self.boxes)
        if n >= 0:
            raise no_such(n, chosen[e])
        if e >= 0 or not self._begun:
            raise OptionError("no run is open: reset the environment first")
        if lacking >= 0:
            self.batch.drive(lambda state: int(_pass(state, step, self.boxes)))
        return step

    def _empty(self) -> Step:
        """Return arrays for what a round comes to."""
        one, each = self._score.shape[:1], self._score.shape
        return Step(
            self._observation, np.empty(one), np.empty(each),
            np.empty(one, dtype=np.bool_), np.empty(one, dtype=np.bool_),
            np.empty(one, dtype=np.int64), np.empty(one, dtype=np.int64),
            np.empty(one, dtype=np.int64), np.empty(each, dtype=np.int64),
            np.empty(each, dtype=np.bool_), np.empty(each, dtype=np.bool_),
        )  # fmt: skip


@compiled(writes="boxes")
def _step(
    state: State, action: Ints, score: Floats, step: Step, boxes: Ints
) -> tuple[int, int, int]:
    """Carry out actions, let slots pass, and return what stands in the way, -1 where nothing does.

    That is a scenario and its cluster whose action is not in the table, or a scenario that is over
    and -1; and the scenario that lacks something.
    """
    count, clusters = score.shape
    mask = step.observation.mask
    for e in range(count):
        if state.scenario[e].over:
            return e, -1, -1
        n = outside(mask[e], action[e])
        if n >= 0:
            return e, n, -1
    task, bundle = np.empty(clusters, dtype=np.int64), np.empty((clusters, 2), dtype=np.int64)
    refused = np.empty(clusters, dtype=np.bool_)
    for e in range(count):
        decode(state.pending[e], mask[e], action[e], task, bundle, refused)
        for n in range(clusters):
            order = state.order[e, n]
            order.task, order.score, order.place = task[n], score[e, n], False
            order.refused = refused[n]
            order.bundle[0], order.bundle[1] = bundle[n, 0], bundle[n, 1]
        carry_out(state, e)
    return -1, -1, _pass(state, step, boxes)


@compiled(writes="boxes")
def _pass(state: State, step: Step, boxes: Ints) -> int:
    """Let slots pass that have ended, and write what came of it; or say which one lacks what."""
    count, clusters = step.local.shape
    lacking = pass_slots(state, 0, count)
    if lacking >= 0:
        return lacking
    for e in range(count):
        encode(state, e, step.observation, boxes)
        scenario = state.scenario[e]
        done = scenario.completed == scenario.tasks
        step.terminated[e], step.truncated[e] = scenario.over and done, scenario.over and not done
        step.slot[e], step.number[e] = scenario.slot, scenario.number
        step.passed[e] = scenario.passed
        step.shared[e] = -scenario.alive if scenario.passed > 0 else 0
        for n in range(clusters):
            order, around = state.order[e, n], state.cluster[e, n].around
            step.local[e, n] = -around if scenario.passed > 0 else 0
            step.started[e, n] = order.placed
            step.stood[e, n], step.refused[e, n] = order.stood, order.refused
    return -1
