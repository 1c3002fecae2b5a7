"""The environment, which keeps future requests to itself, and four policies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from edgeopt.online import Trajectory
from edgeopt.online.simulate import Deterministic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sixth_system.instance import BatchInstance


class Waiting(NamedTuple):
    """What a policy sees: the waiting requests, since when, and their cost so far."""

    slot: int
    requests: int
    since: int
    waited: float


class Day:
    """A simulated day: the policy decides in every slot in which requests wait."""

    def __init__(self, instance: BatchInstance) -> None:
        self.cost, self.decisions = np.zeros((2, instance.requests.size))
        self._arriving = enumerate(instance.requests.tolist())
        self._price, self._now = instance.launch, Waiting(-1, 0, 0, 0.0)
        self._pass()

    def observe(self) -> Waiting | None:
        return self._now if self._now.requests else None

    def act(self, launch: bool) -> None:
        slot = self._now.slot
        self.decisions[slot] = 1
        # All requests are served by the end of the day.
        if launch or slot == self.cost.size - 1:
            self.cost[slot] = self._price
            self._now = Waiting(slot, 0, 0, 0.0)
        else:
            self.cost[slot] = self._now.requests
        self._pass()

    def _pass(self) -> None:
        _, requests, since, waited = self._now
        for slot, new in self._arriving:
            since = since if requests else slot
            self._now = Waiting(slot, requests + new, since, waited + requests)
            if requests + new:
                return


@dataclass(frozen=True)
class Waking:
    """The environment: all days are the same, only policies are random."""

    given: BatchInstance
    alike: ClassVar[bool] = True

    @property
    def instance(self) -> float:
        """What a policy may know in advance: the price of a batch."""
        return self.given.launch

    def scenarios(self, rng: np.random.Generator, runs: int) -> Sequence[None]:
        return [None] * runs

    def episode(self, scenario: None, *, keep_trace: bool = False) -> Day:
        return Day(self.given)

    def trajectory(
        self, name: str, episodes: Sequence[Day], *, seconds: float, keep_trace: bool = False
    ) -> Trajectory:
        cost = np.array([day.cost for day in episodes])
        decisions = np.array([day.decisions for day in episodes], dtype=np.int64)
        return Trajectory(name, cost, np.zeros_like(decisions), decisions, seconds, False)


@dataclass(frozen=True)
class Plain(Deterministic):
    """A policy whose only state is the price of a batch."""

    name: str
    launches: Callable[[float, Waiting], bool]

    def start(self, price: float) -> float:
        return price

    def decide(self, price: float, seen: Waiting, rng: Any = None) -> tuple[bool, float]:
        return self.launches(price, seen), price

    def learn(self, price: float, seen: Waiting, launched: bool, feedback: None) -> float:
        return price


def _at_once(price: float, seen: Waiting) -> bool:
    return True


def _first_waits(price: float, seen: Waiting) -> bool:
    return seen.slot - seen.since >= price


def _waiting_would_cost_as_much(price: float, seen: Waiting) -> bool:
    return seen.waited + seen.requests >= price


ALONE = Plain("At once", _at_once)
TIMER = Plain("Timer", _first_waits)
BALANCE = Plain("Balance", _waiting_would_cost_as_much)


@dataclass(frozen=True)
class RandomBalance:
    """Balance with a share z of the price, drawn for every batch with density e^z / (e - 1)."""

    name: str = "Random balance"

    def start(self, price: float) -> tuple[float, float | None]:
        return price, None

    def decide(
        self, state: tuple[float, float | None], seen: Waiting, rng: np.random.Generator
    ) -> tuple[bool, tuple[float, float | None]]:
        price, share = state
        if share is None:
            share = math.log1p(rng.random() * (math.e - 1))
        launch = _waiting_would_cost_as_much(share * price, seen)
        return launch, (price, None if launch else share)

    def learn(self, state: Any, seen: Waiting, launched: bool, feedback: None) -> Any:
        return state
