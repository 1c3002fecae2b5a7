"""What the live page of OINC moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.oinc.pictures import lanes

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance


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
