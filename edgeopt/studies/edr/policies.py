"""The policies that an EDR study compares: the paper's, as corrected and as printed, and others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.studies.edr.benchmarks import OFFLINE
from edgeopt.studies.entries import PolicyEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.studies.entries import Benchmark

__all__ = ["POLICIES"]

_PRINTED: dict[str, Any] = {
    "index": "stale", "gradient": "stale", "residual": "floor", "guard": None, "reserve": None,
}  # fmt: skip

_FORMS: tuple[tuple[str, str, str, dict[str, Any], bool], ...] = (
    # name, title, class, options, takes part by default
    ("saddle_point", "Saddle point", "SaddlePoint", {}, True),
    ("saddle_point+margin", "Saddle point with margin", "SaddlePoint", {"margin": True}, False),
    ("saddle_point+carry", "Saddle point with carry", "SaddlePoint",
     {"residual": "floor", "carry": True}, False),
    ("saddle_point+stale", "Saddle point on old costs", "SaddlePoint",
     {"gradient": "stale"}, False),
    ("saddle_point+price", "Saddle point with one price", "SaddlePoint",
     {"budget": "price"}, False),
    ("saddle_point+printed", "Printed saddle point", "SaddlePoint", _PRINTED, True),
    ("lyapunov", "Lyapunov", "Lyapunov", {}, True),
    ("oasdr", "OASDR", "Oasdr", {}, True),
    ("quantile", "Quantile", "QuantileThreshold", {}, True),
    ("even_rate", "Even rate", "EvenRate", {}, True),
    ("even_rate+free", "Even rate without reserve", "EvenRate", {"reserve": None}, False),
    ("greedy", "Greedy", "Greedy", {}, True),
)  # fmt: skip

_SHEDDING = {"saddle_point": True, "quantile": True, "even_rate": False}
"""Policies with a second form, which drops requests before it exceeds a cap; in by default or not.

The others do not route by an energy budget.
"""


def _make(
    kind: str, options: Mapping[str, Any], _instance: EdrInstance, _found: Mapping[str, Benchmark]
) -> Any:
    import edgeopt.online.edr

    return getattr(edgeopt.online.edr, kind)(**options)


def _shedding() -> list[PolicyEntry]:
    forms = {name: (title, kind, options) for name, title, kind, options, _ in _FORMS}
    entries = []
    for name, default in _SHEDDING.items():
        title, kind, options = forms[name]
        make = partial(_make, kind, {**options, "elastic": "shed"})
        # What never exceeds a cap is bounded by what keeps all caps.
        entries.append(
            PolicyEntry(
                f"{name}+shed", f"Shedding {title.lower()}", make, bound=OFFLINE, default=default
            )
        )
    return entries


POLICIES = (
    *(
        PolicyEntry(name, title, partial(_make, kind, options), default=default)
        for name, title, kind, options, default in _FORMS
    ),
    *_shedding(),
)
