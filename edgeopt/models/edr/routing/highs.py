"""Routing by HiGHS: the whole program at once, on a few routes, or one priority after the other.

Of a large problem a few routes of each origin come first; the others join as their prices require.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from edgeopt.models.edr.routing.kernels import cheapest_routes, lower_to_cheapest
from edgeopt.models.edr.routing.problem import Prices, dual_bound
from edgeopt.models.edr.routing.programs import Units, plan_of, routing_columns, routing_matrix
from edgeopt.solvers import LabelBlock, Reusable, solve
from edgeopt.solvers.columns import Priced, Restricted, ReusableMaster, generate_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing.problem import Elastic, Penalties, RoutingPlan, RoutingProblem
    from edgeopt.solvers import LinearProgram

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

FIRST: Final = 4  # routes of each origin and type to begin with
MORE: Final = 2  # routes of each origin and type that join in a round at most
FINE: Final = 1e-9  # reduced costs within this share of the largest cost count as 0


class RoutingColumns:
    """Solve one routing problem after another by column generation, to a proven relative gap.

    The program stays loaded in HiGHS. The next problem, such as that of the next slot, may have
    other demand, costs, capacities and routes: it starts from the last basis and with the routes
    that the last one needed.
    """

    def __init__(self, *, gap: float = 1e-6, first: int = FIRST) -> None:
        self.gap, self.first = gap, first
        self._master: _Master | None = None

    def solve(
        self, problem: RoutingProblem, penalties: Penalties, start: RoutingPlan | None = None
    ) -> RoutingPlan:
        """Solve a problem, from the last one where that is alike."""
        began = time.perf_counter()
        if self._master is None or not self._master.fits(problem):
            routes = self._few(problem, start)
            self._master = _Master(problem, penalties, routes)
        else:
            self._master.move(problem, penalties)
        master = self._master
        solution = generate_columns(master, master.pricing, gap=self.gap)
        flow = np.zeros(problem.routes)
        alive = master.routes >= 0
        values = solution.values[-master.routes.size :] if master.routes.size else np.empty(0)
        flow[master.routes[alive]] = values[alive] * master.units.request
        return plan_of(
            problem,
            penalties,
            flow,
            solution.duals,
            seconds=time.perf_counter() - began,
            method=f"columns, {master.path}",
        )

    def _few(self, problem: RoutingProblem, start: RoutingPlan | None) -> Integers:
        price, energy_price = np.zeros(problem.capacity.shape), 0.0
        if start is not None and start.prices.site.shape == price.shape:
            price = start.prices.site + start.prices.room
            energy_price = start.prices.energy
        surcharge = problem.surcharge(energy_price, price)
        return _cheaper(problem, surcharge, self.first, np.empty(0, np.int64), 0.0)


class _Master(ReusableMaster):
    """The program on the routes generated so far, in units around 1; a `columns.Master`."""

    def __init__(self, problem: RoutingProblem, penalties: Penalties, routes: Integers) -> None:
        self.problem, self.penalties = problem, penalties
        self.units = Units.of(problem)
        self.routes = routes
        """Route of each column after u and excess; -1 where the problem has it no longer."""
        self._key = _keys(problem, routes)
        self._known = np.zeros(problem.routes, dtype=np.bool_)
        self._known[routes] = True
        program = routing_matrix(problem, elastic=penalties, routes=routes)
        super().__init__(Reusable(self.units.program(problem, program)))
        self.path = ""

    def fits(self, problem: RoutingProblem) -> bool:
        """Whether the rows are those of another problem, but for their sides."""
        mine = self.problem
        return (
            mine.demand.shape == problem.demand.shape
            and np.array_equal(mine.work, problem.work)
            and np.array_equal(mine.energy, problem.energy)
            and np.array_equal(np.isfinite(mine.room), np.isfinite(problem.room))
            and np.isfinite(mine.budget) == np.isfinite(problem.budget)
        )

    def move(self, problem: RoutingProblem, penalties: Penalties) -> None:
        """Turn into the master of another problem that fits; routes that it lacks are closed."""
        self.problem, self.penalties, self.units = problem, penalties, Units.of(problem)
        self.path = ""
        every = _keys(problem, np.arange(problem.routes))
        self.routes = np.full(self._key.size, -1)
        if every.size:
            at = np.minimum(np.searchsorted(every, self._key), every.size - 1)
            self.routes = np.where(every[at] == self._key, at, -1)
        alive = self.routes >= 0
        self._known = np.zeros(problem.routes, dtype=np.bool_)
        self._known[self.routes[alive]] = True
        units, fixed = self.units, self._fixed
        cost = np.zeros(fixed + alive.size)
        cost[: problem.demand.size] = penalties.unserved
        cost[problem.demand.size : fixed] = penalties.excess
        cost[fixed:][alive] = problem.cost[self.routes[alive]]
        scale = units.columns(problem, cost.size) / (units.request * units.cost)
        self._model.change_cost(cost * scale)
        closed = np.where(alive, np.inf, 0.0)
        self._model.change_bounds(upper=closed, columns=range(fixed, cost.size))
        side = [problem.demand.ravel(), problem.capacity.ravel()]
        side.append(problem.room[np.isfinite(problem.room)])
        if np.isfinite(problem.budget):
            side.append(np.array([problem.budget]))
        upper = np.concatenate(side) / units.rows(problem)
        lower = np.full(upper.size, -np.inf)
        lower[: problem.demand.size] = upper[: problem.demand.size]
        self._model.change_sides(lower, upper)

    @property
    def _fixed(self) -> int:
        """Number of columns of unserved requests and excess."""
        return self.problem.demand.size + int(np.isfinite(self.problem.budget))

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Solve on the routes so far; a vertex is exact, whatever the gap."""
        solution = self.solved()
        self.path = self.path or solution.path
        prices = self.units.prices(self.problem, solution.duals)
        return Restricted(solution.objective, solution.values, prices)

    def pricing(self, prices: Prices) -> Priced[Integers]:
        """Return the bound that prices prove for all routes, and those that cost less by them."""
        problem, units = self.problem, self.units
        bound = dual_bound(problem, prices, self.penalties) / (units.request * units.cost)
        surcharge = problem.surcharge(prices.energy, prices.site + prices.room)
        known = np.flatnonzero(self._known)
        routes = _cheaper(problem, surcharge, MORE, known, FINE * units.cost)
        return Priced(bound, routes if routes.size else None)

    def add(self, columns: Integers) -> int:
        """Add routes."""
        problem, units = self.problem, self.units
        matrix = routing_columns(problem, columns) * units.request
        matrix = matrix / units.rows(problem)[:, np.newaxis]
        self._model.add_columns(problem.cost[columns] / units.cost, matrix)
        self.routes = np.concatenate([self.routes, columns])
        self._key = np.concatenate([self._key, _keys(problem, columns)])
        self._known[columns] = True
        return int(columns.size)


def _cheaper(
    problem: RoutingProblem, surcharge: Floats, few: int, known: Integers, tolerance: float
) -> Integers:
    """Return a few of the cheapest routes of each row that has a cheaper one than known."""
    least = np.full(problem.demand.size, np.inf)
    first = np.searchsorted(known, problem.first)
    lower_to_cheapest(first, problem.site[known], problem.cost[known], surcharge, least)
    every = np.full(least.size, -np.inf)
    found, _ = cheapest_routes(
        problem.first, problem.site, problem.cost, surcharge, few, every, tolerance, least
    )
    return np.setdiff1d(found, known, assume_unique=True)


def _keys(problem: RoutingProblem, routes: Integers) -> Integers:
    """Return numbers that identify routes by slot, origin, type and site, in route order."""
    return np.asarray(problem.row[routes] * problem.sites + problem.site[routes])


SLACK = 1e-12  # share by which a later priority may fall behind what an earlier one has reached


def solve_whole(problem: RoutingProblem, penalties: Penalties) -> RoutingPlan:
    """Solve the linear program over all routes, priorities being penalties."""
    began = time.perf_counter()
    units = Units.of(problem)
    solution = solve(units.program(problem, routing_matrix(problem, elastic=penalties)))
    values = solution.values * units.request
    return plan_of(
        problem,
        penalties,
        values[values.size - problem.routes :],
        units.prices(problem, solution.duals),
        seconds=time.perf_counter() - began,
        method="highs",
    )


def solve_by_columns(
    problem: RoutingProblem,
    penalties: Penalties,
    start: RoutingPlan | None = None,
    *,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Solve on a few routes of each origin, and add others as their prices require."""
    return RoutingColumns(gap=gap).solve(problem, penalties, start)


def solve_in_order(problem: RoutingProblem, elastic: Elastic) -> RoutingPlan:
    """Solve for one priority after the other instead of weighing them by penalties.

    First what must not happen, in the order of `elastic`, then the cost, each as low as those
    before allow. Penalties need not find the same plan: where two sites differ little in energy,
    saving a Wh may cost more than any penalty that was set in advance.
    """
    began = time.perf_counter()
    penalties = problem.penalties(elastic)
    units = Units.of(problem)
    program = _with_total(problem, units.program(problem, routing_matrix(problem, elastic=elastic)))
    count, width = problem.demand.size, program.shape[1]
    model = Reusable(program)
    counted = np.zeros(width)
    counted[:count] = 1.0
    excess = np.zeros(width)
    budgeted = np.isfinite(problem.budget)
    excess[count : count + int(budgeted)] = 1.0
    cost = np.where(counted + excess > 0.0, 0.0, program.cost)

    def least(objective: Floats) -> float:
        model.change_cost(objective)
        # What is left of the last basis helps less than presolve does.
        return max(model.solve(warm=False).objective, 0.0) * (1.0 + SLACK) + SLACK

    def serve_first() -> None:
        model.change_sides(row_upper=[least(counted)], rows=[program.shape[0] - 1])

    def save_first() -> None:
        if budgeted:
            model.change_bounds(upper=[least(excess)], columns=[count])

    first, second = (serve_first, save_first) if elastic == "soft" else (save_first, serve_first)
    first()
    second()
    model.change_cost(cost)
    solution = model.solve(warm=False)
    values = solution.values * units.request
    duals = None if solution.duals is None else solution.duals[:-1]
    return plan_of(
        problem,
        penalties,
        values[width - problem.routes :],
        units.prices(problem, duals),
        seconds=time.perf_counter() - began,
        method="highs, lexicographic",
    )


def _with_total(problem: RoutingProblem, program: LinearProgram) -> LinearProgram:
    """Append a row for the unserved requests of all rows together."""
    row = np.zeros((1, program.shape[1]))
    row[0, : problem.demand.size] = 1.0
    names = [*program.row_names.blocks, LabelBlock("unserved", (), ())]
    return program.replace(
        matrix=sparse.vstack([program.matrix, sparse.csc_array(row)], format="csc"),
        row_lower=np.append(program.row_lower, -np.inf),
        row_upper=np.append(program.row_upper, np.inf),
        row_names=names,
    )
