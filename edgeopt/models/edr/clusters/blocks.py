"""Parts of a routing problem that only the energy budget ties together."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.edr.routing import Prices, RoutingPlan, dual_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.models.edr.routing import Penalties, RoutingProblem

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = ["Block", "expected_energy", "joined", "split"]


class Block(NamedTuple):
    """A part of a routing problem.

    Attributes
    ----------
    problem
        The part as a problem by itself, without a budget.
    routes
        Which routes of the whole it has, shape [a].
    slots, sites
        Which slots and sites of the whole it has, shapes [s] and [j].
    """

    problem: RoutingProblem
    routes: Integers
    slots: Integers
    sites: Integers


def split(problem: RoutingProblem, label: Integers) -> list[Block]:
    """Split a problem by cluster, and by slot as well unless `room` ties its slots together.

    Parameters
    ----------
    problem
        The whole.
    label
        Cluster of each site, counted from 0, shape [J]. Routes between clusters are left out.

    Returns
    -------
    The parts, slot by slot.
    """
    count, slots = int(label.max()) + 1, problem.slots
    home = np.tile(np.repeat(label, problem.types), slots)
    inside = np.flatnonzero(label[problem.site] == np.repeat(home, np.diff(problem.first)))
    row, site = problem.row_of(inside), problem.site[inside]
    together = [np.arange(slots)] if problem.coupled else list(np.arange(slots)[:, np.newaxis])
    part = home[row]
    if not problem.coupled:
        part = part + count * (row // (problem.sites * problem.types))
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(together) * count + 1))
    local = np.empty(problem.sites, dtype=np.int64)
    blocks = []
    for number, (first, last) in enumerate(pairwise(ends.tolist())):
        mine = together[number // count]
        sites = np.flatnonzero(label == number % count)
        local[sites] = np.arange(sites.size)
        chosen = order[first:last]
        routes = inside[chosen]
        rows = _rows(problem, mine, sites)
        part_problem = problem.replace(
            demand=problem.demand[np.ix_(mine, sites)],
            capacity=problem.capacity[np.ix_(mine, sites)],
            room=problem.room[sites] if problem.coupled else np.full(sites.size, np.inf),
            budget=np.inf,
            energy=problem.energy[sites],
            first=np.searchsorted(row[chosen], np.append(rows, problem.demand.size)),
            site=local[site[chosen]].astype(np.int32),
            seconds=problem.seconds[routes],
            cost=problem.cost[routes],
        )
        blocks.append(Block(part_problem, routes, mine, sites))
    return blocks


def _rows(problem: RoutingProblem, slots: Integers, sites: Integers) -> Integers:
    """Return the rows (slot, origin, type) of some slots and sites, in ascending order."""
    where = (slots[:, np.newaxis] * problem.sites + sites).ravel()
    return np.asarray((where[:, np.newaxis] * problem.types + np.arange(problem.types)).ravel())


def expected_energy(block: Block) -> float:
    """Return what the requests of a part use on routes drawn at random, Wh."""
    problem = block.problem
    size = problem.demand.size
    total = np.bincount(problem.row, weights=problem.route_energy, minlength=size)
    mean = total / np.maximum(np.diff(problem.first), 1)
    return float(problem.demand.ravel() @ mean)


def joined(
    problem: RoutingProblem,
    penalties: Penalties,
    blocks: Sequence[Block],
    plans: Sequence[Sequence[tuple[float, RoutingPlan]]],
    energy_prices: Sequence[float],
    *,
    seconds: float,
    method: str,
) -> RoutingPlan:
    """Put the plans of all parts together.

    Parameters
    ----------
    problem, penalties
        The whole.
    blocks
        Its parts.
    plans
        For each part plans with their shares, which add up to 1; the prices are those of the last.
    energy_prices
        Prices of energy, per Wh: the one that proves most is that of the whole.
    seconds
        Time to solve, s.
    method
        How it was solved.

    Returns
    -------
    The plan; its bound holds for the whole problem, routes between clusters included.
    """
    flow, unserved = np.zeros(problem.routes), np.zeros(problem.demand.shape)
    site, room = np.zeros(problem.capacity.shape), np.zeros(problem.sites)
    for block, mixture in zip(blocks, plans, strict=True):
        where = np.ix_(block.slots, block.sites)
        for share, plan in mixture:
            flow[block.routes[plan.used]] += share * plan.amount
            unserved[where] += share * plan.unserved
        site[where], room[block.sites] = plan.prices.site, plan.prices.room
    proofs = []
    for energy_price in sorted(set(energy_prices)):
        prices = Prices(energy_price, site, room)
        proofs.append((dual_bound(problem, prices, penalties), prices))
    bound, prices = max(proofs, key=lambda proof: proof[0])
    used = np.flatnonzero(flow)
    return RoutingPlan(
        problem=problem,
        used=used,
        amount=flow[used],
        unserved=unserved,
        penalties=penalties,
        prices=prices,
        bound=bound,
        seconds=seconds,
        method=method,
    )
