"""The exact optimum of all online policies, by dynamic programming over the joint state."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.rescue.exhaustive.world import (
    SIZE_LIMIT,
    ServerStates,
    World,
    optimum_in_expectation,
)
from edgeopt.instances.edf import FEASIBLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances import RescueInstance

__all__ = ["clairvoyant_optimum", "hindsight", "offline_optimum", "online_optimum"]


def online_optimum(
    instance: RescueInstance,
    *,
    reserved: Literal["ignored", "pathwise"] = "ignored",
    tolerance: float = FEASIBLE,
    limit: int = SIZE_LIMIT,
) -> float:
    """Return the largest expected profit of any online policy.

    The policy knows the laws of arrivals and durations, sees a task when it arrives and the end
    of a run when it ends. Independent arrivals of one slot come in the order of their index, and
    each is decided before the next one is seen.

    Parameters
    ----------
    instance
        A tiny instance.
    reserved
        Whether reserved tasks are ignored or must be met on every path.
    tolerance
        Share of its demand that a reserved task may lack at its deadline.
    limit
        Largest number of states.

    Returns
    -------
    float
        Expected profit.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    world = World(instance, reserved=reserved == "pathwise", tolerance=tolerance, limit=limit)
    return _Program(world).value(0, world.idle, world.demands)


class _Program:
    def __init__(self, world: World) -> None:
        self.world = world
        self.known: dict[object, float] = {}

    def value(self, slot: int, states: ServerStates, remaining: tuple[float, ...]) -> float:
        """Best expected profit from the start of a slot on."""
        world = self.world
        if slot == world.horizon:
            return 0.0
        key = (slot, states, remaining)
        if key not in self.known:
            world.visit()
            if world.exclusive:
                self.known[key] = sum(
                    chance * self.answer(slot, arrived, world.devices, states, remaining)
                    for chance, arrived in world.outcomes(slot)
                )
            else:
                self.known[key] = self.reveal(slot, 0, states, remaining)
        return self.known[key]

    def reveal(
        self, slot: int, device: int, states: ServerStates, remaining: tuple[float, ...]
    ) -> float:
        """Value before it is known whether a device of an independent slot has a task."""
        if device == self.world.devices:
            return self.pass_slot(slot, states, remaining)
        chance = self.world.arrival[slot][device]
        absent = self.reveal(slot, device + 1, states, remaining)
        if chance == 0:
            return absent
        present = self.answer(slot, (device,), device + 1, states, remaining)
        return present if chance == 1 else chance * present + (1 - chance) * absent

    def answer(
        self,
        slot: int,
        arrived: tuple[int, ...],
        unseen: int,
        states: ServerStates,
        remaining: tuple[float, ...],
    ) -> float:
        """Value once at most one task waits, before the devices from `unseen` on show theirs."""
        best = self.reveal(slot, unseen, states, remaining)
        for device in arrived:
            for reward, run in self.world.assignments(slot, device, states):
                best = max(best, reward + self.reveal(slot, unseen, run, remaining))
        return best

    def pass_slot(self, slot: int, states: ServerStates, remaining: tuple[float, ...]) -> float:
        free = tuple(state is None for state in states)
        remaining, failed = self.world.serve(slot, remaining, free)
        if failed:
            return -math.inf
        return sum(
            chance * self.value(slot + 1, after, remaining)
            for chance, after in self.world.advance(states)
        )


def offline_optimum(
    instance: RescueInstance,
    *,
    reserved: Literal["ignored", "pathwise", "expected"] = "ignored",
    tolerance: float = FEASIBLE,
    limit: int = SIZE_LIMIT,
) -> float:
    r"""Return :math:`\mathbb{E}_I[\mathrm{OPT}(I)]` exactly.

    OPT sees the whole arrival sequence beforehand. It learns the duration of a run only by its
    end, and may adapt to the ends seen so far.

    Parameters
    ----------
    instance
        A tiny instance.
    reserved
        What OPT owes to reserved tasks: nothing; all of them on every path of positive
        probability; or all of them on average over arrivals and durations, as rows (2b) and (2d)
        of P1 ask.
    tolerance
        Share of its demand that a reserved task may lack at its deadline on a path.
    limit
        Largest number of states or scenarios.

    Returns
    -------
    float
        Expected profit; minus infinity when the reserved tasks cannot be met.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    if reserved == "expected":
        return optimum_in_expectation(instance, limit=limit)
    world = World(instance, reserved=reserved == "pathwise", tolerance=tolerance, limit=limit)
    search = _Search(world)
    start = (world.idle, world.demands)
    return math.fsum(
        chance * search.value(0, arrivals, *start) for chance, arrivals in world.sequences()
    )


def hindsight(
    instance: RescueInstance, *, limit: int = SIZE_LIMIT
) -> list[tuple[float, tuple[tuple[int, ...], ...], float]]:
    """Return OPT(I) for every arrival sequence I, reserved tasks ignored.

    Parameters
    ----------
    instance
        A tiny instance.
    limit
        Largest number of states or scenarios.

    Returns
    -------
    list
        Probability, arriving devices of every slot, and expected profit of the optimum.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    world = World(instance, reserved=False, limit=limit)
    search = _Search(world)
    return [
        (chance, arrivals, search.value(0, arrivals, world.idle, ()))
        for chance, arrivals in world.sequences()
    ]


class _Search:
    """Memoised recursion over the rest of an arrival sequence."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.known: dict[object, float] = {}

    def value(
        self,
        slot: int,
        arrivals: tuple[tuple[int, ...], ...],
        states: ServerStates,
        remaining: tuple[float, ...],
    ) -> float:
        """Best expected profit from the start of a slot on, given the arrivals still to come."""
        if slot == self.world.horizon:
            return 0.0
        key = (slot, arrivals, states, remaining)
        if key not in self.known:
            self.world.visit()
            self.known[key] = self.assign(slot, arrivals[0], arrivals[1:], states, remaining)
        return self.known[key]

    def assign(
        self,
        slot: int,
        waiting: tuple[int, ...],
        later: tuple[tuple[int, ...], ...],
        states: ServerStates,
        remaining: tuple[float, ...],
    ) -> float:
        if not waiting:
            return self.pass_slot(slot, later, states, remaining)
        device, others = waiting[0], waiting[1:]
        best = self.assign(slot, others, later, states, remaining)
        for reward, run in self.world.assignments(slot, device, states):
            best = max(best, reward + self.assign(slot, others, later, run, remaining))
        return best

    def pass_slot(
        self,
        slot: int,
        later: tuple[tuple[int, ...], ...],
        states: ServerStates,
        remaining: tuple[float, ...],
    ) -> float:
        free = tuple(state is None for state in states)
        remaining, failed = self.world.serve(slot, remaining, free)
        if failed:
            return -math.inf
        return sum(
            chance * self.value(slot + 1, later, after, remaining)
            for chance, after in self.world.advance(states)
        )


SCENARIO_LIMIT = 20_000
"""Largest number of joint outcomes of all arrivals and durations."""

Task = tuple[int, tuple[int, ...]]
"""A waiting task: its device and, per profile, the duration its run would take."""


def clairvoyant_optimum(instance: RescueInstance, *, limit: int = SCENARIO_LIMIT) -> float:
    """Return the expected profit of the optimum that knows all arrivals and all durations.

    One uniform number per task fixes its duration under every profile through the inverse of the
    distribution function, as in the simulator. Reserved tasks are ignored.

    Parameters
    ----------
    instance
        A tiny instance.
    limit
        Largest number of scenarios and of states.

    Returns
    -------
    float
        Expected profit.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    world = World(instance, reserved=False, limit=limit)
    drawn = _duration_vectors(world)
    slots = [_scenarios(world, t, drawn) for t in range(world.horizon)]
    world.require(math.prod(len(slot) for slot in slots))
    earned: NDArray[np.float64] = np.broadcast_to(
        instance.profit_block(slice(0, world.horizon)),
        (*instance.expected_profit.shape, instance.max_duration),
    )
    known: dict[object, float] = {}

    def value(slot: int, later: tuple[tuple[Task, ...], ...], free_from: tuple[int, ...]) -> float:
        if slot == world.horizon:
            return 0.0
        free_from = tuple(max(slot, end) for end in free_from)
        key = (slot, later, free_from)
        if key not in known:
            world.visit()
            known[key] = assign(slot, later[0], later[1:], free_from)
        return known[key]

    def assign(
        slot: int,
        waiting: tuple[Task, ...],
        later: tuple[tuple[Task, ...], ...],
        free_from: tuple[int, ...],
    ) -> float:
        if not waiting:
            return value(slot + 1, later, free_from)
        (device, durations), others = waiting[0], waiting[1:]
        best = assign(slot, others, later, free_from)
        for k, end in enumerate(free_from):
            if end <= slot:
                for profile, d in enumerate(durations):
                    ends = (*free_from[:k], slot + d, *free_from[k + 1 :])
                    gain = float(earned[slot, device, k, profile, d - 1])
                    best = max(best, gain + assign(slot, others, later, ends))
        return best

    return math.fsum(
        math.prod(chance for chance, _ in path)
        * value(0, tuple(tasks for _, tasks in path), (0,) * world.servers)
        for path in itertools.product(*slots)
    )


def _duration_vectors(world: World) -> list[tuple[float, tuple[int, ...]]]:
    """Cut (0, 1) where any profile changes its duration; weight and durations of every piece."""
    steps = []
    for law in world.law:
        total = 0.0
        for _, q in law[:-1]:
            total += q
            steps.append(total)
    cuts = [0.0, *sorted(set(steps)), 1.0]
    vectors: dict[tuple[int, ...], float] = {}
    for low, high in itertools.pairwise(cuts):
        durations = tuple(_quantile(law, (low + high) / 2) for law in world.law)
        vectors[durations] = vectors.get(durations, 0.0) + high - low
    return [(weight, durations) for durations, weight in vectors.items() if weight > 0]


def _quantile(law: list[tuple[int, float]], u: float) -> int:
    total = 0.0
    for d, q in law:
        total += q
        if u < total:
            return d
    return law[-1][0]


def _scenarios(
    world: World, slot: int, drawn: list[tuple[float, tuple[int, ...]]]
) -> list[tuple[float, tuple[Task, ...]]]:
    """Return every set of waiting tasks of a slot with their durations, and its probability."""
    found = []
    for chance, arrived in world.outcomes(slot):
        for pieces in itertools.product(drawn, repeat=len(arrived)):
            tasks = tuple((j, piece[1]) for j, piece in zip(arrived, pieces, strict=True))
            found.append((chance * math.prod(piece[0] for piece in pieces), tasks))
    return found
