"""The published actor, run without PyTorch: one head per device and choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import InputError
from edgeopt.learning import Checkpoint, perceptron
from edgeopt.models.oinc.slot import SlotPlan, evaluate
from edgeopt.online.oinc.parts import Part
from edgeopt.options import check_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

WORK: Final = 0.2
"""Computation of a request that counts as 1 in the inputs, Gcycle."""

SIZE: Final = 12.8
"""Data of a request that count as 1 in the inputs, Mbit."""


def inputs_of(instance: OincInstance, slot: int, room: Floats) -> NDArray[np.float32]:
    """Return data and computation of every device, 0 without a request, and CPU left."""
    active = instance.active[slot]
    size = instance.request_size[slot] * active / SIZE
    work = instance.request_work[slot] * active / WORK
    return np.concatenate([size, work, room]).astype(np.float32)


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


class _Next(NamedTuple):
    """The instance, and its slot that comes next."""

    instance: OincInstance
    slot: int


@dataclass(frozen=True, eq=False)
class SoftActor(Part):
    """The most likely choices of the soft actor of Zeng et al., algorithm 3.

    Its inputs hold neither channel nor objectives, so that it runs on the instance on which it was
    trained, and on no other.

    Parameters
    ----------
    checkpoint
        What the learner ``sac-d`` has learnt.

    Raises
    ------
    InputError
        If the checkpoint is of another learner, or does not fit the instance.
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

    def start(self, instance: OincInstance) -> _Next:
        """Refuse what it was not trained on, and remember the instance."""
        if instance.fingerprint() not in self.checkpoint.instances:
            raise InputError(
                "checkpoint", "was trained on another instance; the published actor knows only one"
            )
        kinds = choices(instance.sites, self._levels)
        inputs, out = 2 * instance.devices + instance.sites, len(kinds) * max(kinds)
        widths = (inputs, *self.checkpoint.settings["hidden"], instance.devices * out)
        shapes: dict[str, tuple[int, ...]] = {}
        for layer, width in enumerate(widths[1:]):
            shapes[f"{layer}.weight"] = (width, widths[layer])
            shapes[f"{layer}.bias"] = (width,)
        self.checkpoint.require(shapes)
        return _Next(instance, 0)

    def answer(
        self, memory: _Next, problem: SlotProblem, _rng: np.random.Generator | None = None
    ) -> tuple[SlotPlan, _Next]:
        """Answer the next slot."""
        instance, slot = memory
        after = _Next(instance, slot + 1)
        if not problem.requests:
            return planned(problem, np.zeros((instance.devices, 1))), after
        kinds = choices(instance.sites, self._levels)
        values = perceptron(self.checkpoint.weights, inputs_of(instance, slot, problem.room))
        heads = values.reshape(instance.devices, len(kinds), max(kinds))
        chosen = [heads[:, kind, :count].argmax(-1) for kind, count in enumerate(kinds)]
        return planned(problem, np.stack(chosen, -1), instance.refusal_latency), after
