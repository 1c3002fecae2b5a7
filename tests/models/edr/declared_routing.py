"""Routing of requests as it is printed, with and without the training of each slot, in Pyomo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.models.edr.routing.problem import Penalties

if TYPE_CHECKING:
    from edgeopt.models.edr.routing.problem import Elastic, RoutingProblem


def routing_lp(
    problem: RoutingProblem,
    *,
    elastic: Elastic | Penalties = "soft",
    eliminate: bool = True,
) -> Any:
    r"""Build the routing of requests in one slot or several.

    .. math::

       \min\ & \sum_{\tau jkn} c_{\tau jkn}\, y_{\tau jkn} + P \sum_{\tau jn} u_{\tau jn} + p\, o \\
       \text{(1d)}\ & \sum_k y_{\tau jkn} + u_{\tau jn} = w_{\tau jn} \\
       \text{(1h)}\ & z_{\tau k} + \sum_{j n} S_n\, y_{\tau jkn} \le C_{\tau k} \\
       \text{(1g)}\ & \sum_\tau z_{\tau k} = z_k \\
       \text{(3a)}\ & \sum_{\tau j k n} d_{kn}\, y_{\tau jkn} \le B + o, \qquad y, u, o, z \ge 0

    Variables y exist for capable sites within the objective, which are conditions (1c) and (1e).
    Without z the training of all slots takes its part of all capacities,

    .. math::

       \text{(room)}\ \sum_{\tau j n} S_n\, y_{\tau jkn} \le \sum_\tau C_{\tau k} - z_k,

    in place of (1g): given the loads, a split of the training exists if and only if they leave
    enough in all slots together. Where training is spread evenly, its share has been taken from the
    capacities C, as in (10), and there is neither z nor room.

    Parameters
    ----------
    problem
        What is to be routed.
    elastic
        Order of what must not happen, or its prices: P for an unserved request, p for a Wh too
        much.
    eliminate
        Whether z is left out.

    Returns
    -------
    A Pyomo `ConcreteModel` with variables ``y[slot, j, k, n]``, ``u[slot, j, n]``, ``excess`` and
    ``z[slot, k]``, objective ``cost`` and constraints ``eq_1d[slot, j, n]``, ``eq_1h[slot, k]``,
    ``room[k]`` or ``eq_1g[k]``, and ``eq_3a``; without a budget neither ``excess`` nor ``eq_3a``.

    Notes
    -----
    Zhu et al., problem P2; for one slot problem (8) to (11).
    """
    import pyomo.environ as pyo

    penalties = elastic if isinstance(elastic, Penalties) else problem.penalties(elastic)
    slots, sites = range(problem.slots), range(problem.sites)
    index = zip(
        problem.slot.tolist(),
        problem.origin.tolist(),
        problem.site.tolist(),
        problem.type.tolist(),
        strict=True,
    )
    cost = dict(zip(index, problem.cost.tolist(), strict=True))
    from_row: dict[tuple[int, int, int], list[int]] = {}
    to_site: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for s, j, k, n in cost:
        from_row.setdefault((s, j, n), []).append(k)
        to_site.setdefault((s, k), []).append((j, n))
    limited = np.flatnonzero(np.isfinite(problem.room)).tolist()

    model = pyo.ConcreteModel("routing")
    model.y = pyo.Var(list(cost), domain=pyo.NonNegativeReals)
    model.u = pyo.Var(slots, sites, range(problem.types), domain=pyo.NonNegativeReals)
    total = pyo.quicksum(value * model.y[key] for key, value in cost.items())
    total += pyo.quicksum(penalties.unserved * model.u[key] for key in model.u)

    def load(s: int, k: int) -> Any:
        return pyo.quicksum(
            float(problem.work[n]) * model.y[s, j, k, n] for j, n in to_site.get((s, k), [])
        )

    def all_counted(model: Any, s: int, j: int, n: int) -> Any:
        served = pyo.quicksum(model.y[s, j, k, n] for k in from_row.get((s, j, n), []))
        return served + model.u[s, j, n] == float(problem.demand[s, j, n])

    def within_capacity(model: Any, s: int, k: int) -> Any:
        training = model.z[s, k] if not eliminate and k in limited else 0.0
        if (s, k) not in to_site and isinstance(training, float):
            return pyo.Constraint.Skip
        return training + load(s, k) <= float(problem.capacity[s, k])

    def all_trained(model: Any, k: int) -> Any:
        training = float(problem.capacity[:, k].sum() - problem.room[k])
        return pyo.quicksum(model.z[s, k] for s in slots) == max(training, 0.0)

    def training_fits(model: Any, k: int) -> Any:
        if not any((s, k) in to_site for s in slots):
            return pyo.Constraint.Skip
        return pyo.quicksum(load(s, k) for s in slots) <= float(problem.room[k])

    model.eq_1d = pyo.Constraint(slots, sites, range(problem.types), rule=all_counted)
    if not eliminate:
        model.z = pyo.Var(slots, limited, domain=pyo.NonNegativeReals)
        model.eq_1g = pyo.Constraint(limited, rule=all_trained)
    else:
        model.room = pyo.Constraint(limited, rule=training_fits)
    model.eq_1h = pyo.Constraint(slots, sites, rule=within_capacity)
    if np.isfinite(problem.budget):
        model.excess = pyo.Var(domain=pyo.NonNegativeReals)
        total += penalties.excess * model.excess
        used = pyo.quicksum(
            float(problem.energy[k, n]) * model.y[s, j, k, n] for s, j, k, n in cost
        )
        model.eq_3a = pyo.Constraint(expr=used - model.excess <= float(problem.budget))
    model.cost = pyo.Objective(expr=total)
    return model
