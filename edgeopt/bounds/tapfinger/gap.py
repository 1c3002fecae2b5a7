"""How much longer tasks flow than they must, by a bound that is valid for what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.bounds.tapfinger.plan import Plan
from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import flow_bound, pooled_bound, trivial_bound, volume_bound

if TYPE_CHECKING:
    from edgeopt.models.tapfinger import FlowBound, SchedulingProblem
    from edgeopt.online.tapfinger import TapFingerTrajectory

__all__ = ["METHODS", "NO_BOUND", "Gap", "bound_of_problem", "flow_gap"]

METHODS: Final = ("trivial", "volume", "pooled", "relaxation")
"""Ways to bound flow times, see `flow_bound`."""

NO_BOUND: Final = "no bound"
"""How a note begins where nothing is proven."""


@dataclass(frozen=True)
class Gap:
    """A weighted sum of flow times beside a lower bound that is valid for it.

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
