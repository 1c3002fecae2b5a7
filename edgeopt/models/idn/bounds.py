r"""The cooperative program without a matrix: its data sorted by task, its value, its proven bound.

.. math::

   \max\ & \textstyle\sum_t w_t \sum_\rho \sum_k (\gamma^{\mathrm{repository}}_\rho
           - \gamma_{\rho k})\, q_{t\rho k} \\
   \text{s.t.}\ & \textstyle\sum_k q_{t\rho k} \le r_{t\rho}, \quad
           \sum_\rho q_{t\rho(v,g)} \le L_{tvg}\, x_{vg}, \quad
           \sum_g s_{vg}\, x_{vg} \le b_v, \quad 0 \le x_{vg} \le n_{vg},\ q \ge 0

where g runs over groups of identical replicas. Requests that no option serves go to the repository,
so the value is the gain. For any capacity prices :math:`\lambda \ge 0`, weak duality gives

.. math::

   \mathrm{OPT} \le \sum_t w_t \Big( \sum_\rho r_{t\rho} \max_k
   \big(\gamma^{\mathrm{repository}}_\rho - \gamma_{\rho k} - \lambda_{tk}\big)^+ \Big)
   + \sum_v \max_{x \in X_v} \sum_g \Big(\sum_t w_t L_{tvg} \lambda_{tvg}\Big) x_{vg},

a fractional knapsack per node: a bound is as good as its prices and as true as this arithmetic,
whoever computed the prices.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.models.idn import kernels
from edgeopt.models.idn.demand import Demand
from edgeopt.models.idn.matrix import Offers, assembled, offers
from edgeopt.models.idn.solve import PlacementSolution
from edgeopt.models.idn.standard_form import CooperativeForm
from edgeopt.options import listed
from edgeopt.representation import compact_repr
from edgeopt.solvers import Quality, Seconds, Solution, Status, solve
from edgeopt.solvers.columns import InteriorMaster, Priced, Restricted, generate_columns
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.idn.matrix import Offers
    from edgeopt.solvers import Certificate
    from edgeopt.solvers.registry import ProgressCallback


@dataclass(frozen=True, eq=False)
class CooperativeProgram:
    """What is to be decided, sorted by task (see `maps` for the layout).

    Types without an option are left out, and pairs that can serve no request.

    Parameters
    ----------
    weight
        Of the slots, shape [S].
    requests
        Of each type in each slot, shape [S, R].
    type_first, pair_first
        Where the types and the pairs of each task begin, shape [tasks + 1].
    option_first
        Where the options of each type begin, shape [R + 1]; the largest gain comes first.
    pair
        Pair of each option, shape [O].
    gain
        Saved by an option against the repository, positive, ms per request, shape [O].
    capacity
        Of one replica of each pair in each slot, positive, requests, shape [S, C].
    copies, size
        Number of identical replicas of each pair, and the MB of one, shape [C].
    node
        Of each pair, shape [C].
    budget
        Of each node, MB, shape [V].
    offer, option
        Position of each pair, shape [C], and of each option, shape [O], in `Offers`.
    instance
        The instance, if there is one.
    """

    weight: Floats
    requests: Floats
    type_first: Ints
    pair_first: Ints
    option_first: Ints
    pair: Ints
    gain: Floats
    capacity: Floats = field(repr=False)
    copies: Floats = field(repr=False)
    size: Floats = field(repr=False)
    node: Ints = field(repr=False)
    budget: Floats = field(repr=False)
    offer: Ints = field(repr=False)
    option: Ints = field(repr=False)
    instance: IdnInstance | None = field(default=None, repr=False)

    @property
    def slots(self) -> int:
        """Number of slots S."""
        return self.weight.size

    @property
    def tasks(self) -> int:
        """Number of tasks that have an option."""
        return self.type_first.size - 1

    @cached_property
    def option_type(self) -> Ints:
        """Type of each option, shape [O]."""
        return np.repeat(np.arange(self.option_first.size - 1), np.diff(self.option_first))

    @cached_property
    def _tight_nodes(self) -> NDArray[np.bool_]:
        full = np.bincount(self.node, self.size * self.copies, minlength=self.budget.size)
        tight: NDArray[np.bool_] = full > self.budget
        return tight

    @cached_property
    def knapsack(self) -> Ints:
        """Knapsack of each pair, -1 where the node has room for everything, shape [C]."""
        number = np.cumsum(self._tight_nodes) - 1
        return np.where(self._tight_nodes, number, -1)[self.node]

    @cached_property
    def knapsack_size(self) -> Floats:
        """Budgets of the nodes that have no room for everything, MB, shape [K]."""
        return self.budget[self._tight_nodes]

    def value(self, served: Floats) -> float:
        """Return the gain of served requests, shape [S, O]."""
        return float(self.weight @ (served @ self.gain))

    def repaired(self, hosted: Floats, served: Floats) -> tuple[Floats, Floats]:
        """Return a feasible point near the given one.

        Replicas, shape [C], are clipped and reduced in proportion where a budget is exceeded.
        Served requests, shape [S, O], too; spare capacity then takes unserved requests, the largest
        gain first.
        """
        hosted = np.clip(hosted, 0.0, self.copies)
        used = np.bincount(self.node, self.size * hosted, minlength=self.budget.size)
        share = np.ones(used.size)
        np.divide(self.budget, used, out=share, where=used > self.budget)
        hosted *= share[self.node]
        served = np.maximum(served, 0.0, order="C")
        kernels.fit(self.option_first, self.pair, self.requests, self.capacity * hosted, served)
        return hosted, served

    def bound(self, price: Floats) -> float:
        """Return the upper bound on the gain that capacity prices prove.

        Prices are in ms per request, shape [S, C]; all prove a bound, and negative ones count as 0.
        """
        price = np.maximum(price, 0.0)
        saved = kernels.best_reduced_gain(self.option_first, self.pair, self.gain, price)
        worth = self.weight @ (self.capacity * price)
        knapsacks = kernels.fill_knapsacks(
            np.argsort(-worth / self.size, kind="stable"),
            worth, self.size, self.copies, self.node, self.budget,
        )  # fmt: skip
        return float(self.weight @ (self.requests * saved).sum(axis=1)) + knapsacks

    def bound_each(self, price: Floats) -> Floats:
        """Return the bound that prices prove of every slot by itself, hosting as suits it, [S]."""
        each = []
        for t in range(self.slots):
            one = slice(t, t + 1)
            parts = {name: getattr(self, name)[one] for name in ("weight", "requests", "capacity")}
            each.append(replace(self, **parts).bound(price[one]))
        return np.array(each)

    # --- the interface of problems for `Solution` --------------------------------------------

    def primal_residual(self, solution: Solution) -> float:
        """Return the largest violation of a constraint, each relative to the most that it holds."""
        hosted, served = solution.values["x"], solution.values["q"]
        demand, usage = np.zeros_like(self.requests), np.zeros_like(self.capacity)
        ones = np.ones_like(served)
        kernels.add_up(self.option_first, self.pair, ones, served, demand, usage)
        used = np.bincount(self.node, self.size * hosted, minlength=self.budget.size)
        finite = np.isfinite(self.budget)
        violations = (
            (demand - self.requests, self.requests),
            (usage - self.capacity * hosted, self.capacity * self.copies),
            ((used - self.budget)[finite], self.budget[finite]),
            (hosted - self.copies, self.copies),
            (-hosted, self.copies),
            (-served, self.requests[:, self.option_type]),
        )
        return max(_share(violation, most) for violation, most in violations)

    def dual_residual(self, solution: Solution) -> float:
        """Return the largest negative price as a share of the largest gain.

        `bound` completes the other prices to a dual point.
        """
        return _share(-solution.duals, self.gain.max(initial=0.0))

    def dual_bound(self, solution: Solution) -> float:
        """Return the bound proven by the capacity prices."""
        return self.bound(solution.duals)

    def certificate(self, solution: Solution, **how: Any) -> Certificate:
        """Return the bound of a solution with its proof, as `Solution.certificate` does.

        What writes it down is imported when called: it reads this class.
        """
        from edgeopt.models.idn.certificates import certificate_of

        return certificate_of(self, solution, **how)


def _share(violation: Floats, most: Floats) -> float:
    """Return the largest violation relative to the most there is; infinite where that is 0."""
    over = np.maximum(violation, 0.0)
    share = np.full(over.shape, np.inf)
    np.divide(over, most, out=share, where=most > 0.0)
    return float(np.where(over > 0.0, share, 0.0).max(initial=0.0))


def cooperative_program(
    instance: IdnInstance, demand: Demand, chosen: Offers
) -> CooperativeProgram:
    r"""Sort what can be hosted and served by task; leave out what has no capacity.

    A model counts with no more than all requests that it could get, :math:`L_{tvg} =
    \min(L_{vg}, \sum_\rho r_{t\rho})`, which excludes no placement of whole models and keeps
    unlimited capacities finite.
    """
    capacity = instance.capacity[chosen.node, chosen.model]
    useful = chosen.offer >= 0
    useful[useful] = capacity[chosen.offer[useful]] > 0.0
    # Types in the order of their tasks; within a type the cheapest option stays first.
    task_of = instance.request_task[chosen.type]
    option = np.lexsort((chosen.type, task_of))
    option = option[useful[option]]
    types, first_option, kind = _ranges(chosen.type[option])
    task = instance.request_task[types]
    tasks, first_type, _ = _ranges(task)

    offer = np.unique(chosen.offer[option])
    offer = offer[np.argsort(instance.task[chosen.model[offer]], kind="stable")]
    pair_of = np.empty(chosen.node.size, dtype=np.int64)
    pair_of[offer] = np.arange(offer.size)
    pair = pair_of[chosen.offer[option]]
    first_pair = np.searchsorted(instance.task[chosen.model[offer]], tasks)

    requests = np.ascontiguousarray(demand.requests[:, types])
    reach = np.zeros((len(demand), offer.size))
    np.add.at(reach.T, pair, requests.T[kind])
    reach[reach == 0.0] = 1.0  # no demand: any capacity is as good
    ranking, place = instance.ranking, chosen.option[option]
    return CooperativeProgram(
        weight=demand.weight,
        requests=requests,
        type_first=first_type,
        pair_first=np.append(first_pair, offer.size),
        option_first=first_option,
        pair=pair,
        gain=ranking.repository_cost[chosen.type[option]] - ranking.cost[place],
        capacity=np.minimum(capacity[offer], reach),
        copies=chosen.copies[offer].astype(np.float64),
        size=chosen.size[offer],
        node=chosen.node[offer],
        budget=instance.budget,
        offer=offer,
        option=option,
        instance=instance,
    )


def _ranges(key: Ints) -> tuple[Ints, Ints, Ints]:
    """Return runs of equal keys: the key of each, where each begins and ends, the run of each."""
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    run = np.repeat(np.arange(begins.size), np.diff(np.append(begins, key.size)))
    return key[begins], np.append(begins, key.size), run


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
        weight=one, requests=np.ones((1, 1)), type_first=ends, pair_first=ends, option_first=ends,
        pair=zero, gain=one, capacity=np.ones((1, 1)), copies=one, size=2.0 * one, node=zero,
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

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import solve_cooperative
    >>> plan = solve_cooperative(small(1))
    >>> plan.objective <= plan.bound * (1 + 1e-9)
    True
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
        small = program.slots * program.pair.size <= SMALL
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


GAP = 1e-4
"""Relative gap from which the bound on moving placements is made tighter."""


@compact_repr
class MovingBound(NamedTuple):
    """What placements gain that may change from slot to slot.

    Attributes
    ----------
    objective
        Gain per request of a feasible point of the relaxation, mean over slots, ms.
    bound
        Proven upper bound of the same.
    slots
        Number of different slots.
    separate
        Number of them that were solved by themselves; the others have the prices of the best static
        placement.
    seconds
        Time spent on solving.
    """

    objective: float
    bound: float
    slots: int
    separate: int
    seconds: float


def solve_moving(
    instances: IdnInstance | Sequence[IdnInstance],
    *,
    static: PlacementSolution | None = None,
    time_limit: float | None = None,
) -> MovingBound:
    """Bound the gain per request of placements that may change from slot to slot.

    The capacity prices of the best static placement prove a bound of every slot by itself. Where
    these are not tight, every slot is solved.

    Parameters
    ----------
    instances
        An instance, or several that follow each other, such as
        `edgeopt.online.idn.IdnEnvironment.epochs` of a network that changes. The bound of all slots
        is the sum of those of its parts, as a placement may change where the network does.
    static
        Solution of `solve_cooperative` for a single instance, with normalised demand, where known.
    time_limit
        Limit of an instance in seconds; slots that are not solved by then keep the bound of prices.

    Returns
    -------
    What placements gain at most, ``bound``, and at a feasible point of the relaxation,
    ``objective``; both the mean over slots of the gain per request, ms. The bound is one of every
    policy that keeps every budget in every slot, whatever it knows of the future.

    Raises
    ------
    OptionError
        If there is no instance.

    Examples
    --------
    >>> from edgeopt.instances.idn import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Infida
    >>> instance = generate(topology=2, horizon=20)
    >>> environment = IdnEnvironment(instance, changes=[(10, instance.without(nodes=[3]))])
    >>> bound = solve_moving(environment.epochs).bound
    >>> trajectory = simulate(environment, Infida.recommended(), runs=2)
    >>> bool(trajectory.time_averaged_gain().max() <= bound)
    True
    """
    if not isinstance(instances, IdnInstance):
        given = listed("instances", instances)
        parts = [(one.horizon, solve_moving(one, time_limit=time_limit)) for one in given]
        if not parts:
            raise OptionError("instances: there is none")
        slots = sum(horizon for horizon, _ in parts)
        return MovingBound(
            sum(horizon * part.objective for horizon, part in parts) / slots,
            sum(horizon * part.bound for horizon, part in parts) / slots,
            sum(part.slots for _, part in parts),
            sum(part.separate for _, part in parts),
            sum(part.seconds for _, part in parts),
        )
    began, whole = time.perf_counter(), Demand.of(instances, normalised=True)
    solution = static or solve_cooperative(instances, whole, time_limit=time_limit)
    found = solution.solution
    value, slots = solution.objective, found.problem.slots
    each, seconds = found.problem.bound_each(found.duals), sum(found.seconds)
    gained: list[float] = []
    if relative_gap(value, float(each.sum())) > GAP:
        split = (whole.requests, whole.potential, whole.weight)
        for n in range(slots):
            left = None if time_limit is None else time_limit - (time.perf_counter() - began)
            if left is not None and left <= 0.0:
                break
            demand = Demand(*(part[n : n + 1] for part in split))
            plan = solve_cooperative(instances, demand, time_limit=left)
            gained.append(plan.objective)
            each[n] = min(each[n], plan.bound)
            seconds += sum(plan.solution.seconds)
    if len(gained) == slots:
        value = max(value, float(sum(gained)))
    return MovingBound(value, float(each.sum()), slots, len(gained), seconds)


def _interior(
    program: CooperativeProgram, gap: float, time_limit: float | None,
    progress: ProgressCallback | None,
) -> Solution:  # fmt: skip
    compile_kernels()
    # Blocks of some dozen rows: threads would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        began = time.perf_counter()
        master = CooperativeMaster(program)
        built = time.perf_counter() - began
        left = None if time_limit is None else max(0.0, time_limit - built)
        solution = generate_columns(
            master, master.bound, gap=gap, first_gap=gap, time_limit=left, progress=progress,
            raises=False,
        )  # fmt: skip
    options = dict(solution.options) | {"iterations": master.iterations}
    return replace(solution, seconds=solution.seconds._replace(build=built), options=options)


def _direct(
    instance: IdnInstance, demand: Demand, chosen: Offers, program: CooperativeProgram,
    options: dict[str, Any],
) -> Solution:  # fmt: skip
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
        _at(program, solution, hosted, served, np.maximum(prices, 0.0)),
        seconds=solution.seconds._replace(build=built),
    )


def _at(
    program: CooperativeProgram, solution: Solution, hosted: Floats, served: Floats, prices: Floats
) -> Solution:
    """Return a solution with a point of the program and what prices prove."""
    return replace(
        solution, objective=program.value(served), bound=program.bound(prices),
        values={"x": hosted, "q": served}, duals=prices, problem=program,
    )  # fmt: skip


def _in_hand(program: CooperativeProgram, solution: Solution) -> Solution:
    """Return a solution with the point and the bound that are known without any search."""
    prices = np.zeros(program.capacity.shape)
    bound = program.bound(prices)
    if solution.values is not None:
        return solution if solution.bound <= bound else replace(solution, bound=bound, duals=prices)
    hosted, served = program.repaired(program.copies, np.zeros((program.slots, program.pair.size)))
    solution = replace(solution, quality=Quality.FEASIBLE)
    return _at(program, solution, hosted, served, prices)


def _nothing_to_gain(program: CooperativeProgram) -> Solution:
    """Return the solution where no request can be served better than by the repository."""
    from edgeopt import __version__

    nothing = Solution(
        status=Status.CONVERGENCE_CRITERIA_SATISFIED, quality=Quality.OPTIMAL, objective=0.0,
        bound=0.0, values=None, duals=None, seconds=Seconds(0.0, 0.0), solver="edgeopt",
        version=__version__, options={}, problem=program,
    )  # fmt: skip
    hosted, served = np.zeros(program.copies.size), np.zeros((program.slots, program.pair.size))
    return _at(program, nothing, hosted, served, np.zeros(program.capacity.shape))
