"""Families of small EDR instances in which a search may look for tight and false claims."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.edr.cases import steady
from edgeopt.bounds.edr.counterexamples import hand
from edgeopt.bounds.edr.evaluation import Planned
from edgeopt.bounds.edr.rounded import Frame
from edgeopt.bounds.search.space import Parameter, ParameterSpace, of_seeds, row, values
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.edr.named_instances import small

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_UNCAPPED = 5.0
"""A cap as large as this one is none, Wh."""

_FRAMES = 3

_GIVEN = (
    Parameter("frames", 1, _FRAMES, whole=True),
    Parameter("slots", 1, 2, whole=True),
    Parameter("rounds", 0, 10, whole=True, simple=1),
    Parameter("arrival", 0, _FRAMES - 1, whole=True),
    Parameter("deadline", 0, _FRAMES - 1, whole=True, simple=_FRAMES - 1),
    *row("cap", _FRAMES, 0.0, _UNCAPPED, simple=_UNCAPPED),
    *row("price", _FRAMES, -1.0, 5.0, simple=1.0),
    *row("work", 2, 0.0, 2.0, simple=1.0),
    *row("energy", 2, 0.0, 10.0, simple=1.0),
    *row("capacity", 2, 0.5, 10.0, simple=10.0),
    *row("serves", 2, 0, 1, whole=True, simple=1),
    *row("requests", 4, 0.0, 2.0),
    Parameter("travel", 0.0, 5.0),
    Parameter("delay_weight", 0, 1, whole=True),
)


def _few_frames(point: Mapping[str, Any]) -> EdrInstance:
    frames, slots = point["frames"], point["slots"]
    cap = np.array(values(point, "cap")[:frames])
    task: dict[str, Any] = {"rounds": []}
    if point["rounds"] > 0:
        first, last = sorted((point["arrival"], point["deadline"]))
        task = {
            "rounds": [point["rounds"]],
            "arrival": [min(first, frames - 1)],
            "deadline": [min(last, frames - 1)],
            "training": values(point, "work"),
        }
    return hand(
        frames,
        slots=slots,
        sites=2,
        cap=np.where(cap < _UNCAPPED, cap, np.inf),
        price=values(point, "price")[:frames],
        energy=values(point, "energy"),
        capacity=values(point, "capacity"),
        capable=[serves == 1 for serves in values(point, "serves")],
        requests=np.array(values(point, "requests")).reshape(2, 2)[:slots],
        travel=_between(point["travel"]),
        delay_weight=float(point["delay_weight"]),
        **task,
    )


def _between(seconds: float) -> NDArray[np.float64]:
    return np.array([[0.0, seconds], [seconds, 0.0]])


FEW_FRAMES = ParameterSpace("few_frames", _GIVEN, _few_frames, EdrInstance)
"""At most three frames of two slots, two sites and one task; requests come alike in all frames."""


def _planned(point: Mapping[str, Any]) -> Planned:
    instance = _few_frames(point)
    points = np.array(values(point, "planned")[: instance.frames])
    return Planned(instance, np.tile(points[:, None], (1, instance.tasks)))


PLANNED = ParameterSpace(
    "planned", (*_GIVEN, *row("planned", _FRAMES, 0.0, 3.0, simple=0.5)), _planned, Planned
)
"""The same, with the rounds that Algorithm 1 is taken to have planned in each frame."""


def _alike(point: Mapping[str, Any]) -> EdrInstance:
    frames = point["frames"]
    even = np.arange(frames) % 2 == 0
    return hand(
        frames,
        sites=2,
        cap=point["cap"] if point["cap"] < _UNCAPPED else np.inf,
        price=np.where(even, point["price_0"], point["price_1"]),
        rounds=[point["rounds"]] if point["rounds"] > 0 else [],
        training=[1.0, 0.0],
        energy=values(point, "energy"),
        capacity=point["capacity"],
        requests=[point["requests"], 0.0],
        travel=_between(point["travel"]),
    )


ALIKE = ParameterSpace(
    "alike",
    (
        Parameter("frames", 1, 20, whole=True),
        Parameter("cap", 0.0, _UNCAPPED, simple=_UNCAPPED),
        *row("price", 2, 0.0, 5.0, simple=1.0),
        Parameter("rounds", 0, 20, whole=True),
        *row("energy", 2, 0.0, 2.0, simple=1.0),
        Parameter("capacity", 0.5, 10.0, simple=10.0),
        Parameter("requests", 0.0, 2.0),
        Parameter("travel", 0.0, 1.0),
    ),
    _alike,
    EdrInstance,
)
"""Up to twenty frames that differ in their price by turns; one task, and requests at its site."""


DRAWN = of_seeds("drawn", small, EdrInstance)
"""Random instances whose plans can be enumerated."""


STEADY = of_seeds("steady", steady, EdrInstance)
"""Random instances in which the assumptions of the theory hold."""


def _frame(point: Mapping[str, Any]) -> Frame:
    tenths = [Fraction(one, 10) for one in values(point, "tenths")]
    return Frame.of(tenths, values(point, "energy"))


FRAMES = ParameterSpace(
    "frames",
    (*row("tenths", 3, 0, 20, whole=True), *row("energy", 3, 0, 3, whole=True, simple=1)),
    _frame,
    Frame,
)
"""Rounds of three tasks in tenths."""


PARAMETER_SPACES = (FEW_FRAMES, PLANNED, ALIKE, FRAMES, DRAWN, STEADY)
"""In the order in which they are looked at."""
