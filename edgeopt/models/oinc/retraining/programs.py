r"""The linear programs of retraining in mathematical notation, as Pyomo models.

These models are the specification and the way to every solver that Pyomo knows; `flow_matrix` and
`dual_matrix` are their compiled forms. Constraints carry the tags of the paper's equations, or the
name of what they say where the paper has nothing like it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked
from edgeopt.models.oinc.retraining.problem import check_horizon

if TYPE_CHECKING:
    from edgeopt.models.oinc.retraining.problem import RetrainingProblem


@checked(horizon=1)
def flow_lp(
    problem: RetrainingProblem,
    *,
    midpoint: bool = False,
    one_site: bool = False,
    horizon: int | None = None,
) -> Any:
    r"""Build the time-indexed relaxation P1 of the weighted flow time.

    .. math::

       \min\ & \sum_{kjt} l_k\, m_{kj}^t \left(\frac{t - a_k}{h_{kj}} + \frac{1}{2}\right) \\
       \text{(8a)}\ & \sum_{jt} m_{kj}^t / h_{kj} \ge 1 \\
       \text{(8b)}\ & \sum_k m_{kj}^t \le 1 \\
       \text{(one\_site)}\ & \sum_j m_{kj}^t \le 1, \qquad m \ge 0

    where m is the part of slot t of site j that serves job k. Services before the arrival, and at
    sites that cannot serve a job, have no variables.

    The optimum bounds the weighted flow time of every schedule that serves each job at one site,
    with or without the row `one_site`: a job of duration h that ends at b has been served at a mean
    time of at most b - h/2. It bounds no schedule that moves jobs between sites, and with
    `midpoint` none that completes jobs within a slot.

    Parameters
    ----------
    problem
        The jobs.
    midpoint
        Count the time of a slot from its middle, t + 1/2 in place of t. The optimum rises by half
        the sum of the weights. It then bounds schedules alone in which jobs end with a slot, or in
        which all durations are whole.
    one_site
        Add the row that a job is served at one site at a time.
    horizon
        Number of slots; `horizon` of the problem by default, which is long enough. The optimum
        falls with it, and one that is too short bounds those schedules alone that end by it.

    Returns
    -------
    A Pyomo `ConcreteModel` with the variables ``m[k, j, t]``, objective ``flow`` and constraints
    ``eq_8a[k]``, ``eq_8b[j, t]`` and, where asked for, ``one_site[k, t]``.

    Raises
    ------
    OptionError
        If the horizon ends before the last arrival.

    Notes
    -----
    Zeng et al., problem (8). In print (8a) has lost its right-hand side; without it m = 0 is
    optimal.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import flow_lp, retraining_problem
    >>> from edgeopt.solvers import solve
    >>> solve(flow_lp(retraining_problem(small(1)))).quality.value
    'optimal'
    """
    import pyomo.environ as pyo

    slots = range(check_horizon(problem, horizon))
    jobs, sites = range(problem.jobs), range(problem.sites)
    serves, cost = _services(problem, slots, midpoint)
    at_site: dict[tuple[int, int], list[int]] = {}
    of_job: dict[tuple[int, int], list[int]] = {}
    for k, j, t in serves:
        at_site.setdefault((j, t), []).append(k)
        of_job.setdefault((k, t), []).append(j)

    def all_served(model: Any, k: int) -> Any:
        return sum(model.m[key] / h for key, h in serves.items() if key[0] == k) >= 1

    def one_job_of_each(model: Any, j: int, t: int) -> Any:
        if (j, t) not in at_site:
            return pyo.Constraint.Skip
        return sum(model.m[k, j, t] for k in at_site[j, t]) <= 1

    def one_site_of_each(model: Any, k: int, t: int) -> Any:
        if (k, t) not in of_job:
            return pyo.Constraint.Skip
        return sum(model.m[k, j, t] for j in of_job[k, t]) <= 1

    model = pyo.ConcreteModel("P1")
    model.m = pyo.Var(list(serves), domain=pyo.NonNegativeReals)
    model.flow = pyo.Objective(expr=pyo.quicksum(cost[key] * model.m[key] for key in serves))
    model.eq_8a = pyo.Constraint(jobs, rule=all_served)
    model.eq_8b = pyo.Constraint(sites, slots, rule=one_job_of_each)
    if one_site:
        model.one_site = pyo.Constraint(jobs, slots, rule=one_site_of_each)
    return model


@checked(horizon=1)
def flow_dual(
    problem: RetrainingProblem,
    *,
    midpoint: bool = False,
    one_site: bool = False,
    horizon: int | None = None,
) -> Any:
    r"""Build the dual P2 of `flow_lp`: the most that prices prove.

    .. math::

       \max\ & \sum_k \theta_k - \sum_{jt} \eta_{jt} - \sum_{kt} \zeta_{kt} \\
       \text{(9a)}\ & \theta_k / h_{kj} - \eta_{jt} - \zeta_{kt}
           \le l_k \left(\frac{t - a_k}{h_{kj}} + \frac{1}{2}\right),
           \qquad t \ge a_k, \qquad \theta, \eta, \zeta \ge 0

    Parameters
    ----------
    problem, midpoint, one_site, horizon
        As for `flow_lp`; zeta exists with `one_site` alone.

    Returns
    -------
    A Pyomo `ConcreteModel` with the variables ``theta[k]``, ``eta[j, t]`` and ``zeta[k, t]``,
    objective ``value`` and constraints ``eq_9a[k, j, t]``.

    Raises
    ------
    OptionError
        If the horizon ends before the last arrival.

    Notes
    -----
    Zeng et al., problem (9).

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.retraining import flow_dual, retraining_problem
    >>> from edgeopt.solvers import solve
    >>> solve(flow_dual(retraining_problem(small(1)))).quality.value
    'optimal'
    """
    import pyomo.environ as pyo

    slots = range(check_horizon(problem, horizon))
    jobs, sites = range(problem.jobs), range(problem.sites)
    serves, cost = _services(problem, slots, midpoint)
    model = pyo.ConcreteModel("P2")
    model.theta = pyo.Var(jobs, domain=pyo.NonNegativeReals)
    model.eta = pyo.Var(sites, slots, domain=pyo.NonNegativeReals)
    total = pyo.quicksum(model.theta.values()) - pyo.quicksum(model.eta.values())
    if one_site:
        model.zeta = pyo.Var(jobs, slots, domain=pyo.NonNegativeReals)
        total -= pyo.quicksum(model.zeta.values())

    def no_service_pays(model: Any, k: int, j: int, t: int) -> Any:
        price = model.eta[j, t] + (model.zeta[k, t] if one_site else 0.0)
        return model.theta[k] / serves[k, j, t] - price <= cost[k, j, t]

    model.value = pyo.Objective(expr=total, sense=pyo.maximize)
    model.eq_9a = pyo.Constraint(list(serves), rule=no_service_pays)
    return model


def _services(
    problem: RetrainingProblem, slots: range, midpoint: bool
) -> tuple[dict[tuple[int, int, int], float], dict[tuple[int, int, int], float]]:
    """Return the duration and the cost of every service that there may be."""
    duration: dict[tuple[int, int, int], float] = {}
    cost: dict[tuple[int, int, int], float] = {}
    for k, j in np.argwhere(np.isfinite(problem.duration)).tolist():
        h, weight = float(problem.duration[k, j]), float(problem.weight[k])
        for t in slots[int(problem.arrival[k]) :]:
            waited = t - int(problem.arrival[k]) + (0.5 if midpoint else 0.0)
            duration[k, j, t] = h
            cost[k, j, t] = weight * (waited / h + 0.5)
    return duration, cost
