"""The policies that an IDN study compares, and the bound on static placements."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.bounds.validity import Check
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.studies.entries import Benchmark, BenchmarkEntry, PolicyEntry, made
from edgeopt.studies.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.simulate import Step

MOVING, STATIC = "moving", "static"
"""Names of the bounds."""

METHODS = ("auto", "direct", "structured")
"""Ways to solve the linear program."""


def solve(instance: IdnInstance, **options: Any) -> Benchmark:
    """Bound the gain per request of every static placement, ms."""
    from edgeopt.models.idn import Demand
    from edgeopt.models.idn.bounds import solve_cooperative

    demand = Demand.of(instance, normalised=True)
    return Benchmark.certified(solve_cooperative(instance, demand, **options), instance)


def _static(instance: IdnInstance, *, time_limit: float | None = None) -> Benchmark:
    """Bound static placements."""
    return _shared(instance, time_limit)


@lru_cache(maxsize=1)
def _shared(instance: IdnInstance, time_limit: float | None) -> Benchmark:
    """Find that bound once for the two that need it."""
    return solve(instance, time_limit=time_limit)


def _moving(instance: IdnInstance, *, time_limit: float | None = None) -> Benchmark:
    """Bound the gain per request of placements that may change from slot to slot, ms."""
    from edgeopt.models.idn import solve_moving

    static = _static(instance, time_limit=time_limit)
    left = None if time_limit is None else max(0.0, time_limit - static.seconds)
    found = solve_moving(instance, static=static.plan, time_limit=left)
    value, bound, count = found.objective, found.bound, plural(found.slots, "different slot")
    status = f"prices of {count}"
    if found.separate:
        status = f"{count}, each by itself"
        if found.separate < found.slots:
            status = f"{found.separate} of {status}, the others by prices"
    gap = relative_gap(value, bound)
    return Benchmark(value, bound, gap, found.seconds, static.solver, status)


def _exceeded(_instance: IdnInstance, trajectory: Any) -> Any:
    return trajectory.violations.sum(axis=1)


def _static_by_design(policy: Any) -> bool | None:
    return True if getattr(policy, "static", False) is True else None


WITHIN = Check(
    "budgets kept", _exceeded, high=0, source="trajectory",
    sentence="keeps every budget in every slot",
)  # fmt: skip

SAME = Check(
    "static", None, declared=_static_by_design, sentence="places the same models in all slots"
)
"""Policies say it by an attribute ``static = True``."""


def point(instance: IdnInstance, log: Sequence[Step]) -> dict[str, NDArray[np.float64]]:
    """Return the share of the slots in which each node hosts each model, shape [V, M]."""
    return {"x": np.mean([step.decision for step in log], axis=0, dtype=float)}


BENCHMARKS = {
    MOVING: BenchmarkEntry(
        "slot-by-slot bound",
        _moving,
        (WITHIN,),
    ),
    STATIC: BenchmarkEntry(
        "static bound",
        _static,
        (WITHIN, SAME),
    ),
}


_ONLINE = "edgeopt.online.idn"


def _infida(name: str, title: str, *, default: bool = False, **options: Any) -> PolicyEntry:
    make = made(_ONLINE, "Infida", label=title, **options)
    published = name in ("infida", "infida+published")
    edition: Literal["published", "improved"] = "published" if published else "improved"
    return PolicyEntry(name, title, make, edition=edition, default=default)


def _stretching(label: str, _instance: IdnInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online.idn import Infida, Stretching

    return Infida(label=label, refresh=Stretching())


def _offline(instance: IdnInstance, _found: Mapping[str, Benchmark], **options: Any) -> Any:
    from edgeopt.online.idn import offline_infida

    return offline_infida(instance, **options)


def _recommended(_instance: IdnInstance, _found: Mapping[str, Benchmark]) -> Any:
    from edgeopt.online.idn import Infida

    return Infida.recommended()


def _greedy(instance: IdnInstance, _found: Mapping[str, Benchmark], **options: Any) -> Any:
    from edgeopt.online.idn import StaticGreedy

    return StaticGreedy.plan(instance, **options)


def _olag(name: str, title: str, *, default: bool = False, **options: Any) -> PolicyEntry:
    make = made(_ONLINE, "Olag", **options)
    return PolicyEntry(name, title, make, edition="published", default=default)


POLICIES = (
    PolicyEntry(
        "portfolio", "Portfolio", made(_ONLINE, "Portfolio"), edition="improved", default=True
    ),
    PolicyEntry("infida+", "INFIDA+", _recommended, edition="improved", default=True),
    _infida("infida", "INFIDA", default=True),
    _infida("infida+common", "INFIDA, common coins", coins="common"),
    _infida("infida+fill", "INFIDA, safe fill", default=True, coins="common", residual="fill"),
    _infida("infida+published", "INFIDA, step of Theorem V.1", step="published"),
    *(
        _infida(f"infida+every{slots}", f"INFIDA, every {slots} slots", refresh=slots)
        for slots in (4, 8, 16, 32)
    ),
    PolicyEntry(
        "infida+stretching",
        "INFIDA, rarer and rarer",
        partial(_stretching, "INFIDA, rarer and rarer"),
        edition="published",
        default=False,
    ),
    PolicyEntry(
        "infida-offline",
        "INFIDA offline",
        _offline,
        kind="hindsight",
        edition="published",
        default=False,
    ),
    PolicyEntry(
        "infida-offline+mean",
        "INFIDA offline, mean demand",
        partial(_offline, plan="mean"),
        kind="hindsight",
        edition="published",
        default=False,
    ),
    PolicyEntry("sg", "Static greedy", _greedy, kind="hindsight", edition="published"),
    PolicyEntry(
        "sg+published",
        "Static greedy, mean demand, until served",
        partial(_greedy, plan="mean", stop="served"),
        kind="hindsight",
        edition="published",
        default=False,
    ),
    _olag("olag", "OLAG", default=True),
    _olag("olag+forwarded", "OLAG, forwarded", default=True, counters="forwarded"),
    _olag("olag+literal", "OLAG (as printed)", counters="forwarded", ties="literal"),
)
