"""The four ways in which RESCUE's policies choose; each is a table and a few lines of logic.

A rule is what a policy prepares before the first arrival: its whole state. `Rule.choose` answers
one arrival, in plain NumPy; `edgeopt.online.rescue.kernels` holds the compiled forms. `Rule.law`
gives the probability of every answer, which exact evaluation needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.online.rescue.environment import Placement

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.online.rescue.environment import Arrival
    from edgeopt.online.rescue.lookup_tables import Guard, Routes, SlotTable

Law = list[tuple[float, Placement]]
"""Placements with their probabilities; what is left to 1 is rejection."""


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """A way to choose."""

    devices: int
    profiles: int
    guard: Guard | None  # vetoes runs that could cost a reserved task; None lets all pass

    @abstractmethod
    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""

    @abstractmethod
    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the probability of every placement."""

    def permitted(
        self, slot: int, idle: NDArray[np.bool_], remaining: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Tell which runs may begin, shape [K, L]."""
        if self.guard is None:
            return np.repeat(idle[:, np.newaxis], self.profiles, axis=1)
        return self.guard.permitted(idle, slot, remaining)

    def laws(
        self, slot: int, idle: NDArray[np.bool_], remaining: NDArray[np.float64]
    ) -> Callable[[int], Law]:
        """Return the law of a device's task in this state of the servers."""
        valid = self.permitted(slot, idle, remaining)
        return lambda device: self.law(slot, device, valid)

    def valid(self, arrival: Arrival) -> NDArray[np.bool_]:
        """Tell which runs may begin as a task arrives, shape [K, L]."""
        return self.permitted(arrival.slot, arrival.idle, arrival.remaining)

    def passes(self, arrival: Arrival, server: int, profile: int) -> bool:
        """Tell whether one run may begin."""
        if not arrival.idle[server]:
            return False
        guard = self.guard
        return guard is None or guard.safe(server, profile, arrival.slot, arrival.remaining)


@dataclass(frozen=True, eq=False)
class RoutedRule(Rule):
    """Draw one candidate from the routes, and accept it if it is worth it; no second candidate."""

    routes: Routes
    worth: NDArray[np.bool_]  # whether a route is accepted when its server is idle, [routes]

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
    """Draw a server from the routes; run there the valid profile of highest score."""

    routes: Routes  # a route's server is drawn, its profile is not used
    score: SlotTable  # shape [T, J, K, L]; ties go to the lowest profile

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
    """Take the valid run of highest score, if its score exceeds the threshold."""

    score: SlotTable  # shape [T, J, K, L]; ties go to the lowest server, then the lowest profile
    threshold: float  # a score has to exceed it

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
    """Take any valid run with equal probability, or none."""

    accept: float  # probability of taking one, where there is one

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
