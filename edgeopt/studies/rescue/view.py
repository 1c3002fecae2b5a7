"""What the live page of RESCUE moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.live import Live, Slider
from edgeopt.studies.pictures.canvas import MUTED
from edgeopt.studies.pictures.vector import Lanes, Span
from edgeopt.studies.rescue.gantt import failed_tasks, stretches
from edgeopt.studies.rescue.pictures import SHOWN
from edgeopt.studies.rescue.policies import ONLINE, SAFE
from edgeopt.studies.wording import distinct

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.studies.results import Case

_BLUES: Final = ("#9ecae1", "#6baed6", "#3787c0", "#1561a9", "#083c7d")
"""The longer a profile runs, the darker."""

_WINDOW, _FAILED = "reserved window", "failed task"


def lanes(case: Case, policy: str) -> Lanes:
    """Draw one run: retraining above, windows of reserved tasks below."""
    instance: RescueInstance = case.instance
    run = case.replay(policy)
    devices, profiles, accepted = (
        np.asarray(a)[0] for a in (run.device, run.profile, run.accepted)
    )
    failed = failed_tasks(instance, devices)
    shown = min(instance.servers, SHOWN)
    spans: dict[int, list[Span]] = {server: [] for server in range(shown)}
    shade = [_BLUES[p * len(_BLUES) // instance.profiles] for p in range(instance.profiles)]
    names = distinct(instance.name_of("profile", p) for p in range(instance.profiles))
    looks = {f"retraining, {name}": shade[p] for p, name in enumerate(names)}
    for one in stretches(devices, profiles, accepted):
        if one.server < shown:
            device, profile = instance.name_of("device", one.device), names[one.profile]
            label = f"{device}, {profile}, slots {one.first} to {one.stop}"
            look = f"retraining, {profile}"
            spans[one.server].append(Span(one.first, one.stop, look, 0.45, 1.0, label))
    tasks = instance.reserved
    for i in range(len(tasks)):
        server, begin, end = int(tasks.server[i]), int(tasks.start[i]), int(tasks.end[i]) + 1
        if server < shown:
            look = _FAILED if failed[i] else _WINDOW
            label = f"reserved {instance.name_of('task', i)}"
            spans[server].append(Span(begin, end, look, 0.05, 0.35, label))
    return Lanes(
        f"One run of {case.entries[policy].title}",
        "slot",
        float(instance.horizon),
        dict(
            zip(distinct(instance.name_of("server", k) for k in spans), spans.values(), strict=True)
        ),
        {**looks, _WINDOW: MUTED, _FAILED: "#d55e00"},
        f"{shown} of {instance.servers} servers" if shown < instance.servers else "",
    )


def _load(instance: RescueInstance, scale: float) -> RescueInstance:
    return instance.replace(arrival=scale * instance.arrival)


def _reserved(instance: RescueInstance, scale: float) -> RescueInstance:
    from edgeopt.instances.rescue import ReservedTasks

    given = instance.reserved
    if scale == 0.0:
        return instance.replace(reserved=ReservedTasks.none())
    scaled = ReservedTasks(given.server, given.start, given.end, scale * given.demand)
    return instance.replace(reserved=scaled)


def _capacity(instance: RescueInstance, scale: float) -> RescueInstance:
    return instance.with_capacity(scale=scale)


def _columns(instance: RescueInstance) -> float:
    """Count the columns of the linear program."""
    return float(np.prod(instance.shape[:4]))


LIVE: Final = Live(
    sliders=(
        Slider("servers", "servers", 1, 8, 1, 4),
        Slider("load", "arrivals, times those of the instance", 0.1, 1.4, 0.1, 1.0, _load),
        Slider("reserved", "reserved work, times that of the instance", 0.0, 1.0, 0.1, 1.0,
               _reserved),
        Slider("capacity", "capacity, times that of the instance", 0.8, 2.0, 0.1, 1.0, _capacity),
    ),
    policies=("rescueplus+guard", "rescue+guard", "srs+guard", "random+guard", "rescue"),
    source="paper",
    fixed={"devices": 8, "profiles": 4, "horizon": 60},
    bound=SAFE,
    looser_than=(ONLINE,),
    columns=_columns,
    most=60_000,
    claim="rescue.value.published",
    lanes=lanes,
)  # fmt: skip
