"""What the live page of EDR moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.edr.pictures import lanes
from edgeopt.studies.live import Live, Slider

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.solvers import Certificate
    from edgeopt.studies.results import Case

_SAME: Final = 1e-6
"""Relative difference of bounds up to which one proves the other."""


def _cap(instance: EdrInstance, scale: float) -> EdrInstance:
    return instance.replace(cap=scale * instance.cap)


def _capacity(instance: EdrInstance, scale: float) -> EdrInstance:
    return instance.replace(capacity=scale * instance.capacity)


def _load(instance: EdrInstance, scale: float) -> EdrInstance:
    scaled = scale * np.asarray(instance.requests)
    return instance.replace(requests=np.rint(scaled).astype(instance.requests.dtype))


def _columns(instance: EdrInstance) -> float:
    """Count decisions: routes of requests by slot, and rounds by frame."""
    routes = instance.sites**2 * instance.types * instance.slots
    return float(instance.frames * (routes + instance.tasks))


def certificate(case: Case) -> Callable[[], Certificate]:
    """Certify the linear program of all frames at once, if it proves the bound."""
    from edgeopt.models.edr import colocation_matrix, served_cap
    from edgeopt.solvers import solve

    program = colocation_matrix(case.instance, cap=served_cap(case.instance), relax=True)
    made = solve(program).certificate(instance=case.instance)
    if relative_gap(made.bound, case.benchmark.bound) > _SAME:
        raise CertificateError(
            "no certificate: whole rounds prove more than the linear program, which proves "
            f"{case.objective.amount(made.bound)}"
        )
    return lambda: made


LIVE: Final = Live(
    sliders=(
        Slider("sites", "sites", 2, 10, 1, 3),
        Slider("tasks", "training tasks", 1, 8, 1, 4),
        Slider("frames", "frames", 4, 24, 2, 6),
        Slider("load", "requests, times those of the instance", 0.2, 1.2, 0.1, 1.0, _load),
        Slider("capacity", "capacity of sites, times that of the instance", 0.6, 1.5, 0.05, 1.0,
               _capacity),
        Slider("cap", "energy caps, times those of the instance", 0.8, 1.5, 0.05, 1.0, _cap),
    ),
    policies=("scenario", "saddle_point", "scenario+shed", "greedy"),
    source="drawn",
    fixed={"slots": 3, "capped": 0.4},
    columns=_columns,
    most=20_000,
    claim="edr.lemma1.published",
    lanes=lanes,
    runs=2,
    certificate=certificate,
)  # fmt: skip
