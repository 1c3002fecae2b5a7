"""The policies that a RESCUE study compares, each with and without the guard."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.studies.entries import PolicyEntry
from edgeopt.studies.rescue.benchmarks import FREE, PLAIN, SAFE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.studies.entries import Benchmark

__all__ = ["POLICIES"]

_FAMILIES = (
    # name, title, class in edgeopt.online.rescue, follows a plan
    ("rescue", "RESCUE", "Rescue", True),
    ("rescueplus", "RESCUE+", "RescuePlus", True),
    ("pickconfigs", "PickConfigs", "PickConfigs", False),
    ("srs", "SRS", "Srs", False),
    ("sumita", "Sumita", "Sumita", True),
    ("cvs", "CVS", "Cvs", False),
    ("random", "Random", "RandomPolicy", False),
)

_STATES = 300
"""Joint states of the servers up to which an exact expectation is worth its time."""

_SERVER_BY_SERVER = ("rescue", "sumita")
"""Unguarded, these decide on a server by its own state alone: exact at any size."""

_HALF = ("rescue", "rescueplus")
"""Half of OPT(LP) is proven for these (Theorem 1), while reserved work does not stop them."""


def _make(
    kind: str,
    guarded: bool,
    planned: bool,
    _instance: RescueInstance,
    benchmarks: Mapping[str, Benchmark],
    **options: Any,
) -> Any:
    from edgeopt.online import rescue

    policy = getattr(rescue, kind)
    if planned:
        options["plan"] = benchmarks[SAFE if guarded else PLAIN].plan
    return policy(guarded=guarded, **options)


def _exact(instance: RescueInstance, policy: Any) -> float | None:
    from edgeopt.online.rescue import policy_value

    return float(policy_value(instance, policy))


def _exact_if_small(instance: RescueInstance, policy: Any) -> float | None:
    """Follow the joint state of all servers where that is small."""
    if (int(instance.longest.max()) + 1) ** instance.servers > _STATES:
        return None
    try:
        return _exact(instance, policy)
    except OptionError:  # the work left of reserved tasks makes too many states
        return None


def _entry(name: str, title: str, kind: str, planned: bool, guarded: bool) -> PolicyEntry:
    return PolicyEntry(
        name=f"{name}+guard" if guarded else name,
        family=title,
        variant="guarded" if guarded else "unguarded",
        make=partial(_make, kind, guarded, planned),
        bound=SAFE if guarded else FREE,
        guarantee=0.5 if name in _HALF and not guarded else None,
        exact=_exact if name in _SERVER_BY_SERVER and not guarded else _exact_if_small,
    )


POLICIES = (
    *(_entry(*family, guarded=False) for family in _FAMILIES),
    *(_entry(*family, guarded=True) for family in _FAMILIES),
    PolicyEntry(
        name="rescueplus+guard+price",
        family="RESCUE+ pricing reserved work",
        variant="guarded",
        make=partial(_make, "RescuePlus", True, True, price_reserved=True),
        bound=SAFE,
        default=False,
    ),
)
