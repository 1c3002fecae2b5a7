"""Static placement in mathematical notation, as Pyomo models.

These models are the specification and the way to every solver that Pyomo knows; `placement_matrix`
and `cooperative_matrix` are their compiled forms. Constraints carry the tags of the paper's
equations, or the name of what they limit where the paper writes a minimum instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand


@checked()
def placement(instance: IdnInstance, demand: Demand, *, relax: bool = False) -> Any:
    r"""Build the static problem for given potential capacities.

    .. math::

       \max\ & \sum_t w_t \sum_\rho \Big(r_{t\rho}\, \gamma^{\mathrm{repository}}_\rho
               - \sum_k \gamma^k_\rho\, q_{t\rho k}\Big) \\
       \text{(demand)}\ & \sum_k q_{t\rho k} = r_{t\rho} \\
       \text{(potential)}\ & q_{t\rho k} \le l_{t\rho k}\, x_{v_k m_k} \\
       \text{(2)}\ & \sum_m s_{vm}\, x_{vm} \le b_v \\
       \text{(1)}\ & x_{vm} \in \{0, 1\}, \quad q \ge 0

    The last option k of each type is its cheapest repository model, which serves without limit;
    options that cost as much or more have no variables, nor have pinned nodes.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.
    relax
        Allow models to be hosted in part: :math:`0 \le x \le 1`.

    Returns
    -------
    A Pyomo `ConcreteModel` with variables ``x[v, m]`` and ``q[t, type, v, m]``, objective ``gain``
    and constraints ``demand[t, type]``, ``potential[t, type, v, m]`` and ``eq_2[v]``.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14) with the gain (13).

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, placement
    >>> from edgeopt.solvers import solve
    >>> instance = small(1)
    >>> solve(placement(instance, Demand.of(instance))).quality.value
    'optimal'
    """
    return _model(instance, demand.fitting(instance), relax=relax, cooperative=False)


@checked()
def cooperative_placement(instance: IdnInstance, demand: Demand, *, relax: bool = False) -> Any:
    r"""Build the static problem in which types share the capacity of a model at will.

    .. math::

       \text{(capacity)}\ \sum_\rho q_{t\rho(v,m)} \le
       \min\Big\{L_{vm},\ \sum_\rho r_{t\rho}\Big\}\, x_{vm}

    replaces the potential capacities of `placement`; both sums run over the types that save by
    using the model, so that the minimum excludes no placement of whole models. Whatever is served
    at run time is feasible here: the optimum bounds the gain of every static placement within the
    budgets from above, in whatever order requests arrive.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights; its potential capacities play no part.
    relax
        Allow models to be hosted in part.

    Returns
    -------
    A Pyomo `ConcreteModel` with the names of `placement`, and ``capacity[t, v, m]`` in place of
    ``potential``.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14) with the potential capacities
    of equation (7) relaxed.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, cooperative_placement
    >>> from edgeopt.solvers import solve
    >>> instance = small(1)
    >>> solve(cooperative_placement(instance, Demand.of(instance))).quality.value
    'optimal'
    """
    return _model(instance, demand.fitting(instance), relax=relax, cooperative=True)


def _model(instance: IdnInstance, demand: Demand, *, relax: bool, cooperative: bool) -> Any:
    import pyomo.environ as pyo

    ranking, slots, types = instance.ranking, range(len(demand)), range(instance.types)
    cost, potential = {}, {}
    served_by: dict[int, list[tuple[int, int]]] = {n: [] for n in types}
    for n in types:
        here = ranking.options(n)
        for k in range(here.start, here.stop):
            v, m = int(ranking.node[k]), int(ranking.model[k])
            repository = bool(ranking.permanent[k])
            saves = ranking.cost[k] < ranking.repository_cost[n]
            if not repository and not (saves and instance.active[v]):
                continue
            cost[n, v, m] = float(ranking.cost[k])
            potential[n, v, m] = demand.potential[:, k]
            served_by[n].append((v, m))
            if repository:
                break
    hosts = sorted({(v, m) for _, v, m in cost if not instance.pinned[v]})
    users = {pair: [n for n in types if (n, *pair) in cost] for pair in hosts}
    nodes = [v for v in sorted({v for v, _ in hosts}) if np.isfinite(instance.budget[v])]

    model = pyo.ConcreteModel("cooperative placement" if cooperative else "placement")
    model.x = pyo.Var(hosts, domain=pyo.UnitInterval if relax else pyo.Binary)
    model.q = pyo.Var([(t, *key) for t in slots for key in cost], domain=pyo.NonNegativeReals)
    model.gain = pyo.Objective(
        expr=pyo.quicksum(
            float(demand.weight[t])
            * (
                float(demand.requests[t, n] * ranking.repository_cost[n])
                - pyo.quicksum(cost[n, v, m] * model.q[t, n, v, m] for v, m in served_by[n])
            )
            for t in slots
            for n in types
        ),
        sense=pyo.maximize,
    )

    def all_served(model: Any, t: int, n: int) -> Any:
        total = pyo.quicksum(model.q[t, n, v, m] for v, m in served_by[n])
        return total == float(demand.requests[t, n])

    def up_to_potential(model: Any, t: int, n: int, v: int, m: int) -> Any:
        return model.q[t, n, v, m] <= float(potential[n, v, m][t]) * model.x[v, m]

    def up_to_capacity(model: Any, t: int, v: int, m: int) -> Any:
        asked = float(demand.requests[t, users[v, m]].sum())
        total = pyo.quicksum(model.q[t, n, v, m] for n in users[v, m])
        return total <= min(float(instance.capacity[v, m]), asked) * model.x[v, m]

    def within_budget(model: Any, v: int) -> Any:
        used = pyo.quicksum(float(instance.size[v, m]) * model.x[v, m] for u, m in hosts if u == v)
        return used <= float(instance.budget[v])

    model.demand = pyo.Constraint(slots, types, rule=all_served)
    if cooperative:
        pairs = [(t, *pair) for t in slots for pair in hosts]
        model.capacity = pyo.Constraint(pairs, rule=up_to_capacity)
    else:
        limited = [(t, *key) for t in slots for key in cost if not instance.pinned[key[1]]]
        model.potential = pyo.Constraint(limited, rule=up_to_potential)
    model.eq_2 = pyo.Constraint(nodes, rule=within_budget)
    return model
