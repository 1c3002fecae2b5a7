"""The published actor, run without PyTorch: one head per device and choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from edgeopt.errors import InputError
from edgeopt.learning import Checkpoint, perceptron
from edgeopt.learning.arrays import layer_shapes
from edgeopt.models.oinc.slot import SlotPlan, evaluate
from edgeopt.online.oinc.components import Part
from edgeopt.options import check_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem


WORK: Final = 0.2
"""Computation of a request that counts as 1 in the inputs, Gcycle."""

SIZE: Final = 12.8
"""Data of a request that count as 1 in the inputs, Mbit."""

RATE: Final = "rate"
"""Name in a checkpoint of the rates with which it was trained, Mbit/s, shape [I, J]."""


def inputs_of(
    devices: int, device: Ints, size: Floats, work: Floats, room: Floats
) -> NDArray[np.float32]:
    """Return data and computation of every device, 0 without a request, and CPU left."""
    asked = np.zeros((2, devices))
    asked[0, device], asked[1, device] = size / SIZE, work / WORK
    return np.concatenate([asked.ravel(), room]).astype(np.float32)


def names_of(instance: OincInstance) -> list[str]:
    """Return the names of these inputs."""
    devices, sites = range(instance.devices), range(instance.sites)
    named = [f"{what} of device {i}" for what in ("data", "work") for i in devices]
    return [*named, *(f"CPU left at site {j}" for j in sites)]


def choices(sites: int, levels: int | None) -> tuple[int, ...]:
    """Return how many choices a device has: sites, and levels of band and CPU if there are any."""
    return (sites,) if levels is None else (sites, levels, levels)


def planned(problem: SlotProblem, chosen: Ints, late: float = 3.0) -> SlotPlan:
    """Return the plan of the choices of all devices, shape [I, 1 or 3].

    With sites alone, shares are the best ones for the objectives; otherwise they are in proportion
    to the levels.
    """
    chosen = chosen[problem.device].astype(np.int64)
    site = chosen[:, 0]
    if chosen.shape[1] == 1:
        return evaluate(problem, site, late=late)
    shares = [
        level / np.bincount(site, level, minlength=problem.sites)[site]
        for level in (chosen[:, 1] + 1.0, chosen[:, 2] + 1.0)
    ]
    return SlotPlan(problem, site, shares[0], problem.room[site] * shares[1])


@dataclass(frozen=True, eq=False)
class SoftActor(Part):
    """The most likely choices of the soft actor of Zeng et al., algorithm 3.

    Its inputs hold neither channel nor objectives, so that it runs with the rates with which it was
    trained, and with no others.

    Parameters
    ----------
    checkpoint
        What the learner ``sac-d`` has learnt.

    Raises
    ------
    InputError
        If the checkpoint is of another learner, or was trained with other sizes or rates.
    """

    title: ClassVar[str] = "Published actor (SAC-D)"

    checkpoint: Checkpoint

    def __post_init__(self) -> None:
        check_kind("checkpoint", self.checkpoint, Checkpoint)
        made = self.checkpoint.system, self.checkpoint.learner
        if made != ("oinc", "sac-d"):
            rule = "must be of the published actor of oinc"
            raise InputError("checkpoint", rule, value=" ".join(made))

    @property
    def name(self) -> str:
        """The title."""
        return self.title

    @property
    def _levels(self) -> int | None:
        settings = self.checkpoint.settings
        return int(settings["levels"]) if settings["shares"] == "levels" else None

    def start(self, instance: OincInstance) -> OincInstance:
        """Refuse an instance of another size, and remember it."""
        kinds = choices(instance.sites, self._levels)
        inputs, out = 2 * instance.devices + instance.sites, len(kinds) * max(kinds)
        layers = (inputs, *self.checkpoint.settings["hidden"], instance.devices * out)
        self.checkpoint.require({RATE: (instance.devices, instance.sites), **layer_shapes(*layers)})
        return instance

    def answer(
        self, memory: OincInstance, problem: SlotProblem, _rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, OincInstance]:
        """Answer a slot."""
        devices, weights = memory.devices, self.checkpoint.weights
        size = problem.transmission * weights[RATE][problem.device]
        if not np.isfinite(size).all() or not np.allclose(size, size[:, :1], rtol=1e-9):
            rule = "was trained with other rates; the published actor knows only those"
            raise InputError("checkpoint", rule)
        work = problem.computation[:, 0] * memory.speed[0]
        kinds = choices(memory.sites, self._levels)
        values = perceptron(
            weights, inputs_of(devices, problem.device, size[:, 0], work, problem.room)
        )
        heads = values.reshape(devices, len(kinds), max(kinds))
        chosen = [heads[:, kind, :count].argmax(-1) for kind, count in enumerate(kinds)]
        return planned(problem, np.stack(chosen, -1), memory.refusal_latency), memory
