"""What the claims measure on one set of tasks, each piece of work done once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.tapfinger.exhaustive import best_plan
from edgeopt.bounds.tapfinger.gap import bound_of_problem
from edgeopt.bounds.tapfinger.plan import Plan, drawn_plan
from edgeopt.bounds.tapfinger.restless import Restless
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.tapfinger import flow_bound, scheduling_problem
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import (
    Optimus,
    RandomAllocation,
    ReservationSpt,
    TapFingerEnvironment,
    Tiresias,
)

if TYPE_CHECKING:
    from edgeopt.models.tapfinger import FlowBound, SchedulingProblem
    from edgeopt.online.tapfinger import TapFingerTrajectory

__all__ = ["Evaluation"]

DRAWN = 3
"""Plans that are drawn where none is given."""


class Evaluation:
    """Tasks and plans for them.

    Parameters
    ----------
    given
        The tasks, one plan for them, or an instance, of which noise is left out.
    """

    def __init__(self, given: SchedulingProblem | TapFingerInstance | Plan) -> None:
        self.given = given if isinstance(given, Plan) else None
        self.instance = given if isinstance(given, TapFingerInstance) else None
        if isinstance(given, TapFingerInstance):
            self.problem = scheduling_problem(given)
        else:
            self.problem = given.problem if isinstance(given, Plan) else given
        self._bounds: dict[Any, FlowBound] = {}
        self._below: dict[str, float] = {}
        self._best: dict[str, Plan | NotApplicableError] = {}

    def best(self, bundles: Literal["allowed", "efficient"] = "allowed") -> Plan:
        """Return a plan of least flow time; see `best_plan`."""
        if bundles not in self._best:
            try:
                self._best[bundles] = best_plan(self.problem, bundles)
            except NotApplicableError as why:
                self._best[bundles] = why
        found = self._best[bundles]
        if isinstance(found, NotApplicableError):
            raise found
        return found

    @property
    def optimum(self) -> float:
        """Least weighted flow time of all plans."""
        return self.best().schedule.flow_time(self.problem)

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """The plan that is given, or some that are drawn."""
        if self.given is not None:
            return (self.given,)
        return tuple(drawn_plan(self.problem, seed) for seed in range(DRAWN))

    @property
    def feasible(self) -> tuple[Plan, ...]:
        """The plans that break no rule."""
        some = tuple(plan for plan in self.plans if plan.carried_out)
        if not some:
            raise NotApplicableError("the plan breaks a rule")
        return some

    def below(self, method: str) -> float:
        """Bound the flow times of plans without noise; see `bound_of_problem`."""
        if method not in self._below:
            self._below[method] = bound_of_problem(self.problem, method)
        return self._below[method]

    def bound(self, method: Any, preemptive: bool) -> FlowBound:
        """Bound the flow times of policies on the instance; see `flow_bound`."""
        assert self.instance is not None
        key = method, preemptive
        if key not in self._bounds:
            self._bounds[key] = flow_bound(self.instance, preemptive=preemptive, method=method)
        return self._bounds[key]

    @cached_property
    def steady_runs(self) -> tuple[TapFingerTrajectory, ...]:
        """Runs of policies that leave the bundles of running tasks alone, if there is an instance.

        The noise of the instance is in them.
        """
        return self._runs(RandomAllocation(), ReservationSpt())

    @cached_property
    def runs(self) -> tuple[TapFingerTrajectory, ...]:
        """Those runs, and some of policies that change bundles."""
        return self.steady_runs + self._runs(Restless(), Optimus(), Tiresias())

    def _runs(self, *policies: Any) -> tuple[TapFingerTrajectory, ...]:
        if self.instance is None:
            return ()
        environment = TapFingerEnvironment(self.instance)
        return tuple(simulate(environment, policy, runs=DRAWN) for policy in policies)
