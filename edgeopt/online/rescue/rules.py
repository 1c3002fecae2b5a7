"""The four ways in which RESCUE's policies choose; each is a table and a few lines of logic.

A rule is what a policy prepares before the first arrival: its whole state. `Rule.law` gives the
probability of every answer, in plain NumPy; `edgeopt.online.rescue.kernels` holds the compiled
forms.
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

Law = list[tuple[float, Placement | None]]
"""Answers with their probabilities, in the order of the coin; what is left to 1 is rejection."""


def drawn(law: Law, coin: float) -> Placement | None:
    """Return the answer on which a coin in [0, 1) falls."""
    for share, answer in law:
        if coin < share:
            return answer
        coin -= share
    return None


@dataclass(frozen=True, eq=False)
class Rule(ABC):
    """A way to choose."""

    devices: int
    profiles: int
    guard: Guard | None  # vetoes runs that could cost a reserved task; None lets all pass

    @abstractmethod
    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the answers to a task of a device where some runs [K, L] may begin."""

    def choose(self, arrival: Arrival) -> Placement | None:
        """Answer an arrival."""
        law = self.laws(arrival.slot, arrival.idle, arrival.remaining)
        return drawn(law(arrival.device), arrival.coin)

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


@dataclass(frozen=True, eq=False)
class RoutedRule(Rule):
    """Draw one candidate from the routes, and accept it if it is worth it; no second candidate."""

    routes: Routes
    worth: NDArray[np.bool_]  # whether a route is accepted when its server is idle, [routes]

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        shares = self.routes.shares(slot * self.devices + device)
        found = [(part, n, divmod(int(self.routes.cell[n]), self.profiles)) for n, part in shares]
        return [
            (share, Placement(*cell) if self.worth[route] and valid[cell] else None)
            for share, route, cell in found
        ]


@dataclass(frozen=True, eq=False)
class ServerRule(Rule):
    """Draw a server from the routes; run there the valid profile of highest score."""

    routes: Routes  # a route's server is drawn, its profile is not used
    score: SlotTable  # shape [T, J, K, L]; ties go to the lowest profile

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        share = np.zeros(valid.shape[0])
        for route, part in self.routes.shares(slot * self.devices + device):
            share[int(self.routes.cell[route]) // self.profiles] += part
        best = np.where(valid, self.score.at(slot)[device], -np.inf).argmax(axis=1)
        may = np.asarray(valid.any(axis=1))
        return [
            (float(share[k]), Placement(int(k), int(best[k])) if may[k] else None)
            for k in np.flatnonzero(share)
        ]


@dataclass(frozen=True, eq=False)
class GreedyRule(Rule):
    """Take the valid run of highest score, if its score exceeds the threshold."""

    score: SlotTable  # shape [T, J, K, L]; ties go to the lowest server, then the lowest profile
    threshold: float  # a score has to exceed it

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        score = np.where(valid, self.score.at(slot)[device], -np.inf)
        cell = divmod(int(score.argmax()), self.profiles)
        return [(1.0, Placement(*cell))] if score[cell] > self.threshold else []


@dataclass(frozen=True, eq=False)
class UniformRule(Rule):
    """Take any valid run with equal probability, or none."""

    accept: float  # probability of taking one, where there is one

    def law(self, slot: int, device: int, valid: NDArray[np.bool_]) -> Law:
        """Return the answers to a task of a device where some runs [K, L] may begin."""
        cells = np.argwhere(valid).tolist()
        return [(self.accept / len(cells), Placement(*cell)) for cell in cells]
