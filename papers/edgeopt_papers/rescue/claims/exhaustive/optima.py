"""Exact optima: of online policies, with known arrivals, and with known arrivals and durations."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.instances.edf import FEASIBLE
from edgeopt_papers.rescue.claims.exhaustive.programs import optimum_in_expectation
from edgeopt_papers.rescue.claims.exhaustive.scenario import SIZE_LIMIT, Scenario, ServerStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances import RescueInstance


def online_optimum(
    instance: RescueInstance,
    *,
    reserved: Literal["ignored", "pathwise"] = "ignored",
    tolerance: float = FEASIBLE,
    limit: int = SIZE_LIMIT,
) -> float:
    """Return the largest expected profit of any online policy.

    The policy knows the distributions of arrivals and durations, sees a task when it arrives and
    the end of a run when it ends. Independent arrivals of one slot come in the order of their
    index, and each is decided before the next one is seen. Reserved tasks are ignored or met on
    every path, up to a share `tolerance` of their demand.
    """
    scenario = Scenario(instance, reserved=reserved == "pathwise", tolerance=tolerance, limit=limit)
    return _Program(scenario).value(0, scenario.idle, scenario.demands)


class _Program:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.known: dict[object, float] = {}

    def value(self, slot: int, states: ServerStates, remaining: tuple[float, ...]) -> float:
        """Best expected profit from the start of a slot on."""
        scenario = self.scenario
        if slot == scenario.horizon:
            return 0.0
        key = (slot, states, remaining)
        if key not in self.known:
            scenario.visit()
            if scenario.exclusive:
                self.known[key] = sum(
                    chance * self.answer(slot, arrived, scenario.devices, states, remaining)
                    for chance, arrived in scenario.outcomes(slot)
                )
            else:
                self.known[key] = self.reveal(slot, 0, states, remaining)
        return self.known[key]

    def reveal(
        self, slot: int, device: int, states: ServerStates, remaining: tuple[float, ...]
    ) -> float:
        """Value before it is known whether a device of an independent slot has a task."""
        if device == self.scenario.devices:
            return self.scenario.pass_slot(slot, states, remaining, partial(self.value, slot + 1))
        chance = self.scenario.arrival[slot][device]
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
            for reward, run in self.scenario.assignments(slot, device, states):
                best = max(best, reward + self.reveal(slot, unseen, run, remaining))
        return best


def offline_optimum(
    instance: RescueInstance,
    *,
    reserved: Literal["ignored", "pathwise", "expected"] = "ignored",
    tolerance: float = FEASIBLE,
    limit: int = SIZE_LIMIT,
) -> float:
    r"""Return :math:`\mathbb{E}_I[\mathrm{OPT}(I)]` exactly, -inf if reserved tasks cannot be met.

    OPT sees the whole arrival sequence beforehand. It learns the duration of a run only by its
    end, and may adapt to the ends seen so far. It ignores reserved tasks, meets them on every path
    of positive probability, or on average over arrivals and durations, as rows (2b) and (2d) of P1
    require.
    """
    if reserved == "expected":
        return optimum_in_expectation(instance, limit=limit)
    scenario = Scenario(instance, reserved=reserved == "pathwise", tolerance=tolerance, limit=limit)
    search = _Search(scenario)
    start = (scenario.idle, scenario.demands)
    return math.fsum(
        chance * search.value(0, arrivals, *start) for chance, arrivals in scenario.sequences()
    )


def hindsight(
    instance: RescueInstance, *, limit: int = SIZE_LIMIT
) -> list[tuple[float, tuple[tuple[int, ...], ...], float]]:
    """Return probability, arriving devices and OPT(I) of every arrival sequence I.

    Reserved tasks are ignored.
    """
    scenario = Scenario(instance, reserved=False, limit=limit)
    search = _Search(scenario)
    return [
        (chance, arrivals, search.value(0, arrivals, scenario.idle, ()))
        for chance, arrivals in scenario.sequences()
    ]


class _Search:
    """Memoised recursion over the rest of an arrival sequence."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.known: dict[object, float] = {}

    def value(
        self,
        slot: int,
        arrivals: tuple[tuple[int, ...], ...],
        states: ServerStates,
        remaining: tuple[float, ...],
    ) -> float:
        """Best expected profit from the start of a slot on, given the arrivals still to come."""
        if slot == self.scenario.horizon:
            return 0.0
        key = (slot, arrivals, states, remaining)
        if key not in self.known:
            self.scenario.visit()
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
            return self.scenario.pass_slot(
                slot, states, remaining, partial(self.value, slot + 1, later)
            )
        device, others = waiting[0], waiting[1:]
        best = self.assign(slot, others, later, states, remaining)
        for reward, run in self.scenario.assignments(slot, device, states):
            best = max(best, reward + self.assign(slot, others, later, run, remaining))
        return best


SCENARIO_LIMIT = 20_000
"""Largest number of joint outcomes of all arrivals and durations."""

Task = tuple[int, tuple[int, ...]]
"""A waiting task: its device and, per profile, the duration its run would take."""


def clairvoyant_optimum(instance: RescueInstance, *, limit: int = SCENARIO_LIMIT) -> float:
    """Return the expected profit of the optimum that knows all arrivals and all durations.

    One uniform number per task fixes its duration under every profile through the inverse of the
    distribution function, as in the simulator. Reserved tasks are ignored.
    """
    scenario = Scenario(instance, reserved=False, limit=limit)
    drawn = _duration_vectors(scenario)
    slots = [_scenarios(scenario, t, drawn) for t in range(scenario.horizon)]
    scenario.require(math.prod(len(slot) for slot in slots))
    earned: NDArray[np.float64] = np.broadcast_to(
        instance.profit_block(slice(0, scenario.horizon)),
        (*instance.expected_profit.shape, instance.max_duration),
    )
    known: dict[object, float] = {}

    def value(slot: int, later: tuple[tuple[Task, ...], ...], free_from: tuple[int, ...]) -> float:
        if slot == scenario.horizon:
            return 0.0
        free_from = tuple(max(slot, end) for end in free_from)
        key = (slot, later, free_from)
        if key not in known:
            scenario.visit()
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
        * value(0, tuple(tasks for _, tasks in path), (0,) * scenario.servers)
        for path in itertools.product(*slots)
    )


def _duration_vectors(scenario: Scenario) -> list[tuple[float, tuple[int, ...]]]:
    """Cut (0, 1) where any profile changes its duration; weight and durations of every piece."""
    steps = []
    for distribution in scenario.distribution:
        total = 0.0
        for _, q in distribution[:-1]:
            total += q
            steps.append(total)
    cuts = [0.0, *sorted(set(steps)), 1.0]
    vectors: dict[tuple[int, ...], float] = {}
    for low, high in itertools.pairwise(cuts):
        durations = tuple(
            _quantile(distribution, (low + high) / 2) for distribution in scenario.distribution
        )
        vectors[durations] = vectors.get(durations, 0.0) + high - low
    return [(weight, durations) for durations, weight in vectors.items() if weight > 0]


def _quantile(distribution: list[tuple[int, float]], u: float) -> int:
    total = 0.0
    for d, q in distribution:
        total += q
        if u < total:
            return d
    return distribution[-1][0]


def _scenarios(
    scenario: Scenario, slot: int, drawn: list[tuple[float, tuple[int, ...]]]
) -> list[tuple[float, tuple[Task, ...]]]:
    """Return every set of waiting tasks of a slot with their durations, and its probability."""
    found = []
    for chance, arrived in scenario.outcomes(slot):
        for pieces in itertools.product(drawn, repeat=len(arrived)):
            tasks = tuple((j, piece[1]) for j, piece in zip(arrived, pieces, strict=True))
            found.append((chance * math.prod(piece[0] for piece in pieces), tasks))
    return found
