"""A tiny instance in plain numbers, the moves of its exact recursions, and a policy on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.errors import OptionError
from edgeopt.instances.edf import FEASIBLE
from edgeopt.online.rescue.expected_value import Outcome, follow
from edgeopt.online.rescue.lookup_tables import Guard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances import RescueInstance


SIZE_LIMIT = 100_000
"""Largest number of states or scenarios that an exact recursion may visit."""

ServerStates = tuple[tuple[int, int] | None, ...]
"""Per server None when idle, else (profile, number of slots its run has taken so far)."""


def require_enumerable(instance: RescueInstance) -> None:
    """Refuse an instance with more joint states than `SIZE_LIMIT`, before any other work."""
    Scenario(instance, reserved=False)


class Scenario:
    """Plain lists of one instance and the transitions of its servers.

    Without reserved tasks servers carry retraining runs alone. A task fails if it lacks more than
    the share `tolerance` of its demand at its deadline.
    """

    def __init__(
        self,
        instance: RescueInstance,
        *,
        reserved: bool,
        tolerance: float = FEASIBLE,
        limit: int = SIZE_LIMIT,
    ) -> None:
        self.horizon, self.servers = instance.horizon, instance.servers
        self.devices, self.profiles = instance.devices, instance.profiles
        self.exclusive = instance.arrivals == "exclusive"
        self.tolerance = tolerance
        self.limit = limit
        self.visited = 0
        # Slots, joint states of the servers, and decisions in each.
        joint = float(1 + self.profiles * instance.max_duration) ** self.servers
        self.require(self.horizon * joint * self.devices * self.servers * self.profiles)
        self.arrival: list[list[float]] = instance.arrival.tolist()
        self.reward: list[list[list[list[float]]]] = instance.expected_profit.tolist()
        self.distribution = [
            [(d + 1, q) for d, q in enumerate(row) if q > 0] for row in instance.duration.tolist()
        ]
        self.survival: list[list[float]] = instance.survival.tolist()
        self.capacity: list[list[float]] = instance.capacity.tolist()
        self.guard = Guard.of(instance)
        tasks = instance.reserved
        self.tasks: list[tuple[int, int, int, float]] = (
            list(
                zip(
                    tasks.server.tolist(),
                    tasks.start.tolist(),
                    tasks.end.tolist(),
                    tasks.demand.tolist(),
                    strict=True,
                )
            )
            if reserved
            else []
        )

    def require(self, size: float) -> None:
        """Refuse a recursion of more than `limit` states or scenarios."""
        if size > self.limit:
            raise NotApplicableError(
                f"too large for exact enumeration: {size:.3g} states or scenarios, "
                f"at most {self.limit}"
            )

    def visit(self) -> None:
        """Count one visited state."""
        self.visited += 1
        self.require(self.visited)

    @property
    def idle(self) -> ServerStates:
        """All servers idle."""
        return (None,) * self.servers

    @property
    def demands(self) -> tuple[float, ...]:
        """Remaining demands in TMAC before the first slot."""
        return tuple(task[3] for task in self.tasks)

    def outcomes(self, slot: int) -> list[tuple[float, tuple[int, ...]]]:
        """Return every possible set of arriving devices of a slot, with its probability."""
        p = self.arrival[slot]
        found: list[tuple[float, tuple[int, ...]]] = []
        if self.exclusive:
            found = [(p[j], (j,)) for j in range(self.devices)]
            found.append((1 - math.fsum(p), ()))
        else:
            for present in itertools.product((False, True), repeat=self.devices):
                chances = (p[j] if here else 1 - p[j] for j, here in enumerate(present))
                arrived = tuple(j for j, here in enumerate(present) if here)
                found.append((math.prod(chances), arrived))
        return [(chance, arrived) for chance, arrived in found if chance > 1e-15]

    def sequences(self) -> Iterator[tuple[float, tuple[tuple[int, ...], ...]]]:
        """Iterate over all arrival sequences with their probabilities."""
        slots = [self.outcomes(t) for t in range(self.horizon)]
        self.require(math.prod(len(slot) for slot in slots))
        for path in itertools.product(*slots):
            yield math.prod(chance for chance, _ in path), tuple(arrived for _, arrived in path)

    def assignments(
        self, slot: int, device: int, states: ServerStates
    ) -> Iterator[tuple[float, ServerStates]]:
        """Iterate over expected profit and new states for every idle server and every profile."""
        for k in range(self.servers):
            if states[k] is None:
                for profile in range(self.profiles):
                    run = (*states[:k], (profile, 0), *states[k + 1 :])
                    yield self.reward[slot][device][k][profile], run

    def advance(self, states: ServerStates) -> list[tuple[float, ServerStates]]:
        """Pass through one slot: every run takes it and may end with it."""
        branches: list[tuple[float, ServerStates]] = [(1.0, ())]
        for state in states:
            if state is None:
                branches = [(p, (*s, None)) for p, s in branches]
                continue
            profile, age = state
            alive = self.survival[profile]
            stays = (alive[age + 1] if age + 1 < len(alive) else 0.0) / alive[age]
            longer = [(p * stays, (*s, (profile, age + 1))) for p, s in branches if stays > 0]
            ended = [(p * (1 - stays), (*s, None)) for p, s in branches if stays < 1]
            branches = longer + ended
        return branches

    def serve(
        self, slot: int, remaining: tuple[float, ...], free: tuple[bool, ...]
    ) -> tuple[tuple[float, ...], bool]:
        """Serve reserved tasks for one slot, earliest deadline first on every free server."""
        if not remaining:
            return remaining, False
        left, failures = self.guard.elapse(slot, np.array(free), remaining, self.tolerance)
        return left, failures > 0

    def pass_slot(
        self,
        slot: int,
        states: ServerStates,
        remaining: tuple[float, ...],
        value: Callable[[ServerStates, tuple[float, ...]], float],
    ) -> float:
        """Return the expected value of what comes after a slot, -inf if a reserved task fails."""
        left, failed = self.serve(slot, remaining, tuple(state is None for state in states))
        if failed:
            return -math.inf
        return sum(chance * value(after, left) for chance, after in self.advance(states))

    def safe(self, server: int, profile: int, slot: int, remaining: tuple[float, ...]) -> bool:
        """Decide whether reserved tasks survive the longest possible run started now."""
        return self.guard.safe(server, profile, slot, np.array(remaining))


Decide = Callable[
    [Scenario, int, int, tuple[bool, ...], tuple[float, ...]], list[tuple[float, tuple[int, int]]]
]
"""`decide(scenario, slot, device, free, remaining)` returns probabilities of (server, profile).

`free` tells which servers have no run, `remaining` the demands of reserved tasks; what is missing
to one is the probability to reject.
"""


def evaluate(
    instance: RescueInstance,
    decide: Decide,
    *,
    arrivals: tuple[tuple[int, ...], ...] | None = None,
    limit: int = SIZE_LIMIT,
) -> Outcome:
    """Evaluate a policy exactly while reserved tasks are served, on one arrival sequence or on all.

    Arrivals are the arriving devices per slot; by default they follow the distribution of the
    instance.
    """
    scenario = Scenario(instance, reserved=True, limit=limit)

    def answers(slot: int, idle: NDArray[np.bool_], remaining: NDArray[np.float64]) -> Any:
        free, left = tuple(idle.tolist()), tuple(remaining.tolist())
        return lambda device: decide(scenario, slot, device, free, left)

    try:
        return follow(
            instance, answers, track=True, limit=limit, name="policy", arrivals=arrivals,
            any_failure=True,
        )  # fmt: skip
    except OptionError as error:
        raise NotApplicableError(f"too large for exact evaluation: {error}") from error
