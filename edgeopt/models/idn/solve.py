"""The static problem: marginal gains, the greedy allocation, and one call with a bound."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError
from edgeopt.models.idn.demand import Demand, average_gain
from edgeopt.models.idn.gain import checked_allocation
from edgeopt.models.idn.greedy import (
    NOTHING,
    ROUNDING,
    all_savings,
    grouped,
    grow,
    service_of,
    weighted,
)
from edgeopt.models.idn.matrix import assembled, offers
from edgeopt.models.plan import ProgramPlan, array_of, solved, values_of
from edgeopt.solvers import solve
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.matrix import Offers
    from edgeopt.models.tabular import Labels
    from edgeopt.solvers import Certificate, Quality, Seconds, Solution, Status


def marginal_gains(
    instance: IdnInstance, demand: Demand, allocation: ArrayLike
) -> NDArray[np.float64]:
    r"""Return what every model that is not hosted yet would add to the weighted gain.

    .. math::

       \sum_t w_t \sum_\rho \sum_{k \ge \kappa(v, m)} (\gamma^{k+1}_\rho - \gamma^k_\rho)
       \Big(\min\{r_\rho,\ S^k_\rho + l_{\rho v m}\} - \min\{r_\rho,\ S^k_\rho\}\Big),
       \qquad S^k_\rho = \sum_{k' \le k} z^{k'}_\rho

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.
    allocation
        What every node hosts, truth values, shape [V, M].

    Returns
    -------
    Marginal gain of each model at each node, ms; 0 where it is hosted already and at pinned nodes,
    shape [V, M].

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed, or the allocation is
        fractional.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equation (32). For potentials that do not
    depend on the allocation these shrink as it grows; for those seen at run time they may not.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, marginal_gains
    >>> instance = small(1)
    >>> marginal_gains(instance, Demand.of(instance), instance.repository).shape
    (3, 2)
    """
    hosted = _whole(checked_allocation(instance, allocation))
    service = service_of(instance, demand.fitting(instance), hosted)
    closed = hosted | instance.pinned[:, np.newaxis]
    gains = np.zeros(instance.size.shape)
    all_savings(service, closed.ravel(), gains.ravel())
    return gains


@checked()
def greedy(instance: IdnInstance, demand: Demand) -> NDArray[np.bool_]:
    """Add models one by one, always the one that fits and adds the most gain per MB.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.

    Returns
    -------
    Allocation within the budgets, shape [V, M]. Ties (within 1e-9 of the best) go to the smallest
    node, then the smallest model. It ends when nothing that fits adds any gain.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI: static greedy. It has no
    constant guarantee. Earlier marginal gains are kept as upper bounds, and a model is evaluated
    again only when its bound leads (lazy greedy: Minoux, Accelerated greedy algorithms for
    maximizing submodular set functions, 1978).

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, greedy
    >>> instance = small(1)
    >>> greedy(instance, Demand.of(instance)).astype(int)
    array([[1, 1],
           [0, 1],
           [0, 0]])
    """
    allocation = np.array(instance.empty)
    allocation.flat[picks(instance, demand)] = True
    return allocation


def picks(instance: IdnInstance, demand: Demand) -> NDArray[np.int64]:
    """Return the pairs, ``node * M + model``, that `greedy` adds, in that order."""
    ranking, size, demand = instance.ranking, instance.size.ravel(), demand.fitting(instance)
    service = service_of(instance, demand, instance.empty)
    # While only repositories serve, an option takes all its requests from them.
    saved = np.maximum(0.0, ranking.repository_cost[ranking.type] - ranking.cost)
    saved *= weighted(demand.weight, service.potential)
    bound = np.zeros(size.size)
    np.add.at(bound, ranking.pair, saved)
    barred = instance.pinned[:, np.newaxis] | (instance.size > instance.budget[:, np.newaxis])
    bound[barred.ravel()] = 0.0
    nothing = NOTHING * float(demand.weight @ (demand.requests @ ranking.repository_cost))
    pairs = np.flatnonzero(bound > nothing)
    picked = np.zeros(size.size, dtype=np.int64)
    begin, order = grouped(instance.task[pairs % instance.models], instance.tasks)
    pairs = pairs[order]
    grow(
        service, size, instance.budget, instance.task, pairs, begin, bound[pairs] / size[pairs],
        nothing, picked,
    )  # fmt: skip
    added = np.flatnonzero(picked)
    return np.asarray(added[np.argsort(picked[added])])


def _whole(allocation: NDArray[np.generic]) -> NDArray[np.bool_]:
    hosted = allocation.astype(np.bool_)
    fractional = hosted != allocation
    if fractional.any():
        index = tuple(int(i) for i in np.argwhere(fractional)[0])
        raise InputError("allocation", "must be 0 or 1", index=index, value=allocation[index])
    return hosted


@in_html
@dataclass(frozen=True, eq=False)
class PlacementSolution(ProgramPlan):
    """A feasible allocation with a proven upper bound on the gain of every other.

    Parameters
    ----------
    allocation
        What every node hosts, shape [V, M]: truth values, or shares in [0, 1] from a relaxation.
        Rows of pinned nodes equal the repositories.
    objective
        Weighted gain of this allocation in the program that was solved, ms.
    bound
        Proven upper bound on the optimum of that program, ms.
    solution
        Status, quality, timings and solver.
    size
        Sum of the terms that objective and bound are differences of, ms; their own size by default.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import PlacementSolution, solve_placement
    >>> plan = solve_placement(small(1))
    >>> plan.allocation.astype(int)
    array([[1, 1],
           [0, 1],
           [0, 0]])
    """

    system: ClassVar[str] = "idn"

    allocation: NDArray[Any] = field(repr=False)
    objective: float
    bound: float
    solution: Solution = field(repr=False)
    size: float | None = field(default=None, repr=False)

    @classmethod
    def of(cls, program: Any, instance: IdnInstance, demand: Demand, **solver: Any) -> Self:
        """Solve a program of one's own: a placement of the instance, and what was added to it.

        Parameters
        ----------
        program
            The Pyomo model, `placement` or `cooperative_placement`, relaxed or not, with more
            constraints; or its `Solution`.
        instance, demand
            What it was built from; for a study the demand is normalised, as its values are.
        **solver
            Options for `edgeopt.solve`, such as ``gap`` or ``time_limit``.

        Returns
        -------
        PlacementSolution
            With the gain recomputed from the requests served. `program` says what became of the
            constraints of the program, which is built anew: where one is missing or weaker,
            bounds are wider or the objective is another one, the bound is NaN.

        Raises
        ------
        OptionError
            If it is no Pyomo model or was changed since it was solved.
        InputError
            If the demand does not belong to the instance, or the model has other variables.
        SolverError
            If no usable point was found.

        Examples
        --------
        At most two models in all:

        >>> import pyomo.environ as pyo
        >>> from edgeopt.instances.idn import generate
        >>> from edgeopt.models.idn import Demand, PlacementSolution, cooperative_placement
        >>> instance = generate(horizon=2, rng=0)
        >>> demand = Demand.of(instance, normalised=True)
        >>> model = cooperative_placement(instance, demand, relax=True)
        >>> model.licences = pyo.Constraint(expr=pyo.quicksum(model.x.values()) <= 2)
        >>> plan = PlacementSolution.of(model, instance, demand)
        >>> plan.scope
        'policies that do what the program of edgeopt asks for and keep licences'
        """
        from edgeopt.models.idn import programs

        def base() -> Any:
            shares = solution_model.component("capacity") is not None
            build = programs.cooperative_placement if shares else programs.placement
            return build(instance, demand, relax=relaxed)

        solution_model = getattr(program, "problem", program)
        hosted = getattr(solution_model, "x", None)
        relaxed = hosted is not None and all(one.is_continuous() for one in hosted.values())
        solution, extension = solved(program, base, solver)
        allocation = np.clip(array_of(solution, "x", instance.size.shape), 0.0, 1.0)
        allocation[instance.pinned] = instance.empty[instance.pinned]
        ranking = instance.ranking
        saved = {
            (int(n), *divmod(int(pair), instance.models)): ranking.repository_cost[n] - cost
            for n, pair, cost in zip(ranking.type, ranking.pair, ranking.cost, strict=True)
        }
        gained = (
            demand.weight[key[0]] * saved[key[1:]] * max(amount, 0.0)
            for key, amount in values_of(solution, "q").items()
        )
        return cls(
            allocation if relaxed else allocation > 0.5,
            float(sum(gained)),
            solution.bound if extension.program != "other" else np.nan,
            solution,
            size=solution.sizes[0],
            instance=instance,
            extension=extension,
        )

    def _rows(self) -> dict[str, Any]:
        share = np.asarray(self.allocation, dtype=float)
        node, model = np.nonzero(share)
        return {"node": node, "model": model, "share": share[node, model]}

    def _arrays(self, _labels: Labels) -> dict[str, Any]:
        share = np.asarray(self.allocation, dtype=float)
        return {
            "share": (("node", "model"), share, {"long_name": "share of the model that is hosted"})
        }

    @property
    def gap(self) -> float:
        """Proven relative gap ``(bound - objective) / max(|objective|, |bound|)``.

        It is 0 where the difference is rounding.
        """
        return relative_gap(
            self.objective, self.bound, objective_size=self.size, bound_size=self.size
        )

    @property
    def status(self) -> Status:
        """Why the solver stopped."""
        return self.solution.status

    @property
    def quality(self) -> Quality:
        """What is in hand, as the solver's point was certified."""
        return self.solution.quality

    @property
    def seconds(self) -> Seconds:
        """Seconds that building and solving took."""
        return self.solution.seconds

    @property
    def solver(self) -> str:
        """Who solved it."""
        return self.solution.solver

    def certificate(
        self, *, name: str = "", point: bool = True, repair: bool = True
    ) -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.
        point
            Whether to include the allocation and the requests served; without them only the bound
            is certified, in a shorter file.
        repair
            Whether to move the point until it violates no constraint, not even by rounding.

        Raises
        ------
        CertificateError
            If there is none, as for whole placements; the text says why.
        """
        return self.solution.certificate(name=name, point=point, repair=repair)


@checked()
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
    the solver. When the solver has found nothing better in time it is the greedy allocation, and
    when it has proven nothing the bound is the gain if every request had its cheapest option.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.
    SolverError
        If ``raises=True`` and the solver found nothing.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14). It is NP-hard.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import solve_placement
    >>> plan = solve_placement(small(1))
    >>> plan.allocation.shape, plan.objective <= plan.bound * (1 + 1e-9)
    ((3, 2), True)
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
    solution = solve(program, **({"raises": False} | solver))
    if solution.values is not None and solution.quality.usable:
        hosted = solution.values[: chosen.node.size]
        found = chosen.allocation(instance, hosted if relax else np.rint(hosted))
        found = _within_budgets(instance, found, whole=not relax)
        value = average_gain(instance, demand, found)
        if value >= objective:
            allocation, objective = found, value
    seconds = solution.seconds
    solution = replace(solution, seconds=seconds._replace(build=seconds.build + built))
    everything, most = _most(instance, demand, chosen)
    proven = most if np.isnan(solution.bound) else min(solution.bound, most)
    # Rounding alone may put the solver's bound below a point in hand.
    return PlacementSolution(allocation, objective, max(proven, objective), solution, everything)


def _most(instance: IdnInstance, demand: Demand, chosen: Offers) -> tuple[float, float]:
    """Return what serving from repositories costs, and how much of it could be saved at most."""
    ranking = instance.ranking
    cheapest = ranking.repository_cost.copy()
    np.minimum.at(cheapest, chosen.type, ranking.cost[chosen.option])
    asked = demand.weight @ demand.requests
    saved = ranking.repository_cost - cheapest
    return float(asked @ ranking.repository_cost), float(asked @ saved)


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
