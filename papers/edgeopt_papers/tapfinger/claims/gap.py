"""How far flow times lie above what no policy of the same kind falls below."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.paired import expectation
from edgeopt.bounds.ratio import ratio_parts
from edgeopt.errors import OptionError
from edgeopt.instances.validate import frozen
from edgeopt.models.tapfinger import (
    ScenarioBound,
    flow_bound,
    pooled_bound,
    scenario_bound,
    volume_bound,
)
from edgeopt.models.tapfinger.bounds import trivial_bound
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html
from edgeopt_papers.tapfinger.claims.plan import Plan

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.tapfinger import FlowBound, SchedulingProblem
    from edgeopt.models.tapfinger.bounds import Methods
    from edgeopt.online.tapfinger import TapFingerTrajectory


METHODS: Final = ("trivial", "volume", "pooled", "relaxation")
"""Ways to bound flow times, see `flow_bound`."""

NO_BOUND: Final = "no bound"
"""How a note begins where nothing is proven."""


@in_html
@compact_repr
@dataclass(frozen=True)
class Gap:
    """A weighted sum of flow times, and a lower bound that is valid for it.

    Attributes
    ----------
    value
        Weighted sum of the flow times, slots, averaged over runs; infinite if a task that weighs
        something was not complete when a run ended.
    bound
        What no plan or policy of the same kind falls below, averaged over runs where it is one of
        each run's scenario; NaN where nothing is proven.
    relative
        By which part of the bound the value exceeds it: the tasks flow for at most so much longer
        than they must. Of several scenarios it compares sums over them. NaN where nothing is
        proven.
    method
        What proved the bound; empty where nothing did.
    note
        What the bound is valid for, or `NO_BOUND` and the reason.
    scope
        Of which noise the bound is: ``"scenario"`` or ``"any noise"``; empty where there is none.
    each
        By which part the value of each run exceeds the bound of its scenario, shape [runs]; None
        where the bound is not one of scenarios.
    low, high
        Ends of the 95 % interval of `relative` over the scenarios, by `expectation` of
        :mod:`edgeopt.bounds.paired`; below ten, the least and the largest. NaN without `each`,
        or where there is but one.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import list_schedule, scheduling_problem
    >>> from edgeopt_papers.tapfinger.claims import Plan, flow_gap
    >>> problem = scheduling_problem(small(1))
    >>> gap = flow_gap(Plan(problem, list_schedule(problem)))
    >>> round(gap.value, 3), round(gap.bound, 3), round(gap.relative, 3), gap.method
    (14.028, 13.396, 0.047, 'relaxation')
    """

    value: float
    bound: float
    relative: float
    method: str
    note: str
    scope: str = ""
    each: Floats | None = None
    low: float = np.nan
    high: float = np.nan


def flow_gap(
    done: TapFingerTrajectory | Plan,
    *,
    bound: FlowBound | ScenarioBound | None = None,
    per_scenario: bool = True,
    method: Methods = "best",
    time_limit: float | None = None,
) -> Gap:
    """Bound by how much the tasks of a trajectory or plan flow longer than they must.

    A trajectory in which some bundle changed is only compared with a bound that holds for all
    policies, preemptive ones included, and for any noise. Any other is compared with a bound for
    policies that change none; with noise that is the bound of each run's scenario, which holds for
    policies that know the noise, too.

    Parameters
    ----------
    done
        A trajectory, or a plan that breaks no rule.
    bound
        A bound of the trajectory's instance, when it is at hand; it is not used where it is not
        valid. By default one is computed.
    per_scenario
        Whether to compute the bound of each run's scenario, where there is noise and no bundle
        changed, and not one that holds for any noise.
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
        If the plan breaks a rule, the bound is one of another instance, of other scenarios, or
        given for a plan, or the method is unknown.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> from edgeopt_papers.tapfinger.claims import flow_gap
    >>> gap = flow_gap(simulate(TapFingerEnvironment(small(1)), Min(), runs=1))
    >>> round(gap.value, 3), round(gap.bound, 3), round(gap.relative, 3)
    (34.724, 13.396, 1.592)
    """
    if isinstance(done, Plan):
        return _gap_of_plan(done, bound, method, time_limit)
    instance, scenarios = done.instance, done.scenarios
    values = done.weighted_flow_time()
    value = float(np.mean(values))
    if bound is not None and bound.instance != instance:
        raise OptionError("bound: is one of another instance")
    if not np.isfinite(value):
        return _nothing(value, "some task was not complete when a run ended")
    changes = bool(done.preemptions.any())
    if bound is None:
        if changes or not per_scenario or instance.noise == 0.0 or scenarios is None:
            bound = flow_bound(instance, preemptive=changes, method=method, time_limit=time_limit)
        else:
            bound = scenario_bound(instance, scenarios, method=method, time_limit=time_limit)
    if changes and isinstance(bound, ScenarioBound):
        return _nothing(
            value,
            "bundles changed, and the bound of a scenario holds for policies that change none",
        )
    if isinstance(bound, ScenarioBound):
        return _over_scenarios(values, bound, scenarios)
    if changes and not bound.preemptive:
        return _nothing(value, "bundles changed, and it holds for policies that change none")
    kind = "all policies" if bound.preemptive else "policies that change no bundle"
    noise = ", whatever the noise" if bound.noisy else ""
    found = _compared(value, bound.value, bound.method, f"holds for {kind}{noise}")
    return replace(found, scope="any noise" if bound.noisy else "")


def _over_scenarios(values: Floats, bound: ScenarioBound, scenarios: Ints | None) -> Gap:
    """Compare runs with the bounds of their scenarios, by the ratio of the sums."""
    if scenarios is None:
        return _nothing(float(np.mean(values)), "the scenarios of the trajectory are not known")
    least = bound.of(bound.instance, scenarios)
    methods = ", ".join(dict.fromkeys(bound.methods))
    note = "holds for policies that change no bundle, in the scenarios of the runs"
    found = _compared(float(np.mean(values)), float(np.mean(least)), methods, note)
    if not (least > 0.0).all():
        return replace(found, scope="scenario")
    each = frozen(values / least - 1.0)
    if values.size == 1:
        return replace(found, scope="scenario", each=each)
    low, high = (float(end) - 1.0 for end in expectation("runs", ratio_parts(values, least))[2:])
    return replace(found, scope="scenario", each=each, low=low, high=high)


def _gap_of_plan(
    plan: Plan, bound: FlowBound | ScenarioBound | None, method: str, time_limit: float | None
) -> Gap:
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
