"""The exact optimum of all online policies, by dynamic programming over the joint state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from edgeopt.bounds.rescue.exhaustive.world import SIZE_LIMIT, ServerStates, World
from edgeopt.instances.edf import FEASIBLE

if TYPE_CHECKING:
    from edgeopt.instances import RescueInstance

__all__ = ["online_optimum"]


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
