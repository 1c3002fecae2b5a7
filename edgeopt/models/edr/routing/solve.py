"""One call for routing: the compiled network method, or any linear programming solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.edr.routing.network import solve_by_network

if TYPE_CHECKING:
    from edgeopt.models.edr.routing.plan import RoutingPlan
    from edgeopt.models.edr.routing.problem import Elastic, RoutingProblem

__all__ = ["solve_routing"]

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
        Plan of a similar problem, such as the last slot; whatever differs, it may help.
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
