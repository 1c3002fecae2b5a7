"""What the claims measure on one set of tasks, each piece of work done once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final, Literal

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.paper import EXACT, Paper, once
from edgeopt.bounds.tapfinger.plan import Plan, Restless, best_plan, drawn_plan
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.tapfinger import (
    FlowBound,
    SchedulingProblem,
    flow_bound,
    pooled_bound,
    scheduling_problem,
    trivial_bound,
    volume_bound,
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

METHODS: Final = ("trivial", "volume", "pooled", "relaxation")
"""Ways to bound flow times, see `flow_bound`."""

NO_BOUND: Final = "no bound"
"""How a note begins where nothing is proven."""


@dataclass(frozen=True)
class Gap:
    """A weighted sum of flow times, and a lower bound that is valid for it.

    Attributes
    ----------
    value
        Weighted sum of the flow times, slots, averaged over runs; infinite if a task that weighs
        something was not complete when a run ended.
    bound
        What no plan or policy of the same kind falls below; NaN where nothing is proven.
    relative
        By which part of the bound the value exceeds it: the tasks flow for at most so much longer
        than they must. NaN where nothing is proven.
    method
        What proved the bound; empty where nothing did.
    note
        What the bound is valid for, or `NO_BOUND` and the reason.
    """

    value: float
    bound: float
    relative: float
    method: str
    note: str


def flow_gap(
    done: TapFingerTrajectory | Plan,
    *,
    bound: FlowBound | None = None,
    method: Literal["best", "trivial", "volume", "pooled", "relaxation"] = "best",
    time_limit: float | None = None,
) -> Gap:
    """Bound by how much the tasks of a trajectory or plan flow longer than they must.

    A trajectory in which some bundle changed is only compared with a bound that holds for all
    policies, preemptive ones included; any other with one that holds for those that change none.
    With noise in the instance the bound holds whatever the noise is.

    Parameters
    ----------
    done
        A trajectory, or a plan that breaks no rule.
    bound
        A bound of the trajectory's instance, when it is at hand; it is not used where it is not
        valid. By default one is computed.
    method, time_limit
        How to compute it, see `flow_bound`.

    Returns
    -------
    Gap
        With NaN, and the words "no bound", where a run ended before all tasks were complete, the
        bound that is given is not valid for what was done, or it is 0.

    Raises
    ------
    OptionError
        If the plan breaks a rule, the bound is one of another instance or given for a plan, or the
        method is unknown.
    """
    if isinstance(done, Plan):
        return _gap_of_plan(done, bound, method, time_limit)
    instance = done.instance
    value = float(np.mean(done.weighted_flow_time()))
    if bound is not None and bound.instance != instance:
        raise OptionError("bound: is one of another instance")
    if not np.isfinite(value):
        return _nothing(value, "some task was not complete when a run ended")
    changes = bool(done.preemptions.any())
    if bound is None:
        bound = flow_bound(instance, preemptive=changes, method=method, time_limit=time_limit)
    elif changes and not bound.preemptive:
        return _nothing(value, "bundles changed, and it holds for policies that change none")
    kind = "all policies" if bound.preemptive else "policies that change no bundle"
    noise = ", whatever the noise" if bound.noisy else ""
    return _compared(value, bound.value, bound.method, f"holds for {kind}{noise}")


def _gap_of_plan(plan: Plan, bound: FlowBound | None, method: str, time_limit: float | None) -> Gap:
    if bound is not None:
        raise OptionError("bound: is none of a plan; leave it out to have one computed")
    if not plan.carried_out:
        raise OptionError("plan: breaks a rule, see edgeopt.models.tapfinger.verify")
    found = {
        name: bound_of_problem(plan.problem, name, time_limit)
        for name in (METHODS if method == "best" else (method,))
    }
    best = max(found, key=lambda name: found[name])
    value = plan.schedule.flow_time(plan.problem)
    return _compared(value, found[best], best, "holds for plans that change no bundle")


def bound_of_problem(
    problem: SchedulingProblem, method: str, time_limit: float | None = None
) -> float:
    """Return a lower bound on the weighted flow time of plans that change no bundle."""
    if method == "trivial":
        return trivial_bound(problem)
    if method == "volume":
        return volume_bound(problem)
    if method not in METHODS:
        raise OptionError(f"method = {method!r}: must be 'best' or one of {METHODS}")
    pools = np.arange(problem.clusters) * (method == "relaxation")
    return pooled_bound(problem, pools, time_limit=time_limit).value


def _nothing(value: float, reason: str) -> Gap:
    return Gap(value, np.nan, np.nan, "", f"{NO_BOUND}: {reason}")


def _compared(value: float, bound: float, method: str, note: str) -> Gap:
    if value == bound == 0.0:
        return Gap(value, bound, 0.0, method, note)
    if not bound > 0.0:
        return _nothing(value, "nothing above 0 is proven")
    return Gap(value, bound, value / bound - 1.0, method, note)


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

    @once
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

    @once
    def below(self, method: str) -> float:
        """Bound the flow times of plans without noise; see `bound_of_problem`."""
        return bound_of_problem(self.problem, method)

    @once
    def bound(self, method: Any, preemptive: bool) -> FlowBound:
        """Bound the flow times of policies on the instance; see `flow_bound`."""
        assert self.instance is not None
        return flow_bound(self.instance, preemptive=preemptive, method=method)

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


PAPER = (
    "Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation for "
    "Edge Machine Learning"
)

_paper = Paper(
    "tapfinger",
    PAPER,
    {
        "instance_type": (SchedulingProblem, TapFingerInstance),
        "view": Evaluation,
        "tolerance": EXACT,
    },
)

claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about tasks and how they are scheduled."""

about_plans = partial(claim, instance_type=(SchedulingProblem, TapFingerInstance, Plan))
"""Build a claim about single plans as well."""
