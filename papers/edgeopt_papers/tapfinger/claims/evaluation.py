"""What the claims measure on one set of tasks, each piece of work done once."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, Literal

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.tapfinger import (
    FlowBound,
    ScenarioBound,
    SchedulingProblem,
    flow_bound,
    scenario_bound,
    scenario_problem,
    scheduling_problem,
)
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import (
    Optimus,
    RandomAllocation,
    ReservationSpt,
    TapFingerEnvironment,
    TapFingerTrajectory,
    Tiresias,
)
from edgeopt_papers.claims.paper import EXACT, Paper, memoised
from edgeopt_papers.tapfinger.claims.gap import bound_of_problem
from edgeopt_papers.tapfinger.claims.plan import Plan, Restless, best_plan, drawn_plan, least_flow

DRAWN = 3
"""Plans that are drawn where none is given."""


class Evaluation:
    """Tasks and plans for them: those of a plan, or of an instance, whose noise is left out."""

    def __init__(self, given: SchedulingProblem | TapFingerInstance | Plan) -> None:
        self.given = given if isinstance(given, Plan) else None
        self.instance = given if isinstance(given, TapFingerInstance) else None
        if isinstance(given, TapFingerInstance):
            self.problem = scheduling_problem(given)
        else:
            self.problem = given.problem if isinstance(given, Plan) else given

    @memoised
    def best(self, bundles: Literal["allowed", "efficient"] = "allowed") -> Plan:
        """Return a plan of least flow time; see `best_plan`."""
        return best_plan(self.problem, bundles)

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

    @memoised
    def below(self, method: str) -> float:
        """Bound the flow times of plans without noise; see `bound_of_problem`."""
        return bound_of_problem(self.problem, method)

    @memoised
    def bound(self, method: Any, preemptive: bool) -> FlowBound:
        """Bound the flow times of policies on the instance; see `flow_bound`."""
        assert self.instance is not None
        return flow_bound(self.instance, preemptive=preemptive, method=method)

    @memoised
    def of_scenario(self, scenario: int) -> tuple[ScenarioBound, float]:
        """Bound a scenario of the instance, and return the least flow time of its plans."""
        assert self.instance is not None
        optimum = least_flow(scenario_problem(self.instance, scenario))
        return scenario_bound(self.instance, [scenario]), optimum

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


_paper = Paper(
    "tapfinger",
    instance_type=(SchedulingProblem, TapFingerInstance),
    view=Evaluation,
    tolerance=EXACT,
)

claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about tasks and how they are scheduled."""

about_plans = partial(claim, instance_type=(SchedulingProblem, TapFingerInstance, Plan))
"""Build a claim about single plans as well."""
