"""TapFinger as a Gymnasium environment, one run at a time or several side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from edgeopt.learning.tapfinger.adapters.encoding import (
    action_space,
    missing,
    observation_space,
    shown,
)
from edgeopt.learning.tapfinger.adapters.session import Session
from edgeopt.options import check_choice, check_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from edgeopt.learning.tapfinger.adapters.session import Step, Truth


try:
    import gymnasium
except ImportError as error:
    raise missing("gymnasium", error) from error


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
        check_choice("reward", reward, ("shared", "local"))
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


class TapFingerVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Scenarios side by side, in each all clusters as one agent; a step is a decision round.

    Each scenario is what a `TapFingerEnv` would be that is reset with its seed, bit for bit. When a
    run is over, the next one begins in the same step: the observation is the first of that, and
    ``info["final_obs"]`` and ``info["final_info"]`` hold what the old one came to.

    Parameters
    ----------
    truth
        The instance, or a function of a generator that draws one for each run; all of them have
        the same clusters, smallest and largest bundles and number of pending tasks.
    num_envs
        Number of scenarios.
    reward, scored, **options
        See `TapFingerEnv`.
    copy
        Whether observations are copied. Otherwise the next step overwrites them.

    Attributes
    ----------
    session
        The runs. Its step has the rewards of each cluster besides, see `Step`.

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
    >>> from edgeopt.learning.tapfinger.adapters import TapFingerVectorEnv
    >>> env = TapFingerVectorEnv(lambda rng: generate(rng=rng), 8)
    >>> observation, info = env.reset(seed=0)
    >>> observation["pending"].shape
    (8, 3, 10, 7)
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP
    }

    def __init__(
        self,
        truth: Truth,
        num_envs: int,
        *,
        reward: Literal["shared", "local"] = "shared",
        scored: bool = False,
        copy: bool = True,
        **options: Any,
    ) -> None:
        check_choice("reward", reward, ("shared", "local"))
        check_whole("num_envs", num_envs, 1)
        self.num_envs = num_envs
        self.session = Session(truth, num_envs, **options)
        self._shared, self._scored, self._copy = reward == "shared", scored, copy
        self._streams = dict(enumerate(np.random.default_rng().spawn(num_envs)))
        self._everywhere = np.ones(num_envs, dtype=np.bool_)
        instance = self.session.instance
        self.single_observation_space = observation_space(instance, instance.clusters)
        self.single_action_space = action_space(instance, instance.clusters, scored=scored)
        self.observation_space = gymnasium.vector.utils.batch_space(
            self.single_observation_space, num_envs
        )
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new runs; scenario i has seed + i, or its own of several seeds."""
        seeds: Iterable[int | None] = () if seed is None else seed  # type: ignore[assignment]
        if isinstance(seed, int):
            seeds = range(seed, seed + self.num_envs)
        for e, one in enumerate(seeds):
            if one is not None:
                self._streams[e] = np.random.default_rng(one)
        return self._shown(self.session.open(self._streams))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Carry out the actions of a round in every scenario.

        Terminated means that all tasks are complete, truncated that the run was stopped before.
        """
        choice, score = (actions["choice"], actions["score"]) if self._scored else (actions, None)
        step = self.session.step(choice, score)
        reward = step.shared if self._shared else step.local.sum(axis=1)
        final: dict[str, Any] = {}
        over = np.flatnonzero(step.terminated | step.truncated).tolist()
        for e in over:
            details = {name: one[e] for name, one in step.details.items()}
            last = {"final_obs": shown(step.observation, e), "final_info": details}
            final = self._add_info(final, last, e)
        begun = self.session.open({e: self._streams[e] for e in over}) if over else step
        observation, info = self._shown(begun)
        return observation, reward, step.terminated, step.truncated, info | final

    def close(self, **kwargs: Any) -> None:
        """End all scenarios; there is nothing to free."""
        super().close(**kwargs)

    def _shown(self, step: Step) -> tuple[Any, dict[str, Any]]:
        info = step.details
        info |= {f"_{name}": self._everywhere for name in info}
        return shown(step.observation, copy=self._copy), info
