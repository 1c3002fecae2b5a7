"""The policies that a TapFinger study compares, and the bound that is valid for each."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.tapfinger.benchmarks import CHANGING, FIXED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.entries import Benchmark

__all__ = ["MANY", "POLICIES", "SECONDS", "bound_of", "has_many_bundles"]

MANY: Final = 60
"""Slots of all efficient bundles of a kind together from which on plans are cut short."""

SECONDS: Final = 0.05
"""Time that the search for a plan gets there."""

_ROLLING: Final = "rolling:RollingHorizon"

_FORMS: tuple[tuple[str, str, str, dict[str, Any], str], ...] = (
    # name, title, module and class, options, bound
    ("rollout", "Rollout", "rollout:Rollout", {}, FIXED),
    ("reservation", "Reservation", "reservation:ReservationSpt", {}, FIXED),
    ("priced", "Priced", "reservation:PricedSpt", {}, FIXED),
    ("rolling", "Rolling horizon", _ROLLING, {}, FIXED),
    ("optimus", "Optimus", "optimus:Optimus", {}, CHANGING),
    ("optimus+swapped", "Optimus, swapped fit", "optimus:Optimus", {"fit": "printed"}, CHANGING),
    ("optimus+containers", "Optimus, no preemption", "containers:OptimusContainers", {}, FIXED),
    ("tiresias", "Tiresias, minimum", "tiresias:Tiresias", {"target": "minimum"}, CHANGING),
    ("tiresias+elastic", "Tiresias, elastic", "tiresias:Tiresias", {"target": "elastic"}, CHANGING),
    ("tiresias+containers", "Tiresias, no preemption", "containers:TiresiasContainers", {}, FIXED),
    ("random", "Random", "uniform:RandomAllocation", {}, FIXED),
    ("min", "Min", "uniform:Min", {}, FIXED),
)


def has_many_bundles(instance: TapFingerInstance) -> bool:
    """Tell whether the plans of a rolling horizon take too long to be proven best."""
    from edgeopt.models.tapfinger import efficient

    lists = instance.clusters * instance.task_kinds
    return int(efficient(instance.duration).duration.sum()) > MANY * lists


def bound_of(policy: Any) -> str:
    """Name the benchmark that bounds a policy: the tight one only if it says it never preempts."""
    return CHANGING if getattr(policy, "preemptive", True) else FIXED


def _make(
    kind: str,
    options: Mapping[str, Any],
    instance: TapFingerInstance,
    _found: Mapping[str, Benchmark],
) -> Any:
    if kind == _ROLLING and has_many_bundles(instance):
        options = {**options, "time_limit": SECONDS}
    module, name = kind.split(":")
    room = importlib.import_module(f"edgeopt.online.tapfinger.policies.{module}")
    return getattr(room, name)(**options)


POLICIES = tuple(
    PolicyEntry(name, title, partial(_make, kind, options), bound=bound)
    for name, title, kind, options, bound in _FORMS
)
"""The paper's baselines in their forms, and the schedulers that need no training."""
