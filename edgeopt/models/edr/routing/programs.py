r"""Routing as a Pyomo model, and as arrays in units that give numbers around 1.

The Pyomo model is the specification and the way to every solver that Pyomo knows;
`routing_matrix` is its compiled form. Constraints carry the tags of the paper's equations,
or the name of what they limit where the paper writes something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.models.edr.routing.problem import Penalties, RoutingPlan, dual_bound
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.problem import Elastic, Prices, RoutingProblem

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


def routing_matrix(
    problem: RoutingProblem,
    *,
    elastic: Elastic | Penalties = "soft",
    routes: Integers | None = None,
) -> LinearProgram:
    r"""Build the routing problem by array operations.

    Columns are u (unserved requests) by slot, origin and type, then the excess of energy if there
    is a budget, then y by route. Rows are the demand (1d) by slot, origin and type, the capacity
    (1h) by slot and site, what training leaves of all slots by site where that is limited, and the
    energy (3a) if there is a budget.

    Parameters
    ----------
    problem
        What is to be routed.
    elastic
        Order of what must not happen, or its prices.
    routes
        Which routes have a column, in this order; all by default.

    Returns
    -------
    A minimisation problem, the value of which includes penalties.

    Notes
    -----
    Zhu et al., problem P2 with (1d), (1h), (3a); for one slot (8) and (10). The training z of each
    slot is eliminated: it fits if the load of the requests fits into each slot by itself,
    and together with all training into all slots. `routing_lp` declares it in Pyomo.
    """
    penalties = elastic if isinstance(elastic, Penalties) else problem.penalties(elastic)
    chosen = np.arange(problem.routes) if routes is None else np.asarray(routes)
    shape, count = problem.demand.shape, problem.demand.size
    bounded: Integers = np.flatnonzero(np.isfinite(problem.room))
    row_upper = [problem.demand.ravel(), problem.capacity.ravel(), problem.room[bounded]]
    row_names = [
        LabelBlock("eq_1d", ("slot", "origin", "type"), shape),
        LabelBlock("eq_1h", ("slot", "site"), shape[:2]),
        LabelBlock("room", ("site",), bounded.reshape(-1, 1)),
    ]
    cost = [np.full(count, penalties.unserved)]
    column_names = [LabelBlock("u", ("slot", "origin", "type"), shape)]
    served = routing_columns(problem, chosen)
    height = served.shape[0]
    blocks = [sparse.eye_array(height, count, format="csc")]
    if np.isfinite(problem.budget):
        row_upper.append(np.array([problem.budget]))
        row_names.append(LabelBlock("eq_3a", (), ()))
        cost.append(np.array([penalties.excess]))
        column_names.append(LabelBlock("excess", (), ()))
        blocks.append(sparse.csc_array(([-1.0], ([height - 1], [0])), shape=(height, 1)))
    index = (problem.slot, problem.origin, problem.site, problem.type)
    names: Integers = np.column_stack([each[chosen] for each in index])
    column_names.append(LabelBlock("y", ("slot", "origin", "site", "type"), names))
    row_lower = np.full(height, -np.inf)
    row_lower[:count] = problem.demand.ravel()
    return LinearProgram(
        np.concatenate([*cost, problem.cost[chosen]]),
        sparse.hstack([*blocks, served], format="csc"),
        row_lower,
        np.concatenate(row_upper),
        row_names=row_names,
        column_names=column_names,
    )


def routing_columns(problem: RoutingProblem, routes: Integers) -> sparse.csc_array:
    """Return what a request on some routes takes of each row, shape [rows, routes]."""
    count, cells = problem.demand.size, problem.capacity.size
    bounded = np.isfinite(problem.room)
    room = np.cumsum(bounded) - 1
    row, site, kind = problem.row[routes], problem.site[routes], problem.type[routes]
    slot = row // (problem.sites * problem.types)
    at = np.arange(routes.size)
    work = problem.work[kind]
    entries = [
        (row, at, np.ones(routes.size)),
        (count + slot * problem.sites + site, at, work),
    ]
    inside = np.flatnonzero(bounded[site])
    entries.append((count + cells + room[site[inside]], inside, work[inside]))
    height = count + cells + int(bounded.sum())
    if np.isfinite(problem.budget):
        entries.append((np.full(routes.size, height), at, problem.energy[site, kind]))
        height += 1
    rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    matrix = sparse.csc_array((values, (rows, columns)), shape=(height, routes.size))
    matrix.eliminate_zeros()
    return matrix


def prices_of(problem: RoutingProblem, duals: Floats) -> Prices:
    """Return the prices that the duals of the rows stand for: they are derivatives of the value."""
    from edgeopt.models.edr.routing.problem import Prices

    count, cells = problem.demand.size, problem.capacity.size
    limited = np.isfinite(problem.room)
    room = np.zeros(problem.sites)
    room[limited] = -duals[count + cells :][: int(limited.sum())]
    return Prices(
        energy=max(0.0, -float(duals[-1])) if np.isfinite(problem.budget) else 0.0,
        site=np.maximum(-duals[count : count + cells].reshape(problem.capacity.shape), 0.0),
        room=np.maximum(room, 0.0),
    )


ROUNDING = 1e-12
"""Share of a demand that rounding alone may leave unserved."""


class Units(NamedTuple):
    """Sizes to measure in: tolerances of solvers are absolute, energies of requests are not.

    The matrix does not depend on `request` and `cost`, so that both may change from one problem to
    the next without loading the program again.
    """

    request: float  # requests
    cost: float  # cost of a request
    work: float  # computation of a request, GFLOP
    energy: float  # energy of a request, Wh

    @classmethod
    def of(cls, problem: RoutingProblem) -> Units:
        """Return the largest of each in a problem."""
        parts = (problem.demand, np.abs(problem.cost), problem.work, problem.energy)
        return cls(*(float(part.max(initial=0.0)) or 1.0 for part in parts))

    def columns(self, problem: RoutingProblem, width: int) -> Floats:
        """Return the unit of each column of `routing_matrix`, shape [width]."""
        size = np.full(width, self.request)
        if np.isfinite(problem.budget):
            size[problem.demand.size] *= self.energy
        return size

    def rows(self, problem: RoutingProblem) -> Floats:
        """Return the unit of each row of `routing_matrix`, shape [rows]."""
        computing = problem.capacity.size + int(np.isfinite(problem.room).sum())
        budgets = int(np.isfinite(problem.budget))
        size = [1.0] * problem.demand.size + [self.work] * computing + [self.energy] * budgets
        return self.request * np.array(size)

    def program(self, problem: RoutingProblem, program: LinearProgram) -> LinearProgram:
        """Return the program of a problem in these units."""
        column, row = self.columns(problem, program.shape[1]), self.rows(problem)
        matrix = sparse.diags_array(1.0 / row) @ program.matrix @ sparse.diags_array(column)
        return program.replace(
            cost=program.cost * column / (self.request * self.cost),
            matrix=sparse.csc_array(matrix),
            row_lower=program.row_lower / row,
            row_upper=program.row_upper / row,
            upper=program.upper / column,
        )

    def duals(self, problem: RoutingProblem, duals: Floats) -> Floats:
        """Return duals of the program in these units as those of the problem."""
        return np.asarray(duals * (self.request * self.cost) / self.rows(problem))

    def prices(self, problem: RoutingProblem, duals: Any) -> Prices:
        """Return the prices that the duals of the program in these units stand for."""
        if duals is None:
            duals = np.zeros(self.rows(problem).size)
        return prices_of(problem, self.duals(problem, duals))


def plan_of(
    problem: RoutingProblem,
    penalties: Penalties,
    flow: Floats,
    prices: Prices,
    *,
    seconds: float,
    method: str,
) -> RoutingPlan:
    """Make a plan of what a solver returned, with nothing above demand or capacity."""
    used = np.flatnonzero(flow > 0.0)
    kept, row, site = flow[used], problem.row[used], problem.site[used]
    work = problem.work[row % problem.types]
    cell = row // problem.types // problem.sites * problem.sites + site
    kept = kept * _share(kept * work, cell, problem.capacity.ravel())[cell]
    kept = kept * _share(kept * work, site, problem.room)[site]
    demand = problem.demand.ravel()
    kept = kept * _share(kept, row, demand)[row]
    unserved = demand - np.bincount(row, weights=kept, minlength=demand.size)
    unserved[unserved <= ROUNDING * demand] = 0.0
    return RoutingPlan(
        problem=problem,
        used=used,
        amount=kept,
        unserved=unserved.reshape(problem.demand.shape),
        penalties=penalties,
        prices=prices,
        bound=dual_bound(problem, prices, penalties),
        seconds=seconds,
        method=method,
    )


def _share(amount: Floats, where: NDArray[np.integer], limit: Floats) -> Floats:
    """Return by what factor amounts must shrink to add up to no more than each limit."""
    total = np.bincount(where, weights=amount, minlength=limit.size)
    share = np.ones(limit.size)
    np.divide(limit, total, out=share, where=total > limit)
    return share


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
