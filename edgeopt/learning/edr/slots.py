"""Slots to learn routing from, and how far routes are from the least cost of a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.learning.edr.rows import (
    Rows,
    fractions_of,
    mild,
    paid,
    projected,
    rows_of,
    without_crumbs,
)
from edgeopt.models.edr.routing import conditions
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.online.edr.energy_budget import Terms, routing, slot_budget
from edgeopt.online.edr.events import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingProblem


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
