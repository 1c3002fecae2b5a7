"""Requests by fractions: what a network sees of a slot, the flows of its answer, and their cost.

A row is the requests of one type that arrive at one site. The network sees every row by itself, and
answers with the fractions of the row that take each of its cheapest routes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.learning import masked_softmax, perceptron
from edgeopt.models.edr.routing import Penalties, conditions
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.online.edr.events import Flows, Slot
from edgeopt.online.edr.policies.policy import Terms, routing, slot_budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingProblem


ROUTES: Final = 8
"""Cheapest routes of a row that a network sees, K."""

OF_ROUTE: Final = ("cost", "energy", "load", "valid")
OF_SLOT: Final = ("budget_left", "energy_share", "slot")
FEATURES: Final = (*(f"{name}_{route}" for name in OF_ROUTE for route in range(ROUTES)), *OF_SLOT)
"""What is seen of a row, in order."""

LARGEST: Final = 10.0
"""Ratios beyond this look alike."""

MILD: Final = 1e-2
"""Penalties that are learnt from, in terms of those of a routing problem, which drown all else."""

CRUMB: Final = 0.05
"""Fraction of a row, below 1 / K, that is not worth a route of its own."""

NOTHING: Final = 1e-12
"""Share of a capacity that counts as nothing."""


class Rows(NamedTuple):
    """What is seen of the rows with requests of a slot, R of them."""

    features: Floats  # [R, 4 K + 3]
    route: Ints  # routes of each row by cost, -1 where it has fewer, [R, K]
    demand: Floats  # [R]
    usual: float  # cost of serving all requests by their cheapest routes

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which routes there are, shape [R, K]."""
        return self.route >= 0


def rows_of(instance: EdrInstance, slot: Slot, problem: RoutingProblem) -> Rows:
    """Return what is seen of a slot, given its routing problem; rows without a route are left out.

    Costs and energies are in terms of those of the cheapest routes, loads in terms of what a site
    can do: its training, and all requests whose cheapest route leads to it.
    """
    demand = problem.demand.ravel()
    order = np.lexsort((problem.site, problem.cost, problem.row))
    place = np.arange(order.size) - problem.first[problem.row[order]]
    near = place < ROUTES
    table = np.full((demand.size, ROUTES), -1, dtype=np.int64)
    table[problem.row[order][near], place[near]] = order[near]
    rows = np.flatnonzero((demand > 0) & (table[:, 0] >= 0))
    table, asked = table[rows], demand[rows]
    if not rows.size:
        return Rows(np.zeros((0, len(FEATURES))), table, asked, 0.0)
    cheapest = table[:, 0]
    total = float(asked.sum())
    usual = float(asked @ problem.cost[cheapest])
    need = float(asked @ problem.route_energy[cheapest])
    load = np.bincount(
        problem.site[cheapest], asked * problem.work[problem.type[cheapest]], problem.sites
    )
    capacity = instance.capacity
    taken = capacity - problem.capacity[0] + load
    pressure = np.divide(taken, capacity, out=np.full_like(taken, LARGEST), where=capacity > 0)
    size = abs(usual) / total or 1.0
    watt = need / total or 1.0
    valid = table >= 0
    of_route = (
        problem.cost[table] / size,
        problem.route_energy[table] / watt,
        pressure[problem.site[table]],
        np.ones_like(table),
    )
    dollars = float(problem.cost[cheapest] @ asked) - instance.delay_weight * float(
        problem.seconds[cheapest] @ asked
    )
    of_slot = (
        min(problem.budget / need, 2.0) if need > 0.0 else 2.0,
        dollars / (size * total),
        slot.slot / instance.slots,
    )
    columns = [np.where(valid, part, 0.0) for part in of_route]
    columns.append(np.broadcast_to(of_slot, (rows.size, len(OF_SLOT))))
    seen = np.clip(np.concatenate(columns, axis=1), -LARGEST, LARGEST)
    return Rows(seen, table, asked, usual)


def fractions_of(weights: Mapping[str, NDArray[Any]], rows: Rows) -> Floats:
    """Return the fractions of rows that take each of their routes, shape [R, K]."""
    logits = perceptron(weights, rows.features)
    return np.asarray(masked_softmax(logits, rows.valid), dtype=np.float64)


def without_crumbs(fractions: Floats) -> Floats:
    """Return fractions without those that a softmax leaves to every route."""
    kept = np.where(fractions < CRUMB, 0.0, fractions)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def projected(problem: RoutingProblem, rows: Rows, fractions: Floats) -> Floats:
    """Return the requests on each route that fit into the sites, shape [A].

    Routes fill sites in order of cost, first with the fractions, then with what these left over;
    what no route of a row has room for stays unserved.
    """
    wanted = np.zeros(problem.routes)
    wanted[rows.route[rows.valid]] = (fractions * rows.demand[:, None])[rows.valid]
    order = np.lexsort((problem.site, problem.origin, problem.type, problem.cost))
    amount = np.zeros(problem.routes)
    _fill(
        order, problem.row, problem.site.astype(np.int64), problem.work[problem.type], wanted,
        problem.demand.ravel().copy(), problem.capacity[0].copy(), amount,
    )  # fmt: skip
    return amount


@compiled(writes="left free amount")
def _fill(
    order: Ints,
    row: Ints,
    site: Ints,
    work: Floats,
    wanted: Floats,
    left: Floats,
    free: Floats,
    amount: Floats,
) -> None:
    """Serve what is wanted, and then what is left, as far as there is room."""
    full = NOTHING * free
    for again in range(2):
        for a in order:
            most = left[row[a]]
            if again == 0:
                most = min(most, wanted[a])
            if most <= 0.0 or free[site[a]] <= full[site[a]]:
                continue
            taken = min(most, free[site[a]] / work[a])
            amount[a] += taken
            left[row[a]] -= taken
            free[site[a]] -= taken * work[a]


def flows_on(problem: RoutingProblem, amount: Floats) -> Flows:
    """Return the requests on routes as flows."""
    used = np.flatnonzero(amount > 0.0)
    site = problem.site[used].astype(np.int64)
    return Flows(problem.origin[used], site, problem.type[used], amount[used])


def mild(problem: RoutingProblem) -> Penalties:
    """Return penalties small enough to learn from; serving all still comes before the budget."""
    found = problem.penalties("soft")
    return Penalties(MILD * found.unserved, MILD * found.excess)


def paid(problem: RoutingProblem, amount: Floats, penalties: Penalties) -> float:
    """Return what flows cost, with penalties."""
    unserved = max(float(problem.demand.sum() - amount.sum()), 0.0)
    excess = max(float(amount @ problem.route_energy) - problem.budget, 0.0)
    return float(amount @ problem.cost) + penalties.unserved * unserved + penalties.excess * excess


class Shown(NamedTuple):
    """A slot and what a policy makes of it."""

    rows: Rows
    problem: RoutingProblem
    capped: bool
    last: bool  # of its frame


class SlotEpisode:
    """Slots of some frames of an instance, whose tasks train at their even rates.

    Parameters
    ----------
    instance
        The instance.
    frames
        Frames in turn.
    """

    def __init__(self, instance: EdrInstance, frames: NDArray[np.int64]) -> None:
        self.instance, self.frames = instance, frames

    def slots(self) -> Iterator[Shown]:
        """Show the slots; `spent` is set between them by who serves."""
        instance = self.instance
        for t in self.frames.tolist():
            rounds = np.where(instance.active[t], instance.even_rate, 0.0)
            training = np.minimum(rounds @ instance.round_work, 0.9 * instance.capacity)
            energy = float(rounds @ instance.round_energy[t])
            price = float(instance.price[t - 1] if t else instance.price_prior)
            self.spent = 0.0
            for tau in range(instance.slots):
                slot = Slot(
                    t, tau, conditions(instance, t, tau), float(instance.cap[t]), training, energy,
                    self.spent,
                )  # fmt: skip
                budget = slot_budget(slot, instance.slots)
                problem = routing(instance, slot.conditions, Terms(price), training, budget)
                seen = rows_of(instance, slot, problem)
                capped = bool(np.isfinite(slot.cap))
                yield Shown(seen, problem, capped, tau == instance.slots - 1)


def optima(instance: EdrInstance, seed: int) -> Iterator[tuple[Shown, float]]:
    """Yield every fourth slot of every third frame of an instance, and its least cost."""
    episode = SlotEpisode(instance, np.arange(seed % 3, instance.frames, 3))
    for place, shown in enumerate(episode.slots()):
        if place % 4 == 0 and shown.rows.usual > 0.0:
            plan = solve_by_network(shown.problem, mild(shown.problem))
            yield shown, plan.objective


def gap(shown: Shown, least: float, weights: Mapping[str, NDArray[Any]]) -> float:
    """Return by how much a slot costs more than its linear programme, both with mild penalties."""
    fractions = without_crumbs(fractions_of(weights, shown.rows))
    amount = projected(shown.problem, shown.rows, fractions)
    return paid(shown.problem, amount, mild(shown.problem)) / least - 1.0


def plain_gap(shown: Shown, least: float) -> float:
    """Return by how much the cheapest routes of a slot cost more."""
    return plain(shown.problem, shown.rows) / least - 1.0


def plain(problem: RoutingProblem, rows: Rows) -> float:
    """Return what the cheapest routes cost, as far as they have room."""
    first = np.zeros(rows.route.shape)
    first[:, 0] = 1.0
    return paid(problem, projected(problem, rows, first), mild(problem))
