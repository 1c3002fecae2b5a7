"""One call for clusters and one for the slots of a frame: parts solved side by side."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from edgeopt import processes
from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.models.edr.clusters.blocks import Block, expected_energy, joined, split
from edgeopt.models.edr.clusters.partition import merge_clusters
from edgeopt.models.edr.clusters.price import Offer, common_price
from edgeopt.models.edr.routing.network import solve_by_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.models.edr.routing import Penalties, RoutingPlan, RoutingProblem
    from edgeopt.models.edr.routing.problem import Elastic

    Integers = NDArray[np.int64]
    Plans = list[RoutingPlan]
    Solver = Callable[[Sequence[RoutingProblem], Sequence[RoutingPlan | None]], Plans]

__all__ = ["Budget", "solve_clusters", "solve_frame"]

Budget = Literal["even", "proportional", "price"]


@checked(workers=-1)
def solve_clusters(
    problem: RoutingProblem,
    label: ArrayLike,
    *,
    elastic: Elastic = "soft",
    budget: Budget = "price",
    start: RoutingPlan | None = None,
    workers: int = 1,
    gap: float = 1e-6,
) -> RoutingPlan:
    """Route requests within clusters of sites only.

    Parameters
    ----------
    problem
        What is to be routed.
    label
        Cluster of each site, shape [J], as of `cluster_sites`. Clusters are joined where requests
        would have no route.
    elastic
        What gives way when not everything fits, see `RoutingProblem.penalties`.
    budget
        How clusters share the budget: one price of energy for all (``"price"``), or parts of it in
        proportion to what their requests use on average (``"proportional"``), or equal parts
        (``"even"``).
    start
        Plan of a similar problem: its price of energy is tried first.
    workers
        Processes that solve clusters side by side.
    gap
        Relative gap at which the common price is settled.

    Returns
    -------
    RoutingPlan
        A plan of the whole problem without flows between clusters. Its bound holds for plans with
        such flows too: what the clusters cost is at most the gap, and may be less where nobody in
        a cluster asks for what others would pay for.

    Raises
    ------
    InputError
        If there is not one cluster for each site.
    OptionError
        If the way to share the budget is unknown.

    Notes
    -----
    Zhu et al., section III-G. The cost is at least that without clusters, and the same if an
    optimal plan has no flow between clusters.
    """
    began = time.perf_counter()
    blocks = split(problem, merge_clusters(label, problem))
    return _shared(problem, blocks, "clusters", began, elastic, budget, start, workers, gap)


@checked(workers=-1)
def solve_frame(
    problem: RoutingProblem,
    *,
    elastic: Elastic = "soft",
    budget: Budget = "price",
    start: RoutingPlan | None = None,
    workers: int = 1,
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
        energy for the whole frame (``"price"``). The last two look at all requests of the frame.
    start
        Plan of a similar problem: its price of energy is tried first.
    workers
        Processes that solve slots side by side.
    gap
        Relative gap at which the common price is settled.

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
    blocks = split(problem, np.zeros(problem.sites, dtype=np.int64))
    return _shared(problem, blocks, "frame", began, elastic, budget, start, workers, gap)


def _shared(
    problem: RoutingProblem,
    blocks: list[Block],
    what: str,
    began: float,
    elastic: Elastic,
    budget: Budget,
    start: RoutingPlan | None,
    workers: int,
    gap: float,
) -> RoutingPlan:
    if budget not in get_args(Budget):
        known = ", ".join(get_args(Budget))
        raise OptionError(f"budget = {budget!r}: must be one of {known}")
    penalties = problem.penalties(elastic)
    with _solver(penalties, workers) as solve:
        if budget == "price" or np.isposinf(problem.budget):
            mixed, prices = _priced(problem, blocks, penalties, solve, start, gap)
        else:
            mixed, prices = _parted(problem, blocks, solve, even=budget == "even")
    return joined(
        problem,
        penalties,
        blocks,
        mixed,
        prices,
        seconds=time.perf_counter() - began,
        method=f"{what}, {budget}",
    )


def _priced(
    problem: RoutingProblem,
    blocks: list[Block],
    penalties: Penalties,
    solve: Solver,
    start: RoutingPlan | None,
    gap: float,
) -> tuple[list[list[tuple[float, RoutingPlan]]], list[float]]:
    """Return plans by part with their shares, and the one price of energy."""

    def offer(price: float, near: Offer[Plans] | None) -> Offer[Plans]:
        earlier = [None] * len(blocks) if near is None else near.plans
        plans = solve([block.problem.with_price(price) for block in blocks], earlier)
        energy = sum(plan.energy for plan in plans)
        cost = sum(plan.objective for plan in plans) - price * energy
        return Offer(price, energy, cost, sum(plan.bound for plan in plans), plans)

    if np.isposinf(problem.budget):
        free = offer(0.0, None)
        return [[(1.0, plan)] for plan in free.plans], [0.0]
    first = 0.0 if start is None else start.prices.energy
    mix = common_price(offer, problem.budget, penalties.excess, gap=gap, start=first)
    trio = zip(mix.low.plans, mix.high.plans, mix.best.plans, strict=True)
    shares = (mix.weight, 1.0 - mix.weight, 0.0)
    return [list(zip(shares, plans, strict=True)) for plans in trio], [mix.best.price]


def _parted(
    problem: RoutingProblem, blocks: list[Block], solve: Solver, *, even: bool
) -> tuple[list[list[tuple[float, RoutingPlan]]], list[float]]:
    """Return plans by part, each on its part of the budget, and their prices of energy."""
    need = np.ones(len(blocks)) if even else np.array([expected_energy(one) for one in blocks])
    if not need.any():
        need = np.ones(len(blocks))
    part = problem.budget * need / need.sum()
    problems = [one.problem.replace(budget=float(b)) for one, b in zip(blocks, part, strict=True)]
    plans = solve(problems, [None] * len(blocks))
    return [[(1.0, plan)] for plan in plans], [plan.prices.energy for plan in plans]


@contextmanager
def _solver(penalties: Penalties, workers: int) -> Iterator[Solver]:
    """Give a function that solves problems, each from an earlier plan, in some processes."""
    if workers == 1:
        yield lambda problems, earlier: _solved(problems, earlier, penalties)
        return
    from joblib import effective_n_jobs

    count = effective_n_jobs(workers)
    with processes.pool(workers) as pool:

        def solve(
            problems: Sequence[RoutingProblem], earlier: Sequence[RoutingPlan | None]
        ) -> Plans:
            # One task for each process: a part takes milliseconds.
            chunks = [
                (problems[first::count], earlier[first::count])
                for first in range(min(count, len(problems)))
            ]
            results = pool((_solved, (*chunk, penalties)) for chunk in chunks)
            plans: list[RoutingPlan] = [None] * len(problems)  # type: ignore[list-item]
            for first, found in enumerate(results):
                plans[first::count] = found
            return plans

        yield solve


def _solved(
    problems: Sequence[RoutingProblem],
    earlier: Sequence[RoutingPlan | None],
    penalties: Penalties,
) -> list[RoutingPlan]:
    """Solve some problems one after the other."""
    return [
        solve_by_network(problem, penalties, before)
        for problem, before in zip(problems, earlier, strict=True)
    ]
