"""A tiny instance in plain numbers, with the moves that all exact recursions share.

Nothing here is shared with the compiled code of the simulator and the value functions, so that
the exact values can stand as their oracle.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.instances.edf import FEASIBLE, ROUNDING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances import RescueInstance

__all__ = ["SIZE_LIMIT", "ServerStates", "World", "optimum_in_expectation", "require_enumerable"]

SIZE_LIMIT = 100_000
"""Largest number of states or scenarios that an exact recursion may visit."""

ServerStates = tuple[tuple[int, int] | None, ...]
"""Per server None when idle, else (profile, number of slots its run has taken so far)."""


def require_enumerable(instance: RescueInstance) -> None:
    """Refuse an instance with more joint states than `SIZE_LIMIT`, before any other work.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    World(instance, reserved=False)


class World:
    """Plain lists of one instance and the transitions of its servers.

    Parameters
    ----------
    instance
        The instance.
    reserved
        Whether reserved tasks are served; without them servers carry retraining runs alone.
    tolerance
        Share of its demand above which a reserved task counts as failed if it lacks it at its
        deadline.
    limit
        Largest number of states that may be visited.
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
        self.law = [
            [(d + 1, q) for d, q in enumerate(row) if q > 0] for row in instance.duration.tolist()
        ]
        self.survival: list[list[float]] = instance.survival.tolist()
        self.capacity: list[list[float]] = instance.capacity.tolist()
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
        if not self.tasks:
            return remaining, False
        left = list(remaining)
        room = [self.capacity[k][slot] * free[k] for k in range(self.servers)]
        for i in sorted(range(len(left)), key=lambda i: (self.tasks[i][2], i)):
            server, start, end, _ = self.tasks[i]
            if start <= slot <= end:
                served = min(left[i], room[server])
                left[i] -= served
                room[server] -= served
        failed = False
        for i, task in enumerate(self.tasks):
            if task[2] == slot and left[i] > self.tolerance * task[3]:
                failed, left[i] = True, 0.0
        return tuple(left), failed

    def safe(self, server: int, profile: int, slot: int, remaining: tuple[float, ...]) -> bool:
        """Decide whether reserved tasks survive the longest possible run started now."""
        back = slot + max(d for d, _ in self.law[profile])
        mine = [
            (max(start, slot), end, remaining[i], whole)
            for i, (k, start, end, whole) in enumerate(self.tasks)
            if k == server and end >= slot
        ]
        offer = self.capacity[server]
        for a in {task[0] for task in mine}:
            for b in {task[1] for task in mine if task[1] >= a}:
                inside = [task for task in mine if task[0] >= a and task[1] <= b]
                if not inside:
                    continue
                excess = math.fsum(task[2] for task in inside) - math.fsum(
                    offer[max(a, back) : b + 1]
                )
                least = FEASIBLE * min(task[3] for task in inside)
                if excess > max(least, ROUNDING * math.fsum(offer[a : b + 1])):
                    return False
        return True


def optimum_in_expectation(instance: RescueInstance, *, limit: int = SIZE_LIMIT) -> float:
    r"""Return the optimum over strategies under rows (2b) and (2d) in expectation.

    The strategies that know the arrivals form one linear program in the probabilities
    :math:`f_\omega(t, s, s')` of going from states s to states s' by the decisions of slot t
    under arrival sequence :math:`\omega`:

    .. math::
        \max\ & \sum_\omega \Pr(\omega) \sum_{t,s,s'} f_\omega(t,s,s')\, r_\omega(t,s,s') \\
        \text{s.t. } & f_\omega \text{ is a flow along the slots}, \\
        & \Pr(k \text{ is busy at } t) + \sum_{i} x_i(t) \le 1, \quad
          \sum_t c_k(t) x_i(t) \ge \phi_i .
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rows = _Rows(World(instance, reserved=True, limit=limit))
    equal, coupled = (
        csr_array((value, (row, column)), shape=(count, len(rows.cost)))
        for value, row, column, count in (rows.flow(), rows.shared())
    )
    cost = np.array(rows.cost)
    largest = float(cost.max()) or 1.0  # the solver's tolerances are absolute
    solved = linprog(
        -cost / largest,
        A_ub=coupled,
        b_ub=np.array(rows.shared_side),
        A_eq=equal,
        b_eq=np.array(rows.flow_side),
        bounds=(0, None),
        method="highs",
    )
    return -float(solved.fun) * largest if solved.success else -math.inf


class _Rows:
    """Rows of the program, gathered sequence by sequence."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cost: list[float] = []
        self.flow_side: list[float] = []
        self._flow: list[tuple[float, int, int]] = []
        occupied = world.servers * world.horizon
        self._shared: list[tuple[float, int, int]] = []
        self.shared_side = [1.0] * occupied + [-1.0] * len(world.tasks)
        for chance, arrivals in world.sequences():
            self._follow(chance, arrivals)
        for i, (k, start, end, demand) in enumerate(world.tasks):
            for t in range(start, end + 1):
                column = self._column(0.0)
                self._shared.append((1.0, k * world.horizon + t, column))
                self._shared.append((-world.capacity[k][t] / demand, occupied + i, column))

    def flow(self) -> tuple[list[float], list[int], list[int], int]:
        return *_columns(self._flow), len(self.flow_side)

    def shared(self) -> tuple[list[float], list[int], list[int], int]:
        return *_columns(self._shared), len(self.shared_side)

    def _column(self, cost: float) -> int:
        self.cost.append(cost)
        self.world.require(len(self.cost))
        return len(self.cost) - 1

    def _follow(self, chance: float, arrivals: tuple[tuple[int, ...], ...]) -> None:
        """Add the flow of one arrival sequence, slot after slot."""
        world = self.world
        row_of = {world.idle: self._row(1.0)}
        for t, waiting in enumerate(arrivals):
            next_row: dict[ServerStates, int] = {}
            for states, row in row_of.items():
                for run, reward in self._decisions(t, waiting, states).items():
                    column = self._column(chance * reward)
                    self._flow.append((1.0, row, column))
                    self._shared += [
                        (chance, k * world.horizon + t, column)
                        for k, state in enumerate(run)
                        if state is not None
                    ]
                    if t + 1 == world.horizon:
                        continue
                    for share, after in world.advance(run):
                        if after not in next_row:
                            next_row[after] = self._row(0.0)
                        self._flow.append((-share, next_row[after], column))
            row_of = next_row

    def _row(self, side: float) -> int:
        self.flow_side.append(side)
        return len(self.flow_side) - 1

    def _decisions(
        self, slot: int, waiting: tuple[int, ...], states: ServerStates
    ) -> dict[ServerStates, float]:
        """Map every reachable assignment of the waiting tasks to its best expected profit."""
        reached = {states: 0.0}
        for device in waiting:
            for before, earned in list(reached.items()):
                for reward, run in self.world.assignments(slot, device, before):
                    reached[run] = max(reached.get(run, -math.inf), earned + reward)
        return reached


def _columns(
    entries: list[tuple[float, int, int]],
) -> tuple[list[float], list[int], list[int]]:
    return [e[0] for e in entries], [e[1] for e in entries], [e[2] for e in entries]
