r"""Routing of requests as arrays: the linear program, and what its duals prove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.models.edr.routing.problem import Penalties
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from edgeopt.arrays import Ints as Integers
    from edgeopt.models.edr.routing.problem import Elastic, RoutingProblem


def routing_matrix(
    problem: RoutingProblem, *, elastic: Elastic | Penalties = "soft"
) -> LinearProgram:
    r"""Build the routing problem by array operations.

    .. math::

       \min\ & \sum_{\tau jkn} c_{\tau jkn}\, y_{\tau jkn} + P \sum_{\tau jn} u_{\tau jn} + p\, o \\
       \text{(1d)}\ & \sum_k y_{\tau jkn} + u_{\tau jn} = w_{\tau jn} \\
       \text{(1h)}\ & \sum_{j n} S_n\, y_{\tau jkn} \le C_{\tau k} \\
       \text{(room)}\ & \sum_{\tau j n} S_n\, y_{\tau jkn} \le \sum_\tau C_{\tau k} - z_k \\
       \text{(3a)}\ & \sum_{\tau j k n} d_{kn}\, y_{\tau jkn} \le B + o, \qquad y, u, o \ge 0

    Columns are u (unserved requests) by slot, origin and type, then the excess o of energy if there
    is a budget, then y by route. Rows are the demand (1d) by slot, origin and type, the capacity
    (1h) by slot and site, what training leaves of all slots by site where that is limited, and the
    energy (3a) if there is a budget.

    Parameters
    ----------
    problem
        What is to be routed.
    elastic
        Order of what must not happen, or its prices: P for an unserved request, p for a Wh too
        much.

    Returns
    -------
    A minimisation problem, the value of which includes penalties.

    Notes
    -----
    Zhu et al., problem P2 with (1d), (1h), (3a); for one slot (8) and (10). The training z of each
    slot is eliminated: it fits if the load of the requests fits into each slot by itself,
    and together with all training into all slots.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.models.edr.routing import conditions, routing_matrix, routing_problem
    >>> from edgeopt.solvers import solve
    >>> instance = small(1)
    >>> problem = routing_problem(
    ...     instance, conditions(instance, 0, 0), price=float(instance.price[0])
    ... )
    >>> solve(routing_matrix(problem)).quality.value
    'optimal'
    """
    penalties = elastic if isinstance(elastic, Penalties) else problem.penalties(elastic)
    shape, count, pairs = problem.demand.shape, problem.demand.size, problem.capacity.size
    bounded: Integers = np.flatnonzero(np.isfinite(problem.room))
    capped = bool(np.isfinite(problem.budget))
    height = count + pairs + bounded.size + capped
    # Columns follow one another: unserved requests, excess, routes.
    route = np.arange(problem.routes) + count + capped
    room = np.full(problem.sites, -1)
    room[bounded] = count + pairs + np.arange(bounded.size)
    inside = np.flatnonzero(room[problem.site] >= 0)
    work = problem.work[problem.type]
    entries = [
        (np.arange(count), np.arange(count), np.ones(count)),
        (problem.row, route, np.ones(problem.routes)),
        (count + problem.slot * problem.sites + problem.site, route, work),
        (room[problem.site[inside]], route[inside], work[inside]),
    ]
    if capped:
        entries.append((np.array([height - 1]), np.array([count]), np.array([-1.0])))
        entries.append((np.full(problem.routes, height - 1), route, problem.route_energy))
    rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    matrix = sparse.csc_array(
        (values, (rows, columns)), shape=(height, count + capped + route.size)
    )
    matrix.eliminate_zeros()
    names = np.column_stack([problem.slot, problem.origin, problem.site, problem.type])
    budget = [LabelBlock("eq_3a", (), ())] if capped else []
    excess = [LabelBlock("excess", (), ())] if capped else []
    return LinearProgram(
        np.concatenate(
            [np.full(count, penalties.unserved), [penalties.excess] * capped, problem.cost]
        ),
        matrix,
        np.concatenate([problem.demand.ravel(), np.full(height - count, -np.inf)]),
        np.concatenate(
            [problem.demand.ravel(), problem.capacity.ravel(), problem.room[bounded],
             [problem.budget] * capped]
        ),
        row_names=[
            LabelBlock("eq_1d", ("slot", "origin", "type"), shape),
            LabelBlock("eq_1h", ("slot", "site"), shape[:2]),
            LabelBlock("room", ("site",), bounded.reshape(-1, 1)),
            *budget,
        ],
        column_names=[
            LabelBlock("u", ("slot", "origin", "type"), shape),
            *excess,
            LabelBlock("y", ("slot", "origin", "site", "type"), names),
        ],
    )  # fmt: skip
