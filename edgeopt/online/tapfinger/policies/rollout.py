"""Follow the scheduler that would do best if nothing arrived any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.simulate import Deterministic, run_policy
from edgeopt.online.tapfinger.episode import TapFingerEpisode
from edgeopt.online.tapfinger.policies.reservation import PricedSpt, ReservationSpt
from edgeopt.options import check_able, check_choice, check_whole, refused

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Decision, Outcome, Round


class Scheduler(Protocol):
    """A policy of TapFinger that tosses no coins."""

    @property
    def deterministic(self) -> bool:
        """Whether it draws no random numbers."""
        ...

    @property
    def preemptive(self) -> bool:
        """Whether it changes the bundles of running tasks."""
        ...

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        ...

    def start(self, instance: TapFingerInstance) -> Any:
        """Return the state before the first round."""
        ...

    def decide(
        self, state: Any, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        """Answer a round."""
        ...

    def learn(self, state: Any, observation: Round, decision: Decision, feedback: Outcome) -> Any:
        """Return the state after the outcome of a round."""
        ...


class RolloutState(NamedTuple):
    """What a rollout remembers.

    Attributes
    ----------
    instance
        The clusters and kinds.
    states
        What each policy remembers of the rounds in which it was followed.
    followed
        Number of the policy that is followed.
    since
        Slot in which it was chosen, -1 before the first one.
    """

    instance: TapFingerInstance
    states: tuple[Any, ...]
    followed: int = 0
    since: int = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Rollout(Deterministic):
    """Simulate several schedulers on what is known, and follow the best of them for a while.

    Every so many slots each scheduler is simulated from the present state until all tasks that
    have arrived are complete, as if no more arrived and there were no noise. The one of least
    weighted flow time is followed, the first of equals.

    Parameters
    ----------
    policies
        The schedulers, none of which may toss coins.
    every
        Slots from one choice to the next.
    refill
        When pending sets are filled in the simulations; see `TapFingerEpisode`.

    Raises
    ------
    OptionError
        If there is no policy, one tosses coins, or an option has no such value.

    Notes
    -----
    In a simulation each scheduler stays with its own rule. It would be as good in truth if nothing
    arrived; since tasks do arrive, following the best one has no proven ratio, and can be worse
    than each of them alone.
    """

    policies: tuple[Scheduler, ...] = (ReservationSpt(), PricedSpt())
    every: int = 1
    refill: Literal["slot", "round"] = "slot"

    title: ClassVar[str] = "Rollout"

    def __post_init__(self) -> None:
        if not isinstance(self.policies, tuple | list) or not self.policies:
            raise refused("policies", self.policies, "must be several policies, at least one")
        for place, policy in enumerate(self.policies):
            check_able(f"policies[{place}]", policy, "start", "decide", "learn")
            if not getattr(policy, "deterministic", False):
                raise OptionError(
                    f"policies: {policy.name} tosses coins; a simulation of it is one"
                )
        check_whole("every", self.every, 1)
        check_choice("refill", self.refill, ("slot", "round"))

    @property
    def preemptive(self) -> bool:
        """Whether one of the schedulers changes the bundles of running tasks."""
        return any(policy.preemptive for policy in self.policies)

    @property
    def name(self) -> str:
        """Title, and what is not default."""
        usual = tuple(policy.name for policy in Rollout.policies)
        mine = tuple(policy.name for policy in self.policies)
        parts = [self.title] if mine == usual else [f"{self.title} of {' & '.join(mine)}"]
        if self.every != 1:
            parts.append(f"every={self.every}")
        if self.refill != "slot":
            parts.append(f"refill={self.refill}")
        return ", ".join(parts)

    def start(self, instance: TapFingerInstance) -> RolloutState:
        """Return the state before the first round."""
        return RolloutState(instance, tuple(policy.start(instance) for policy in self.policies))

    def decide(
        self, state: RolloutState, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, RolloutState]:
        """Answer a round as the best scheduler does."""
        if state.since < 0 or observation.slot >= state.since + self.every:
            costs = [
                self._cost(policy, own, state.instance, observation)
                for policy, own in zip(self.policies, state.states, strict=True)
            ]
            state = state._replace(followed=int(np.argmin(costs)), since=observation.slot)
        policy, own = self.policies[state.followed], state.states[state.followed]
        decision, own = policy.decide(own, observation, rng)
        return decision, _with(state, own)

    def learn(
        self, state: RolloutState, observation: Round, decision: Decision, feedback: Outcome
    ) -> RolloutState:
        """Let the scheduler that is followed learn."""
        policy, own = self.policies[state.followed], state.states[state.followed]
        return _with(state, policy.learn(own, observation, decision, feedback))

    def _cost(self, policy: Scheduler, own: Any, instance: TapFingerInstance, seen: Round) -> float:
        """Return the weighted sum of completions, slots; infinite if some task is left."""
        run = TapFingerEpisode.resumed(
            instance, seen, refill=self.refill, preemption=policy.preemptive
        )
        run_policy(run, policy, own, np.random.default_rng(0))
        completion = run.task["completion"].astype(np.float64)
        completion[completion < 0] = np.inf
        weight = seen.tasks.weight
        return float(completion[weight > 0] @ weight[weight > 0])


def _with(state: RolloutState, own: Any) -> RolloutState:
    """Return the state with another one of the policy that is followed."""
    k = state.followed
    return state._replace(states=(*state.states[:k], own, *state.states[k + 1 :]))
