"""Exact optima that know the arrivals but not the durations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from edgeopt.bounds.rescue.exhaustive.expectation import optimum_in_expectation
from edgeopt.bounds.rescue.exhaustive.world import SIZE_LIMIT, ServerStates, World
from edgeopt.instances.edf import FEASIBLE

if TYPE_CHECKING:
    from edgeopt.instances import RescueInstance

__all__ = ["hindsight", "offline_optimum"]


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
