"""The policies that an OINC study compares: the paper's, its baselines, and every combination."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.oinc.benchmarks import APART

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.entries import Benchmark

__all__ = ["COMBINATIONS", "POLICIES"]

_INFERENCE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "near": ("Near-optimal", "NearOptimalInference", {}),
    "greedy": ("Greedy", "GreedyConvex", {}),
    "liu": ("Liu", "Liu", {}),
}
"""Ways to answer requests: title, class, options."""

_RETRAINING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "density": ("density", "ResidualDensity", {}),
    "dedas": ("Dedas", "Dedas", {}),
    "zhang": ("Zhang", "Zhang", {}),
}
"""Ways to dispatch and serve jobs: title, class, options."""

_Forms = tuple[tuple[str, str, dict[str, dict[str, Any]], bool], ...]

_OINC: _Forms = (
    # name, title, options of the parts, takes part by default
    ("oinc", "OINC", {}, True),
    ("oinc+optimised", "OINC, shares optimised", {"reservation": {"optimise": True}}, True),
    (
        "oinc+busy",
        "OINC, optimised while busy",
        {"reservation": {"optimise": True, "span": "busy"}},
        True,
    ),
    ("oinc+largest", "OINC, at most 80 % kept", {"reservation": {"largest": 0.8}}, True),
    ("oinc+late", "OINC, late binding", {"retraining": {"late_binding": True}}, True),
    ("oinc+slot", "OINC, one job a slot", {"retraining": {"service": "slot"}}, True),
    ("oinc+closed", "OINC, objectives ignored", {"inference": {"objectives": False}}, True),
    ("oinc+refuse", "OINC, refusing", {"inference": {"unfit": "refuse"}}, False),
    ("oinc+deadline", "OINC, deadline weights", {"retraining": {"weights": "deadline"}}, False),
)

_WHOLE = (("ekya", "Ekya", "Ekya"), ("kalmia", "Kalmia", "Kalmia"))

COMBINATIONS = {
    f"{inference}+{retraining}": f"{_INFERENCE[inference][0]} & {_RETRAINING[retraining][0]}"
    for inference in _INFERENCE
    for retraining in _RETRAINING
}
"""Names and titles of all pairs of a way to infer and a way to retrain, beside fixed shares."""


def _oinc(
    options: Mapping[str, Mapping[str, Any]],
    _instance: OincInstance,
    _found: Mapping[str, Benchmark],
) -> Any:
    from edgeopt.online.oinc import NearOptimalInference, Oinc, Reservation, ResidualDensity

    return Oinc(
        inference=NearOptimalInference(**options.get("inference", {})),
        retraining=ResidualDensity(**options.get("retraining", {})),
        reservation=Reservation(**options.get("reservation", {})),
    )


def _combined(name: str, _instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    import edgeopt.online.oinc as room

    inference, retraining = name.split("+")
    _, kind, options = _INFERENCE[inference]
    _, other, others = _RETRAINING[retraining]
    return room.Oinc(
        inference=getattr(room, kind)(**options),
        retraining=getattr(room, other)(**others),
        reservation=room.StaticShares(),
    )


def _whole(kind: str, _instance: OincInstance, _found: Mapping[str, Benchmark]) -> Any:
    import edgeopt.online.oinc

    return getattr(edgeopt.online.oinc, kind)()


POLICIES = (
    *(
        PolicyEntry(name, title, partial(_oinc, options), bound=APART, default=default)
        for name, title, options, default in _OINC
    ),
    *(PolicyEntry(name, title, partial(_whole, kind), bound=APART) for name, title, kind in _WHOLE),
    *(
        PolicyEntry(name, title, partial(_combined, name), bound=APART)
        for name, title in COMBINATIONS.items()
    ),
)
