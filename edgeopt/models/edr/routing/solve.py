"""One call for routing, and one for the slots of a frame that share a budget of energy.

Routing goes through the compiled network method or any linear programming solver. A frame gives
each of its slots a part of the budget, or all of them one price.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.models.edr.routing.problem import Prices, RoutingPlan, dual_bound

if TYPE_CHECKING:
    from edgeopt.models.edr.routing.problem import Elastic, RoutingProblem

METHODS = ("network", "highs", "columns")
ORDERS = ("penalty", "lexicographic")


@checked()
def solve_routing(
    problem: RoutingProblem,
    *,
    elastic: Elastic = "soft",
    method: Literal["network", "highs", "columns"] = "network",
    order: Literal["penalty", "lexicographic"] = "penalty",
    start: RoutingPlan | None = None,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Route requests at the least cost.

    Parameters
    ----------
    problem
        What is to be routed.
    elastic
        What gives way when not everything fits, see `RoutingProblem.penalties`.
    method
        ``"network"``: network simplex and one price of energy. ``"highs"``: the whole linear
        program. ``"columns"``: the linear program on a few routes, the others priced.
    order
        Priorities by penalties in one objective, or by solving for one after another, which takes
        a linear programming method.
    start
        Plan of a similar problem, such as the last slot; the two may differ in anything.
    gap
        Proven relative gap at which generating columns stops.

    Returns
    -------
    RoutingPlan
        The plan, with a bound that its prices prove.

    Raises
    ------
    OptionError
        If a method or an order is unknown, or they do not go together.
    SolverError
        If a solver fails.

    Notes
    -----
    Zhu et al., Algorithm 3.
    """
    if method not in METHODS:
        raise OptionError(f"method = {method!r}: must be one of {', '.join(METHODS)}")
    if order not in ORDERS:
        raise OptionError(f"order = {order!r}: must be one of {', '.join(ORDERS)}")
    if order == "lexicographic":
        if method == "network":
            raise OptionError("order = 'lexicographic': takes method = 'highs'")
        from edgeopt.models.edr.routing.highs import solve_in_order

        return solve_in_order(problem, elastic)
    penalties = problem.penalties(elastic)
    if method == "network":
        return solve_by_network(problem, penalties, start, gap=gap)
    from edgeopt.models.edr.routing import highs

    if method == "highs":
        return highs.solve_whole(problem, penalties)
    return highs.solve_by_columns(problem, penalties, start, gap=gap)


Budget = Literal["even", "proportional", "price"]


@checked()
def solve_frame(
    problem: RoutingProblem,
    *,
    elastic: Elastic = "soft",
    budget: Budget = "price",
    start: RoutingPlan | None = None,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Route the requests of all slots of a frame, slot by slot with parts of its budget.

    Parameters
    ----------
    problem
        The slots of the frame together; training is spread evenly over them.
    elastic
        What gives way when not everything fits, see `RoutingProblem.penalties`.
    budget
        How slots share the budget of the frame: equal parts (``"even"``, as printed), parts in
        proportion to what their requests use on average (``"proportional"``), or one price of
        energy for the whole frame (``"price"``, what `solve_routing` finds). The last two look at
        all requests of the frame.
    start, gap
        Of the search for one price, as for `solve_routing`.

    Returns
    -------
    RoutingPlan
        A plan of the frame; its bound is that of all ways to share the budget.

    Raises
    ------
    OptionError
        If training is split freely, which ties the slots together, or the way to share the budget
        is unknown.

    Notes
    -----
    Zhu et al., equation (8), has equal parts. With one price the plan is optimal for the frame:
    the price leads to the plans just above and just below the budget, and their mix meets it.
    """
    began = time.perf_counter()
    if problem.coupled:
        raise OptionError("split = 'free' ties the slots of a frame together: take solve_routing")
    if budget not in get_args(Budget):
        known = ", ".join(get_args(Budget))
        raise OptionError(f"budget = {budget!r}: must be one of {known}")
    if budget == "price" or np.isposinf(problem.budget):
        return solve_routing(problem, elastic=elastic, start=start, gap=gap)
    penalties = problem.penalties(elastic)
    slots = _slots(problem)
    need = np.array([1.0 if budget == "even" else _expected_energy(one) for one in slots])
    if not need.any():
        need = np.ones(len(slots))
    share = need / need.sum()
    plans = [
        solve_by_network(one.replace(budget=problem.budget * float(part)), penalties)
        for one, part in zip(slots, share, strict=True)
    ]
    first = np.cumsum([0, *(one.routes for one in slots)])
    site = np.concatenate([plan.prices.site for plan in plans])
    # Of the prices that slots pay the one that proves most is taken for all.
    proofs = []
    for price in sorted({plan.prices.energy for plan in plans}):
        prices = Prices(price, site, np.zeros(problem.sites))
        proofs.append((dual_bound(problem, prices, penalties), prices))
    bound, prices = max(proofs, key=lambda proof: proof[0])
    return RoutingPlan(
        problem=problem,
        used=np.concatenate([at + plan.used for at, plan in zip(first[:-1], plans, strict=True)]),
        amount=np.concatenate([plan.amount for plan in plans]),
        unserved=np.concatenate([plan.unserved for plan in plans]),
        penalties=penalties,
        prices=prices,
        bound=bound,
        seconds=time.perf_counter() - began,
        method=f"frame, {budget}",
    )


def _slots(problem: RoutingProblem) -> list[RoutingProblem]:
    """Return the slots as problems by themselves: their routes lie one behind the other."""
    rows, found = problem.sites * problem.types, []
    for slot in range(problem.slots):
        first = problem.first[slot * rows : (slot + 1) * rows + 1]
        routes = slice(int(first[0]), int(first[-1]))
        found.append(
            problem.replace(
                demand=problem.demand[slot : slot + 1],
                capacity=problem.capacity[slot : slot + 1],
                budget=np.inf,
                first=first - first[0],
                site=problem.site[routes],
                seconds=problem.seconds[routes],
                cost=problem.cost[routes],
            )
        )
    return found


def _expected_energy(problem: RoutingProblem) -> float:
    """Return what the requests use on routes drawn at random, Wh."""
    total = np.bincount(problem.row, weights=problem.route_energy, minlength=problem.demand.size)
    mean = total / np.maximum(np.diff(problem.first), 1)
    return float(problem.demand.ravel() @ mean)
