"""One call for the static problem: an allocation, and a bound on every other."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.models.idn.demand import Demand, average_gain
from edgeopt.models.idn.matrix import assembled
from edgeopt.models.idn.offers import offers
from edgeopt.models.idn.solution import PlacementSolution
from edgeopt.models.idn.submodular import greedy
from edgeopt.solvers import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.solvers import LinearProgram, Solution

    Floats = NDArray[np.float64]

__all__ = ["solve_placement"]

# Share of a budget by which rounded sums of sizes may exceed it.
ROUNDING = 1e-12


def solve_placement(
    instance: IdnInstance,
    demand: Demand | None = None,
    *,
    relax: bool = False,
    aggregate: bool = True,
    **solver: Any,
) -> PlacementSolution:
    """Find what to host for ever, given the potential capacities of a demand.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights; by default the instance's, every model credited to each type as if it
        were alone.
    relax
        Allow models to be hosted in part.
    aggregate
        Count replicas that are equal in size, cost and potential capacity in one whole number: the
        same optimum, much sooner.
    **solver
        Options for `edgeopt.solve`, such as ``solver="scip"``, ``gap`` or ``time_limit``.

    Returns
    -------
    An allocation within the budgets, its weighted gain recomputed from the data, and the bound of
    the solver. When the solver has found nothing better in time it is the greedy allocation.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.
    SolverError
        If asked to raise by ``raises=True`` and the solver found nothing.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14). It is NP-hard.
    """
    began = time.perf_counter()
    demand = Demand.of(instance) if demand is None else demand.fitting(instance)
    chosen = offers(instance, demand, aggregate=aggregate)
    program = assembled(instance, demand, chosen, relax=relax, cooperative=False)
    built = time.perf_counter() - began
    best = greedy(instance, demand)
    objective = average_gain(instance, demand, best)
    allocation: NDArray[Any] = best.astype(np.float64) if relax else best
    # A time limit without a point is no failure: the greedy allocation is in hand.
    solution = _solved(program, float(demand.weight.sum()), {"raises": False} | solver)
    if solution.values is not None and solution.quality.usable:
        hosted = solution.values[: chosen.node.size]
        found = chosen.allocation(instance, hosted if relax else np.rint(hosted))
        found = _within_budgets(instance, found, whole=not relax)
        value = average_gain(instance, demand, found)
        if value >= objective:
            allocation, objective = found, value
    seconds = solution.seconds
    solution = replace(solution, seconds=seconds._replace(build=seconds.build + built))
    # Rounding alone may put the solver's bound below a point in hand.
    bound = np.inf if np.isnan(solution.bound) else max(solution.bound, objective)
    return PlacementSolution(allocation, objective, bound, solution)


def _solved(program: LinearProgram, weight: float, options: dict[str, Any]) -> Solution:
    """Solve in units in which the weights sum up to 1: tolerances of solvers are absolute."""
    unit = weight if weight > 0.0 else 1.0
    scaled = program.replace(cost=program.cost / unit, offset=program.offset / unit)
    solution = solve(scaled, **options)
    return replace(
        solution,
        objective=solution.objective * unit,
        bound=solution.bound * unit,
        duals=None if solution.duals is None else solution.duals * unit,
        problem=program,
    )


def _within_budgets(instance: IdnInstance, allocation: Floats, *, whole: bool) -> NDArray[Any]:
    """Give up what exceeds a budget by the tolerance of a solver."""
    kept = allocation.copy()
    used = np.where(instance.pinned, 0.0, (instance.size * kept).sum(axis=1))
    for v in np.flatnonzero(used > instance.budget * (1.0 + ROUNDING)):
        if whole:  # sizes of that kind are rare: the smallest model is enough
            kept[v, np.where(kept[v] > 0.0, instance.size[v], np.inf).argmin()] = 0.0
        else:
            kept[v] *= instance.budget[v] / used[v]
    return kept > 0.5 if whole else kept
