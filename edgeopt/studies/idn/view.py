"""What the live page of IDN moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.idn.policies import STATIC
from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.pictures.canvas import MUTED, colours
from edgeopt.studies.pictures.vector import Lanes, Span
from edgeopt.studies.wording import distinct

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.results import Case

_NODES: Final = 8
"""Most nodes in a picture."""

_TASKS: Final = 7
"""Tasks that have a colour of their own."""


def lanes(case: Case, policy: str) -> Lanes:
    """Draw what every node hosts in the last slot of one run, by task."""
    instance: IdnInstance = case.instance
    hosted = np.asarray(case.replay(policy).hosted[-1])
    limited = np.flatnonzero(instance.active & np.isfinite(instance.budget))
    requested = np.bincount(
        instance.request_task, instance.requests.sum(axis=0), minlength=instance.tasks
    )
    popular = np.argsort(-requested, kind="stable")[:_TASKS].tolist()
    names = distinct(instance.name_of("node", node) for node in limited[:_NODES].tolist())
    shade = colours(f"task {task}" for task in popular)
    looks = {name: MUTED if name == "other tasks" else colour for name, colour in shade.items()}
    if instance.tasks > _TASKS:
        looks["other tasks"] = MUTED
    found: dict[str, list[Span]] = {}
    end = 100.0
    for name, node in zip(names, limited.tolist(), strict=False):
        spans: list[Span] = []
        place = 0.0
        used = hosted[node] * np.broadcast_to(instance.size, hosted.shape)[node]
        memory = np.bincount(instance.task, used, minlength=instance.tasks)
        for task in [*popular, *sorted(set(range(instance.tasks)) - set(popular))]:
            wide = 100.0 * float(memory[task]) / float(instance.budget[node])
            look = f"task {task}" if task in popular else "other tasks"
            if wide > 0:
                spans.append(Span(place, place + wide, look, 0.1, 0.9, f"task {task}"))
            place += wide
        end = max(end, place)
        found[name] = spans
    return Lanes(
        f"What nodes host at the end of a run of {case.entries[policy].title}",
        "share of the memory (%)",
        end,
        found,
        looks,
        f"{len(found)} of {limited.size} nodes" if len(found) < limited.size else "",
    )


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
