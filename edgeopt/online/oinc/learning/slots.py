"""Slots to learn from and to evaluate on: drawn instances, and CPU as the loop leaves it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.oinc import generate
from edgeopt.models.oinc.slot import slot_problem
from edgeopt.online import simulate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.inference import GreedyConvex
from edgeopt.online.oinc.policies.loop import Oinc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]

TRAINING: Final = range(1000, 1040)
"""Seeds of the training instances."""

VALIDATION: Final = range(2000, 2008)
"""Seeds of the instances by which the best weights are chosen; figures come from others."""

UNIFORM: Final = 0.1
"""Share of the slots in which the CPU that is left is drawn evenly, whatever the loop does."""

LEAST: Final = 0.05
"""Least share of a CPU that is left to requests then."""


@dataclass(frozen=True, eq=False)
class Rooms:
    """An instance, and shares of the CPUs that are left to requests.

    Parameters
    ----------
    instance
        The instance.
    left
        Shares that the loop left to requests, in the order of its slots, shape [R, J].
    """

    instance: OincInstance
    left: Floats

    @classmethod
    def of(cls, instance: OincInstance) -> Rooms:
        """Run the loop once with a quick way to answer requests, and note what it leaves."""
        run = simulate(OincEnvironment(instance), Oinc(inference=GreedyConvex()), runs=1)
        return cls(instance, 1.0 - run.reserved[0])

    @cached_property
    def busy(self) -> NDArray[np.int64]:
        """Slots with requests."""
        return np.flatnonzero(self.instance.active.any(axis=1))

    def draw(self, rng: np.random.Generator) -> SlotProblem:
        """Draw a slot with requests, and the CPU that is left in one."""
        return self.at(int(rng.choice(self.busy)), rng)

    def at(self, slot: int, rng: np.random.Generator) -> SlotProblem:
        """Return the requests of a slot, with CPU that is drawn."""
        return self.requests(slot).with_reserved(1.0 - self.room(rng))

    def room(self, rng: np.random.Generator) -> Floats:
        """Draw shares of the CPUs that are left to requests, shape [J]."""
        room: Floats = self.left[rng.integers(len(self.left))]
        return rng.uniform(LEAST, 1.0, room.size) if rng.random() < UNIFORM else room

    def requests(self, slot: int) -> SlotProblem:
        """Return the requests of a slot, with all CPU."""
        found = self._requests.get(slot)
        if found is None:
            found = self._requests[slot] = slot_problem(self.instance, slot)
        return found

    @cached_property
    def _requests(self) -> dict[int, SlotProblem]:
        return {}


def drawn(seeds: Iterable[int], slots: int = 60) -> list[Rooms]:
    """Draw instances of many sizes and loads."""
    found = []
    for seed in seeds:
        size = np.random.default_rng([seed, 1])
        settings: dict[str, Any] = {
            "devices": int(size.integers(20, 51)), "sites": int(size.integers(10, 16)),
            "duty": float(size.uniform(0.3, 0.6)), "slots": slots,
            "jobs": int(size.integers(slots // 10, slots // 2)),
        }  # fmt: skip
        found.append(Rooms.of(generate(rng=seed, **settings)))
    return found


SCENARIO: Final[dict[str, Any]] = {"rng": 0, "duty": 0.45, "slots": 1400, "jobs": 168}
"""The instance of the learning curves: the paper's setting, with jobs as often as there."""

LATER: Final = 400
"""Its last slots, on which learners are compared and none is trained."""


def scenario() -> Rooms:
    """Draw the instance of the learning curves."""
    return Rooms.of(generate(**SCENARIO))


def later(rooms: Rooms, count: int = LATER) -> tuple[NDArray[np.int64], list[SlotProblem]]:
    """Return those of the last slots that have requests, with CPU drawn, always the same."""
    rng = np.random.default_rng(3)
    slots = rooms.busy[rooms.busy >= rooms.instance.slots - count]
    return slots, [rooms.at(int(slot), rng) for slot in slots]


def held_out(rooms: Sequence[Rooms], each: int, seed: int) -> list[SlotProblem]:
    """Draw as many slots of every instance, always the same."""
    rng = np.random.default_rng([seed, 2])
    return [one.draw(rng) for one in rooms for _ in range(each)]
