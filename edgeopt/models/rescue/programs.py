r"""RESCUE's offline problem in mathematical notation, as Pyomo models.

Constraints carry the tags of the paper's equations. These models are the specification and the way
to every solver that Pyomo knows; `p1_lp_matrix` is the compiled form of `p1_lp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance


def p1(instance: RescueInstance) -> Any:
    r"""Build problem P1: deterministic routing, occupation in expectation.

    .. math::

       \max\ & \sum_{t,j,k,l} p_j(t)\, R_{jkl}(t)\, y_{jkl}(t) \\
       \text{(2a)}\ & \sum_{k,l} y_{jkl}(t) \le 1 \\
       \text{(2b)}\ & \sum_{j,l} \sum_{t' \le t} p_j(t')\, S_l(t - t')\, y_{jkl}(t')
                      + \sum_{i \in H_k} x_i(t) \le 1 \\
       \text{(2c)}\ & y_{jkl}(t) \in \{0, 1\} \\
       \text{(2d)}\ & \sum_{t} c_{k_i}(t)\, x_i(t) \ge \phi_i \\
       \text{(2e)}\ & 0 \le x_i(t) \le 1

    where :math:`S_l(a) = \Pr(d_l \ge a + 1)`. Variables x exist only inside a task's window, which
    is condition (2f).

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    A Pyomo `ConcreteModel` with variables ``y[t, j, k, l]`` and ``x[i, t]``, objective ``profit``
    and constraints ``eq_2a[t, j]``, ``eq_2b[k, t]`` and ``eq_2d[i]``.

    Notes
    -----
    Huang, Liu, Shan: RESCUE, problem P1.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import p1
    >>> model = p1(small(1))
    >>> model.nvariables(), model.nconstraints()
    (14, 14)
    """
    return _model(instance, binary=True)


def p1_lp(instance: RescueInstance) -> Any:
    r"""Build the relaxation P1-LP, in which y is the probability of arriving *and* being routed.

    .. math::

       \max\ & \sum_{t,j,k,l} R_{jkl}(t)\, y_{jkl}(t) \\
       \text{(3a)}\ & \sum_{k,l} y_{jkl}(t) \le p_j(t) \\
       \text{(3b)}\ & \sum_{j,l} \sum_{t' \le t} S_l(t - t')\, y_{jkl}(t')
                      + \sum_{i \in H_k} x_i(t) \le 1 \\
       \text{(3c)}\ & y_{jkl}(t) \ge 0, \qquad \text{(2d), (2e)}

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    A Pyomo `ConcreteModel` with the names of `p1`, constraints ``eq_3a[t, j]``, ``eq_3b[k, t]`` and
    ``eq_2d[i]``.

    Notes
    -----
    Huang, Liu, Shan: RESCUE, problem P1-LP. In print the tag (3a) stands on the objective; the text
    means the constraint on arrivals.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import p1_lp
    >>> from edgeopt.solvers import solve
    >>> solve(p1_lp(small(1))).quality.value
    'optimal'
    """
    return _model(instance, binary=False)


def _model(instance: RescueInstance, *, binary: bool) -> Any:
    import pyomo.environ as pyo

    reserved, capacity, arrival = instance.promised, instance.capacity, instance.arrival
    profit, survival, longest = instance.expected_profit, instance.survival, instance.longest
    tag = "eq_2" if binary else "eq_3"
    model = pyo.ConcreteModel("P1" if binary else "P1-LP")
    model.slots = pyo.RangeSet(0, instance.horizon - 1)
    model.devices = pyo.RangeSet(0, instance.devices - 1)
    model.servers = pyo.RangeSet(0, instance.servers - 1)
    model.profiles = pyo.RangeSet(0, instance.profiles - 1)
    model.tasks = pyo.RangeSet(0, len(reserved) - 1)
    windows = [range(a, b + 1) for a, b in zip(reserved.start, reserved.end, strict=True)]
    model.served = pyo.Set(
        dimen=2, initialize=[(i, t) for i, window in enumerate(windows) for t in window]
    )
    model.y = pyo.Var(
        model.slots,
        model.devices,
        model.servers,
        model.profiles,
        domain=pyo.Binary if binary else pyo.NonNegativeReals,
    )
    model.x = pyo.Var(model.served, bounds=(0, 1))

    def arrives(t: int, j: int) -> float:
        return float(arrival[t, j]) if binary else 1.0

    model.profit = pyo.Objective(
        expr=pyo.quicksum(
            arrives(t, j) * float(profit[t, j, k, m]) * model.y[t, j, k, m]
            for t, j, k, m in model.y
        ),
        sense=pyo.maximize,
    )

    def one_assignment(model: Any, t: int, j: int) -> Any:
        routed = pyo.quicksum(model.y[t, j, k, m] for k in model.servers for m in model.profiles)
        return routed <= (1.0 if binary else float(arrival[t, j]))

    def occupation(model: Any, k: int, t: int) -> Any:
        running = pyo.quicksum(
            arrives(s, j) * float(survival[m, t - s]) * model.y[s, j, k, m]
            for m in model.profiles
            for s in range(max(0, t - int(longest[m]) + 1), t + 1)
            for j in model.devices
        )
        promised = pyo.quicksum(
            model.x[i, t] for i in reserved.of_server(k).tolist() if t in windows[i]
        )
        return running + promised <= 1

    def demand_met(model: Any, i: int) -> Any:
        k = int(reserved.server[i])
        served = pyo.quicksum(float(capacity[k, t]) * model.x[i, t] for t in windows[i])
        return served >= float(reserved.demand[i])

    model.add_component(f"{tag}a", pyo.Constraint(model.slots, model.devices, rule=one_assignment))
    model.add_component(f"{tag}b", pyo.Constraint(model.servers, model.slots, rule=occupation))
    model.add_component("eq_2d", pyo.Constraint(model.tasks, rule=demand_met))
    return model
