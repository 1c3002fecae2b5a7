"""What all table-driven RESCUE policies share: a rule as state, nothing to learn, a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from edgeopt.online.rescue.guard import Guard
from edgeopt.options import check_flag, check_kind

if TYPE_CHECKING:
    import numpy as np

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution
    from edgeopt.online.rescue.events import Arrival, FinishedRun, Placement
    from edgeopt.online.rescue.kernel import RescueKernel
    from edgeopt.online.rescue.rules import Rule

__all__ = ["RescuePolicy", "plan_of"]


@dataclass(frozen=True, eq=False)
class RescuePolicy(ABC):
    """A policy that turns the instance into a `Rule` and follows it.

    A policy of your own gets its compiled kernel and its exact value for free if it extends this
    class and returns one of the rules of `edgeopt.online.rescue.rules` from `start`. On live
    events, step it by hand:

    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import Arrival, PickConfigs
    >>> instance = generate(horizon=20)
    >>> policy = PickConfigs(guarded=True)
    >>> state = policy.start(instance)
    >>> arrival = Arrival(
    ...     slot=3,
    ...     device=0,
    ...     idle=np.ones(instance.servers, dtype=bool),
    ...     remaining=instance.reserved.demand,
    ...     coin=0.5,
    ... )
    >>> decision, state = policy.decide(state, arrival)
    >>> state = policy.learn(state, arrival, decision, ())

    Attributes
    ----------
    guarded
        Whether runs that could cost a reserved task are vetoed.
    """

    title: ClassVar[str]
    """Name of the policy without its options."""

    guarded: bool = False

    def __post_init__(self) -> None:
        check_flag("guarded", self.guarded)

    @property
    def name(self) -> str:
        """Title and options."""
        return f"{self.title}, guarded" if self.guarded else self.title

    @abstractmethod
    def start(self, instance: RescueInstance) -> Rule:
        """Prepare the rule for an instance."""

    def decide(
        self, state: Rule, observation: Arrival, rng: np.random.Generator | None = None
    ) -> tuple[Placement | None, Rule]:
        """Answer an arrival; the only coin is the one that comes with it, `rng` is not used."""
        return state.choose(observation), state

    def learn(
        self,
        state: Rule,
        observation: Arrival,
        decision: Placement | None,
        feedback: tuple[FinishedRun, ...],
    ) -> Rule:
        """Return the state as it was: everything is planned beforehand."""
        return state

    def compiled(self, environment: object, state: Rule) -> RescueKernel | None:
        """Return a kernel for `RescueEnvironment`, None for any other environment."""
        from edgeopt.online.rescue.environment import RescueEnvironment
        from edgeopt.online.rescue.kernel import RescueKernel

        if isinstance(environment, RescueEnvironment):
            return RescueKernel(environment, state, self.name)
        return None

    def _guard(self, instance: RescueInstance) -> Guard | None:
        return Guard.of(instance) if self.guarded else None


def plan_of(instance: RescueInstance, plan: P1Solution | None, *, guarded: bool) -> P1Solution:
    """Return the plan that a policy was given, or solve the relaxation."""
    from edgeopt.models.rescue import P1Solution, solve_p1_lp

    check_kind("plan", plan, P1Solution, none=True)
    if plan is not None:
        return plan

    solved: P1Solution = solve_p1_lp(instance, forbid_unsafe=guarded)
    return solved
