"""Slots to learn from, and the reward: how late requests are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.oinc import generate
from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import slot_problem
from edgeopt.models.oinc.slot.local_search import measure
from edgeopt.models.oinc.slot.resource_shares import stretch
from edgeopt.online import simulate
from edgeopt.online.oinc.environment import OincEnvironment
from edgeopt.online.oinc.inference import GreedyConvex
from edgeopt.online.oinc.policies.loop import Oinc

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem


MISSED: Final = 3.0
"""What a missed objective counts with in the reward of Zeng et al., s."""

FULL: Final = 0.985
"""Stretch of a site from which objectives count as missed."""

STEEP: Final = 40.0
"""How sharply."""

SOFT: Final = 0.7
"""Missed objectives by that."""

MANY: Final = 12.0
"""Missed objectives of a site from which further ones count less."""

FLATTER: Final = 0.25
"""How much they count then; if they did not at all, crowded sites would draw all requests."""


@compiled(both=True)
def strained(sending: float, computing: float, a: float, c: float, e: float) -> float:
    """Return what a site of these sums counts with: its latencies, and objectives missed, s."""
    above = STEEP * (stretch(a, c, e, 1.0) - FULL)
    late = SOFT * (max(above, 0.0) + math.log1p(math.exp(-abs(above))))
    if late > MANY:
        late = MANY + FLATTER * (late - MANY)
    return sending * sending + computing * computing + MISSED * late


TRAINING: Final = range(1000, 1040)
"""Seeds of the training instances."""

VALIDATION: Final = range(3000, 3010)
"""Seeds of the instances by which options and the best weights are chosen."""

TESTS: Final = range(7100, 7112)
"""Seeds of the instances of other kinds on which what was learnt is tested, and nothing chosen."""

OTHERS: Final[dict[str, dict[str, Any]]] = {
    "as trained": {}, "duty .9": {"duty": 0.9}, "20 devices, 6 sites": {"devices": 20, "sites": 6},
    "80 devices, 24 sites": {"devices": 80, "sites": 24},
}  # fmt: skip
"""What those instances have that differs from 40 devices, 12 sites and a duty of .45."""

EACH: Final = 40
"""Slots of each of them."""

UNIFORM: Final = 0.5
"""Share of the slots in which the CPU that is left is drawn evenly, whatever the loop does."""

LEAST: Final = 0.05
"""Least share of a CPU that is left to requests then."""

SCARCE: Final = 0.5
"""Share of the slots to learn from in which less is left, as if the load were higher."""

SCARCEST: Final = 0.25
"""Least of what is left there, in terms of what was."""


class Drawn(NamedTuple):
    """What an actor sees of the requests of a slot.

    Attributes
    ----------
    terms
        What each of them adds to the sums of each site, shape [n, J, 5].
    slo
        Objectives, s, shape [n].
    """

    terms: Floats
    slo: Floats


@dataclass(frozen=True, eq=False)
class Rooms:
    """An instance, and shares of the CPUs that are left to requests.

    Parameters
    ----------
    instance
        The instance.
    left
        Shares that the loop left to requests, in the order of its slots, shape [R, J].
    even
        Share of the slots in which what is left is drawn evenly.
    """

    instance: OincInstance
    left: Floats
    even: float = UNIFORM

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
        return self.at(int(self.busy[rng.integers(self.busy.size)]), rng)

    def terms(self, rng: np.random.Generator) -> Drawn:
        """Draw a slot to learn from, and no more of it than an actor sees."""
        whole = self.requests(int(self.busy[rng.integers(self.busy.size)]))
        room = self.room(rng)
        if rng.random() < SCARCE:
            room = room * rng.uniform(SCARCEST, 1.0)
        room = np.ascontiguousarray(room)
        terms = measure(whole.transmission, whole.computation, whole.slo, whole.weight, room)
        return Drawn(terms, whole.slo)

    def at(self, slot: int, rng: np.random.Generator) -> SlotProblem:
        """Return the requests of a slot, with CPU that is drawn."""
        return self.requests(slot).with_reserved(1.0 - self.room(rng))

    def room(self, rng: np.random.Generator) -> Floats:
        """Draw shares of the CPUs that are left to requests, shape [J]."""
        room: Floats = self.left[rng.integers(len(self.left))]
        return rng.uniform(LEAST, 1.0, room.size) if rng.random() < self.even else room

    def many(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw as many such shares at once, shape [count, J]."""
        room = self.left[rng.integers(len(self.left), size=count)]
        even = rng.random(count) < self.even
        room[even] = rng.uniform(LEAST, 1.0, room[even].shape)
        return room

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


SCENARIO: Final[dict[str, Any]] = {"rng": 0, "duty": 0.45}
"""The instance of the learning curves: the paper's setting."""

LONG: Final = 1000
"""Slots of the instance with which it goes on, whose CPU is left as in the paper's 200."""

LATER: Final = 400
"""Its last slots, on which learners are compared and none is trained."""


def scenario() -> Rooms:
    """Draw the instance of the learning curves."""
    return Rooms(generate(**SCENARIO, slots=LONG), Rooms.of(generate(**SCENARIO)).left)


def other_slots(kind: str, each: int = EACH) -> list[SlotProblem]:
    """Draw slots of the test instances of a kind, always the same, one instance after the other."""
    settings = {"duty": 0.45, "slots": 60, "jobs": 18} | OTHERS[kind]
    return held_out([Rooms.of(generate(rng=seed, **settings)) for seed in TESTS], each, TESTS[0])


def later(rooms: Rooms, count: int = LATER) -> tuple[NDArray[np.int64], list[SlotProblem]]:
    """Return those of the last slots that have requests, with CPU drawn, always the same."""
    rng = np.random.default_rng(3)
    slots = rooms.busy[rooms.busy >= rooms.instance.slots - count]
    return slots, [rooms.at(int(slot), rng) for slot in slots]


def held_out(rooms: Sequence[Rooms], each: int, seed: int) -> list[SlotProblem]:
    """Draw as many slots of every instance, always the same."""
    rng = np.random.default_rng([seed, 2])
    return [one.draw(rng) for one in rooms for _ in range(each)]
