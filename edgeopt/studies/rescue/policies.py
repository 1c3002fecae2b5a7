"""The policies that a RESCUE study compares, each with and without the guard."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.errors import OptionError
from edgeopt.studies.rescue.benchmarks import FREE, PLAIN, SAFE
from edgeopt.studies.system import PolicyEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.studies.system import Benchmark

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

_STATES = 2_000
"""Joint states of the servers up to which an exact expectation is worth its time."""

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

    try:
        return float(policy_value(instance, policy, limit=_STATES))
    except OptionError:
        return None


def _entry(name: str, title: str, kind: str, planned: bool, guarded: bool) -> PolicyEntry:
    return PolicyEntry(
        name=f"{name}+guard" if guarded else name,
        family=title,
        variant="guarded" if guarded else "unguarded",
        make=partial(_make, kind, guarded, planned),
        bound=SAFE if guarded else FREE,
        guarantee=0.5 if name in _HALF and not guarded else None,
        exact=_exact,
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
