"""Runs that a learner steps through round by round, with what it earns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger.adapters.encoding import decision_of, features, idle
from edgeopt.online.tapfinger.environment import TapFingerEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.online.tapfinger.adapters.encoding import Observation
    from edgeopt.online.tapfinger.episode import TapFingerEpisode
    from edgeopt.online.tapfinger.events import Outcome, Round

    Truth = TapFingerInstance | Callable[[np.random.Generator], TapFingerInstance]

_SAME = ("capacity", "minimum", "task_kinds", "largest", "pending")


class Step(NamedTuple):
    """What a round came to for a learner.

    Attributes
    ----------
    observation
        The next round.
    shared
        Less the number of tasks in the system, once a slot is over; 0 within it.
    local
        The same for what each cluster serves or has waiting, shape [N]: a task that waits for
        several clusters counts at each of them.
    terminated
        Whether all tasks are complete.
    truncated
        Whether the run was stopped before that.
    details
        ``slot`` and ``round`` of the observation, whether the slot before has ``elapsed``, the
        task that each cluster has ``started`` (-1 for none), and whether its action was
        ``refused``.
    """

    observation: Observation
    shared: float
    local: NDArray[np.float64]
    terminated: bool
    truncated: bool
    details: dict[str, Any]


class Session:
    """Runs of the environment without preemption, one after the other.

    Parameters
    ----------
    truth
        The instance of all runs, or a function of a generator that draws one for each run; all of
        them have the same clusters, smallest and largest bundles and number of pending tasks.
    **options
        Options of `TapFingerEnvironment` but for `preemption`, of which there is none.
    """

    def __init__(self, truth: Truth, **options: Any) -> None:
        self._truth, self._options = truth, options
        self.instance = self._draw(np.random.default_rng(0))
        self.environment = self._environment(self.instance)
        self._episode: TapFingerEpisode | None = None
        self._seen: Round | None = None

    @property
    def seen(self) -> Round | None:
        """The round to decide, None if the run is over or has not begun."""
        return self._seen

    @property
    def episode(self) -> TapFingerEpisode:
        """The run, with which the environment gathers a trajectory."""
        if self._episode is None:
            raise OptionError("no run is open: reset the environment first")
        return self._episode

    def _draw(self, rng: np.random.Generator) -> TapFingerInstance:
        if isinstance(self._truth, TapFingerInstance):
            return self._truth
        return self._truth(rng)

    def _environment(self, truth: TapFingerInstance) -> TapFingerEnvironment:
        return TapFingerEnvironment(truth, preemption=False, **self._options)

    def open(self, rng: np.random.Generator) -> tuple[Observation, dict[str, Any]]:
        """Begin a new run: draw the instance, unless it is fixed, and then the scenario."""
        truth = self._draw(rng)
        for name in _SAME:
            if not np.array_equal(getattr(self.instance, name), getattr(truth, name)):
                raise OptionError(f"{name}: must be the same in every instance that is drawn")
        self.environment = self._environment(truth)
        self._tasks, self._complete = truth.tasks, 0
        self._episode = self.environment.episode(int(self.environment.scenarios(rng, 1)[0]))
        self._seen = self._episode.observe()
        self._observation = self._encoded(self._seen)
        none = np.full(truth.clusters, -1)
        return self._observation, self._details(self._seen, False, none, none >= 0)

    def step(self, action: ArrayLike, score: ArrayLike | None = None) -> Step:
        """Carry out the actions of a round; see `decision_of`."""
        seen = self._seen
        if seen is None:
            raise OptionError("no run is open: reset the environment first")
        decision, refused = decision_of(seen, self._observation.mask, action, score)
        outcome = self.episode.act(decision)
        shared, local = 0.0, np.zeros(refused.size)
        if outcome.elapsed:
            shared, local = self._earned(seen, outcome)
            self._complete += outcome.completed.size
        self._seen = self.episode.observe()
        over, done = self._seen is None, self._complete == self._tasks
        # A run that was stopped stands still where it was seen last.
        self._observation = self._encoded(seen if over and not done else self._seen)
        last = seen if over else self._seen
        details = self._details(last, outcome.elapsed, outcome.started.copy(), refused)
        return Step(self._observation, shared, local, over and done, over and not done, details)

    def _encoded(self, seen: Round | None) -> Observation:
        return idle(self.instance) if seen is None else features(self.instance, seen)

    def _earned(self, seen: Round, outcome: Outcome) -> tuple[float, NDArray[np.float64]]:
        """Count the tasks of a slot that is over, those included that are complete now."""
        new = outcome.started >= 0
        serving = np.bincount(seen.running.cluster, minlength=new.size) + new
        waiting = seen.waiting - seen.tasks.eligible[outcome.started[new]].sum(axis=0)
        unfinished = seen.tasks.arrival.size - self._complete
        return -float(unfinished), -(serving + waiting).astype(np.float64)

    def _details(
        self,
        seen: Round | None,
        elapsed: bool,
        started: NDArray[np.int64],
        refused: NDArray[np.bool_],
    ) -> dict[str, Any]:
        slot, number = (0, 0) if seen is None else (seen.slot, seen.number)
        return {
            "slot": slot,
            "round": number,
            "elapsed": elapsed,
            "started": started,
            "refused": refused,
        }
