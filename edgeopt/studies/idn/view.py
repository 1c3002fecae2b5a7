"""What the live page of IDN moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.idn.pictures import lanes
from edgeopt.studies.idn.policies import STATIC
from edgeopt.studies.live import Live, Slider, uncertified

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance


def _memory(instance: IdnInstance, scale: float) -> IdnInstance:
    return instance.replace(budget=scale * instance.budget)


def _load(instance: IdnInstance, scale: float) -> IdnInstance:
    return instance.replace(requests=np.rint(scale * instance.requests).astype(np.int64))


def _columns(instance: IdnInstance) -> float:
    """Count hosted models by node, and requests by slot."""
    return float(instance.nodes * instance.models + 20 * instance.types * instance.horizon)


LIVE: Final = Live(
    sliders=(
        Slider("tasks", "tasks", 2, 20, 1, 5),
        Slider("horizon", "slots", 10, 120, 10, 30),
        Slider("alpha", "weight of accuracy (ms per %)", 0.5, 8.0, 0.5, 1.0),
        Slider("load", "requests, times those of the instance", 0.2, 3.0, 0.2, 1.0, _load),
        Slider("memory", "memory, times that of the instance", 0.2, 2.0, 0.1, 1.0, _memory),
    ),
    policies=("infida+", "infida", "olag", "sg"),
    source="topology_2",
    fixed={"arrivals": "multinomial"},
    columns=_columns,
    most=150_000,
    claim="idn.lemma3_1.published",
    lanes=lanes,
    looser_than=(STATIC,),
    runs=5,
    certificate=uncertified(
        "a bound on placements that move adds up one of every slot, and a file proves one program; "
        "solve_cooperative(instance).certificate() has that of placements that stay"
    ),
)
