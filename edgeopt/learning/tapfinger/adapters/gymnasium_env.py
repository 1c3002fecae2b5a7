"""TapFinger as a Gymnasium environment: one agent that decides for all clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from edgeopt.learning.tapfinger.adapters.encoding import (
    action_space,
    check_reward,
    missing,
    observation_space,
    shown,
)
from edgeopt.learning.tapfinger.adapters.session import Session

try:
    import gymnasium
except ImportError as error:
    raise missing("gymnasium", error) from error

if TYPE_CHECKING:
    from edgeopt.learning.tapfinger.adapters.session import Step, Truth


class TapFingerEnv(gymnasium.Env[Any, Any]):
    """All clusters as one agent; a step is a decision round.

    An observation is a dictionary of arrays, see `Observation`; its ``mask`` says which actions are
    allowed. An action is a place in the pending set, CPU cores and GPUs for each cluster, shape
    [N, 3]; one that is not allowed does nothing, and ``info["refused"]`` says so.

    Parameters
    ----------
    truth
        The instance, or a function of a generator that draws one for each run; all of them have
        the same clusters, smallest and largest bundles and number of pending tasks.
    reward
        What a slot costs: the tasks in the system (``"shared"``), or those that each cluster serves
        or has waiting, added up, so that a task that waits for several clusters costs several times
        (``"local"``, the paper's). Rounds within a slot cost nothing. With the former the rewards
        of a run sum to less the sum of its flow times.
    scored
        Whether actions are dictionaries of a ``choice`` as above and a ``score`` in [0, 1] for each
        cluster, which decides who wins a task that several of them name.
    **options
        Options of `TapFingerEnvironment` but for `preemption`, of which there is none.

    Attributes
    ----------
    session
        The run: the round in events of this package, the environment and the episode.

    Raises
    ------
    OptionError
        If an option has no such value.
    MissingDependencyError
        On import, if Gymnasium is not installed.

    Notes
    -----
    Li et al., section IV.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import generate
    >>> from edgeopt.learning.tapfinger.adapters import TapFingerEnv
    >>> env = TapFingerEnv(lambda rng: generate(rng=rng))
    >>> observation, info = env.reset(seed=0)
    >>> observation["pending"].shape
    (3, 10, 7)
    """

    def __init__(
        self,
        truth: Truth,
        *,
        reward: Literal["shared", "local"] = "shared",
        scored: bool = False,
        **options: Any,
    ) -> None:
        check_reward(reward)
        self.session = Session(truth, **options)
        self._shared, self._scored = reward == "shared", scored
        instance = self.session.instance
        self.observation_space = observation_space(instance, instance.clusters)
        self.action_space = action_space(instance, instance.clusters, scored=scored)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new run; the seed draws the instance, unless it is given, and the scenario."""
        super().reset(seed=seed)
        return self._shown(self.session.open({0: self.np_random}))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out the actions of a round.

        Terminated means that all tasks are complete, truncated that the run was stopped before.
        """
        choice, score = (action["choice"], action["score"]) if self._scored else (action, None)
        step = self.session.step([choice], None if score is None else [score])
        reward = step.shared[0] if self._shared else step.local[0].sum()
        observation, info = self._shown(step)
        return observation, float(reward), bool(step.terminated[0]), bool(step.truncated[0]), info

    def _shown(self, step: Step) -> tuple[Any, dict[str, Any]]:
        return shown(step.observation, 0), {name: one[0] for name, one in step.details.items()}
