"""What the live page of OINC moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.oinc.gantt import stretches
from edgeopt.studies.pictures.canvas import colours
from edgeopt.studies.pictures.vector import Lanes, Span
from edgeopt.studies.wording import distinct

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.results import Case

_SITES: Final = 10
"""Most sites in a picture."""

_ON_TIME, _LATE = "job, in time", "job, after its deadline"


def lanes(case: Case, policy: str) -> Lanes:
    """Draw when every site serves jobs in one run, as tall as their share of its CPU."""
    instance: OincInstance = case.instance
    run = case.replay(policy)
    shown = min(instance.sites, _SITES)
    names = distinct(instance.name_of("site", site) for site in range(shown))
    found: dict[str, list[Span]] = {name: [] for name in names}
    for one in stretches(run.served):
        site = int(run.job_site[0, one.job])
        if 0 <= site < shown:
            look = _ON_TIME if run.on_time[0, one.job] else _LATE
            label = instance.name_of("job", one.job)
            found[names[site]].append(Span(one.begin, one.end, look, 0.0, one.share, label))
    shade = list(colours(("0", "1")).values())
    return Lanes(
        f"Jobs in one run of {case.entries[policy].title}",
        "time (s); the rest of a CPU serves requests",
        max(float(instance.slots), float(run.end[0])),
        found,
        {_ON_TIME: shade[0], _LATE: shade[1]},
        f"{shown} of {instance.sites} sites" if shown < instance.sites else "",
    )


def _capacity(instance: OincInstance, scale: float) -> OincInstance:
    return instance.replace(speed=scale * instance.speed)


def _jobs(instance: OincInstance, scale: float) -> OincInstance:
    return instance.replace(work=scale * instance.work)


def _columns(instance: OincInstance) -> float:
    """Count decisions: requests by site and slot."""
    return float(instance.sites * instance.devices * instance.slots)


LIVE: Final = Live(
    sliders=(
        Slider("sites", "sites", 2, 12, 1, 3),
        Slider("devices", "devices", 4, 40, 2, 8),
        Slider("jobs", "retraining jobs", 0, 24, 1, 5),
        Slider("duty", "load: share of seconds with a request", 0.1, 0.9, 0.1, 0.6),
        Slider("work", "work of jobs, times that of the instance", 0.5, 2.0, 0.1, 1.0, _jobs),
        Slider("capacity", "CPU speed, times that of the instance", 0.6, 2.0, 0.1, 1.0, _capacity),
    ),
    policies=("oinc", "ekya", "kalmia"),
    source="drawn",
    fixed={"slots": 12, "job_scale": 0.2},
    columns=_columns,
    most=2_000,
    claim="oinc.equation8a.published",
    lanes=lanes,
    runs=2,
    certificate=uncertified("bounds of slots are of cones, and exact numbers have no square roots"),
)
