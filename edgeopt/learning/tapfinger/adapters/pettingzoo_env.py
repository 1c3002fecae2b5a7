"""TapFinger as a parallel PettingZoo environment: every cluster is an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.learning.tapfinger.adapters.encoding import (
    action_space,
    missing,
    observation_space,
    shown,
)
from edgeopt.learning.tapfinger.adapters.session import Session
from edgeopt.options import check_choice

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise missing("pettingzoo", error) from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium import spaces

    from edgeopt.learning.tapfinger.adapters.session import Step, Truth


class TapFingerParallelEnv(ParallelEnv):
    """Every cluster as an agent of its own; a step is a decision round.

    An observation is a dictionary of the cluster's rows of an `Observation`; its ``mask`` says
    which actions are allowed. An action is a place in the pending set, CPU cores and GPUs; one that
    is not allowed does nothing, and ``info["refused"]`` says so, as does no action at all.

    Parameters
    ----------
    truth
        The instance, or a function of a generator that draws one for each run; all of them have
        the same clusters, smallest and largest bundles and number of pending tasks.
    reward
        What a slot costs an agent: the tasks in the system (``"shared"``), or those that its
        cluster serves or has waiting (``"local"``, the paper's, in which a task that waits for
        several clusters costs each of them). Rounds within a slot cost nothing.
    scored
        Whether actions are dictionaries of a ``choice`` as above and a ``score`` in [0, 1], which
        decides who wins a task that several clusters name.
    **options
        Options of `TapFingerEnvironment` but for `preemption`, of which there is none.

    Attributes
    ----------
    session
        The run: the round in events of this package, the environment and the episode.
    possible_agents
        Names of the clusters, or ``cluster_0`` and so on.
    agents
        The same while a run goes on, none before and after it.

    Raises
    ------
    OptionError
        If an option has no such value.
    MissingDependencyError
        On import, if PettingZoo is not installed.

    Notes
    -----
    Li et al., section IV.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import generate
    >>> from edgeopt.learning.tapfinger.adapters import TapFingerParallelEnv
    >>> env = TapFingerParallelEnv(generate(), reward="local")
    >>> observations, infos = env.reset(seed=0)
    >>> observations[env.agents[0]]["pending"].shape
    (10, 7)
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "tapfinger_v0", "render_modes": []}
    render_mode: str | None = None

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
        numbered = (f"cluster_{n}" for n in range(instance.clusters))
        self.possible_agents = list(instance.called("cluster") or numbered)
        self.agents: list[str] = []
        self._rng = np.random.default_rng()
        # The same object at every call: its generator is seeded once.
        each = self.possible_agents
        self.observation_spaces = {agent: observation_space(instance) for agent in each}
        self.action_spaces = {agent: action_space(instance, scored=scored) for agent in each}

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return what an agent observes."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return what an agent can do."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a new run; the seed draws the instance, unless it is given, and the scenario."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        step = self.session.open({0: self._rng})
        self.agents = self.possible_agents.copy()
        return self._observations(step), self._infos(step)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Carry out the actions of a round; an agent without an action does nothing.

        Terminated means that all tasks are complete, truncated that the run was stopped before.
        """
        step = self.session.step(*self._gathered(actions))
        agents, over = self.agents, (bool(step.terminated[0]), bool(step.truncated[0]))
        if self._shared:
            rewards = dict.fromkeys(agents, float(step.shared[0]))
        else:
            rewards = dict(zip(agents, step.local[0].tolist(), strict=True))
        if any(over):
            self.agents = []
        return (
            self._observations(step),
            rewards,
            dict.fromkeys(agents, over[0]),
            dict.fromkeys(agents, over[1]),
            self._infos(step),
        )

    def _gathered(self, actions: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the actions and scores of all clusters."""
        unknown = set(actions) - set(self.possible_agents)
        if unknown:
            raise OptionError(f"there is no agent {sorted(unknown)[0]!r}")
        nothing: Any = (self.session.instance.pending, 0, 0)
        if not self._scored:
            return [[actions.get(agent, nothing) for agent in self.possible_agents]], None
        nothing = {"choice": nothing, "score": 1.0}
        given = [actions.get(agent, nothing) for agent in self.possible_agents]
        return [[one["choice"] for one in given]], [[one["score"] for one in given]]

    def _observations(self, step: Step) -> dict[str, Any]:
        whole = shown(step.observation, 0)
        return {
            agent: {name: part[n] for name, part in whole.items()}
            for n, agent in enumerate(self.possible_agents)
        }

    def _infos(self, step: Step) -> dict[str, Any]:
        """Hand every agent its entries of what is known, and what concerns all of them."""
        details = {
            name: np.broadcast_to(one[0], len(self.possible_agents)).tolist()
            for name, one in step.details.items()
        }
        return {
            agent: {name: one[n] for name, one in details.items()}
            for n, agent in enumerate(self.possible_agents)
        }
