"""One call for the cooperative bound, two methods, and the same proof whichever was used."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.idn.cooperative.program import CooperativeProgram, cooperative_program
from edgeopt.models.idn.cooperative.standard_form import CooperativeForm
from edgeopt.models.idn.demand import Demand
from edgeopt.models.idn.matrix import Offers, assembled, offers
from edgeopt.models.idn.solve import PlacementSolution
from edgeopt.solvers import Quality, Seconds, Solution, Status, solve
from edgeopt.solvers.columns import InteriorMaster, Priced, Restricted, generate_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.solvers.registry import ProgressCallback

    Floats = NDArray[np.float64]

MAX_ITERATIONS = 200
# Factorising the small blocks costs no more than solving with them: correctors do not pay.
CORRECTORS = 0


class CooperativeMaster(InteriorMaster[CooperativeForm]):
    """The whole program, with at least one option that has requests."""

    def __init__(self, program: CooperativeProgram) -> None:
        form = CooperativeForm(program)
        super().__init__(form, form.start(), correctors=CORRECTORS, max_iterations=MAX_ITERATIONS)
        self.program = program

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Iterate until the relative gap of the two objectives is reached."""
        for _ in self.approach(gap, time_limit):
            pass
        hosted, served = self.form.point_of(self.point)
        hosted, served = self.program.repaired(hosted, served)
        prices = self.form.prices_of(self.point)
        return Restricted(self.program.value(served), {"x": hosted, "q": served}, prices)

    def bound(self, prices: Floats) -> Priced[None]:
        """Return the bound that capacity prices prove; nothing is ever left out of the master."""
        return Priced(self.program.bound(prices), None)

    def add(self, columns: None) -> int:
        """Add nothing: all columns are there."""
        return 0

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> CooperativeProgram:
        """Return the program, which certifies points and prices itself."""
        return self.program


@functools.cache
def compile_kernels() -> None:
    """Compile or load all kernels once per process, on the smallest of programs.

    Called before a clock is started: the time of a solve should not depend on being the first.
    """
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1)
    ends = np.array([0, 1])
    program = CooperativeProgram(
        weight=one, requests=np.ones((1, 1)), type_first=ends, cell_first=ends, option_first=ends,
        cell=zero, gain=one, capacity=np.ones((1, 1)), copies=one, size=2.0 * one, node=zero,
        budget=one, offer=zero, option=zero,
    )  # fmt: skip
    master = CooperativeMaster(program)
    master.bound(master.solve(0.1, None).duals)


Method = Literal["auto", "direct", "structured"]

SMALL = 2_000  # up to this many columns a simplex vertex takes milliseconds and is exact


@checked()
def solve_cooperative(
    instance: IdnInstance,
    demand: Demand | None = None,
    *,
    method: Method = "auto",
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    **solver: Any,
) -> PlacementSolution:
    r"""Bound the gain of every static placement from above, and prove the bound.

    In the cooperative relaxation a model at a node shares its capacity among all types as it
    likes, :math:`\sum_\rho q_{t\rho(v,m)} \le L_{vm} x_{vm}`, and may be hosted in part. Whatever
    whole models are hosted within the budgets, and in whatever order requests arrive, the average
    gain is no larger. Placements that change over time, or exceed a budget, are not covered.

    Parameters
    ----------
    instance
        What is given.
    demand
        Slots and weights, by default the instance's, each slot weighing the same. Its potential
        capacities play no part.
    method
        ``"direct"`` hands the program as a matrix to a backend of `edgeopt.solve`. ``"structured"``
        runs an interior-point method whose normal equations are eliminated down to one block per
        task. ``"auto"`` takes the faster one for the size, and ``"direct"`` where options for a
        backend are given.
    gap
        Proven relative gap ``(bound - objective) / max(|objective|, |bound|)`` to reach.
    time_limit
        Seconds after which the best feasible point so far is returned with its bound. Without any
        time it is the one in which every node hosts of all models alike what its budget allows.
    progress
        Called now and then with a `Progress`; returning True stops.
    **solver
        Options for `edgeopt.solve`, such as ``solver="scipy"`` or ``algorithm="ipm"``; only for the
        method ``"direct"``.

    Returns
    -------
    A feasible point of the relaxation, its allocation in shares, and the bound that its capacity
    prices prove. The prices are ``solution.duals``, ms per request of capacity, one row per slot.

    Raises
    ------
    InputError
        If the demand belongs to another instance.
    OptionError
        If the method is unknown, takes no backend options, or the gap is not positive.
    SolverError
        If ``raises=True`` and the backend found nothing.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14), with potential capacities
    that cooperate instead of given ones.
    """
    if solver and method == "structured":
        raise OptionError(
            f"method {method!r} uses no backend and takes no options {sorted(solver)}; "
            'use method="direct"'
        )
    if method == "structured":
        compile_kernels()
    began = time.perf_counter()
    demand = Demand.of(instance) if demand is None else demand.fitting(instance)
    chosen = offers(instance, demand, aggregate=True, cooperative=True)
    program = cooperative_program(instance, demand, chosen)
    common: dict[str, Any] = {"time_limit": time_limit, "progress": progress}
    chosen_here = method == "auto"
    if chosen_here:
        small = program.slots * program.cell.size <= SMALL
        method = "direct" if solver or small else "structured"
    built = time.perf_counter() - began
    if not (program.weight @ program.requests).any():
        solution = _nothing_to_gain(program)
    elif method == "direct":
        solution = _direct(instance, demand, chosen, program, common | solver)
    else:
        solution = _interior(program, gap, **common)
        stuck = solution.status in (Status.UNKNOWN, Status.ITERATION_LIMIT)
        if chosen_here and stuck:
            other = _direct(instance, demand, chosen, program, common)
            solution = min(solution, other, key=lambda each: each.gap)
    solution = _in_hand(program, solution)
    seconds = Seconds(built + solution.seconds.build, solution.seconds.solve)
    solution = replace(solution, seconds=seconds)
    hosted = np.zeros(chosen.node.size)
    hosted[program.offer] = solution.values["x"]
    allocation = chosen.allocation(instance, hosted)
    return PlacementSolution(allocation, solution.objective, solution.bound, solution)


def _interior(
    program: CooperativeProgram,
    gap: float,
    time_limit: float | None,
    progress: ProgressCallback | None,
) -> Solution:
    compile_kernels()
    # Blocks of some dozen rows: threads would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        began = time.perf_counter()
        master = CooperativeMaster(program)
        built = time.perf_counter() - began
        solution = generate_columns(
            master,
            master.bound,
            gap=gap,
            first_gap=gap,
            time_limit=None if time_limit is None else max(0.0, time_limit - built),
            progress=progress,
            raises=False,
        )
    return replace(
        solution,
        seconds=solution.seconds._replace(build=built),
        options=dict(solution.options) | {"iterations": master.iterations},
    )


def _direct(
    instance: IdnInstance,
    demand: Demand,
    chosen: Offers,
    program: CooperativeProgram,
    options: dict[str, Any],
) -> Solution:
    began = time.perf_counter()
    matrix = assembled(instance, demand, chosen, relax=True, cooperative=True)
    built = time.perf_counter() - began
    solution = solve(matrix, **({"raises": False} | options))
    if solution.values is None or not solution.quality.usable:
        return replace(solution, values=None)
    slots, count = program.slots, chosen.node.size
    values = solution.values
    served = values[count:].reshape(slots, -1)[:, program.option]
    hosted, served = program.repaired(values[:count][program.offer], served)
    # Stopped early, a solver may have no duals: prices of 0 still prove a bound, a weak one.
    prices = np.zeros(program.capacity.shape)
    if solution.duals is not None:
        rows = solution.duals[demand.requests.size :][: slots * count].reshape(slots, count)
        weight = program.weight[:, np.newaxis]
        np.divide(rows[:, program.offer], weight, out=prices, where=weight > 0.0)
    return replace(
        solution,
        objective=program.value(served),
        bound=program.bound(prices),
        values={"x": hosted, "q": served},
        duals=np.maximum(prices, 0.0),
        seconds=solution.seconds._replace(build=built),
        problem=program,
    )


def _in_hand(program: CooperativeProgram, solution: Solution) -> Solution:
    """Return a solution with the point and the bound that are known without any search."""
    prices = np.zeros(program.capacity.shape)
    bound = program.bound(prices)
    if solution.values is not None:
        return solution if solution.bound <= bound else replace(solution, bound=bound, duals=prices)
    hosted, served = program.repaired(program.copies, np.zeros((program.slots, program.cell.size)))
    return replace(
        solution,
        quality=Quality.FEASIBLE,
        objective=program.value(served),
        bound=bound,
        values={"x": hosted, "q": served},
        duals=prices,
        problem=program,
    )


def _nothing_to_gain(program: CooperativeProgram) -> Solution:
    """Return the solution where no request can be served better than by the repository."""
    from edgeopt import __version__

    prices = np.zeros(program.capacity.shape)
    return Solution(
        status=Status.CONVERGENCE_CRITERIA_SATISFIED,
        quality=Quality.OPTIMAL,
        objective=0.0,
        bound=program.bound(prices),
        values={
            "x": np.zeros(program.copies.size),
            "q": np.zeros((program.slots, program.cell.size)),
        },
        duals=prices,
        seconds=Seconds(0.0, 0.0),
        solver="edgeopt",
        version=__version__,
        options={},
        problem=program,
    )
