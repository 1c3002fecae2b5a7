"""The four ways in which RESCUE's policies choose, and the guard that vetoes unsafe runs.

A rule is what a policy prepares before the first arrival: its whole state. `Rule.choose` answers
one arrival, in plain NumPy; `edgeopt.online.rescue.compiled` holds the compiled twins. `Rule.law`
gives the probability of every answer, which exact evaluation needs.

A run is safe if the remaining reserved work of its server can still meet all deadlines when the
server is blocked for the longest duration that the profile can have. Real blocking is never longer
than that, and earliest deadline first is optimal on one divisible resource; so if every accepted
run is safe and the reserved tasks are jointly feasible at first, none ever fails.

"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.edf import edf_feasible, edf_order
from edgeopt.online.rescue.environment import Placement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue.environment import Arrival
    from edgeopt.online.rescue.routes import Routes, SlotTable


__all__ = ["GreedyRule", "Guard", "RoutedRule", "Rule", "ServerRule", "UniformRule"]


@dataclass(frozen=True, eq=False)
class Guard:
    """Tells which runs are safe.

    Attributes
    ----------
    order, offset
        Reserved tasks by server and deadline, see `edgeopt.instances.edf.edf_order`.
    start, end
        Windows, shape [H], both ends inclusive.
    demand
        Work that every task asked for, TMAC, shape [H].
    capacity
        Shape [K, T].
    longest
        Longest duration of every profile, in slots; shape [L].
    """

    order: NDArray[np.int64]
    offset: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    demand: NDArray[np.float64]
    capacity: NDArray[np.float64]
    longest: NDArray[np.int64]

    @classmethod
    def of(cls, instance: RescueInstance) -> Guard:
        """Prepare the guard of an instance."""
        tasks = instance.reserved
        order, offset = edf_order(tasks.server, tasks.end, instance.servers)
        tables = tasks.start, tasks.end, tasks.demand, instance.capacity, instance.longest
        return cls(order, offset, *tables)

    def safe(self, server: int, profile: int, slot: int, remaining: NDArray[np.float64]) -> bool:
        """Tell whether a run may begin on an idle server.

        Parameters
        ----------
        server, profile, slot
            The run.
        remaining
            Reserved work left at the start of `slot`, shape [H], in TMAC.
        """
        return bool(
            edf_feasible(
                self.order[self.offset[server] : self.offset[server + 1]],
                self.start,
                self.end,
                self.demand,
                remaining,
                self.capacity[server],
                slot,
                slot + self.longest[profile],
            )
        )

    def permitted(
        self, idle: NDArray[np.bool_], slot: int, remaining: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell for all servers and profiles whether a run may begin; shape [K, L]."""
        profiles = range(self.longest.size)
        return np.array(
            [
                [bool(free) and self.safe(k, profile, slot, remaining) for profile in profiles]
                for k, free in enumerate(idle)
            ]
        )


Law = list[tuple[float, Placement]]
"""Placements with their probabilities; what is left to 1 is rejection."""


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """A way to choose.

    Attributes
    ----------
    devices, profiles
        Sizes J and L.
    guard
        Vetoes runs that could cost a reserved task; None lets all pass.
    """

    devices: int
    profiles: int
    guard: Guard | None

    @abstractmethod
    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""

    @abstractmethod
    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the probability of every placement."""

    def valid(self, arrival: Arrival) -> NDArray[np.bool_]:
        """Tell which runs may begin, shape [K, L]."""
        if self.guard is None:
            return np.repeat(arrival.idle[:, np.newaxis], self.profiles, axis=1)
        return self.guard.permitted(arrival.idle, arrival.slot, arrival.remaining)

    def passes(self, arrival: Arrival, server: int, profile: int) -> bool:
        """Tell whether one run may begin."""
        if not arrival.idle[server]:
            return False
        guard = self.guard
        return guard is None or guard.safe(server, profile, arrival.slot, arrival.remaining)


@dataclass(frozen=True, eq=False)
class RoutedRule(Rule):
    """Draw one candidate from the routes, and accept it if it is worth it; no second candidate.

    Attributes
    ----------
    routes
        Where tasks are sent at random.
    worth
        Whether a route is accepted when its server is idle, shape [routes].
    """

    routes: Routes
    worth: NDArray[np.bool_]

    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""
        route = self.routes.draw(arrival.slot * self.devices + arrival.device, arrival.coin)
        if route is None or not self.worth[route]:
            return None
        server, profile = divmod(int(self.routes.cell[route]), self.profiles)
        return Placement(server, profile) if self.passes(arrival, server, profile) else None

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the probability of every placement."""
        row = slot * self.devices + device
        return [
            (share, Placement(server, profile))
            for route, share in self.routes.shares(row)
            if self.worth[route]
            for server, profile in [divmod(int(self.routes.cell[route]), self.profiles)]
            if valid[server, profile]
        ]


@dataclass(frozen=True, eq=False)
class ServerRule(Rule):
    """Draw a server from the routes; run there the valid profile of highest score.

    Attributes
    ----------
    routes
        A route's server is drawn, its profile is not used.
    score
        Shape [T, J, K, L]; ties go to the lowest profile.
    """

    routes: Routes
    score: SlotTable

    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""
        route = self.routes.draw(arrival.slot * self.devices + arrival.device, arrival.coin)
        if route is None:
            return None
        server = int(self.routes.cell[route]) // self.profiles
        valid = [p for p in range(self.profiles) if self.passes(arrival, server, p)]
        if not valid:
            return None
        score = self.score.at(arrival.slot)[arrival.device, server]
        return Placement(server, max(valid, key=score.__getitem__))

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the probability of every placement."""
        share = np.zeros(valid.shape[0])
        for route, part in self.routes.shares(slot * self.devices + device):
            share[int(self.routes.cell[route]) // self.profiles] += part
        score = np.where(valid, self.score.at(slot)[device], -np.inf)
        return [
            (float(share[server]), Placement(int(server), int(score[server].argmax())))
            for server in np.flatnonzero((share > 0) & valid.any(axis=1))
        ]


@dataclass(frozen=True, eq=False)
class GreedyRule(Rule):
    """Take the valid run of highest score, if its score exceeds the threshold.

    Attributes
    ----------
    score
        Shape [T, J, K, L]; ties go to the lowest server, then the lowest profile.
    threshold
        A score has to exceed it.
    """

    score: SlotTable
    threshold: float

    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""
        return self._best(arrival.slot, arrival.device, self.valid(arrival))

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the probability of every placement."""
        best = self._best(slot, device, valid)
        return [] if best is None else [(1.0, best)]

    def _best(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Placement | None:
        score = np.where(valid, self.score.at(slot)[device], -np.inf)
        server, profile = divmod(int(score.argmax()), self.profiles)
        return Placement(server, profile) if score[server, profile] > self.threshold else None


@dataclass(frozen=True, eq=False)
class UniformRule(Rule):
    """Take any valid run with equal probability, or none.

    Attributes
    ----------
    accept
        Probability of taking one, where there is one.
    """

    accept: float

    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""
        if arrival.coin >= self.accept:
            return None
        cells = np.flatnonzero(self.valid(arrival))
        if cells.size == 0:
            return None
        # The coin is uniform below `accept`; min: the product may round up to the size itself.
        drawn = min(int(arrival.coin / self.accept * cells.size), cells.size - 1)
        return Placement(*divmod(int(cells[drawn]), self.profiles))

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the probability of every placement."""
        cells = np.flatnonzero(valid)
        return [
            (self.accept / cells.size, Placement(*divmod(int(cell), self.profiles)))
            for cell in cells
        ]
